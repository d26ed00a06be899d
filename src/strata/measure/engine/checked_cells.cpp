// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/checked_cells.hpp"

#include "strata/measure/engine/operator_checks.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

constexpr DType cpu_types[] = {DType::fp64, DType::fp32};
// Of tests/device/training_test.cpp, whose cases are all operators (TrainingCases).
constexpr DType gpu_types[] = {DType::fp64, DType::fp32, DType::tf32, DType::bf16, DType::fp16};
constexpr std::string_view gpu_test = "Training/OnBoth.every_operator_agrees";

void add_pass(std::vector<CheckedCell>& cells, const OperatorCheck& check, std::string_view pass) {
  for (const DType dtype : cpu_types)
    cells.push_back({check.name, pass, "cpu", dtype, std::string(check.cpu_test)});
  for (const DType dtype : gpu_types) {
    cells.push_back(
        {check.name, pass, "cuda", dtype, fmt::format("{}/{}", gpu_test, name_of(dtype))});
  }
}

}  // namespace

std::vector<CheckedCell> checked_cells() {
  std::vector<CheckedCell> cells;
  for (const OperatorCheck& check : operator_checks()) {
    add_pass(cells, check, "forward");
    if (check.has_gradient) add_pass(cells, check, "backward");
  }
  return cells;
}

}  // namespace strata
