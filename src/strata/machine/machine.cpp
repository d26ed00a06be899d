// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/machine.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace strata {
namespace {

constexpr std::array<std::string_view, 2> compute_units = {"vector", "matrix"};
constexpr std::array<std::string_view, 4> access_mixes = {"read", "write", "copy", "triad"};
constexpr std::array<std::string_view, 5> link_kinds = {"host-to-device", "device-to-host", "peer",
                                                        "network", "numa"};
constexpr std::array<std::string_view, 2> host_memories = {"pinned", "pageable"};

}  // namespace

std::span<const std::string_view> compute_unit_names() { return compute_units; }
std::span<const std::string_view> access_mix_names() { return access_mixes; }
std::span<const std::string_view> link_kind_names() { return link_kinds; }
std::span<const std::string_view> host_memory_names() { return host_memories; }

std::string_view name_of(ComputeUnit unit) { return compute_units[static_cast<std::size_t>(unit)]; }
std::string_view name_of(AccessMix mix) { return access_mixes[static_cast<std::size_t>(mix)]; }
std::string_view name_of(LinkKind kind) { return link_kinds[static_cast<std::size_t>(kind)]; }
std::string_view name_of(HostMemory memory) {
  return host_memories[static_cast<std::size_t>(memory)];
}

const std::vector<Machine>& shipped_machines() {
  static const std::vector<Machine> machines = [] {
    std::vector<Machine> read;
    for (const EmbeddedFile& file : embedded_machines()) {
      try {
        read.push_back(read_machine(file.text));
      } catch (Error& error) {
        error.add_context(file.name);
        throw;
      }
    }
    std::sort(read.begin(), read.end(),
              [](const Machine& a, const Machine& b) { return a.name < b.name; });
    return read;
  }();
  return machines;
}

const Peak* find_peak(const Machine& machine, DType dtype, ComputeUnit unit) {
  const auto found =
      std::find_if(machine.peaks.begin(), machine.peaks.end(),
                   [&](const Peak& peak) { return peak.dtype == dtype && peak.unit == unit; });
  return found == machine.peaks.end() ? nullptr : &*found;
}

const MemoryLevel* last_on_chip(const Machine& machine) {
  const auto last = std::find_if(machine.memory.rbegin(), machine.memory.rend(),
                                 [](const MemoryLevel& level) { return level.is_on_chip; });
  return last == machine.memory.rend() ? nullptr : &*last;
}

const MemoryLevel* off_chip(const Machine& machine) {
  if (machine.memory.empty() || machine.memory.back().is_on_chip) return nullptr;
  return &machine.memory.back();
}

std::optional<double> bandwidth_for(const MemoryLevel& level, double read_share) {
  const auto share_of = [](AccessMix mix) {
    switch (mix) {
      case AccessMix::read: return 1.0;
      case AccessMix::write: return 0.0;
      case AccessMix::copy: return 0.5;
      case AccessMix::triad: break;
    }
    return 2.0 / 3;
  };
  const auto distance = [&](const MixBandwidth& mix) {
    return std::fabs(share_of(mix.mix) - read_share);
  };
  const auto nearest = std::min_element(
      level.mixes.begin(), level.mixes.end(),
      [&](const MixBandwidth& a, const MixBandwidth& b) { return distance(a) < distance(b); });
  if (nearest != level.mixes.end()) return nearest->bytes_per_s.value;
  if (!level.bandwidth_bytes_per_s) return std::nullopt;
  return level.bandwidth_bytes_per_s->value;
}

std::optional<double> arithmetic_peak(const Machine& machine, const Peak& peak) {
  const std::optional<Sourced>& clock = peak.clock_hz ? peak.clock_hz : machine.clocks.boost_hz;
  if (!machine.units || !peak.flop_per_clock || !clock) return std::nullopt;
  return machine.units->count.value * peak.flop_per_clock->value * clock->value;
}

std::optional<double> balance_of(const Machine& machine, const Peak& peak) {
  const MemoryLevel* outer = off_chip(machine);
  if (outer == nullptr || !outer->bandwidth_bytes_per_s) return std::nullopt;
  return peak.flop_per_s.value / outer->bandwidth_bytes_per_s->value;
}

Machine::Machine() = default;
Machine::Machine(const Machine& other) = default;
Machine::Machine(Machine&& other) noexcept = default;
Machine& Machine::operator=(const Machine& other) = default;
Machine& Machine::operator=(Machine&& other) noexcept = default;
Machine::~Machine() = default;
bool Machine::operator==(const Machine& other) const = default;

}  // namespace strata
