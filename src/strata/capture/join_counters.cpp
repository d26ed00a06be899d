// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/join_counters.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace strata {
namespace {

/// Kernels by name, each in the order of launches: the number of a launch grows with time.
std::unordered_map<std::string_view, std::vector<std::size_t>> by_name(const Recording& recording) {
  std::vector<std::size_t> order(recording.kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return recording.kernels[a].correlation < recording.kernels[b].correlation;
  });
  std::unordered_map<std::string_view, std::vector<std::size_t>> kernels;
  for (const std::size_t kernel : order)
    kernels[recording.names.text(recording.kernels[kernel].name)].push_back(kernel);
  return kernels;
}

}  // namespace

CounterJoin join_counters(Recording& timed, const Recording& counted) {
  CounterJoin join;
  const std::size_t before = timed.counters.names.size();
  const std::size_t added = counted.counters.names.size();
  const std::size_t columns = before + added;
  for (std::size_t i = 0; i < added; ++i) {
    timed.counters.names.push_back(
        timed.names.id_of(counted.names.text(counted.counters.names[i])));
    timed.counters.units.push_back(
        timed.names.id_of(counted.names.text(counted.counters.units[i])));
  }
  std::vector<double> values(timed.kernels.size() * columns,
                             std::numeric_limits<double>::quiet_NaN());
  for (std::size_t kernel = 0; kernel < timed.kernels.size(); ++kernel) {
    for (std::size_t i = 0; i < before; ++i)
      values[kernel * columns + i] = timed.counters.values[kernel * before + i];
  }
  const auto theirs = by_name(counted);
  std::int64_t used = 0;
  for (const auto& [name, kernels] : by_name(timed)) {
    const auto same = theirs.find(name);
    // A kernel of a graph cannot be counted, and must not take the place of one that was.
    std::size_t next = 0;
    for (const std::size_t kernel : kernels) {
      if (timed.kernels[kernel].graph_node != 0 || same == theirs.end() ||
          next >= same->second.size()) {
        ++join.without;
        continue;
      }
      const std::size_t source = same->second[next++];
      for (std::size_t i = 0; i < added; ++i)
        values[kernel * columns + before + i] = counted.counters.values[source * added + i];
      ++join.joined;
      ++used;
    }
  }
  join.unused = static_cast<std::int64_t>(counted.kernels.size()) - used;
  timed.counters.values = std::move(values);
  return join;
}

}  // namespace strata
