// SPDX-License-Identifier: Apache-2.0
#include "strata/api/calibrate.hpp"

#include "strata/api/expected.hpp"
#include "strata/api/explain.hpp"
#include "strata/api/kept_files.hpp"
#include "strata/api/predict.hpp"
#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"
#include "strata/framework/operations.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/report/explain_report.hpp"
#include "strata/report/prediction_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <span>

namespace strata {
namespace {

/// A CPU with round numbers, whose cache is small: nothing is measured of it.
Machine round_cpu() {
  Machine machine = load_machine("grace");
  machine.name = "round-cpu";
  machine.kind = "cpu";
  for (MemoryLevel& level : machine.memory) {
    if (level.is_on_chip) level.capacity_bytes.value = 1e6;
  }
  return machine;
}

Calibration begun_on(const Machine& machine) {
  return empty_calibration(machine, *open_training_device({}, {}));
}

/// As if cases had been measured.
void add_made_up_samples(Calibration& calibration, std::span<const TimedCase> cases) {
  for (const TimedCase& timed : cases) {
    const Graph graph = timed.one.make();
    const BoundGraph bound = bind_graph(graph, {});
    const Program program = make_program(bound, {.optimizer = timed.one.optimizer,
                                                 .loss = Loss::none,
                                                 .separate_backward = true,
                                                 .unroll_recurrent = false});
    const FrameworkOperations all =
        operations_of(program, framework_named("strata"), {}, timed.one.optimizer);
    for (const FrameworkOperation& one : all.operations) {
      const auto dims = std::span(one.dims).first(dims_of(form_of(one.kernel_class)).size());
      put_sample(calibration, name_of(one.kernel_class), name_of(one.precision),
                 {.dims = {dims.begin(), dims.end()}, .busy_s = 1e-3, .kernels_s = 1e-3});
    }
  }
}

TEST(Calibrate, measures_the_cases_of_a_name_and_fits_them) {
  const Machine machine = round_cpu();
  const CalibrateRequest request{.only = "rnn", .iterations = 2};
  std::vector<std::string> seen;
  std::size_t kept = 0;
  const CalibrateHooks hooks{
      .on_case = [&](std::string_view name, std::size_t, std::size_t) { seen.emplace_back(name); },
      .on_samples = [&](const Calibration& so_far) { kept = so_far.classes.size(); }};
  const CalibrateResult result = calibrate(machine, request, begun_on(machine), hooks);
  EXPECT_EQ(seen, std::vector<std::string>{"recurrent rnn"});
  EXPECT_EQ(kept, 2U);
  EXPECT_TRUE(result.is_complete());
  ASSERT_EQ(result.calibration.classes.size(), 2U);
  for (const CalibratedClass& one : result.calibration.classes) {
    EXPECT_TRUE(one.kernel_class == "rnn.forward" || one.kernel_class == "rnn.backward");
    EXPECT_EQ(one.precision, "fp32");
    EXPECT_EQ(one.samples.size(), 2U);
    EXPECT_EQ(one.coefficients.size(), 3U);
    EXPECT_GE(one.sigma, 0.02);
  }
  EXPECT_EQ(result.calibration.framework, "strata");
  EXPECT_EQ(result.calibration.machine, "round-cpu");
  for (const auto& [what, version] : result.calibration.versions)
    EXPECT_TRUE(std::isalpha(what.front()) && !version.empty()) << what;
  EXPECT_EQ(result.calibration.gap_s, 0);  // a CPU is its own host
}

TEST(Calibrate, fits_the_same_again_from_the_file) {
  const Machine machine = round_cpu();
  const CalibrateResult result =
      calibrate(machine, {.only = "global pool", .iterations = 2}, begun_on(machine));
  const std::string text = to_json(result.calibration);
  Calibration again = read_calibration(text);
  for (CalibratedClass& one : again.classes) one.coefficients.clear();
  fit_calibration(again);  // its machine ships nowhere: the rates are in the file
  EXPECT_EQ(to_json(again), text);
}

TEST(Calibrate, goes_on_where_it_was_stopped) {
  const Machine machine = round_cpu();
  CalibrateRequest request{.seconds = 0, .iterations = 1};
  const CalibrateResult none = calibrate(machine, request, begun_on(machine));
  EXPECT_EQ(none.measured, 0U);  // no time
  EXPECT_FALSE(none.is_complete());
  // All of them are there but the last, which is measured.
  Calibration begun = begun_on(machine);
  request.seconds = 60;
  const std::vector<TimedCase> cases = cases_to_time(machine, request);
  add_made_up_samples(begun, std::span(cases).first(cases.size() - 1));
  const CalibrateResult rest = calibrate(machine, request, begun);
  EXPECT_EQ(rest.found + 1, cases.size());
  EXPECT_EQ(rest.measured, 1U);
  EXPECT_TRUE(rest.is_complete());
}

TEST(Calibrate, that_was_stopped_replaces_no_whole_one) {
  const CalibrateResult whole{.measured = 3, .found = 7, .total = 10};
  const CalibrateResult some{.measured = 3, .total = 10}, none{.total = 10};
  EXPECT_TRUE(is_worth_keeping(whole, true));
  EXPECT_TRUE(is_worth_keeping(some, false));
  EXPECT_FALSE(is_worth_keeping(some, true));
  EXPECT_FALSE(is_worth_keeping(none, false));
}

TEST(Calibrate, that_is_interrupted_within_a_case_has_not_measured_it) {
  const Machine machine = round_cpu();
  int asked = 0;
  const CalibrateHooks hooks{.is_interrupted = [&] { return ++asked > 2; }};
  const CalibrateResult result =
      calibrate(machine, {.only = "rnn", .iterations = 2}, begun_on(machine), hooks);
  EXPECT_EQ(result.measured, 0U);
  EXPECT_TRUE(result.calibration.classes.empty());
  EXPECT_FALSE(result.is_complete());
}

TEST(Calibrate, an_unknown_name_of_a_case_is_a_mistake) {
  try {
    cases_to_time(round_cpu(), {.only = "nothing"});
    FAIL() << "there is no such case";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

TEST(Calibrate, on_a_gpu_has_three_precisions_and_tf32_of_products_only) {
  std::map<DType, int> cases;
  for (const TimedCase& one : cases_to_time(load_machine("h200"), {.device = {.is_gpu = true}})) {
    ++cases[one.dtype];
    EXPECT_TRUE(one.dtype != DType::tf32 || one.one.is_product) << one.name;
  }
  EXPECT_EQ(cases.size(), 3U);
  EXPECT_GT(cases[DType::fp32], cases[DType::bf16]);
  EXPECT_GT(cases[DType::bf16], cases[DType::tf32]);
}

/// A calibration of the engine that makes no sense but is whole.
Calibration whole_calibration(const Machine& machine) {
  Calibration made = begun_on(machine);
  put_sample(made, "relu.forward", "fp32", {.dims = {1000}, .busy_s = 1e-5, .kernels_s = 1e-5});
  put_sample(made, "relu.forward", "fp32", {.dims = {1e6}, .busy_s = 1e-3, .kernels_s = 1e-3});
  fit_calibration(made);
  return made;
}

/// The networks of docs/expected-time.md, "On a CPU": their intervals were made with a class_sigma
/// of 0.1. LeNet-5, the eighteenth, is far outside.
constexpr struct {
  double expected, low, high, measured;
} on_two_cores[] = {{584, 538, 635, 542},     {524, 488, 563, 465},     {2.83, 2.60, 3.08, 2.80},
                    {288, 262, 317, 265},     {641, 595, 691, 595},     {195, 180, 212, 206},
                    {749, 646, 870, 744},     {1.71, 1.60, 1.83, 1.59}, {654, 594, 720, 687},
                    {4.18, 3.77, 4.64, 3.98}, {1.11, 1.02, 1.20, 1.06}, {1.75, 1.63, 1.89, 1.66},
                    {499, 465, 534, 478},     {1.23, 1.13, 1.34, 1.17}, {2.17, 2.00, 2.35, 1.98},
                    {4.22, 3.81, 4.69, 3.85}, {563, 460, 688, 434}};

std::size_t inside_with(double class_sigma) {
  std::size_t inside = 0;
  for (const auto& [expected, low, high, measured] : on_two_cores) {
    const double wider = class_sigma / 0.1;
    inside += measured >= expected * std::pow(low / expected, wider) &&
                      measured <= expected * std::pow(high / expected, wider)
                  ? 1
                  : 0;
  }
  return inside;
}

TEST(Calibrate, is_as_unsure_of_a_cpu_as_nine_of_ten_networks_ask_for) {
  const double sigma = begun_on(round_cpu()).class_sigma;
  EXPECT_EQ(inside_with(0.1), 13U);
  EXPECT_GE(inside_with(sigma), 17U);
  EXPECT_LT(inside_with(0.9 * sigma), 17U) << "no wider than that";
  EXPECT_EQ(begun_on(load_machine("h200")).class_sigma, 0.1);
}

class KeptFiles : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("XDG_DATA_HOME", folder_.path().c_str(), 1); }
  void TearDown() override { ::unsetenv("XDG_DATA_HOME"); }
  test::TemporaryFolder folder_;
};

TEST_F(KeptFiles, are_found_by_machine_and_framework_and_make_expected_times_on_a_cpu) {
  const Machine machine = round_cpu();
  EXPECT_EQ(default_framework(machine), "strata");
  EXPECT_EQ(default_framework(load_machine("h200")), "pytorch-eager");
  const auto reason = ExpectedTimes::reason_against(machine, {.framework = "strata"});
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("strata machine measure --device cpu --calibrate"), std::string::npos);

  Machine other = machine;  // what was looked for once is not looked for again
  other.name = "round-cpu-2";
  keep_calibration(whole_calibration(other), *calibration_file(other.name, "strata"));
  EXPECT_NE(kept_calibration(other.name, "strata"), nullptr);
  EXPECT_EQ(kept_calibration(other.name, "pytorch-eager"), nullptr);
  EXPECT_FALSE(ExpectedTimes::reason_against(other, {.framework = "strata"}));
  EXPECT_TRUE(ExpectedTimes::reason_against(other, {.framework = "pytorch-eager"}));
  const Graph graph = load_model("lenet5");
  const BoundGraph bound = bind_model(graph, {});
  const ExpectedTime time = ExpectedTimes(other, {.framework = "strata"}).of(bound, {});
  EXPECT_EQ(time.calibration, CalibrationUse::calibrated);
  EXPECT_GT(time.time_s, 0);
}

TEST_F(KeptFiles, of_a_cpu_say_how_busy_the_cpu_is) {
  Machine machine = round_cpu();
  machine.name = "round-cpu-3";
  keep_calibration(whole_calibration(machine), *calibration_file(machine.name, "strata"));
  const Graph graph = load_model("lenet5");
  const PredictedIteration iteration = predict_model(graph, machine);
  ASSERT_TRUE(iteration.summary.expected) << iteration.summary.no_expected_reason;
  const std::string text = to_text(iteration.summary, {}, {});
  EXPECT_NE(text.find("CPU busy"), std::string::npos) << text;
  EXPECT_EQ(text.find("GPU"), std::string::npos) << text;
  const Explanation explained = explain_iteration(graph, machine, {}, iteration);
  const std::string explanation = to_text(explained, 9, {});
  EXPECT_NE(explanation.find("CPU busy"), std::string::npos) << explanation;
  EXPECT_EQ(explanation.find("GPU busy"), std::string::npos) << explanation;
  // What a user can change is asked of the same framework.
  const auto is_answered = [](const Alternative& one) {
    return one.is_expected && one.reason.empty();
  };
  EXPECT_TRUE(std::any_of(iteration.summary.alternatives.begin(),
                          iteration.summary.alternatives.end(), is_answered));
}

std::string refusal_of_file(const std::filesystem::path& file) {
  try {
    load_calibration(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST_F(KeptFiles, that_are_broken_are_refused_with_file_and_place) {
  struct Fault {
    const char* pointer;
    nlohmann::json value;
    const char* says;
  };
  const Fault faults[] = {
      {"/strata_calibration", 2, "calibration.strata_calibration: expected version 1, got 2"},
      {"/classes/0/class", "relu.forwards",
       "calibration.classes[0].class: expected a class of kernels, got 'relu.forwards'"},
      {"/classes/0/precision", "fp31",
       "calibration.classes[0].precision: expected a data type, got 'fp31'"},
      {"/classes/0/coefficients",
       {1, 2, 3},
       "calibration.classes[0].coefficients: expected 2 numbers for relu.forward, got 3"},
      {"/classes/0/samples/1",
       {1, 2, 3, 4, 5},
       "calibration.classes[0].samples[1]: expected 4 numbers (elements, then the times), got 5"},
      {"/rates/units", 0, "calibration.rates.units"},
      {"/rates/flop_per_s", {{"fp64", 1}}, "calibration.rates.flop_per_s: expected a rate of fp32"},
  };
  const std::string good = to_json(whole_calibration(round_cpu()));
  EXPECT_EQ(refusal_of_file(folder_.file("good.json", good)), "accepted");
  for (const Fault& fault : faults) {
    auto document = nlohmann::json::parse(good);
    document[nlohmann::json::json_pointer(fault.pointer)] = fault.value;
    const auto file = folder_.file("bad.json", document.dump());
    const std::string message = refusal_of_file(file);
    EXPECT_NE(message.find(file.string()), std::string::npos) << message;
    EXPECT_NE(message.find(fault.says), std::string::npos) << message;
  }
}

TEST_F(KeptFiles, of_another_machine_than_their_name_says_are_refused) {
  const auto file = *calibration_file("round-cpu-3", "strata");
  keep_calibration(whole_calibration(round_cpu()), file);
  try {
    kept_calibration("round-cpu-3", "strata");
    FAIL() << "it is of round-cpu";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("expected 'round-cpu-3', got 'round-cpu'"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace strata
