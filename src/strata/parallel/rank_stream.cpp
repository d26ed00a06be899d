// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/rank_stream.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace strata {
namespace {

/// Gradients are summed over ranks when so many bytes of them are there, as in PyTorch's DDP.
constexpr double bucket_size = 25e6;

/// What differences of times leave.
constexpr double rounding_s = 1e-12;

/// Of one stage, events are of single units, up to so many.
constexpr std::size_t most_unit_events = 20'000;

RankEvent::Stream stream_of(double RankTime::*part) {
  constexpr std::array kernels = {&RankTime::compute_s, &RankTime::recompute_s,
                                  &RankTime::update_s};
  constexpr std::array waits = {&RankTime::gradients_s, &RankTime::parameters_s,
                                &RankTime::pipeline_s, &RankTime::bubble_s, &RankTime::host_s};
  if (std::find(kernels.begin(), kernels.end(), part) != kernels.end())
    return RankEvent::Stream::compute;
  return std::find(waits.begin(), waits.end(), part) != waits.end()
             ? RankEvent::Stream::waits
             : RankEvent::Stream::collectives;
}

/// Within a task: what is waited for, what runs again, what runs, what it waits for then.
int place_of(double RankTime::*part) {
  constexpr std::array first = {&RankTime::bubble_s,    &RankTime::pipeline_s,
                                &RankTime::host_s,      &RankTime::parameters_s,
                                &RankTime::recompute_s, &RankTime::compute_s};
  return static_cast<int>(std::find(first.begin(), first.end(), part) - first.begin());
}

/// Parts of RankTime in that order.
std::array<std::size_t, rank_time_parts.size()> parts_in_order() {
  std::array<std::size_t, rank_time_parts.size()> order{};
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [](std::size_t a, std::size_t b) {
    return place_of(rank_time_parts[a]) < place_of(rank_time_parts[b]);
  });
  return order;
}

}  // namespace

RankStream::RankStream(const RankCosts& costs, const Strategy& strategy, const Cluster& cluster,
                       std::uint32_t rank, WantEvents wants_events)
    : costs_(costs),
      strategy_(strategy),
      cluster_(cluster),
      rank_(rank),
      wants_events_(wants_events == WantEvents::yes),
      clock_{.host_s = costs.start_s, .device_s = 0},
      weights_{.group = strategy.weight_group()},
      experts_{.group = strategy.expert_weight_group()} {}

void RankStream::note(std::string_view task, std::optional<std::uint32_t> micro,
                      std::string_view unit) {
  if (!wants_events_) return;
  static const auto order = parts_in_order();
  std::string name(task);
  if (micro) name += fmt::format(" {}", *micro);
  if (!unit.empty()) name += fmt::format(", {}", unit);
  for (const std::size_t i : order) {
    const double time_s = time_.*rank_time_parts[i] - noted_.*rank_time_parts[i];
    if (time_s <= rounding_s) continue;
    const bool is_named =
        rank_time_parts[i] == &RankTime::compute_s || rank_time_parts[i] == &RankTime::update_s;
    events_.push_back({rank_, stream_of(rank_time_parts[i]), i,
                       is_named ? name : fmt::format("{}, {}", rank_time_names[i], name), noted_s_,
                       noted_s_ + time_s});
    noted_s_ += time_s;
  }
  noted_ = time_;
  noted_s_ = std::max(noted_s_, clock_.device_s);
}

void RankStream::note_beside(double RankTime::*part, std::string_view what, std::string_view unit,
                             double begin_s, double end_s) {
  beside_ = 0;
  if (!wants_events_ || end_s <= begin_s) return;
  const auto at = std::find(rank_time_parts.begin(), rank_time_parts.end(), part);
  events_.push_back(
      {rank_, Stream::communication, static_cast<std::size_t>(at - rank_time_parts.begin()),
       unit.empty() ? std::string(what) : fmt::format("{} of {}", what, unit), begin_s, end_s});
  beside_ = events_.size();
}

void RankStream::communicate(const RankGroup& group, double from_s, double time_s,
                             double RankTime::*part, std::string_view what, std::string_view unit) {
  const double begin_s = std::max(communication_s_, from_s);
  communication_s_ = begin_s + time_s;
  uses_network_ = leaves_node(cluster_, group);
  note_beside(part, what, unit, begin_s, communication_s_);
}

double RankStream::busy_link_s(const LayerTraffic& traffic) const {
  double busy_s = 0;
  const auto add = [&](const LinkUse& use, const RankGroup& group) {
    if (leaves_node(cluster_, group) == uses_network_) busy_s += use.time_s + use.hidden_s;
  };
  add(traffic.tensor, strategy_.tensor_group());
  add(traffic.context, strategy_.context_group());
  add(traffic.experts, strategy_.expert_group());
  return busy_s;
}

void RankStream::give_way(double begin_s, double end_s, double busy_s) {
  const double left_s = communication_s_ - begin_s;
  if (left_s <= 0 || busy_s <= 0 || end_s <= begin_s) return;
  // The link is free for a share of the time; what is not through at the end has lost all of it.
  const double taken = std::min(1.0, busy_s / (end_s - begin_s));
  const double lost_s = taken * (end_s - begin_s);
  communication_s_ += taken < 1 ? std::min(lost_s, left_s * taken / (1 - taken)) : lost_s;
  if (beside_ > 0) events_[beside_ - 1].end_s = communication_s_;
}

bool RankStream::goes_by_unit() const {
  const std::size_t events =
      costs_.units.size() * static_cast<std::size_t>(strategy_.micro_batches);
  return wants_events_ && strategy_.pipeline == 1 && events <= most_unit_events;
}

void RankStream::receive(double time_s, double transit_s) {
  wait_for(time_s, transit_s);
  // Megatron and DeepSpeed wait for the device before they take a tensor from another stage, so
  // that the host does not run ahead of it.
  clock_.host_s = std::max(clock_.host_s, clock_.device_s);
}

void RankStream::wait_at_step() {
  if (!costs_.waits_at_steps) return;
  time_.host_s += std::max(0.0, clock_.host_s - clock_.device_s);
  clock_.host_s = clock_.device_s = std::max(clock_.host_s, clock_.device_s);
}

void RankStream::wait_for(double time_s, double transit_s) {
  const double wait_s = time_s - clock_.device_s;
  if (wait_s <= 0) return;
  const double on_link_s = std::min(wait_s, transit_s);
  time_.pipeline_s += on_link_s;
  time_.bubble_s += wait_s - on_link_s;
  clock_.device_s = time_s;
}

void RankStream::run(const Section& section, const LayerTraffic& traffic, double recompute_s) {
  const RankClock before = clock_;
  clock_ = section.after(before);
  time_.compute_s += section.device_s - traffic.time_s() - recompute_s;
  time_.recompute_s += recompute_s;
  time_.tensor_s += traffic.tensor.time_s;
  time_.context_s += traffic.context.time_s;
  time_.experts_s += traffic.experts.time_s;
  traffic_.tensor_bytes += traffic.tensor.sent_bytes;
  traffic_.context_bytes += traffic.context.sent_bytes;
  traffic_.experts_bytes += traffic.experts.sent_bytes;
  time_.host_s += std::max(0.0, clock_.device_s - before.device_s - section.device_s);
  if (communication_s_ > before.device_s)
    give_way(before.device_s, clock_.device_s, busy_link_s(traffic));
}

void RankStream::forward(const LayerChunk& chunk, std::uint32_t micro) {
  wait_at_step();
  const bool is_beside = communication_s_ > clock_.device_s;
  if (strategy_.zero == 3 || is_beside || goes_by_unit()) {
    for (std::size_t unit = chunk.first; unit < chunk.end; ++unit) {
      if (strategy_.zero == 3) gather(unit);
      run_unit(unit, micro, false);
    }
  } else {
    run(chunk.forward, chunk.forward_traffic, 0);
  }
  wait_at_step();
  note("forward", micro);
}

void RankStream::backward(const LayerChunk& chunk, std::uint32_t micro, bool is_last) {
  wait_at_step();
  const bool is_apart = strategy_.schedule == PipelineSchedule::zero_bubble;
  const bool reduces = strategy_.weight_ranks() > 1 && strategy_.overlaps_gradients && !is_apart &&
                       (is_last || strategy_.zero >= 2);
  if (reduces || strategy_.zero == 3 || (goes_by_unit() && !is_apart)) {
    for (std::size_t unit = chunk.end; unit-- > chunk.first;) {
      if (strategy_.zero == 3) gather(unit);
      run_unit(unit, micro, true);
      if (!reduces) continue;
      collect(costs_.units[unit].gradient_bytes, costs_.units[unit].experts);
      reduce(unit == chunk.first);
    }
  } else {
    Section section = chunk.backward;
    if (is_apart) {
      section.device_s -= chunk.weight_gradients_s;
      section.through_s -= chunk.weight_gradients_s;
    }
    run(section, chunk.backward_traffic, chunk.recompute_s);
  }
  wait_at_step();
  note("backward", micro);
  if (is_last && strategy_.weight_ranks() > 1 && !strategy_.overlaps_gradients)
    collect(chunk.gradient_bytes, chunk.experts);
}

void RankStream::weight_gradients(const LayerChunk& chunk, std::uint32_t micro, bool is_last) {
  run(Section::call(0, chunk.weight_gradients_s), {}, 0);
  note("weight gradients", micro);
  if (!is_last || strategy_.weight_ranks() == 1) return;
  collect(chunk.gradient_bytes, chunk.experts);
  if (strategy_.overlaps_gradients) reduce(true);
}

void RankStream::run_unit(std::size_t index, std::uint32_t micro, bool is_backward) {
  const UnitCost& unit = costs_.units[index];
  may_gather_s_ = clock_.device_s;
  last_ = is_backward ? unit.backward_traffic : unit.forward_traffic;
  if (is_backward)
    run(unit.backward, unit.backward_traffic, unit.recompute_s);
  else
    run(unit.forward, unit.forward_traffic, 0);
  if (goes_by_unit()) note(is_backward ? "backward" : "forward", micro, costs_.names[index]);
}

double RankStream::gather_s(std::int64_t weight_bytes, const WeightCost& experts) {
  double time_s = 0;
  const auto add = [&](const RankGroup& group, std::int64_t count) {
    const auto bytes = static_cast<double>(count);
    time_s += collective_time_s(cluster_, group, CollectiveKind::all_gather, bytes);
    traffic_.parameters_bytes += sent_bytes(CollectiveKind::all_gather, group.size, bytes);
  };
  add(weights_.group, weight_bytes - experts.weight_bytes);
  add(experts_.group, experts.weight_bytes);
  return time_s;
}

/// The weights of a unit come in while the unit before it computes.
void RankStream::gather(std::size_t unit) {
  const double time_s = gather_s(costs_.units[unit].weight_bytes, costs_.units[unit].experts);
  const double begin_s = std::max(communication_s_, may_gather_s_);
  communicate(weights_.group, begin_s, time_s, &RankTime::parameters_s, "gather weights",
              costs_.names[unit]);
  const double ran_s = clock_.device_s - may_gather_s_;
  const double beside_s = clock_.device_s - begin_s;
  if (beside_s > 0) give_way(begin_s, clock_.device_s, busy_link_s(last_) * beside_s / ran_s);
  if (communication_s_ <= clock_.device_s) return;
  time_.parameters_s += communication_s_ - clock_.device_s;
  clock_.device_s = communication_s_;
}

void RankStream::collect(std::int64_t gradient_bytes, const WeightCost& experts) {
  weights_.bytes += static_cast<double>(gradient_bytes - experts.gradient_bytes);
  experts_.bytes += static_cast<double>(experts.gradient_bytes);
}

void RankStream::reduce(bool is_end_of_chunk) {
  for (Bucket* bucket : {&weights_, &experts_}) {
    if (bucket->bytes >= bucket_size || (bucket->bytes > 0 && is_end_of_chunk)) reduce(*bucket);
  }
}

void RankStream::reduce(Bucket& bucket) {
  const double bytes = std::exchange(bucket.bytes, 0);
  if (bucket.group.size == 1) return;  // one rank has these experts
  const CollectiveKind kind =
      strategy_.zero > 0 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  const double time_s = collective_time_s(cluster_, bucket.group, kind, bytes);
  communicate(bucket.group, clock_.device_s, time_s, &RankTime::gradients_s, "sum gradients", "");
  reducing_s_ += time_s;
  clock_.host_s += collective_dispatch_s;
  traffic_.gradients_bytes += sent_bytes(kind, bucket.group.size, bytes);
}

double RankStream::send(double bytes, double transit_s) {
  traffic_.pipeline_bytes += bytes;
  const RankGroup pair{2, strategy_.pipeline_group().stride};
  if (leaves_node(cluster_, pair) == uses_network_)
    give_way(clock_.device_s, clock_.device_s + transit_s, transit_s);
  return clock_.device_s;
}

RankMark RankStream::mark() const {
  return {.clock = clock_,
          .communication_s = communication_s_,
          .may_gather_s = may_gather_s_,
          .reducing_s = reducing_s_,
          .waiting_bytes = weights_.bytes + experts_.bytes,
          .time = time_,
          .traffic = traffic_};
}

void RankStream::repeat(const RankMark& since, std::int64_t rounds, std::uint32_t first,
                        std::uint32_t last) {
  const auto times = static_cast<double>(rounds);
  const auto go_on = [&](double& now, double then) { now += times * (now - then); };
  go_on(clock_.host_s, since.clock.host_s);
  go_on(clock_.device_s, since.clock.device_s);
  go_on(communication_s_, since.communication_s);
  go_on(may_gather_s_, since.may_gather_s);
  go_on(reducing_s_, since.reducing_s);
  for (double RankTime::*part : rank_time_parts) go_on(time_.*part, since.time.*part);
  for (double RankTraffic::*part : rank_traffic_parts) go_on(traffic_.*part, since.traffic.*part);
  beside_ = 0;  // that event came to its end in an earlier round
  note(fmt::format("micro-batches {} to {}, alike", first, last));
}

void RankStream::end_gradients() {
  reduce(true);
  const double exposed_s = std::max(0.0, communication_s_ - clock_.device_s);
  // Kernels beside a sum were slower.
  const double slowed_s = cluster_.interference * std::max(0.0, reducing_s_ - exposed_s);
  time_.gradients_s += exposed_s + slowed_s;
  clock_.device_s += exposed_s + slowed_s;
  note("end of backward");
}

void RankStream::sum_shared(double time_s, double bytes) {
  time_.gradients_s += time_s;
  clock_.device_s += time_s;
  traffic_.gradients_bytes += bytes;
  note("weights of two stages");
}

void RankStream::update(const LayerChunk& all, const RankEngine& engine) {
  double parameters = static_cast<double>(all.parameters);
  if (strategy_.zero > 0) {
    const auto of_experts = static_cast<double>(all.experts.parameters);
    parameters = (parameters - of_experts) / static_cast<double>(strategy_.weight_ranks()) +
                 of_experts / static_cast<double>(strategy_.expert_weight_ranks());
  }
  const Section section = update_section(engine, all.tensors, parameters);
  const RankClock before = clock_;
  clock_ = section.after(before);
  time_.update_s += section.device_s;
  time_.host_s += std::max(0.0, clock_.device_s - before.device_s - section.device_s);
  note("update");
  if (strategy_.zero != 1 && strategy_.zero != 2) return;
  const double time_s = gather_s(all.weight_bytes, all.experts);
  note_beside(&RankTime::parameters_s, "gather weights", "all units", clock_.device_s,
              clock_.device_s + time_s);
  time_.parameters_s += time_s;
  clock_.device_s += time_s;
  note("after the update");
}

void RankStream::end(double iteration_s) {
  const double end_s = std::max(clock_.host_s, clock_.device_s);
  time_.host_s += end_s - clock_.device_s;
  note("end");
  time_.bubble_s += iteration_s - end_s;
  note("end");
}

}  // namespace strata
