// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/report/html_page.hpp"
#include "strata/report/html_slices.hpp"
#include "strata/training/step_names.hpp"

#include <nlohmann/json.hpp>

#include <unordered_map>

namespace strata {
namespace {

using TimelineJson = nlohmann::ordered_json;

/// Every name once; slices refer to them by number.
class SliceNames {
 public:
  std::int64_t number_of(const std::string& name) {
    const auto [place, is_new] = numbers_.try_emplace(name, numbers_.size());
    if (is_new) names_.push_back(name);
    return static_cast<std::int64_t>(place->second);
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> names_;
};

class TimelineMaker {
 public:
  TimelineMaker(const Program& program, const Prediction& prediction)
      : program_(program), prediction_(prediction) {
    add_steps();
    add_transfers();
  }

  std::string to_json(std::size_t most_slices) {
    const double end_s = prediction_.time_s;
    const std::size_t all = compute_.size() + stalls_.size() + in_.size() + out_.size();
    for (std::vector<TimeSlice>* track : {&compute_, &stalls_, &in_, &out_})
      *track = taken_together(std::move(*track), end_s, most_slices);
    const std::size_t shown = compute_.size() + stalls_.size() + in_.size() + out_.size();
    TimelineJson json = {{"end_s", end_s},
                         {"is_aggregated", shown < all},
                         {"slices", all},
                         {"names", names_.names()},
                         {"compute", track_json(compute_, "layer", "pass")},
                         {"stalls", track_json(stalls_, "value", "layer")},
                         {"in", track_json(in_, "value", "layer")},
                         {"out", track_json(out_, "value", "layer")},
                         {"on_chip", occupancy_json(most_slices)}};
    return json.dump(-1, ' ', false, TimelineJson::error_handler_t::replace);
  }

 private:
  void add_steps() {
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      const StepResult& result = prediction_.steps[id];
      const std::int64_t layer = names_.number_of(layer_of(program_, id));
      compute_.push_back({.start_s = result.start_s,
                          .end_s = result.start_s + result.compute_s,
                          .name = layer,
                          .other = names_.number_of(pass_of(program_, id))});
      if (result.wait_s > 0) {
        const std::string cause =
            result.cause == no_value ? "room on chip" : value_name(program_, result.cause);
        stalls_.push_back({.start_s = result.start_s - result.wait_s,
                           .end_s = result.start_s,
                           .name = names_.number_of(cause),
                           .other = layer});
      }
      if (result.stream_s > 0) {
        stalls_.push_back({.start_s = result.end_s - result.stream_s,
                           .end_s = result.end_s,
                           .name = names_.number_of("streams of " + name_of(program_, id)),
                           .other = layer});
      }
    }
    if (prediction_.drain_s > 0) {
      stalls_.push_back({.start_s = prediction_.time_s - prediction_.drain_s,
                         .end_s = prediction_.time_s,
                         .name = names_.number_of("last write-backs"),
                         .other = -1});
    }
  }

  // A stream goes both ways on one channel; it is drawn as first in, then out.
  void add_transfers() {
    for (const Transfer& transfer : prediction_.transfers) {
      const double bytes =
          static_cast<double>(transfer.in_bytes) + static_cast<double>(transfer.out_bytes);
      const double in_share = bytes > 0 ? static_cast<double>(transfer.in_bytes) / bytes : 0;
      const double turn_s = transfer.start_s + in_share * (transfer.end_s - transfer.start_s);
      const std::string name = transfer.kind == TransferKind::stream
                                   ? "streams of " + name_of(program_, transfer.step)
                                   : value_name(program_, transfer.value);
      const std::int64_t number = names_.number_of(name);
      const std::int64_t layer = names_.number_of(layer_of(program_, transfer.step));
      if (transfer.in_bytes > 0)
        in_.push_back({.start_s = transfer.start_s,
                       .end_s = turn_s,
                       .bytes = transfer.in_bytes,
                       .name = number,
                       .other = layer});
      if (transfer.out_bytes > 0)
        out_.push_back({.start_s = turn_s,
                        .end_s = transfer.end_s,
                        .bytes = transfer.out_bytes,
                        .name = number,
                        .other = layer});
    }
  }

  static TimelineJson track_json(const std::vector<TimeSlice>& slices, const char* name,
                                 const char* other) {
    TimelineJson json = {{"start_s", TimelineJson::array()}, {"end_s", TimelineJson::array()},
                         {"busy_s", TimelineJson::array()},  {"bytes", TimelineJson::array()},
                         {"count", TimelineJson::array()},   {name, TimelineJson::array()},
                         {other, TimelineJson::array()}};
    for (const TimeSlice& slice : slices) {
      json["start_s"].push_back(slice.start_s);
      json["end_s"].push_back(slice.end_s);
      json["busy_s"].push_back(slice.busy());
      json["bytes"].push_back(slice.bytes);
      json["count"].push_back(slice.count);
      json[name].push_back(slice.name);
      json[other].push_back(slice.other);
    }
    return json;
  }

  /// Of steps that are taken together, the fullest.
  TimelineJson occupancy_json(std::size_t most_slices) const {
    std::vector<TimeSlice> levels;
    for (const StepResult& result : prediction_.steps)
      levels.push_back({.start_s = result.start_s,
                        .end_s = result.end_s,
                        .bytes = result.peak_occupied_bytes,
                        .name = -1,
                        .other = -1});
    levels = taken_together(std::move(levels), prediction_.time_s, most_slices, Together::largest);
    TimelineJson json = {{"at_s", TimelineJson::array()}, {"bytes", TimelineJson::array()}};
    for (const TimeSlice& level : levels) {
      json["at_s"].push_back(level.start_s);
      json["bytes"].push_back(level.bytes);
    }
    return json;
  }

  const Program& program_;
  const Prediction& prediction_;
  SliceNames names_;
  std::vector<TimeSlice> compute_;
  std::vector<TimeSlice> stalls_;
  std::vector<TimeSlice> in_;
  std::vector<TimeSlice> out_;
};

}  // namespace

std::string timeline_json(const Program& program, const Prediction& prediction,
                          std::size_t most_slices) {
  STRATA_CHECK(prediction.steps.size() == program.steps.size(),
               "a timeline needs the result of every step");
  return TimelineMaker(program, prediction).to_json(most_slices);
}

}  // namespace strata
