// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/stages.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <numeric>

namespace strata {
namespace {

/// Fills parts up to `most`; returns the ends. Every part gets at least one item, and enough are
/// left for those that follow.
std::vector<std::size_t> cuts_within(const std::vector<double>& times, std::size_t parts,
                                     double most) {
  std::vector<std::size_t> ends;
  std::size_t at = 0;
  while (at < times.size() && ends.size() < parts) {
    const std::size_t left = parts - ends.size() - 1;
    double sum = times[at++];
    while (at < times.size() && times.size() - at > left && sum + times[at] <= most)
      sum += times[at++];
    ends.push_back(at);
  }
  return ends;
}

/// Equal numbers of the units that repeat; what comes before and after them goes to the first and
/// the last chunk, as frameworks do it.
std::vector<std::size_t> equal_cuts(std::size_t units, std::size_t parts) {
  const std::size_t blocks = units > 2 ? units - 2 : units;
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= parts; ++i)
    ends.push_back(i == parts ? units : 1 + blocks * i / parts);
  return ends;
}

void add(LayerChunk& chunk, const UnitCost& unit) {
  chunk.forward = chunk.forward.then(unit.forward);
  chunk.backward = unit.backward.then(chunk.backward);  // the last unit is first
  chunk.weight_gradients_s += unit.weight_gradients_s;
  chunk.recompute_s += unit.recompute_s;
  chunk.forward_traffic += unit.forward_traffic;
  chunk.backward_traffic += unit.backward_traffic;
  chunk.parameters += unit.parameters;
  chunk.tensors += unit.tensors;
  chunk.weight_bytes += unit.weight_bytes;
  chunk.gradient_bytes += unit.gradient_bytes;
  chunk.state_bytes += unit.state_bytes;
  chunk.experts += unit.experts;
  chunk.saved_bytes += unit.saved_bytes;
  chunk.boundary_bytes = unit.boundary_bytes;
}

}  // namespace

std::vector<std::size_t> balanced_cuts(const std::vector<double>& times, std::size_t parts) {
  double low = *std::max_element(times.begin(), times.end());
  double high = std::accumulate(times.begin(), times.end(), 0.0);
  constexpr int halvings = 40;
  for (int i = 0; i < halvings && high > low; ++i) {
    const double middle = (low + high) / 2;
    const auto ends = cuts_within(times, parts, middle);
    (ends.back() == times.size() ? high : low) = middle;
  }
  return cuts_within(times, parts, high);
}

std::vector<LayerChunk> make_chunks(const RankCosts& costs, const Strategy& strategy) {
  const auto parts = static_cast<std::size_t>(strategy.pipeline * strategy.chunks);
  if (costs.units.size() < parts)
    fail(ErrorKind::unsupported,
         "pp x v of more than {}: the network can be cut at {} places, where one tensor goes on",
         costs.units.size(), costs.units.size() - 1);
  std::vector<double> times;
  for (const UnitCost& unit : costs.units)
    times.push_back(unit.forward.device_s + unit.backward.device_s);
  const auto ends =
      strategy.balances_time ? balanced_cuts(times, parts) : equal_cuts(costs.units.size(), parts);
  std::vector<LayerChunk> chunks;
  std::size_t first = 0;
  for (const std::size_t end : ends) {
    LayerChunk chunk;
    chunk.first = first;
    chunk.end = end;
    for (std::size_t i = first; i < end; ++i) add(chunk, costs.units[i]);
    chunks.push_back(chunk);
    first = end;
  }
  return chunks;
}

}  // namespace strata
