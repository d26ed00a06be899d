// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/check_calibration.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/predict/expected/kernel_forms.hpp"

#include <fmt/ranges.h>

namespace strata {
namespace {

void check_calibrated_class(const CalibratedClass& one, const std::string& place) {
  const auto kernel_class = operation_class_named(one.kernel_class);
  if (!kernel_class) {
    std::vector<std::string> names;
    for (const std::string_view name : operation_class_names()) names.emplace_back(name);
    fail(ErrorKind::input, "{}.class: expected a class of kernels, got '{}'{}", place,
         one.kernel_class, did_you_mean(one.kernel_class, names));
  }
  if (!dtype_named(one.precision))
    fail(ErrorKind::input, "{}.precision: expected a data type, got '{}'", place, one.precision);
  const KernelForm form = form_of(*kernel_class);
  const std::size_t coefficients = first_coefficients(form).size();
  if (!one.coefficients.empty() && one.coefficients.size() != coefficients)
    fail(ErrorKind::input, "{}.coefficients: expected {} numbers for {}, got {}", place,
         coefficients, one.kernel_class, one.coefficients.size());
  const auto dims = dims_of(form);
  for (std::size_t i = 0; i < one.samples.size(); ++i) {
    if (one.samples[i].dims.size() != dims.size())
      fail(ErrorKind::input, "{}.samples[{}]: expected {} numbers ({}, then the times), got {}",
           place, i, dims.size() + 3, fmt::join(dims, ", "), one.samples[i].dims.size() + 3);
  }
}

}  // namespace

void check_calibration(const Calibration& calibration) {
  for (std::size_t i = 0; i < calibration.classes.size(); ++i)
    check_calibrated_class(calibration.classes[i], fmt::format("calibration.classes[{}]", i));
}

}  // namespace strata
