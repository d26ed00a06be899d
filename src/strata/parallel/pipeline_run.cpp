// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/pipeline_run.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

/// So many tasks are simulated one by one: a second, and a hundred megabytes.
constexpr std::int64_t most_tasks = 4'000'000;
/// And so many with events, of which a task makes three of about a hundred bytes.
constexpr std::int64_t most_tasks_with_events = 1'000'000;

/// Sums of many times that should be equal differ by less than this share of a period.
constexpr double rounding = 1e-9;

bool is_near(double a, double b, double period_s) { return std::abs(a - b) <= rounding * period_s; }

/// The host, or communication, stays as far from the device as it is; or the device never waits for
/// it and gets ahead of it further and further.
bool keeps_pace(double period_s, double later_s, bool is_waited_for) {
  return is_near(later_s, period_s, period_s) || (!is_waited_for && later_s < period_s);
}

bool is_communication_alike(const RankMark& before, const RankMark& since, const RankMark& now,
                            double period_s) {
  const double later_s = now.communication_s - since.communication_s;
  if (later_s == 0) return now.communication_s <= since.clock.device_s;  // there is none
  if (!is_near(later_s, since.communication_s - before.communication_s, period_s)) return false;
  // What is left to send grows from period to period, or does not change.
  const bool is_behind = since.communication_s > since.clock.device_s;
  return is_near(later_s, period_s, period_s) || (is_behind && later_s > period_s);
}

bool is_rank_alike(const RankMark& before, const RankMark& since, const RankMark& now,
                   double period_s) {
  if (!is_near(now.clock.device_s - since.clock.device_s, period_s, period_s) ||
      !is_near(since.clock.device_s - before.clock.device_s, period_s, period_s))
    return false;
  for (double RankTime::*part : rank_time_parts) {
    if (!is_near(now.time.*part - since.time.*part, since.time.*part - before.time.*part, period_s))
      return false;
  }
  const bool waits_for_host = now.time.host_s - since.time.host_s > rounding * period_s;
  return keeps_pace(period_s, now.clock.host_s - since.clock.host_s, waits_for_host) &&
         is_communication_alike(before, since, now, period_s) &&
         now.waiting_bytes == since.waiting_bytes;
}

}  // namespace

PipelineRun::PipelineRun(const RankCosts& costs, const std::vector<LayerChunk>& chunks,
                         const Strategy& strategy, const Cluster& cluster, Rounds rounds,
                         WantEvents wants_events)
    : chunks_(chunks),
      strategy_(strategy),
      has_events_(wants_events == WantEvents::yes),
      forward_(chunks.size()),
      backward_(chunks.size()) {
  const auto stages = static_cast<std::size_t>(strategy.pipeline);
  const std::size_t kinds = strategy.schedule == PipelineSchedule::zero_bubble ? 3 : 2;
  round_tasks_ = static_cast<std::size_t>(round() * strategy.chunks) * kinds;
  streams_.reserve(stages);
  for (std::size_t stage = 0; stage < stages; ++stage)
    streams_.emplace_back(costs, strategy, cluster, static_cast<std::uint32_t>(stage),
                          wants_events);
  next_.assign(stages, 0);
  forwards_.assign(stages, 0);
  tasks_.resize(stages);
  // With sequence parallelism each rank has and sends a share.
  const auto ranks = static_cast<double>(strategy.sequence_parallel ? strategy.tensor : 1);
  for (const LayerChunk& chunk : chunks) {
    sent_bytes_.push_back(static_cast<double>(chunk.boundary_bytes) / ranks);
    transit_s_.push_back(collective_time_s(cluster, strategy.pipeline_group(),
                                           CollectiveKind::point_to_point, sent_bytes_.back()));
  }
  // Those of gpipe all go forward before the first goes backward: there are no rounds.
  const bool is_each_simulated = rounds == Rounds::each_is_simulated || keeps_all_events(costs) ||
                                 strategy.schedule == PipelineSchedule::gpipe;
  const std::int64_t all = strategy.micro_batches;
  const std::int64_t full = strategy.pipeline + 8 * round();  // the pipeline, and some rounds
  simulate_up_to(is_each_simulated || full >= all ? all : full + (all - full) % round());
}

/// Whether every micro-batch is to be seen: a timeline of few of them.
bool PipelineRun::keeps_all_events(const RankCosts& costs) const {
  constexpr std::int64_t most_events = 500'000;
  const std::int64_t chunks = strategy_.pipeline * strategy_.chunks;
  const auto units = static_cast<std::int64_t>(costs.units.size());
  const std::int64_t of_one = 6 * chunks + (strategy_.zero >= 2 ? 2 * units : 0);
  return has_events_ && strategy_.micro_batches <= most_events / of_one;
}

void PipelineRun::simulate_up_to(std::int64_t micro_batches) {
  micro_batches_ = static_cast<std::size_t>(micro_batches);
  left_out_ = strategy_.micro_batches - micro_batches - later_;
  Strategy simulated = strategy_;
  simulated.micro_batches = micro_batches;
  require_few_tasks(simulated);
  for (std::size_t stage = 0; stage < streams_.size(); ++stage)
    tasks_[stage] = tasks_of(simulated, static_cast<std::int64_t>(stage));
  for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
    forward_[chunk].of_micro.resize(chunk > 0 ? micro_batches_ : 0);
    backward_[chunk].of_micro.resize(chunk + 1 < chunks_.size() ? micro_batches_ : 0);
  }
}

void PipelineRun::require_few_tasks(const Strategy& simulated) const {
  const std::int64_t most = has_events_ ? most_tasks_with_events : most_tasks;
  const Count tasks = Count(simulated.micro_batches) * simulated.pipeline * simulated.chunks * 2;
  if (tasks.value() <= most) return;
  fail(ErrorKind::unsupported,
       "--parallel {}: its stages do {} forward and backward passes one by one, and at most {} are "
       "simulated{}: say fewer, larger micro-batches (micro=){}{}",
       to_text(strategy_),
       (Count(strategy_.micro_batches) * simulated.pipeline * simulated.chunks * 2).value(), most,
       has_events_ ? " with a timeline" : "",
       simulated.schedule == PipelineSchedule::gpipe ? ", or schedule=1f1b, whose rounds are alike"
                                                     : "",
       has_events_ ? "; without --html, --json and --trace there may be more" : "");
}

std::vector<RankStream> PipelineRun::run() && {
  for (bool has_moved = true; has_moved;) {
    has_moved = false;
    for (std::size_t stage = 0; stage < streams_.size(); ++stage) {
      // To the end of a round, so that each is seen, and all are seen at the same task.
      const std::size_t end_of_round = (next_[stage] / round_tasks_ + 1) * round_tasks_;
      const std::size_t end = std::min(tasks_[stage].size(), end_of_round);
      while (next_[stage] < end && try_task(stage, tasks_[stage][next_[stage]])) {
        ++next_[stage];
        has_moved = true;
      }
    }
    if (left_out_ > 0) look_for_period();
  }
  for (std::size_t stage = 0; stage < streams_.size(); ++stage)
    STRATA_CHECK(next_[stage] == tasks_[stage].size(), "no stage waits for ever");
  return std::move(streams_);
}

/// False: what it needs has not been sent yet.
bool PipelineRun::try_task(std::size_t stage, const Task& task) {
  const std::size_t chunk = task.chunk * streams_.size() + stage;
  RankStream& stream = streams_[stage];
  const bool is_last = task.micro + 1 == micro_batches_;
  const std::uint32_t micro = task.micro + later_;
  if (task.kind == TaskKind::weight_gradients) {
    stream.weight_gradients(chunks_[chunk], micro, is_last);
    return true;
  }
  const bool is_forward = task.kind == TaskKind::forward;
  const bool is_first_to_do = is_forward ? chunk == 0 : chunk + 1 == chunks_.size();
  if (!is_first_to_do) {
    StageMessages& messages = (is_forward ? forward_ : backward_)[chunk];
    const StageMessage& needed = messages.of_micro[task.micro];
    if (needed.arrives_s == StageMessage::not_sent) return false;
    ++messages.received;
    stream.receive(needed.arrives_s, needed.transit_s);
  }
  if (is_forward) {
    ++forwards_[stage];
    stream.forward(chunks_[chunk], micro);
    if (chunk + 1 < chunks_.size())
      send(stage, forward_[chunk + 1], sent_bytes_[chunk], transit_s_[chunk]);
  } else {
    stream.backward(chunks_[chunk], micro, is_last);
    if (chunk > 0) send(stage, backward_[chunk - 1], sent_bytes_[chunk - 1], transit_s_[chunk - 1]);
  }
  return true;
}

void PipelineRun::send(std::size_t stage, StageMessages& to, double bytes, double transit_s) {
  const double leaves_s = streams_[stage].send(bytes, transit_s);
  to.of_micro[to.sent++] = {.arrives_s = leaves_s + transit_s, .transit_s = transit_s};
}

PipelineMark PipelineRun::mark() const {
  PipelineMark mark{.next = next_, .ranks = {}, .sent = {}, .received = {}};
  for (const RankStream& stream : streams_) mark.ranks.push_back(stream.mark());
  for (const auto* messages : {&forward_, &backward_}) {
    for (const StageMessages& one : *messages) {
      mark.sent.push_back(one.sent);
      mark.received.push_back(one.received);
    }
  }
  return mark;
}

/// A round ends when the first stage has done so many tasks.
void PipelineRun::look_for_period() {
  if (next_[0] >= next_round_) {
    next_round_ = next_[0] + round_tasks_;
    double sum = 0;
    for (std::size_t stage = 0; stage < streams_.size(); ++stage)
      sum += streams_[stage].device_s() * (1 + static_cast<double>(stage % 7));
    ends_.push_back(sum);
    find_period();
    if (left_out_ == 0) return;
  }
  // No stage may come to the last micro-batches before those that are left out have their place.
  const std::size_t most = micro_batches_ * static_cast<std::size_t>(strategy_.chunks);
  const bool is_near_end = std::any_of(forwards_.begin(), forwards_.end(), [&](std::size_t done) {
    return done + round_tasks_ > most;
  });
  if (!is_near_end) return;
  const auto now = static_cast<std::int64_t>(micro_batches_);
  simulate_up_to(now + std::min(left_out_, now - now % round()));
}

/// The time that a round takes may alternate: as many rounds as a loop of stages has micro-batches
/// take the same time as as many before.
void PipelineRun::find_period() {
  const auto has_period = [&](std::size_t period) {
    if (ends_.size() < 2 * period + 1) return false;
    const double* last = &ends_.back();
    const double length = (*last - *(last - period)) / static_cast<double>(period);
    for (std::size_t i = 0; i < period; ++i, --last) {
      const auto step = static_cast<std::ptrdiff_t>(period);
      if (!is_near(*last - *(last - 1), *(last - step) - *(last - step - 1), length)) return false;
    }
    return true;
  };
  if (period_ == 0 || !has_period(period_)) {
    marks_.clear();
    const std::size_t most = 2 * streams_.size() + 16;
    for (period_ = 1; period_ <= most && !has_period(period_);) ++period_;
    if (period_ > most) period_ = 0;
  }
  if (period_ == 0 || (!marks_.empty() && ends_.size() < marked_ + period_)) return;
  marked_ = ends_.size();
  marks_.push_back(mark());
  if (marks_.size() < 3) return;
  if (is_alike(marks_[0], marks_[1], marks_[2])) return repeat(marks_[1], marks_[2]);
  marks_.erase(marks_.begin());
}

/// Whether a stage did the same tasks from one place to the other as after that, a period later.
bool PipelineRun::has_same_tasks(std::size_t stage, std::size_t first, std::size_t second) const {
  const std::vector<Task>& tasks = tasks_[stage];
  const auto later = static_cast<std::uint32_t>(period_micro_batches());
  for (std::size_t i = 0; i < second - first; ++i) {
    const Task &one = tasks[first + i], &other = tasks[second + i];
    if (one.kind != other.kind || one.chunk != other.chunk || one.micro + later != other.micro)
      return false;
  }
  return true;
}

bool PipelineRun::has_same_messages(const PipelineMark& since, const PipelineMark& now,
                                    double period_s) const {
  const auto later = static_cast<std::size_t>(period_micro_batches());
  std::size_t place = 0;
  for (const auto* messages : {&forward_, &backward_}) {
    for (const StageMessages& one : *messages) {
      const std::size_t at = place++;
      if (one.of_micro.empty()) continue;
      if (now.sent[at] != since.sent[at] + later || now.received[at] != since.received[at] + later)
        return false;
      for (std::size_t i = since.received[at]; i < since.sent[at]; ++i) {
        if (!is_near(one.of_micro[i + later].arrives_s - one.of_micro[i].arrives_s, period_s,
                     period_s))
          return false;
      }
    }
  }
  return true;
}

/// Whether the pipeline did the same in the last two periods, and nothing that does not matter now
/// will matter later.
bool PipelineRun::is_alike(const PipelineMark& before, const PipelineMark& since,
                           const PipelineMark& now) const {
  const double period_s = now.ranks[0].clock.device_s - since.ranks[0].clock.device_s;
  if (!(period_s > 0)) return false;
  const std::size_t tasks = period_ * round_tasks_;
  for (std::size_t stage = 0; stage < streams_.size(); ++stage) {
    if (since.next[stage] != before.next[stage] + tasks ||
        now.next[stage] != since.next[stage] + tasks ||
        !is_rank_alike(before.ranks[stage], since.ranks[stage], now.ranks[stage], period_s))
      return false;
  }
  for (std::size_t stage = 0; stage < streams_.size(); ++stage) {
    if (!has_same_tasks(stage, before.next[stage], since.next[stage])) return false;
  }
  return has_same_messages(since, now, period_s);
}

void PipelineRun::repeat(const PipelineMark& since, const PipelineMark& now) {
  const std::int64_t periods = left_out_ / period_micro_batches();
  const std::int64_t left_out = periods * period_micro_batches();
  const double later_s =
      static_cast<double>(periods) * (now.ranks[0].clock.device_s - since.ranks[0].clock.device_s);
  for (std::size_t stage = 0; stage < streams_.size(); ++stage) {
    const std::uint32_t first = tasks_[stage][next_[stage]].micro;
    streams_[stage].repeat(since.ranks[stage], periods, first,
                           first + static_cast<std::uint32_t>(left_out - 1));
  }
  for (auto* messages : {&forward_, &backward_}) {
    for (StageMessages& one : *messages) {
      for (std::size_t i = one.received; i < one.sent; ++i) one.of_micro[i].arrives_s += later_s;
    }
  }
  later_ = static_cast<std::uint32_t>(left_out);
  // Less than a period is left over.
  simulate_up_to(static_cast<std::int64_t>(micro_batches_) + left_out_ - left_out);
}

}  // namespace strata
