// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/check_machine.hpp"

#include "strata/base/text.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

using Problem = std::optional<std::string>;

constexpr double scatter = 1.1;

double tolerance_of(const Machine& machine) { return machine.measured ? scatter : 1.0; }

Problem problem_of_peaks(const Machine& machine) {
  for (std::size_t i = 0; i < machine.peaks.size(); ++i) {
    const Peak& peak = machine.peaks[i];
    for (std::size_t k = 0; k < i; ++k) {
      const Peak& other = machine.peaks[k];
      if (other.dtype != peak.dtype) continue;
      if (other.unit == peak.unit) {
        return fmt::format(
            "machine.peaks[{}]: expected one rate for {} {}, but machine.peaks[{}] has one already",
            i, name_of(peak.dtype), name_of(peak.unit), k);
      }
      const bool is_matrix = peak.unit == ComputeUnit::matrix;
      const double matrix = (is_matrix ? peak : other).flop_per_s.value;
      const double vector = (is_matrix ? other : peak).flop_per_s.value;
      if (matrix * tolerance_of(machine) >= vector) continue;
      return fmt::format(
          "machine.peaks[{}].flop_per_s: expected matrix units to be no slower in {} than the {} "
          "of the lanes, got {}",
          is_matrix ? i : k, name_of(peak.dtype), format_flop_per_s(vector, 4),
          format_flop_per_s(matrix, 4));
    }
  }
  return std::nullopt;
}

double bytes_of_one(const MemoryLevel& level) {
  return level.capacity_bytes.value / static_cast<double>(level.instances);
}

Problem problem_of_neighbours(const Machine& machine, std::size_t index) {
  const MemoryLevel& inner = machine.memory[index - 1];
  const MemoryLevel& outer = machine.memory[index];
  if (outer.is_on_chip && !inner.is_on_chip) {
    return fmt::format(
        "machine.memory[{}].on_chip: expected levels from the innermost to the outermost, but {} "
        "is on chip and comes after {}, which is not",
        index, outer.name, inner.name);
  }
  if (bytes_of_one(outer) <= bytes_of_one(inner)) {
    return fmt::format(
        "machine.memory[{}].capacity_bytes: expected one {} to hold more than one {} inside it "
        "({}), got {}",
        index, outer.name, inner.name, format_capacity(bytes_of_one(inner)),
        format_capacity(bytes_of_one(outer)));
  }
  return std::nullopt;
}

Problem problem_of_bandwidths(const Machine& machine) {
  const MemoryLevel* inner = nullptr;  // the last level that says its bandwidth
  for (std::size_t i = 0; i < machine.memory.size(); ++i) {
    const MemoryLevel& level = machine.memory[i];
    if (!level.bandwidth_bytes_per_s) continue;
    const double rate = level.bandwidth_bytes_per_s->value;
    if (inner != nullptr && rate > inner->bandwidth_bytes_per_s->value * tolerance_of(machine)) {
      return fmt::format(
          "machine.memory[{}].bandwidth_bytes_per_s: expected {} to be no faster than {} inside it "
          "({}), got {}",
          i, level.name, inner->name, format_bytes_per_s(inner->bandwidth_bytes_per_s->value, 4),
          format_bytes_per_s(rate, 4));
    }
    inner = &level;
  }
  return std::nullopt;
}

Problem problem_of_mixes(const MemoryLevel& level, std::size_t index) {
  constexpr double rounding = 1 + 1e-9;
  for (std::size_t i = 0; i < level.mixes.size(); ++i) {
    const MixBandwidth& mix = level.mixes[i];
    const std::string place = fmt::format("machine.memory[{}].mixes[{}]", index, i);
    for (std::size_t k = 0; k < i; ++k) {
      if (level.mixes[k].mix == mix.mix)
        return fmt::format("{}: expected one bandwidth for {}, got a second", place,
                           name_of(mix.mix));
    }
    if (!level.bandwidth_bytes_per_s) {
      return fmt::format("{}: expected bandwidth_bytes_per_s of {}, the best of its mixes", place,
                         level.name);
    }
    const double best = level.bandwidth_bytes_per_s->value;
    if (mix.bytes_per_s.value > best * rounding) {
      return fmt::format("{}.bytes_per_s: expected at most the bandwidth of {} ({}), got {}", place,
                         level.name, format_bytes_per_s(best, 4),
                         format_bytes_per_s(mix.bytes_per_s.value, 4));
    }
  }
  return std::nullopt;
}

Problem problem_of_memory(const Machine& machine) {
  for (std::size_t i = 0; i < machine.memory.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (lower_case(machine.memory[k].name) == lower_case(machine.memory[i].name)) {
        return fmt::format("machine.memory[{}].name: expected a name of its own, got '{}' again", i,
                           machine.memory[i].name);
      }
    }
    if (auto problem = i == 0 ? std::nullopt : problem_of_neighbours(machine, i)) return problem;
    if (auto problem = problem_of_mixes(machine.memory[i], i)) return problem;
  }
  return problem_of_bandwidths(machine);
}

Problem problem_of_points(const std::vector<SizeRate>& points, const std::string& place) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i].bytes > points[i - 1].bytes) continue;
    return fmt::format("{}[{}]: expected sizes that rise, got {} after {}", place, i,
                       points[i].bytes, points[i - 1].bytes);
  }
  return std::nullopt;
}

Problem problem_of_links(const Machine& machine) {
  for (std::size_t i = 0; i < machine.links.size(); ++i) {
    const Link& link = machine.links[i];
    for (std::size_t k = 0; k < i; ++k) {
      const Link& other = machine.links[k];
      if (other.name != link.name || other.kind != link.kind ||
          other.host_memory != link.host_memory)
        continue;
      return fmt::format("machine.links[{}]: expected one link '{}' {}, got a second", i, link.name,
                         name_of(link.kind));
    }
    if (auto problem = problem_of_points(link.points, fmt::format("machine.links[{}].points", i)))
      return problem;
  }
  return std::nullopt;
}

Problem problem_of_clocks(const Clocks& clocks) {
  if (!clocks.base_hz || !clocks.boost_hz) return std::nullopt;
  if (clocks.base_hz->value <= clocks.boost_hz->value) return std::nullopt;
  return fmt::format("machine.clocks.boost_hz: expected at least base_hz ({}), got {}",
                     clocks.base_hz->value, clocks.boost_hz->value);
}

}  // namespace

std::optional<std::string> contradiction_in(const Machine& machine) {
  if (auto problem = problem_of_peaks(machine)) return problem;
  if (auto problem = problem_of_memory(machine)) return problem;
  if (auto problem = problem_of_links(machine)) return problem;
  for (std::size_t i = 0; i < machine.curves.size(); ++i) {
    if (auto problem = problem_of_points(machine.curves[i].points,
                                         fmt::format("machine.curves[{}].points", i)))
      return problem;
  }
  return problem_of_clocks(machine.clocks);
}

}  // namespace strata
