// SPDX-License-Identifier: Apache-2.0
// What ranks do when, for the page: bounded, however long the iteration is.
#include "strata/report/parallel_timeline.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace strata {
namespace {

using RankJson = nlohmann::ordered_json;

/// Texts once; slices refer to them by number.
class TextTable {
 public:
  std::size_t number_of(const std::string& text) {
    const auto [place, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return place->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

/// Digits beyond a tenth of a nanosecond say nothing and make files long.
double rounded_s(double time_s) { return std::round(1e10 * time_s) / 1e10; }

/// "forward", "backward" of kernels; of all else, the part of the time that it is.
std::string key_of(const RankEvent& event) {
  if (rank_time_parts[event.part] != &RankTime::compute_s)
    return std::string(rank_time_names[event.part]);
  const std::size_t end = event.name.find_first_of("0123456789,");
  std::string key = event.name.substr(0, end);
  while (!key.empty() && key.back() == ' ') key.pop_back();
  return key;
}

/// What an iteration does in one of many equal spans of it, by key.
struct SpanShare {
  double busy_s = 0, longest_s = 0;
  std::int64_t count = 0;
  std::size_t name = 0;
};

class LaneMaker {
 public:
  LaneMaker(double end_s, std::size_t most_slices) : end_s_(end_s), most_slices_(most_slices) {}

  RankJson lane(std::size_t stage, std::string_view stream,
                const std::vector<const RankEvent*>& events) {
    RankJson lane = {{"stage", stage}, {"stream", stream}};
    const bool is_long = events.size() > most_slices_;
    has_taken_together_ |= is_long;
    is_long ? add_spans(lane, events) : add_events(lane, events);
    slices_ += lane["start_s"].size();
    return lane;
  }
  const TextTable& names() const { return names_; }
  const TextTable& keys() const { return keys_; }
  std::size_t slices() const { return slices_; }
  bool has_taken_together() const { return has_taken_together_; }

 private:
  void add_events(RankJson& lane, const std::vector<const RankEvent*>& events) {
    RankJson start = RankJson::array(), end = start, name = start, key = start;
    for (const RankEvent* event : events) {
      start.push_back(rounded_s(event->begin_s));
      end.push_back(rounded_s(event->end_s));
      name.push_back(names_.number_of(event->name));
      key.push_back(keys_.number_of(key_of(*event)));
    }
    lane["start_s"] = std::move(start);
    lane["end_s"] = std::move(end);
    lane["name"] = std::move(name);
    lane["key"] = std::move(key);
  }

  /// Of every key and span, how long it is there: events are cut where spans end, so that the time
  /// of each key stays as it is.
  void add_spans(RankJson& lane, const std::vector<const RankEvent*>& events) {
    std::set<std::size_t> own_keys;
    for (const RankEvent* event : events) own_keys.insert(keys_.number_of(key_of(*event)));
    const std::size_t spans = std::max<std::size_t>(1, most_slices_ / own_keys.size());
    const double length_s = end_s_ / static_cast<double>(spans);
    std::map<std::pair<std::size_t, std::size_t>, SpanShare> shares;
    for (const RankEvent* event : events) {
      const std::size_t key = keys_.number_of(key_of(*event));
      const std::size_t name = names_.number_of(event->name);
      const auto last = [&](double time_s) {
        return std::min(spans - 1, static_cast<std::size_t>(std::max(0.0, time_s) / length_s));
      };
      for (std::size_t span = last(event->begin_s); span <= last(event->end_s); ++span) {
        const double begin_s = length_s * static_cast<double>(span);
        const double inside_s =
            std::min(event->end_s, begin_s + length_s) - std::max(event->begin_s, begin_s);
        if (inside_s <= 0) continue;
        SpanShare& share = shares[{span, key}];
        share.busy_s += inside_s;
        ++share.count;
        if (inside_s <= share.longest_s) continue;
        share.longest_s = inside_s;
        share.name = name;
      }
    }
    RankJson start = RankJson::array(), end = start, name = start, key = start, busy = start,
             count = start;
    for (const auto& [place, share] : shares) {
      const double begin_s = length_s * static_cast<double>(place.first);
      start.push_back(rounded_s(begin_s));
      end.push_back(rounded_s(begin_s + length_s));
      name.push_back(share.name);
      key.push_back(place.second);
      busy.push_back(rounded_s(share.busy_s));
      count.push_back(share.count);
    }
    lane["start_s"] = std::move(start);
    lane["end_s"] = std::move(end);
    lane["name"] = std::move(name);
    lane["key"] = std::move(key);
    lane["busy_s"] = std::move(busy);
    lane["count"] = std::move(count);
  }

  double end_s_;
  std::size_t most_slices_;
  TextTable names_, keys_;
  std::size_t slices_ = 0;
  bool has_taken_together_ = false;
};

/// So many stages, evenly from the first to the last.
std::vector<std::size_t> shown_stages(std::size_t all, std::size_t most) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < std::min(all, most); ++i)
    shown.push_back(all <= most ? i : i * (all - 1) / (most - 1));
  return shown;
}

}  // namespace

RankJson parallel_timeline_json(const RankIteration& iteration, std::size_t most_slices,
                                std::size_t most_stages) {
  if (iteration.events.empty()) return nullptr;
  const std::vector<std::size_t> stages = shown_stages(iteration.ranks.size(), most_stages);
  using Lane = std::vector<const RankEvent*>;
  std::vector<Lane> own(iteration.ranks.size()), beside = own;
  for (const RankEvent& event : iteration.events)
    (event.stream == RankEvent::Stream::communication ? beside : own)[event.rank].push_back(&event);
  LaneMaker maker(iteration.time_s, std::max<std::size_t>(100, most_slices / stages.size()));
  RankJson lanes = RankJson::array();
  for (const std::size_t stage : stages) {
    lanes.push_back(maker.lane(stage, "rank", own[stage]));
    if (!beside[stage].empty()) lanes.push_back(maker.lane(stage, "beside", beside[stage]));
  }
  return {{"end_s", iteration.time_s},
          {"events", iteration.events.size()},
          {"slices", maker.slices()},
          {"is_aggregated", maker.has_taken_together()},
          {"stages_left_out", iteration.ranks.size() - stages.size()},
          {"names", maker.names().texts()},
          {"keys", maker.keys().texts()},
          {"lanes", std::move(lanes)}};
}

}  // namespace strata
