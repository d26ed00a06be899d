// SPDX-License-Identifier: Apache-2.0
#include "strata/api/what_if.hpp"

#include "strata/base/units.hpp"
#include "strata/predict/planning_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <thread>

namespace strata {
namespace {

std::int64_t batch_in(const BoundGraph& bound) {
  const auto batch = bound.binding.find("batch");
  if (batch == bound.binding.end())
    fail(ErrorKind::unsupported, "the network has no batch to change");
  return batch->second;
}

/// A request and a machine to be changed.
struct Changed {
  PredictRequest request;
  Machine machine;
};

struct ApplyChange {
  Changed& to;
  const Graph& graph;
  double bytes_per_s = 0;  ///< now
  double samples = 1;      ///< how many times the batch it became

  void operator()(const BandwidthTimes& change) {
    to.request.hardware.bytes_per_s = bytes_per_s * change.factor;
  }
  void operator()(const ThroughputTimes& change) {
    for (Peak& peak : to.machine.peaks) peak.flop_per_s.value *= change.factor;
    if (to.request.hardware.flop_per_s) *to.request.hardware.flop_per_s *= change.factor;
  }
  void operator()(const CapacityOf& change) { to.request.hardware.capacity_bytes = change.bytes; }
  void operator()(const InDType& change) { to.request.sizes.dtype = change.dtype; }
  void operator()(const BatchTimes& change) {
    (*this)(BatchOf{batch_in(bind_model(graph, to.request.sizes)) * change.factor});
  }
  void operator()(const BatchOf& change) {
    const std::int64_t before = batch_in(bind_model(graph, to.request.sizes));
    set_batch(to.request.sizes, change.samples);
    samples = static_cast<double>(change.samples) / static_cast<double>(before);
  }
  void operator()(const OptionSet& change) {
    if (change.name == "dtype") {
      to.request.sizes.dtype = dtype_named(change.value);
    } else {
      set_option(to.request, change.name, change.value);
    }
  }
  void operator()(const OnMachine& change) { to.machine = load_machine(change.name); }
  void operator()(const OtherSplit& change) { (*this)(Computed{change.text}); }
  void operator()(const OtherCluster& change) { (*this)(Computed{change.text}); }
  void operator()(const Computed& change) {
    fail(ErrorKind::internal, "'{}' is not for a prediction", change.text);
  }
};

/// The search below the asked capacity finds a schedule that is up to half a percent faster. Of a
/// program with more steps than this it takes a second per change, which no answer is worth.
constexpr std::size_t most_steps_to_search = 5'000;
/// Of a program with more, each change takes seconds.
constexpr std::size_t most_steps_to_ask = 100'000;

/// Another rate or capacity leaves the program as it is.
bool keeps_program(const Change& change) {
  return std::holds_alternative<BandwidthTimes>(change) ||
         std::holds_alternative<ThroughputTimes>(change) ||
         std::holds_alternative<CapacityOf>(change);
}

/// The iteration as it is, made once for all changes that leave its program as it is.
class SameIteration {
 public:
  SameIteration(const Graph& graph, const PredictRequest& request)
      : bound_(bind_request(graph, request)),
        program_(limit_program(bound_, request)),
        list_(program_) {}

  std::size_t steps() const { return planned_length(program_); }
  double time_s(const Machine& machine, const PredictRequest& request) const {
    return predict(list_, hardware_for(machine, main_dtype(bound_), request), request.options,
                   Record::totals)
        .time_s;
  }

 private:
  BoundGraph bound_;
  Program program_;
  AccessList list_;
};

ChangeAnswer answer_to(const Graph& graph, const Machine& machine, const PredictRequest& request,
                       const Hardware& now, const SameIteration& same, const Change& change) {
  try {
    Changed changed{request, machine};
    if (same.steps() > most_steps_to_search)
      changed.request.options.tries_smaller_capacities = false;
    ApplyChange apply{changed, graph, now.bytes_per_s};
    std::visit(apply, change);
    const double time_s = keeps_program(change)
                              ? same.time_s(changed.machine, limit_request(changed.request))
                              : predicted_time_s(graph, changed.machine, changed.request);
    return {.time_s = time_s / apply.samples, .reason = {}};
  } catch (const Error& error) {
    return {.time_s = {}, .reason = error.what()};
  }
}

/// Each change may need a program of its own, about a gigabyte per million steps while its plan is
/// searched: as many at once as leave memory to others.
std::size_t most_threads_for(std::size_t steps) {
  constexpr std::size_t most_steps_at_once = 1'000'000;
  return std::max<std::size_t>(1, most_steps_at_once / std::max<std::size_t>(1, steps));
}

/// `answer(change)` of each, side by side, on so many threads at most.
template <class Answer>
std::vector<ChangeAnswer> answers_to(std::span<const Change> changes,
                                     const WhatIfProgress& on_progress, const Answer& answer,
                                     std::size_t most_threads = 8) {
  std::mutex mutex;
  std::size_t done = 0;
  const auto answer_one = [&](const Change& change) {
    ChangeAnswer one = answer(change);
    const std::lock_guard lock(mutex);
    if (on_progress) on_progress(++done, changes.size());
    return one;
  };
  const std::size_t threads =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most_threads);
  std::vector<ChangeAnswer> answers(changes.size());
  std::vector<std::future<void>> workers;
  for (std::size_t first = 0; first < std::min(threads, changes.size()); ++first) {
    // Where the system has no more threads, this one does the work of the others, too.
    workers.push_back(std::async(std::launch::async | std::launch::deferred, [&, first] {
      for (std::size_t i = first; i < changes.size(); i += threads)
        answers[i] = answer_one(changes[i]);
    }));
  }
  for (std::future<void>& worker : workers) worker.get();
  return answers;
}

/// The next capacity that changes something: at which every step holds all its values, or twice
/// what there is.
std::optional<Change> more_capacity(const PredictionSummary& summary) {
  const std::int64_t now = summary.hardware.capacity_bytes;
  if (summary.whole.bytes > now) return CapacityOf{summary.whole.bytes};
  return twice_the_capacity(now);
}

std::optional<Change> lower_precision(const Machine& machine, DType now) {
  if (now != DType::fp32 && now != DType::tf32 && now != DType::fp64) return std::nullopt;
  for (const DType lower : {DType::bf16, DType::fp16}) {
    const bool has_rate = std::any_of(machine.peaks.begin(), machine.peaks.end(),
                                      [&](const Peak& peak) { return peak.dtype == lower; });
    if (has_rate) return InDType{lower};
  }
  return std::nullopt;
}

}  // namespace

PredictAgain predict_again(const Graph& graph, const Machine& machine,
                           const PredictRequest& request, const Hardware& hardware,
                           const WhatIfProgress& on_progress) {
  return [&graph, &machine, request, hardware, on_progress](std::span<const Change> changes) {
    if (request.options.policy == Policy::exact) {  // the solver takes its time
      return std::vector<ChangeAnswer>(
          changes.size(), {{}, "the exact policy takes too long to be asked again and again"});
    }
    if (changes.empty()) return std::vector<ChangeAnswer>();
    const SameIteration same(graph, limit_request(request));
    if (same.steps() > most_steps_to_ask)
      return std::vector<ChangeAnswer>(
          changes.size(),
          {{},
           fmt::format("an iteration of {} steps takes seconds to predict; changes are predicted "
                       "up to {} (strata predict takes them one by one)",
                       same.steps(), most_steps_to_ask)});
    return answers_to(
        changes, on_progress,
        [&](const Change& change) {
          return answer_to(graph, machine, request, hardware, same, change);
        },
        std::min<std::size_t>(8, most_threads_for(same.steps())));
  };
}

ExpectedChange expected_with(const Graph& graph, const Machine& machine,
                             const PredictRequest& request, const Change& change) {
  Changed changed{request, machine};
  ApplyChange apply{changed, graph};
  std::visit(apply, change);
  const auto wanted = expected_request(changed.machine, changed.request);
  if (!wanted) fail(ErrorKind::internal, "an expected time of framework none");
  return {.time = ExpectedTimes(with_overrides(changed.machine, changed.request.hardware), *wanted)
                      .of(bind_request(graph, changed.request), changed.request.training),
          .device_bytes = outer_memory_bytes(changed.machine),
          .samples = apply.samples};
}

PredictAgain expect_again(const Graph& graph, const Machine& machine, const PredictRequest& request,
                          const WhatIfProgress& on_progress) {
  return [&graph, &machine, request, on_progress](std::span<const Change> changes) {
    return answers_to(changes, on_progress, [&](const Change& change) -> ChangeAnswer {
      try {
        const ExpectedChange expected = expected_with(graph, machine, request, change);
        if (!expected.fits())
          return {.time_s = {},
                  .reason =
                      fmt::format("out of memory: needs {}, has {}",
                                  format_capacity(static_cast<double>(expected.time.memory_bytes)),
                                  format_capacity(*expected.device_bytes))};
        return {.time_s = expected.time.time_s / expected.samples, .reason = {}};
      } catch (const Error& error) {
        return {.time_s = {}, .reason = error.what()};
      }
    });
  };
}

std::vector<Alternative> alternatives_to(const Graph& graph, const Machine& machine,
                                         const PredictRequest& request,
                                         const PredictedIteration& iteration) {
  const PredictionSummary& summary = iteration.summary;
  std::vector<Change> changes;
  if (const auto capacity = more_capacity(summary)) changes.push_back(*capacity);
  changes.emplace_back(BandwidthTimes{2});
  if (const auto lower = lower_precision(machine, main_dtype(*iteration.bound)))
    changes.push_back(*lower);

  PredictRequest quick = request;
  // A hint need not be exact to half a percent, which the search below this capacity is for.
  quick.options.tries_smaller_capacities = false;
  const std::vector<ChangeAnswer> answers =
      predict_again(graph, machine, quick, summary.hardware)(changes);
  std::vector<Alternative> alternatives;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (!answers[i].time_s) continue;
    const double ratio = *answers[i].time_s / summary.totals.time_s;
    Alternative one{.change = text_of(changes[i]), .time_ratio = ratio, .speed_ratio = 1 / ratio};
    one.is_of_chip = std::holds_alternative<CapacityOf>(changes[i]) ||
                     std::holds_alternative<BandwidthTimes>(changes[i]);
    if (std::holds_alternative<BandwidthTimes>(changes[i]))
      one.change = format_bytes_per_s(2 * summary.hardware.bytes_per_s);
    alternatives.push_back(std::move(one));
  }
  return alternatives;
}

}  // namespace strata
