// SPDX-License-Identifier: Apache-2.0
#include "strata/api/explain_parallel.hpp"

#include "strata/base/units.hpp"
#include "strata/explain/explain_context.hpp"
#include "strata/report/setup_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace strata {
namespace {

WhatIf what_if_of(const ParallelChange& change, double base_s,
                  const std::optional<double>& device_bytes) {
  WhatIf what_if{.change = OtherSplit{change.text},
                 .base_s = base_s,
                 .time_s = change.time_s,
                 .reason = change.reason,
                 .basis = Basis::predicted_again,
                 .is_expected = true};
  if (change.is_of_cluster) what_if.change = OtherCluster{change.text};
  if (!change.time_s) return what_if;
  what_if.memory_bytes = change.memory_bytes;
  if (change.fits) return what_if;
  what_if.time_s.reset();
  what_if.reason =
      fmt::format("out of memory: needs {}, has {}; else {}",
                  format_capacity(static_cast<double>(change.memory_bytes)),
                  format_capacity(device_bytes.value_or(0)), format_time(*change.time_s));
  return what_if;
}

bool is_kernel_time(double RankTime::*part) {
  return part == &RankTime::compute_s || part == &RankTime::recompute_s ||
         part == &RankTime::update_s;
}

/// Collectives and sending, as far as kernels wait for them.
bool is_communication_time(double RankTime::*part) {
  return !is_kernel_time(part) && part != &RankTime::bubble_s && part != &RankTime::host_s;
}

class StrategyFindings {
 public:
  StrategyFindings(const ParallelSummary& summary, const Cluster& cluster,
                   const std::vector<ParallelChange>& changes)
      : summary_(summary),
        cluster_(cluster),
        changes_(changes),
        strategy_(summary.result.strategy),
        mean_(summary.result.iteration.mean()),
        time_s_(summary.result.time_s) {}

  Findings take() {
    add_out_of_memory();
    add_bubble();
    add_communication();
    add_host();
    add_recomputation();
    add_kernels();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const ProfileFinding& a, const ProfileFinding& b) {
                       const bool is_first = a.code == FindingCode::out_of_memory;
                       if (is_first != (b.code == FindingCode::out_of_memory)) return is_first;
                       if (a.gain_s() != b.gain_s()) return a.gain_s() > b.gain_s();
                       return a.cost_s > b.cost_s;
                     });
    return std::move(found_);
  }

 private:
  using IsAsked = std::function<bool(const ParallelChange&)>;

  /// Nothing: it costs too little to speak of.
  ProfileFinding* add(FindingCode code, double cost_s, const IsAsked& is_asked) {
    if (kind_of(code).is_about_time && cost_s < noticeable_share * time_s_) return nullptr;
    ProfileFinding finding{.code = code,
                           .subject = {},
                           .what = {},
                           .evidence = {},
                           .cost_s = cost_s,
                           .cost_share = cost_s / time_s_,
                           .is_expected = true,
                           .advice = {},
                           .what_ifs = {}};
    for (const ParallelChange& change : changes_) {
      if (change.reason.empty() && !change.is_search && is_asked(change))
        finding.what_ifs.push_back(
            what_if_of(change, time_s_, summary_.context.device_memory_bytes));
    }
    found_.push_back(std::move(finding));
    return &found_.back();
  }

  void add_out_of_memory();
  void add_bubble();
  void add_communication();
  void add_host();
  void add_recomputation();
  void add_kernels();

  const ParallelSummary& summary_;
  const Cluster& cluster_;
  const std::vector<ParallelChange>& changes_;
  const Strategy& strategy_;
  RankTime mean_;
  double time_s_;
  Findings found_;
};

MemoryNeed memory_need_of(const ParallelSummary& summary,
                          const std::vector<ParallelChange>& changes) {
  MemoryNeed need{.needed_bytes = summary.result.most_memory().total_bytes(),
                  .device_bytes = *summary.context.device_memory_bytes};
  if (need.fits()) return need;
  for (const ParallelChange& change : changes) {
    if (change.reason.empty() && change.memory_bytes < need.needed_bytes)
      need.changes.push_back({change.text, change.memory_bytes, change.fits});
  }
  return need;
}

void StrategyFindings::add_out_of_memory() {
  if (summary_.fits()) return;
  const RankMemory& memory = summary_.result.most_memory();
  ProfileFinding* finding = add(FindingCode::out_of_memory, 0, [&](const ParallelChange& change) {
    return change.memory_bytes < memory.total_bytes();
  });
  finding->what = fmt::format("{} on the fullest of {} stages",
                              out_of_memory_text(memory_need_of(summary_, {})), strategy_.pipeline);
  const auto bytes = [&](std::string what, std::int64_t value) {
    finding->evidence.push_back({std::move(what), static_cast<double>(value), Measure::capacity});
  };
  bytes("parameters", memory.parameters_bytes);
  bytes("gradients", memory.gradients_bytes);
  bytes("optimizer states", memory.states_bytes);
  bytes("activations", memory.activations_bytes);
  bytes("buffers", memory.buffers_bytes);
  finding->advice =
      "split states, gradients or weights over dp (zero=1 to 3), recompute activations, take more "
      "micro-batches, or more tensor or pipeline ranks (--parallel auto tries them all); times "
      "below are those of devices that had the memory";
}

void StrategyFindings::add_bubble() {
  ProfileFinding* finding =
      add(FindingCode::pipeline_bubble, mean_.bubble_s, [&](const ParallelChange& change) {
        const Strategy& other = change.strategy;
        return !change.is_of_cluster &&
               (other.micro_batches > strategy_.micro_batches || other.chunks > strategy_.chunks ||
                other.schedule != strategy_.schedule);
      });
  if (finding == nullptr) return;
  std::vector<double> busy;
  for (const RankTime& rank : summary_.result.iteration.ranks)
    busy.push_back(time_s_ - rank.bubble_s);
  const auto [least, most] = std::minmax_element(busy.begin(), busy.end());
  const auto ahead = static_cast<double>(strategy_.pipeline - 1);
  const double equal =
      ahead / (static_cast<double>(strategy_.micro_batches * strategy_.chunks) + ahead);
  finding->what = fmt::format(
      "a rank waits for other stages for {} on average, {} of the iteration; 1F1B with {} equal "
      "stages and {} micro-batches{} would wait for {}; stages work between {} and {}",
      format_time(mean_.bubble_s), percent_of(mean_.bubble_s, time_s_), strategy_.pipeline,
      strategy_.micro_batches,
      strategy_.chunks > 1 ? fmt::format(" of {} chunks", strategy_.chunks) : "",
      percent_of(equal, 1), format_time(*least), format_time(*most));
  finding->evidence = {
      {"waiting for stages", mean_.bubble_s, Measure::seconds},
      {"stages", static_cast<double>(strategy_.pipeline), Measure::count},
      {"micro-batches", static_cast<double>(strategy_.micro_batches), Measure::count},
      {"with equal stages", equal, Measure::share},
      {"the busiest stage works", *most, Measure::seconds},
      {"the idlest", *least, Measure::seconds}};
  finding->advice =
      "more micro-batches, chunks of layers (v=2, interleaved), gradients of weights in the "
      "bubbles "
      "(schedule=zero-bubble), or fewer stages; uneven stages wait for the slowest";
}

void StrategyFindings::add_communication() {
  double exposed_s = 0;
  std::string listed;
  std::vector<EvidenceNumber> evidence;
  for (std::size_t i = 0; i < rank_time_parts.size(); ++i) {
    const double part_s = mean_.*rank_time_parts[i];
    if (!is_communication_time(rank_time_parts[i]) || part_s <= 0) continue;
    exposed_s += part_s;
    listed +=
        fmt::format("{}{} {}", listed.empty() ? "" : ", ", rank_time_names[i], format_time(part_s));
    evidence.push_back({std::string(rank_time_names[i]), part_s, Measure::seconds});
  }
  ProfileFinding* finding =
      add(FindingCode::exposed_collectives, exposed_s, [&](const ParallelChange& change) {
        const Strategy& other = change.strategy;
        return change.is_of_cluster || other.sequence_parallel != strategy_.sequence_parallel ||
               other.zero != strategy_.zero;
      });
  if (finding == nullptr) return;
  finding->what = fmt::format("kernels wait for links for {}, {} of the iteration: {}",
                              format_time(exposed_s), percent_of(exposed_s, time_s_), listed);
  double sent = 0;
  for (const RankTraffic& traffic : summary_.result.iteration.traffic)
    sent = std::max(sent, traffic.total_bytes());
  finding->evidence = std::move(evidence);
  finding->evidence.push_back({"sent by the rank that sends most", sent, Measure::bytes});
  if (cluster_.devices_per_node > 1)
    finding->evidence.push_back({fmt::format("{}, reached by collectives", cluster_.inside.name),
                                 cluster_.inside.reached_bytes_per_s, Measure::bytes_per_s});
  if (cluster_.between)
    finding->evidence.push_back({fmt::format("{}, reached by collectives", cluster_.between->name),
                                 cluster_.between->reached_bytes_per_s, Measure::bytes_per_s});
  finding->advice =
      "keep tensor parallel ranks within a node, take fewer of them, give dp or pp the network; "
      "larger micro-batches send as many gradients for more arithmetic";
}

void StrategyFindings::add_host() {
  ProfileFinding* finding =
      add(FindingCode::host_bound, mean_.host_s, [&](const ParallelChange& change) {
        return !change.is_of_cluster && change.strategy.micro_batches < strategy_.micro_batches;
      });
  if (finding == nullptr) return;
  finding->what = fmt::format(
      "kernels wait for the host for {}, {} of the iteration: it takes longer to dispatch a "
      "micro-batch of {} samples than the GPU to run it",
      format_time(mean_.host_s), percent_of(mean_.host_s, time_s_), summary_.result.micro_batch);
  finding->evidence = {{"waiting for the host", mean_.host_s, Measure::seconds},
                       {"samples of a micro-batch",
                        static_cast<double>(summary_.result.micro_batch), Measure::count}};
  finding->advice =
      "give each kernel more to do with fewer, larger micro-batches or fewer tensor parallel "
      "ranks, or launch fewer: CUDA graphs, torch.compile";
}

void StrategyFindings::add_recomputation() {
  ProfileFinding* finding =
      add(FindingCode::recomputation, mean_.recompute_s, [&](const ParallelChange& change) {
        return !change.is_of_cluster && change.text.starts_with("recompute=");
      });
  if (finding == nullptr) return;
  const RankMemory& memory = summary_.result.most_memory();
  finding->what = fmt::format(
      "what was not kept is computed again for {}, {} of the iteration; activations "
      "of the fullest rank take {} so",
      format_time(mean_.recompute_s), percent_of(mean_.recompute_s, time_s_),
      format_capacity(static_cast<double>(memory.activations_bytes)));
  finding->evidence = {
      {"computed again", mean_.recompute_s, Measure::seconds},
      {"activations", static_cast<double>(memory.activations_bytes), Measure::capacity},
      {"memory of the fullest rank", static_cast<double>(memory.total_bytes()), Measure::capacity}};
  finding->advice =
      "recompute less (recompute=selective drops scores of attention alone), where the memory "
      "allows it: smaller micro-batches, ZeRO or sequence parallelism make room";
}

/// Products at the peak of all devices, beside what kernels take for them.
void StrategyFindings::add_kernels() {
  const ParallelContext& context = summary_.context;
  if (!context.peak_flop_per_s) return;
  const double peak_s =
      context.model_flop / (*context.peak_flop_per_s * static_cast<double>(context.devices));
  ProfileFinding* finding = add(
      FindingCode::low_utilisation, mean_.compute_s - peak_s, [&](const ParallelChange& change) {
        return !change.is_of_cluster && change.strategy.micro_batches < strategy_.micro_batches;
      });
  if (finding == nullptr) return;
  finding->what = fmt::format(
      "kernels of forward and backward take {} for products that take {} at the peak of {}: they "
      "reach {} of it",
      format_time(mean_.compute_s), format_time(peak_s), context.dtype,
      percent_of(peak_s, mean_.compute_s));
  finding->evidence = {{"kernels", mean_.compute_s, Measure::seconds},
                       {"products at the peak", peak_s, Measure::seconds},
                       {"peak", *context.peak_flop_per_s, Measure::flop_per_s}};
  finding->advice =
      "larger products: larger micro-batches, fewer tensor parallel ranks; strata explain of one "
      "device says which kernels are far from their roof";
}

ExpectedIteration expected_of(const ParallelSummary& summary) {
  const ParallelContext& context = summary.context;
  const StrategyTime& result = summary.result;
  const RankTime mean = result.iteration.mean();
  ExpectedIteration expected;
  expected.framework = context.framework;
  expected.calibration = name_of(context.calibration);
  expected.calibrated_on = context.calibrated_on;
  expected.time_s = result.time_s;
  expected.low_s = result.low_s;
  expected.high_s = result.high_s;
  expected.samples_per_s = static_cast<double>(context.samples) / result.time_s;
  expected.host_s = mean.host_s;
  if (context.peak_flop_per_s)
    expected.arithmetic_s =
        context.model_flop / (*context.peak_flop_per_s * static_cast<double>(context.devices));
  for (std::size_t i = 0; i < rank_time_parts.size(); ++i) {
    const double part_s = mean.*rank_time_parts[i];
    if (is_kernel_time(rank_time_parts[i])) expected.busy_s += part_s;
    if (part_s > 0) expected.lost_to.push_back({std::string(rank_time_names[i]), part_s});
  }
  return expected;
}

}  // namespace

Explanation explain_parallel(const ParallelSummary& summary, const Cluster& cluster,
                             const std::vector<ParallelChange>& changes) {
  const ParallelContext& context = summary.context;
  Explanation answer;
  answer.subject.network = context.network;
  answer.subject.title = context.title;
  answer.subject.dtype = context.dtype;
  answer.subject.setup =
      setup_text(context.precision(), {.optimizer = context.optimizer}, context.samples);
  answer.machine = context.cluster;
  answer.machine_title = fmt::format("{} {} ({} x {})", context.devices, context.machine_title,
                                     context.nodes, context.devices_per_node);
  answer.machine_kind = cluster.machine.kind;
  answer.strategy = to_text(summary.result.strategy);
  answer.time_s = summary.result.time_s;
  answer.expected = expected_of(summary);
  answer.limit_s = summary.limit_s;
  if (context.device_memory_bytes) answer.memory = memory_need_of(summary, changes);
  answer.findings = StrategyFindings(summary, cluster, changes).take();
  for (const ParallelChange& change : changes) {
    if (!change.reason.empty()) continue;
    answer.what_ifs.push_back(what_if_of(change, answer.time_s, context.device_memory_bytes));
  }
  sort_by_gain(answer.what_ifs);
  for (const ParallelChange& change : changes) {
    if (!change.reason.empty())
      answer.notes.push_back(fmt::format("not possible, {}: {}", change.text, change.reason));
  }
  if (context.calibration == CalibrationUse::transferred)
    answer.notes.push_back(
        fmt::format("times of kernels are transferred from {}: take the order of changes from them "
                    "rather than the milliseconds",
                    context.calibrated_on));
  for (const std::string& assumption : context.assumptions)
    answer.notes.push_back(fmt::format("assumed: {}", assumption));
  return answer;
}

Explanation explain_strategy(const Graph& graph, const Cluster& cluster,
                             const PredictRequest& request, ParallelModel& model,
                             const ParallelSummary& summary, const ParallelChoice* searched,
                             const ParallelChangeProgress& on_progress) {
  return explain_parallel(summary, cluster,
                          parallel_changes(graph, cluster, request, model, summary.result.strategy,
                                           searched, on_progress));
}

}  // namespace strata
