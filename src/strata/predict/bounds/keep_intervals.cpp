// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/keep_intervals.hpp"

#include "strata/base/checked.hpp"

#include <algorithm>
#include <cstddef>

namespace strata {

namespace {

/// The uses of every value, in the order of steps: those of v are [first[v], first[v + 1]).
struct UsesByValue {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> uses;
  std::vector<StepId> steps;  ///< of every use, indexed like Program::uses
};

UsesByValue uses_by_value(const Program& program) {
  UsesByValue result;
  result.first.resize(program.values.size() + 1);
  for (const Use& use : program.uses) ++result.first[use.value + 1];
  for (std::size_t value = 0; value < program.values.size(); ++value)
    result.first[value + 1] += result.first[value];
  std::vector<std::uint32_t> place(result.first.begin(), result.first.end() - 1);
  result.uses.resize(program.uses.size());
  for (std::uint32_t use = 0; use < program.uses.size(); ++use)
    result.uses[place[program.uses[use].value]++] = use;
  result.steps.resize(program.uses.size());
  for (StepId step = 0; step < program.steps.size(); ++step)
    for (const Use& use : program.uses_of(step))
      result.steps[static_cast<std::size_t>(&use - program.uses.data())] = step;
  return result;
}

}  // namespace

KeepIntervals keep_intervals(const Program& program) {
  const UsesByValue by_value = uses_by_value(program);
  KeepIntervals result;
  Count compulsory = 0;
  Count avoidable = 0;
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    if (value.bytes == 0) continue;
    std::uint32_t version = no_version;
    for (std::uint32_t at = by_value.first[id]; at < by_value.first[id + 1]; ++at) {
      const std::uint32_t index = by_value.uses[at];
      const Use& use = program.uses[index];
      const StepId step = by_value.steps[index];
      if (use.reads && at == by_value.first[id]) {
        result.first_reads.push_back({index, step, value.bytes});
        compulsory += value.bytes;
      } else if (use.reads) {
        const std::uint32_t before = by_value.uses[at - 1];
        if (version != no_version) ++result.versions[version].intervals;
        result.intervals.push_back(
            {id, before, index, by_value.steps[before], step, version, value.bytes});
        avoidable += value.bytes;
      }
      if (use.writes) {
        version = static_cast<std::uint32_t>(result.versions.size());
        result.versions.push_back(
            {.write_use = index,
             .made_at = step,
             .first_interval = static_cast<std::uint32_t>(result.intervals.size()),
             .bytes = value.bytes});
      }
    }
    if (version != no_version) result.versions[version].is_result = value.is_result;
  }
  for (const ValueVersion& version : result.versions) {
    if (version.is_result)
      compulsory += version.bytes;
    else if (version.intervals > 0)
      avoidable += version.bytes;
  }
  result.compulsory_bytes = compulsory.value();
  result.avoidable_bytes = avoidable.value();
  return result;
}

std::vector<std::uint32_t> charged_intervals(const KeepIntervals& keep, std::size_t steps) {
  // crowd[t]: the bytes of all intervals over the gaps before step t, summed. A measure only, so a
  // double serves.
  std::vector<double> crowd(steps + 1);
  for (const KeepInterval& interval : keep.intervals) {
    crowd[interval.begin + 1] += static_cast<double>(interval.bytes);
    crowd[interval.end + 1] -= static_cast<double>(interval.bytes);
  }
  for (int sum = 0; sum < 2; ++sum)
    for (std::size_t t = 0; t < steps; ++t) crowd[t + 1] += crowd[t];

  std::vector<std::uint32_t> charged;
  charged.reserve(keep.versions.size());
  for (const ValueVersion& version : keep.versions) {
    charged.push_back(no_version);
    double most = -1;
    for (std::uint32_t k = 0; k < version.intervals; ++k) {
      const KeepInterval& interval = keep.intervals[version.first_interval + k];
      const double across = crowd[interval.end] - crowd[interval.begin];
      if (across > most) charged.back() = version.first_interval + k;
      most = std::max(most, across);
    }
  }
  return charged;
}

}  // namespace strata
