// SPDX-License-Identifier: Apache-2.0
#include "strata/training/split.hpp"

#include "strata/base/error.hpp"
#include "strata/training/step_limit.hpp"

#include <algorithm>

namespace strata {
namespace {

constexpr auto most_parts = static_cast<std::uint64_t>(most_uses);

}  // namespace

Program split_values(const Program& program, std::int64_t granularity_bytes) {
  if (granularity_bytes < 1)
    fail(ErrorKind::usage, "a granularity of {} bytes: at least 1 is needed", granularity_bytes);
  const auto parts_of = [&](const Value& value) {
    return static_cast<std::uint64_t>((value.bytes - 1) / granularity_bytes) + 1;
  };
  std::uint64_t value_count = 0, use_count = 0;
  for (const Value& value : program.values) value_count += parts_of(value);
  for (const Use& use : program.uses) use_count += parts_of(program.values[use.value]);
  if (value_count > most_parts || use_count > most_parts) {
    fail(ErrorKind::usage,
         "a granularity of {} bytes cuts the values into {} parts that steps use {} times, and at "
         "most {} are planned, which take 2 GB: ask for larger parts (--granularity)",
         granularity_bytes, value_count, use_count, most_parts);
  }

  Program result;
  result.bound = program.bound;
  result.samples = program.samples;
  result.roots = program.roots;
  result.values.reserve(value_count);
  result.uses.reserve(use_count);
  result.steps.reserve(program.steps.size());
  std::vector<ValueId> first;
  first.reserve(program.values.size());
  for (const Value& value : program.values) {
    first.push_back(static_cast<ValueId>(result.values.size()));
    const std::uint64_t parts = parts_of(value);
    Value part = value;
    for (std::uint64_t i = 0; i < parts; ++i) {
      const std::int64_t begin = static_cast<std::int64_t>(i) * granularity_bytes;
      part.bytes = std::min(granularity_bytes, value.bytes - begin);
      part.row_bytes = std::clamp<std::int64_t>(value.row_bytes - begin, 0, part.bytes);
      result.values.push_back(part);
    }
  }
  for (StepId step = 0; step < program.steps.size(); ++step) {
    result.steps.push_back(program.steps[step]);
    result.steps.back().first_use = static_cast<std::uint32_t>(result.uses.size());
    for (Use use : program.uses_of(step)) {
      const std::uint64_t parts = parts_of(program.values[use.value]);
      use.value = first[use.value];
      for (std::uint64_t i = 0; i < parts; ++i, ++use.value) result.uses.push_back(use);
    }
    for (SharedOperand shared : program.shared_operands_of(step)) {
      if (shared.value == no_value) {
        result.shared_operands.push_back(shared);
        continue;
      }
      const std::uint64_t parts = parts_of(program.values[shared.value]);
      shared.value = first[shared.value];
      for (std::uint64_t i = 0; i < parts; ++i, ++shared.value)
        result.shared_operands.push_back(shared);
    }
  }
  for (const ValueId gradient : program.gradients)
    result.gradients.push_back(gradient == no_value ? no_value : first[gradient]);
  return result;
}

}  // namespace strata
