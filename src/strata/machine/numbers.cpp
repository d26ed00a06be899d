// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/numbers.hpp"

#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace strata {
namespace {

/// Calls the visitor for what is there.
class Walk {
 public:
  explicit Walk(const VisitNumber& visit) : visit_(visit) {}

  void number(const std::string& path, Quantity quantity, Sourced& number) const {
    visit_(path, quantity, number);
  }
  void number(const std::string& path, Quantity quantity, std::optional<Sourced>& number) const {
    if (number) visit_(path, quantity, *number);
  }

  void clocks(Clocks& clocks) const {
    number("machine.clocks.base_hz", Quantity::hertz, clocks.base_hz);
    number("machine.clocks.boost_hz", Quantity::hertz, clocks.boost_hz);
    number("machine.clocks.seen_hz", Quantity::hertz, clocks.seen_hz);
    number("machine.clocks.memory_hz", Quantity::hertz, clocks.memory_hz);
  }

  void peak(Peak& peak) const {
    const std::string place =
        fmt::format("machine.peaks.{}.{}", name_of(peak.dtype), name_of(peak.unit));
    number(place + ".flop_per_s", Quantity::flop_per_s, peak.flop_per_s);
    number(place + ".flop_per_clock", Quantity::flop, peak.flop_per_clock);
    number(place + ".clock_hz", Quantity::hertz, peak.clock_hz);
    number(place + ".lasting", Quantity::count, peak.lasting);
  }

  void level(MemoryLevel& level) const {
    const std::string place = fmt::format("machine.memory.{}", path_part(level.name));
    number(place + ".capacity_bytes", Quantity::bytes, level.capacity_bytes);
    number(place + ".bandwidth_bytes_per_s", Quantity::bytes_per_s, level.bandwidth_bytes_per_s);
    number(place + ".lasting", Quantity::count, level.lasting);
    for (MixBandwidth& mix : level.mixes) {
      number(fmt::format("{}.mixes.{}.bytes_per_s", place, name_of(mix.mix)), Quantity::bytes_per_s,
             mix.bytes_per_s);
    }
  }

  void link(Link& link) const {
    std::string place =
        fmt::format("machine.links.{}.{}", path_part(link.name), name_of(link.kind));
    if (link.host_memory) place += fmt::format(".{}", name_of(*link.host_memory));
    number(place + ".bandwidth_bytes_per_s", Quantity::bytes_per_s, link.bandwidth_bytes_per_s);
    number(place + ".latency_s", Quantity::seconds, link.latency_s);
  }

 private:
  const VisitNumber& visit_;
};

}  // namespace

std::string path_part(std::string_view name) {
  std::string text = lower_case(name);
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

void visit_numbers(Machine& machine, const VisitNumber& visit) {
  const Walk walk(visit);
  if (machine.units) walk.number("machine.units.count", Quantity::count, machine.units->count);
  walk.clocks(machine.clocks);
  walk.number("machine.power_w", Quantity::watt, machine.power_w);
  if (machine.price)
    walk.number("machine.price_per_hour", Quantity::count, machine.price->per_hour);
  for (Peak& peak : machine.peaks) walk.peak(peak);
  for (MemoryLevel& level : machine.memory) walk.level(level);
  walk.number("machine.launch_latency_s", Quantity::seconds, machine.launch_latency_s);
  walk.number("machine.graph_node_latency_s", Quantity::seconds, machine.graph_node_latency_s);
  for (LaunchVariant& variant : machine.launch_variants) {
    walk.number(fmt::format("machine.launch_variants.{}.latency_s", path_part(variant.name)),
                Quantity::seconds, variant.latency_s);
  }
  for (Link& link : machine.links) walk.link(link);
}

std::vector<MachineNumber> numbers_of(const Machine& machine) {
  Machine copy = machine;  // so that there is one walk, which may change what it meets
  std::vector<MachineNumber> numbers;
  visit_numbers(copy, [&](const std::string& path, Quantity quantity, Sourced& number) {
    numbers.push_back({path, quantity, std::move(number)});
  });
  return numbers;
}

std::vector<NumberPair> side_by_side(const Machine& first, const Machine& second) {
  std::vector<NumberPair> pairs;
  std::map<std::string, std::size_t> places;
  for (const MachineNumber& entry : numbers_of(first)) {
    places.emplace(entry.path, pairs.size());
    pairs.push_back({entry.path, entry.quantity, entry.number.value, std::nullopt});
  }
  for (const MachineNumber& entry : numbers_of(second)) {
    const auto found = places.find(entry.path);
    if (found == places.end()) {
      pairs.push_back({entry.path, entry.quantity, std::nullopt, entry.number.value});
    } else {
      pairs[found->second].second = entry.number.value;
    }
  }
  return pairs;
}

}  // namespace strata
