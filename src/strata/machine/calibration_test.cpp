// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/calibration.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

namespace strata {
namespace {

Calibration small_calibration() {
  Calibration made;
  made.name = "mine";
  made.machine = "h200";
  made.framework = "pytorch-eager";
  made.versions = {{"torch", "2.11"}, {"cuda", "13.0"}};
  made.host = "a host";
  made.date = "2026-11-18";
  made.host_times["relu"] = {1.23456e-5, 2.34567e-5, 3.45678e-5, 4.56789e-5, 0};
  made.host_times["update.adam"] = {2e-4, 0, 2e-4, 0, 1.5e-5};
  made.host_factor = 1.5;
  made.host_sigma = 0.3;
  made.gap_s = 5e-7;
  made.class_sigma = 0.07;
  made.interval_factor = 2;
  CalibratedClass relu{.kernel_class = "relu.forward", .precision = "fp32"};
  relu.coefficients = {1.234567, 8.765432e-4};
  relu.sigma = 0.0123456;
  relu.samples = {{{1 << 20}, 1.23456e-5, 2.34567e-5, 3}, {{123456789}, 1e-3, 1e-3, 1}};
  made.classes = {relu, {.kernel_class = "linear.forward", .precision = "bf16"}};
  return made;
}

void expect_close(double got, double expected) {
  EXPECT_NEAR(got, expected, 6e-4 * std::fabs(expected));
}

TEST(Calibration, is_read_as_it_was_written_up_to_four_digits) {
  const Calibration made = small_calibration();
  const Calibration read = read_calibration(to_json(made));
  EXPECT_EQ(read.name, made.name);
  EXPECT_EQ(read.machine, made.machine);
  EXPECT_EQ(read.framework, made.framework);
  EXPECT_EQ(read.versions, made.versions);
  EXPECT_EQ(read.host, made.host);
  EXPECT_EQ(read.date, made.date);
  EXPECT_EQ(read.host_factor, made.host_factor);
  EXPECT_EQ(read.host_sigma, made.host_sigma);
  EXPECT_EQ(read.gap_s, made.gap_s);
  EXPECT_EQ(read.class_sigma, made.class_sigma);
  EXPECT_EQ(read.interval_factor, made.interval_factor);
  ASSERT_EQ(read.host_times.size(), 2U);
  expect_close(read.host_times.at("relu").forward_s, 1.23456e-5);
  expect_close(read.host_times.at("relu").backward_s, 2.34567e-5);
  expect_close(read.host_times.at("relu").autocast_forward_s, 3.45678e-5);
  expect_close(read.host_times.at("relu").autocast_backward_s, 4.56789e-5);
  expect_close(read.host_times.at("update.adam").per_tensor_s, 1.5e-5);
  ASSERT_EQ(read.classes.size(), 2U);
  const CalibratedClass& relu = read.classes[0];
  EXPECT_EQ(relu.kernel_class, "relu.forward");
  EXPECT_EQ(relu.precision, "fp32");
  expect_close(relu.coefficients.at(0), 1.234567);
  expect_close(relu.coefficients.at(1), 8.765432e-4);
  expect_close(relu.sigma, 0.0123456);
  ASSERT_EQ(relu.samples.size(), 2U);
  EXPECT_EQ(relu.samples[1].dims, std::vector<double>{123456789});  // shapes are not rounded
  expect_close(relu.samples[0].busy_s, 1.23456e-5);
  expect_close(relu.samples[0].kernels_s, 2.34567e-5);
  EXPECT_EQ(relu.samples[0].kernels, 3);
  EXPECT_TRUE(read.classes[1].samples.empty());
}

TEST(Calibration, keeps_the_scratch_memory_of_its_samples) {
  Calibration made = small_calibration();
  made.classes[0].samples[1].scratch_bytes = 77121024;
  const nlohmann::json written = nlohmann::json::parse(to_json(made));
  EXPECT_EQ(written["classes"][0]["scratch_bytes"], (std::vector<double>{0, 77121024}));
  EXPECT_FALSE(written["classes"][1].contains("scratch_bytes"));
  EXPECT_EQ(read_calibration(written.dump()).classes[0].samples[1].scratch_bytes, 77121024);
  nlohmann::json short_by_one = written;
  short_by_one["classes"][0]["scratch_bytes"] = {1};
  try {
    read_calibration(short_by_one.dump());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("expected 2 numbers, one per sample, got 1"),
              std::string::npos)
        << error.what();
  }
}

TEST(Calibration, keeps_the_rates_that_its_fit_is_relative_to) {
  Calibration made = small_calibration();
  EXPECT_FALSE(read_calibration(to_json(made)).rates);
  made.rates = CalibratedRates{2, 3.1e9, 2.3e10, 3.7e7, {{"fp32", 2.3e11}, {"bf16", 4e11}}};
  EXPECT_EQ(read_calibration(to_json(made)).rates, made.rates);
}

TEST(Calibration, takes_a_sample_in_place_of_one_with_the_same_dimensions) {
  Calibration made = small_calibration();
  EXPECT_TRUE(has_sample(made, "relu.forward", "fp32", {1 << 20}));
  EXPECT_FALSE(has_sample(made, "relu.forward", "bf16", {1 << 20}));
  EXPECT_FALSE(has_sample(made, "relu.backward", "fp32", {1 << 20}));
  put_sample(made, "relu.forward", "fp32", {{1 << 20}, 7e-6, 7e-6, 1});
  ASSERT_EQ(made.classes[0].samples.size(), 2U);
  EXPECT_EQ(made.classes[0].samples[0].busy_s, 7e-6);
  put_sample(made, "relu.forward", "fp32", {{5}, 1e-6, 1e-6, 1});
  EXPECT_EQ(made.classes[0].samples.size(), 3U);
  put_sample(made, "tanh.forward", "fp32", {{5}, 1e-6, 1e-6, 1});
  ASSERT_EQ(made.classes.size(), 3U);
  EXPECT_EQ(made.classes[2].kernel_class, "tanh.forward");
}

TEST(Calibration, that_ships_is_the_same_text_when_it_is_written_again) {
  for (const Calibration& one : shipped_calibrations()) {
    const std::string text = to_json(one);
    const Calibration again = read_calibration(text);
    EXPECT_EQ(again.classes.size(), one.classes.size());
    EXPECT_EQ(to_json(again), text);
  }
}

TEST(Calibration, is_found_by_machine_and_framework) {
  ASSERT_NE(find_calibration("h200", "pytorch-eager"), nullptr);
  EXPECT_EQ(find_calibration("h200", "pytorch-eager")->name, "h200-pytorch-eager");
  EXPECT_EQ(find_calibration("h200", "jax"), nullptr);
  EXPECT_EQ(find_calibration("abacus", "pytorch-eager"), nullptr);
}

using CalibrationDocument = nlohmann::json;

/// Why a calibration is refused; "accepted" when it is not.
std::string refusal_of_calibration(const std::string& text) {
  try {
    read_calibration(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

/// The small one with one thing changed.
std::string refusal_with(const char* pointer, const CalibrationDocument& value) {
  auto document = CalibrationDocument::parse(to_json(small_calibration()));
  document[CalibrationDocument::json_pointer(pointer)] = value;
  return refusal_of_calibration(document.dump());
}

TEST(Calibration, what_is_wrong_in_it_is_named_with_its_place) {
  struct Fault {
    const char* pointer;
    CalibrationDocument value;
    std::string place;
  };
  const Fault faults[] = {
      {"/strata_calibration", "one", "calibration.strata_calibration"},
      {"/rates", 3, "calibration.rates"},
      {"/rates", {{"units", 2}}, "calibration.rates: 'clock_hz' is missing"},
      {"/name", 3, "calibration.name"},
      {"/machine", nullptr, "calibration.machine"},
      {"/versions", "2.11", "calibration.versions"},
      {"/versions/torch", 2, "calibration.versions.torch"},
      {"/host_factor", 0, "calibration.host_factor"},
      {"/host_sigma", -1, "calibration.host_sigma"},
      {"/gap_s", -1e-9, "calibration.gap_s"},
      {"/class_sigma", "wide", "calibration.class_sigma"},
      {"/interval_factor", CalibrationDocument::array(), "calibration.interval_factor"},
      {"/host_times", CalibrationDocument::array(), "calibration.host_times"},
      {"/host_times/relu/forward_s", -1, "calibration.host_times.relu.forward_s"},
      {"/host_times/relu/sideways_s", 1, "sideways_s"},
      {"/classes", CalibrationDocument::object(), "calibration.classes"},
      {"/classes/0", 7, "calibration.classes[0]"},
      {"/classes/0/class", 7, "calibration.classes[0].class"},
      {"/classes/0/sigma", -0.1, "calibration.classes[0].sigma"},
      {"/classes/0/coefficients/1", -8, "calibration.classes[0].coefficients[1]"},
      {"/classes/0/coefficients", CalibrationDocument(100, 1.0),
       "calibration.classes[0].coefficients"},
      {"/classes/0/samples/1", {1, 2, 3}, "calibration.classes[0].samples[1]"},
      {"/classes/0/samples/1", {1, 2, 0, 3}, "calibration.classes[0].samples[1]"},
      {"/classes/0/samples/1", {1, 2, "3", 4}, "calibration.classes[0].samples[1]"},
      {"/classes/0/samples/1", {1, -2, 3, 4}, "calibration.classes[0].samples[1]"},
      {"/classes/0/samples/1", CalibrationDocument(1000, 1.0), "calibration.classes[0].samples[1]"},
      {"/classes/0/samples", CalibrationDocument(6000, {1, 1, 1, 1}),
       "calibration.classes[0].samples"},
      {"/surprise", 1, "surprise"},
  };
  for (const Fault& fault : faults) {
    const std::string message = refusal_with(fault.pointer, fault.value);
    EXPECT_NE(message.find(fault.place), std::string::npos) << fault.pointer << ": " << message;
  }
  EXPECT_EQ(refusal_with("/gap_s", 0), "accepted");
}

TEST(Calibration, hostile_text_is_an_error) {
  EXPECT_EQ(refusal_of_calibration(""), "not JSON");
  EXPECT_EQ(refusal_of_calibration("\xff\xfe"), "not JSON");
  EXPECT_NE(refusal_of_calibration("[]"), "accepted");
  EXPECT_NE(refusal_of_calibration("null"), "accepted");
  EXPECT_NE(refusal_of_calibration("{}"), "accepted");
  EXPECT_NE(refusal_of_calibration(std::string(100000, '[')), "accepted");
  const std::string text = to_json(small_calibration());
  for (std::size_t length = 0; length + 2 < text.size(); length += 7)
    EXPECT_NE(refusal_of_calibration(text.substr(0, length)), "accepted") << length;
  EXPECT_EQ(refusal_with("/classes/0/sigma", std::nan("")),
            "calibration.classes[0].sigma: expected a number, got null");
}

Calibration small_transfer() {
  Calibration made = small_calibration();
  made.base = "h200-pytorch-eager";
  made.classes.back().source = "a table";
  made.networks = {{.framework = "pytorch-compile",
                    .is_inference = true,
                    .in_16_bits = true,
                    .factors = {{"products", 1.23456}, {"attention", 0.5}},
                    .runs = 40,
                    .networks = 30,
                    .error = 0.08,
                    .widening = 0.21,
                    .source = "a set; another"}};
  return made;
}

TEST(Calibration, of_a_part_keeps_its_base_and_what_networks_say) {
  const Calibration read = read_calibration(to_json(small_transfer()));
  EXPECT_EQ(read.base, "h200-pytorch-eager");
  EXPECT_EQ(read.classes.back().source, "a table");
  ASSERT_EQ(read.networks.size(), 1U);
  NetworkFactors expected = small_transfer().networks.front();
  expected.factors["products"] = 1.235;  // four digits
  EXPECT_EQ(read.networks.front(), expected);
  ASSERT_NE(base_of(read), nullptr);
  EXPECT_EQ(base_of(read)->machine, "h200");
  EXPECT_EQ(base_of(small_calibration()), nullptr);
  Calibration lost = read;
  lost.base = "abacus";
  EXPECT_THROW(base_of(lost), Error);
}

TEST(Calibration, of_a_part_that_ships_has_a_base_and_sources) {
  ASSERT_NE(find_transfer("rtx-3090", "pytorch-eager"), nullptr);
  EXPECT_EQ(find_transfer("abacus", "pytorch-eager"), nullptr);
  for (const EmbeddedFile& file : embedded_transfers()) {
    const Calibration one = read_calibration(file.text);
    EXPECT_EQ(one.name, file.name);
    EXPECT_NE(base_of(one), nullptr) << one.name;
    EXPECT_FALSE(one.classes.empty() && one.networks.empty()) << one.name;
    for (const CalibratedClass& each : one.classes) EXPECT_NE(each.source, "") << one.name;
    for (const NetworkFactors& each : one.networks) EXPECT_NE(each.source, "") << one.name;
    EXPECT_EQ(to_json(one), file.text) << one.name;
  }
}

TEST(Calibration, what_is_wrong_in_its_networks_is_named_with_its_place) {
  const auto refusal = [](const char* pointer, const CalibrationDocument& value) {
    auto document = CalibrationDocument::parse(to_json(small_transfer()));
    document[CalibrationDocument::json_pointer(pointer)] = value;
    return refusal_of_calibration(document.dump());
  };
  EXPECT_NE(refusal("/networks/0/passes", "sideways").find("networks[0].passes"),
            std::string::npos);
  EXPECT_NE(refusal("/networks/0/factors/products", -1).find("factors.products"),
            std::string::npos);
  EXPECT_NE(refusal("/networks/0/runs", 0).find("networks[0].runs"), std::string::npos);
  EXPECT_NE(refusal("/networks/0/widening", -1).find("widening"), std::string::npos);
}

}  // namespace
}  // namespace strata
