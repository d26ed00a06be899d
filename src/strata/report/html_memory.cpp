// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/footprint.hpp"
#include "strata/report/html_page.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace strata {
namespace {

using MemoryJson = nlohmann::ordered_json;

constexpr std::size_t most_at_peak = 50;

/// What people ask for: what stays, what forward keeps, what backward makes.
constexpr std::array<std::string_view, 5> memory_groups = {
    "weights", "optimizer states", "inputs and constants", "activations", "gradients"};
using GroupBytes = std::array<std::int64_t, memory_groups.size()>;

std::size_t group_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::weight: return 0;
    case ValueKind::state: return 1;
    case ValueKind::input:
    case ValueKind::constant: return 2;
    case ValueKind::feature:
    case ValueKind::saved: return 3;
    case ValueKind::gradient:
    case ValueKind::weight_gradient: return 4;
  }
  return 3;
}

std::int64_t sum_of(const GroupBytes& bytes) {
  std::int64_t sum = 0;
  for (const std::int64_t part : bytes) sum = checked_add(sum, part);
  return sum;
}

/// Bytes of each group while each step runs.
std::vector<GroupBytes> bytes_by_step(const Program& program, const std::vector<ValueLife>& lives) {
  std::vector<GroupBytes> change(program.steps.size() + 1, GroupBytes{});
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const std::size_t group = group_of(program.values[id].kind);
    std::int64_t& begin = change[lives[id].from][group];
    begin = checked_add(begin, program.values[id].bytes);
    change[lives[id].to][group] -= program.values[id].bytes;
  }
  for (std::size_t step = 1; step < change.size(); ++step) {
    for (std::size_t group = 0; group < memory_groups.size(); ++group)
      change[step][group] = checked_add(change[step][group], change[step - 1][group]);
  }
  change.pop_back();
  return change;
}

/// Of each run of neighbours the step at which most lives; all steps where they are few.
std::vector<StepId> shown_steps(const std::vector<GroupBytes>& bytes, std::size_t most) {
  const std::size_t run = (bytes.size() + most - 1) / most;
  std::vector<StepId> steps;
  for (std::size_t first = 0; first < bytes.size(); first += run) {
    std::size_t fullest = first;
    for (std::size_t step = first; step < std::min(bytes.size(), first + run); ++step) {
      if (sum_of(bytes[step]) > sum_of(bytes[fullest])) fullest = step;
    }
    steps.push_back(static_cast<StepId>(fullest));
  }
  return steps;
}

/// The largest values that live at a step, and how many live in all.
MemoryJson values_at(const Program& program, const std::vector<ValueLife>& lives, StepId step) {
  std::vector<ValueId> alive;
  for (ValueId id = 0; id < program.values.size(); ++id) {
    if (lives[id].from <= step && step < lives[id].to) alive.push_back(id);
  }
  std::stable_sort(alive.begin(), alive.end(), [&](ValueId a, ValueId b) {
    return program.values[a].bytes > program.values[b].bytes;
  });
  MemoryJson largest = MemoryJson::array();
  for (std::size_t i = 0; i < std::min(alive.size(), most_at_peak); ++i) {
    const Value& value = program.values[alive[i]];
    largest.push_back({{"value", value_name(program, alive[i])},
                       {"group", memory_groups[group_of(value.kind)]},
                       {"bytes", value.bytes},
                       {"from", name_of(program, static_cast<StepId>(lives[alive[i]].from))},
                       {"to", name_of(program, static_cast<StepId>(lives[alive[i]].to - 1))}});
  }
  return {{"step", name_of(program, step)}, {"values", alive.size()}, {"largest", largest}};
}

}  // namespace

std::string memory_json(const Program& program, const Prediction& prediction,
                        std::size_t most_moments) {
  STRATA_CHECK(prediction.steps.size() == program.steps.size() && most_moments > 0,
               "memory over time needs the result of every step");
  const std::vector<ValueLife> lives = value_lives(program);
  const std::vector<GroupBytes> bytes = bytes_by_step(program, lives);
  const std::vector<StepId> steps = shown_steps(bytes, most_moments);
  MemoryJson times = MemoryJson::array();
  MemoryJson groups = MemoryJson::array();
  for (const StepId step : steps) times.push_back(prediction.steps[step].start_s);
  for (std::size_t group = 0; group < memory_groups.size(); ++group) {
    MemoryJson list = MemoryJson::array();
    for (const StepId step : steps) list.push_back(bytes[step][group]);
    groups.push_back({{"name", memory_groups[group]}, {"bytes", std::move(list)}});
  }
  const auto fullest = std::max_element(
      bytes.begin(), bytes.end(),
      [](const GroupBytes& a, const GroupBytes& b) { return sum_of(a) < sum_of(b); });
  MemoryJson peak;
  if (fullest != bytes.end()) {
    const auto step = static_cast<StepId>(fullest - bytes.begin());
    peak = values_at(program, lives, step);
    peak["at_s"] = prediction.steps[step].start_s;
    peak["bytes"] = sum_of(*fullest);
  }
  const MemoryJson json = {
      {"end_s", prediction.time_s}, {"at_s", times}, {"groups", groups}, {"peak", peak}};
  return json.dump(-1, ' ', false, MemoryJson::error_handler_t::replace);
}

}  // namespace strata
