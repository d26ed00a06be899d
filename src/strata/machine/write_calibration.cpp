// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/machine/calibration.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Four digits are more than a measurement has.
double shortened(double number) {
  if (number == 0) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::fabs(number))));
  return std::round(number * scale) / scale;
}

OrderedJson sample_json(const KernelSample& sample) {
  OrderedJson numbers = OrderedJson::array();
  for (const double dim : sample.dims) numbers.push_back(dim);
  numbers.push_back(shortened(sample.busy_s * 1e6));
  numbers.push_back(shortened(sample.kernels_s * 1e6));
  numbers.push_back(sample.kernels);
  return numbers;
}

OrderedJson class_json(const CalibratedClass& one) {
  OrderedJson json = {{"class", one.kernel_class}, {"precision", one.precision}};
  OrderedJson& coefficients = json["coefficients"] = OrderedJson::array();
  for (const double number : one.coefficients) coefficients.push_back(shortened(number));
  json["sigma"] = shortened(one.sigma);
  OrderedJson& samples = json["samples"] = OrderedJson::array();
  for (const KernelSample& sample : one.samples) samples.push_back(sample_json(sample));
  if (std::any_of(one.samples.begin(), one.samples.end(),
                  [](const KernelSample& sample) { return sample.scratch_bytes > 0; })) {
    OrderedJson& scratch = json["scratch_bytes"] = OrderedJson::array();
    for (const KernelSample& sample : one.samples) scratch.push_back(sample.scratch_bytes);
  }
  if (!one.source.empty()) json["source"] = one.source;
  return json;
}

OrderedJson networks_json(const NetworkFactors& one) {
  OrderedJson json = {{"framework", one.framework},
                      {"passes", one.is_inference ? "inference" : "training"},
                      {"precision", one.in_16_bits ? "16 bits" : "fp32"}};
  for (const auto& [group, factor] : one.factors) json["factors"][group] = shortened(factor);
  json["runs"] = one.runs;
  json["networks"] = one.networks;
  json["left_out_error"] = shortened(one.error);
  json["widening"] = shortened(one.widening);
  json["source"] = one.source;
  return json;
}

}  // namespace

std::string to_json(const Calibration& calibration) {
  OrderedJson head = {{"strata_calibration", 1},
                      {"name", calibration.name},
                      {"machine", calibration.machine},
                      {"framework", calibration.framework},
                      {"versions", calibration.versions},
                      {"host", calibration.host},
                      {"date", calibration.date},
                      {"host_factor", calibration.host_factor},
                      {"host_sigma", calibration.host_sigma},
                      {"gap_s", calibration.gap_s},
                      {"class_sigma", calibration.class_sigma},
                      {"interval_factor", calibration.interval_factor}};
  if (!calibration.base.empty()) head["base"] = calibration.base;
  for (const NetworkFactors& one : calibration.networks)
    head["networks"].push_back(networks_json(one));
  if (const auto& rates = calibration.rates)
    head["rates"] = {{"units", rates->units},
                     {"clock_hz", rates->clock_hz},
                     {"bytes_per_s", rates->bytes_per_s},
                     {"cache_bytes", rates->cache_bytes},
                     {"flop_per_s", rates->flop_per_s}};
  for (const auto& [name, time] : calibration.host_times) {
    head["host_times"][name] = {{"forward_s", shortened(time.forward_s)},
                                {"backward_s", shortened(time.backward_s)},
                                {"autocast_forward_s", shortened(time.autocast_forward_s)},
                                {"autocast_backward_s", shortened(time.autocast_backward_s)},
                                {"per_tensor_s", shortened(time.per_tensor_s)}};
    if (time.inference_s > 0) head["host_times"][name]["inference_s"] = shortened(time.inference_s);
  }
  std::string text = head.dump(1);
  text.resize(text.size() - 2);  // the closing brace; a class is a line
  text += ",\n \"classes\": [\n";
  for (std::size_t i = 0; i < calibration.classes.size(); ++i)
    text += fmt::format("{}{}\n", class_json(calibration.classes[i]).dump(),
                        i + 1 < calibration.classes.size() ? "," : "");
  return printable_json(text + "]}\n");
}

}  // namespace strata
