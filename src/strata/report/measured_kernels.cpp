// SPDX-License-Identifier: Apache-2.0
#include "strata/report/measured_kernels.hpp"

#include "strata/base/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

using KernelsJson = nlohmann::json;
constexpr double most_kernel_seconds = 1e9;

std::string text_in(const KernelsJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

KernelsJson object_in(const KernelsJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : KernelsJson::object();
}

double kernel_seconds(const KernelsJson& kernel, const char* key, std::size_t number) {
  const auto found = kernel.find(key);
  const double value =
      found != kernel.end() && found->is_number() ? found->get<double>() : std::nan("");
  if (!(value >= 0 && value <= most_kernel_seconds))
    fail(ErrorKind::input, "kernels[{}]: '{}' is no time in seconds", number, key);
  return value;
}

}  // namespace

double MeasuredKernels::end_s() const {
  double end = 0;
  for (const MeasuredKernel& kernel : kernels) end = std::max(end, kernel.begin_s + kernel.time_s);
  return end;
}

MeasuredKernels measured_kernels_in(std::string_view document) {
  const KernelsJson json = KernelsJson::parse(document, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) fail(ErrorKind::input, "not a JSON document");
  MeasuredKernels result;
  const KernelsJson model = object_in(json, "model");
  result.network = text_in(model, "name");
  result.dtype = text_in(model, "dtype");
  result.is_inference = text_in(model, "mode") == "inference";
  result.optimizer = text_in(object_in(json, "options"), "optimizer");
  const KernelsJson dims = object_in(model, "dims");
  for (auto dim = dims.begin(); dim != dims.end(); ++dim)
    if (dim->is_number_integer()) result.dims.push_back({dim.key(), dim->get<std::int64_t>()});
  const auto kernels = json.find("kernels");
  if (kernels == json.end() || !kernels->is_array()) return result;
  for (const KernelsJson& kernel : *kernels) {
    if (!kernel.is_object())
      fail(ErrorKind::input, "kernels[{}]: expected an object", result.kernels.size());
    const std::size_t number = result.kernels.size();
    result.kernels.push_back({text_in(kernel, "layer"), text_in(kernel, "pass"),
                              kernel_seconds(kernel, "begin_s", number),
                              kernel_seconds(kernel, "time_s", number), text_in(kernel, "name")});
  }
  return result;
}

}  // namespace strata
