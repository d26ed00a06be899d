// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/hold_network.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/capacity.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace strata {

namespace {

struct HoldArc {
  FlowNode from = 0;
  FlowNode to = 0;
  std::int64_t worth = 0;
  std::int64_t bytes = 0;
};

/// Arcs between the same nodes of the same worth become one.
void add_merged(FlowNetwork& network, std::vector<HoldArc>& arcs) {
  const auto key = [](const HoldArc& arc) { return std::tuple(arc.from, arc.to, arc.worth); };
  std::sort(arcs.begin(), arcs.end(),
            [&](const HoldArc& a, const HoldArc& b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < arcs.size();) {
    std::int64_t bytes = 0;
    const std::size_t begin = i;
    for (; i < arcs.size() && key(arcs[i]) == key(arcs[begin]); ++i) bytes += arcs[i].bytes;
    network.add_arc(arcs[begin].from, arcs[begin].to, bytes, -arcs[begin].worth);
  }
}

/// A use that ends one hold and begins the next: the value takes room once while the step runs.
struct Passage {
  std::uint32_t use = 0;
  StepId step = 0;
  std::int64_t bytes = 0;
  std::int64_t least = 0;  ///< that the step holds of it in any case
};

std::vector<Passage> passages_of(std::span<const Hold> holds) {
  std::vector<std::uint32_t> begins;
  for (const Hold& hold : holds)
    if (hold.first_use != not_a_use) begins.push_back(hold.first_use);
  std::sort(begins.begin(), begins.end());
  std::vector<Passage> passages;
  for (const Hold& hold : holds)
    if (hold.last_use != not_a_use &&
        std::binary_search(begins.begin(), begins.end(), hold.last_use))
      passages.push_back({hold.last_use, hold.end, hold.bytes, 0});
  // Uses are in the order of steps, so this is the order of time.
  std::sort(passages.begin(), passages.end(),
            [](const Passage& a, const Passage& b) { return a.use < b.use; });
  return passages;
}

/// Nodes in the order of time: the boundary before each step, then the two ends of its passages.
struct Places {
  std::vector<FlowNode> boundaries;  ///< before step s; one more after the last
  std::vector<Passage> passages;
  std::vector<FlowNode> entries;  ///< of passages; the exit is the next node
  FlowNode nodes = 0;

  std::size_t passage_of(std::uint32_t use) const {
    const auto found =
        std::lower_bound(passages.begin(), passages.end(), use,
                         [](const Passage& passage, std::uint32_t u) { return passage.use < u; });
    return found != passages.end() && found->use == use
               ? static_cast<std::size_t>(found - passages.begin())
               : passages.size();
  }
};

Places places_of(std::size_t steps, std::vector<Passage> passages) {
  Places places;
  places.passages = std::move(passages);
  std::size_t next = 0;
  for (StepId step = 0; step < steps; ++step) {
    places.boundaries.push_back(places.nodes++);
    for (; next < places.passages.size() && places.passages[next].step == step; ++next) {
      places.entries.push_back(places.nodes);
      places.nodes += 2;
    }
  }
  places.boundaries.push_back(places.nodes++);
  return places;
}

FlowNode begin_of(const Places& places, const Hold& hold, bool is_whole) {
  if (hold.first_use == not_a_use || is_whole) return places.boundaries[hold.begin + 1];
  const std::size_t passage = places.passage_of(hold.first_use);
  return passage < places.passages.size() ? places.entries[passage] + 1
                                          : places.boundaries[hold.begin];
}

FlowNode end_of(const Places& places, const Hold& hold, bool is_whole) {
  if (hold.last_use == not_a_use || is_whole) return places.boundaries[hold.end];
  const std::size_t passage = places.passage_of(hold.last_use);
  return passage < places.passages.size() ? places.entries[passage]
                                          : places.boundaries[hold.end + 1];
}

void add_passages(FlowNetwork& network, const Places& places) {
  for (std::size_t i = 0; i < places.passages.size(); ++i) {
    const Passage& passage = places.passages[i];
    const FlowNode entry = places.entries[i];
    network.add_arc(places.boundaries[passage.step], entry, passage.bytes, 0);
    network.add_arc(entry, entry + 1, passage.bytes, 0, passage.least);
    network.add_arc(entry + 1, places.boundaries[passage.step + 1], passage.bytes, 0);
  }
}

/// What a step that does not fit holds of the values that holds touch becomes passages; the least
/// of the rest is returned.
std::int64_t add_rows(const Program& program, StepId step, const std::vector<bool>& is_held,
                      std::vector<Passage>& passages) {
  std::int64_t rest = 0;
  for (const Use& use : program.uses_of(step)) {
    const auto index = static_cast<std::uint32_t>(&use - program.uses.data());
    const std::int64_t least = least_bytes(program, step, use);
    if (is_held[index])
      passages.push_back({index, step, program.values[use.value].bytes, least});
    else
      rest += least;
  }
  return rest;
}

}  // namespace

std::vector<Hold> holds_of(const KeepIntervals& keep) {
  std::vector<Hold> holds;
  holds.reserve(keep.intervals.size());
  for (const KeepInterval& interval : keep.intervals)
    holds.push_back({.begin = interval.begin,
                     .end = interval.end,
                     .first_use = interval.first_use,
                     .last_use = interval.last_use,
                     .bytes = interval.bytes,
                     .worth = 1});
  return holds;
}

FlowNetwork gap_network(std::size_t steps, std::span<const Hold> holds) {
  FlowNetwork network(static_cast<FlowNode>(std::max<std::size_t>(steps, 1)));
  for (FlowNode step = 0; step + 1 < steps; ++step) network.add_arc(step, step + 1, no_limit, 0);
  std::vector<HoldArc> arcs;
  for (const Hold& hold : holds) arcs.push_back({hold.begin, hold.end, hold.worth, hold.bytes});
  add_merged(network, arcs);
  return network;
}

FlowNetwork step_network(std::size_t steps, std::span<const Hold> holds) {
  const Places places = places_of(steps, passages_of(holds));
  FlowNetwork network(places.nodes);
  for (std::size_t step = 0; step < steps; ++step)
    network.add_arc(places.boundaries[step], places.boundaries[step + 1], no_limit, 0);
  add_passages(network, places);
  std::vector<HoldArc> arcs;
  for (const Hold& hold : holds)
    arcs.push_back(
        {begin_of(places, hold, false), end_of(places, hold, false), hold.worth, hold.bytes});
  add_merged(network, arcs);
  return network;
}

FlowNetwork capacity_network(const Program& program, std::span<const Hold> holds,
                             std::int64_t capacity_bytes) {
  std::vector<bool> is_held(program.uses.size());
  for (const Hold& hold : holds) {
    if (hold.first_use != not_a_use) is_held[hold.first_use] = true;
    if (hold.last_use != not_a_use) is_held[hold.last_use] = true;
  }
  std::vector<StepOwn> owns = owns_at(program, capacity_bytes);
  std::vector<Passage> passages;
  for (StepId step = 0; step < program.steps.size(); ++step)
    if (!owns[step].is_whole && !owns[step].is_closed)
      owns[step].bytes = add_rows(program, step, is_held, passages);
  const Places places = places_of(program.steps.size(), std::move(passages));
  FlowNetwork network(places.nodes);
  for (StepId step = 0; step < program.steps.size(); ++step)
    network.add_arc(places.boundaries[step], places.boundaries[step + 1], no_limit, 0,
                    owns[step].bytes);
  add_passages(network, places);
  std::vector<HoldArc> arcs;
  for (const Hold& hold : holds)
    arcs.push_back({begin_of(places, hold, owns[hold.begin].is_whole),
                    end_of(places, hold, owns[hold.end].is_whole), hold.worth, hold.bytes});
  add_merged(network, arcs);
  return network;
}

}  // namespace strata
