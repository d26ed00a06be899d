// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/stages.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What one rank does in an iteration: its host, its stream of kernels, its stream of
/// communication.
namespace strata {

/// Where the time of a rank goes; the parts add up to the iteration.
struct RankTime {
  double compute_s = 0;     ///< kernels of forward and backward
  double recompute_s = 0;   ///< kernels that run again
  double update_s = 0;      ///< the optimizer's
  double tensor_s = 0;      ///< collectives of tensor parallelism
  double context_s = 0;     ///< waiting for what attention needs of other ranks
  double experts_s = 0;     ///< sending words to experts and back
  double gradients_s = 0;   ///< sums of gradients that outlast backward, and what they slow down
  double parameters_s = 0;  ///< gathering weights (ZeRO)
  double pipeline_s = 0;    ///< waiting for what is on its way from another stage
  double bubble_s = 0;      ///< waiting for other stages
  double host_s = 0;        ///< waiting for the host
};
inline constexpr std::array<double RankTime::*, 11> rank_time_parts = {
    &RankTime::compute_s,  &RankTime::recompute_s, &RankTime::update_s,    &RankTime::tensor_s,
    &RankTime::context_s,  &RankTime::experts_s,   &RankTime::gradients_s, &RankTime::parameters_s,
    &RankTime::pipeline_s, &RankTime::bubble_s,    &RankTime::host_s};
/// For people.
inline constexpr std::array<std::string_view, 11> rank_time_names = {"compute",
                                                                     "recomputation",
                                                                     "update",
                                                                     "tensor parallel collectives",
                                                                     "context parallel exchanges",
                                                                     "all-to-all of experts",
                                                                     "gradients",
                                                                     "gathering weights",
                                                                     "sending",
                                                                     "bubble",
                                                                     "host"};
/// In documents.
inline constexpr std::array<std::string_view, 11> rank_time_keys = {
    "compute_s",   "recompute_s",  "update_s",   "tensor_s", "context_s", "experts_s",
    "gradients_s", "parameters_s", "pipeline_s", "bubble_s", "host_s"};
static_assert(rank_time_names.size() == rank_time_parts.size() &&
              rank_time_keys.size() == rank_time_parts.size());

/// Bytes that one rank sends in an iteration, by purpose.
struct RankTraffic {
  double tensor_bytes = 0, context_bytes = 0, experts_bytes = 0, gradients_bytes = 0,
         parameters_bytes = 0, pipeline_bytes = 0;

  double total_bytes() const {
    return tensor_bytes + context_bytes + experts_bytes + gradients_bytes + parameters_bytes +
           pipeline_bytes;
  }
};
inline constexpr std::array<double RankTraffic::*, 6> rank_traffic_parts = {
    &RankTraffic::tensor_bytes,    &RankTraffic::context_bytes,    &RankTraffic::experts_bytes,
    &RankTraffic::gradients_bytes, &RankTraffic::parameters_bytes, &RankTraffic::pipeline_bytes};

/// For a timeline. Kernels, the collectives that they wait for and other waits fill an iteration,
/// one at a time: of each part of RankTime, the events add up to its seconds. What a chunk of
/// layers does of one part in one micro-batch is one event, as if it came in one piece.
/// Communication is what goes on beside kernels.
struct RankEvent {
  std::uint32_t rank = 0;
  enum class Stream : std::uint8_t {
    compute,
    collectives,
    waits,
    communication
  } stream = Stream::compute;
  std::size_t part = 0;  ///< of rank_time_parts; of communication, the one that it is about
  std::string name;
  double begin_s = 0, end_s = 0;
};
inline constexpr std::array<std::string_view, 4> rank_stream_names = {
    "compute", "collectives that kernels wait for", "other waits", "communication beside kernels"};

enum class WantEvents : std::uint8_t { no, yes };

/// What a rank has come to at some time.
struct RankMark {
  RankClock clock;
  double communication_s = 0;  ///< until then it sends beside kernels
  double may_gather_s = 0, reducing_s = 0;
  double waiting_bytes = 0;  ///< of gradients, to be summed over ranks
  RankTime time;
  RankTraffic traffic;
};

class RankStream {
 public:
  RankStream(const RankCosts& costs, const Strategy& strategy, const Cluster& cluster,
             std::uint32_t rank, WantEvents wants_events);

  /// The device waits until then; of that, `transit_s` are spent on a link.
  void wait_for(double time_s, double transit_s);
  /// The same for what comes from another stage.
  void receive(double time_s, double transit_s);
  void forward(const LayerChunk& chunk, std::uint32_t micro);
  /// `is_last`: gradients are complete, and their sums over ranks can begin.
  void backward(const LayerChunk& chunk, std::uint32_t micro, bool is_last);
  void weight_gradients(const LayerChunk& chunk, std::uint32_t micro, bool is_last);
  /// Counts bytes to another stage, which have the link for `transit_s`; returns when they leave.
  double send(double bytes, double transit_s);

  void end_gradients();  ///< waits for sums that have not come to an end
  void sum_shared(double time_s, double sent_bytes);
  void update(const LayerChunk& all, const RankEngine& engine);  ///< and gathers what ZeRO splits
  void end(double iteration_s);

  RankMark mark() const;
  /// Does so many times again what it did since then, as micro-batches from `first` to `last`.
  void repeat(const RankMark& since, std::int64_t rounds, std::uint32_t first, std::uint32_t last);

  double device_s() const { return clock_.device_s; }
  double end_s() const { return std::max(clock_.host_s, clock_.device_s); }
  const RankTime& time() const { return time_; }
  const RankTraffic& traffic() const { return traffic_; }
  std::vector<RankEvent>& events() { return events_; }

 private:
  using Stream = RankEvent::Stream;
  /// Gradients that wait for more, to be summed over the ranks that hold the same weights.
  struct Bucket {
    RankGroup group;
    double bytes = 0;
  };
  /// Runs a section on the device; the time of `traffic` is part of it. What goes on beside it on
  /// the same link stands still meanwhile.
  void run(const Section& section, const LayerTraffic& traffic, double recompute_s);
  void run_unit(std::size_t unit, std::uint32_t micro, bool is_backward);
  void collect(std::int64_t gradient_bytes, const WeightCost& experts);
  void reduce(bool is_end_of_chunk);
  void reduce(Bucket& bucket);
  /// Of weights, some of which are of experts that fewer ranks have: the time it takes.
  double gather_s(std::int64_t weight_bytes, const WeightCost& experts);
  void gather(std::size_t unit);
  /// Host and device wait for each other, where the framework does that.
  void wait_at_step();
  /// Makes events of the time since the last call: "forward 3".
  void note(std::string_view task, std::optional<std::uint32_t> micro = {},
            std::string_view unit = {});
  void note_beside(double RankTime::*part, std::string_view what, std::string_view unit,
                   double begin_s, double end_s);
  bool goes_by_unit() const;
  /// Begins to communicate beside kernels, as soon as what came before is through.
  void communicate(const RankGroup& group, double from_s, double time_s, double RankTime::*part,
                   std::string_view what, std::string_view unit);
  /// What of `traffic` is on the link that goes on beside kernels.
  double busy_link_s(const LayerTraffic& traffic) const;
  /// Kernels have the link for `busy_s` of the time between the two.
  void give_way(double begin_s, double end_s, double busy_s);

  const RankCosts& costs_;
  const Strategy& strategy_;
  const Cluster& cluster_;
  std::uint32_t rank_;
  bool wants_events_;
  RankClock clock_;
  double communication_s_ = 0;  // until then its stream is busy
  bool uses_network_ = false;   // that communication; else the links of a node
  std::size_t beside_ = 0;      // its event, plus one
  double reducing_s_ = 0;       // all sums of gradients together
  Bucket weights_, experts_;    // gradients of experts are summed over fewer ranks
  double may_gather_s_ = 0;     // one unit is gathered ahead
  LayerTraffic last_;           // of the unit that runs then
  RankTime time_;
  RankTraffic traffic_;
  RankTime noted_;  // what is in events
  double noted_s_ = 0;
  std::vector<RankEvent> events_;
};

}  // namespace strata
