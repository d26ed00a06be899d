// SPDX-License-Identifier: Apache-2.0
// What a framework's iteration is expected to lose, and whether it runs at all.
#include "strata/base/units.hpp"
#include "strata/explain/explain_context.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

/// The changes of the input that satisfy something, as what-ifs.
template <class IsMeant>
std::vector<WhatIf> asked_of(const ExplainContext& context, const IsMeant& is_meant) {
  std::vector<WhatIf> what_ifs;
  for (const Change& change : context.changes()) {
    if (is_meant(change)) what_ifs.push_back(context.asked(change));
  }
  return what_ifs;
}

bool is_of_precision(const Change& change) {
  const auto* option = std::get_if<OptionSet>(&change);
  return option != nullptr && (option->name == "dtype" || option->name == "amp");
}

/// What the host keeps the GPU from, when each kernel is a node of a graph instead of a call.
double saved_by_graph_s(const ExpectedIteration& expected, const Machine& machine) {
  const double node_s = machine.graph_node_latency_s ? machine.graph_node_latency_s->value : 0;
  return std::max(
      0.0, expected.time_s - expected.busy_s - static_cast<double>(expected.launches) * node_s);
}

}  // namespace

void find_out_of_memory(const ExplainContext& context, Findings& found) {
  if (context.facts() == nullptr || !context.facts()->memory) return;
  const MemoryNeed& memory = *context.facts()->memory;
  if (memory.fits()) return;
  ProfileFinding finding = context.finding(FindingCode::out_of_memory, "", 0);
  finding.what = out_of_memory_text(memory);
  finding.evidence = {
      {"needed", static_cast<double>(memory.needed_bytes), Measure::capacity},
      {"there", memory.device_bytes, Measure::capacity},
  };
  if (memory.largest_batch)
    finding.evidence.push_back(
        {"largest batch that fits", static_cast<double>(*memory.largest_batch), Measure::count});
  for (const MemoryChange& one : memory.changes)
    finding.evidence.push_back({fmt::format("with {}", one.change),
                                static_cast<double>(one.needed_bytes), Measure::capacity});
  finding.advice =
      "take a smaller batch and accumulate gradients, recompute activations in backward "
      "(activation checkpointing, --recompute), keep less optimizer state, or train in lower "
      "precision; times below are those of a device that had the memory";
  found.push_back(std::move(finding));
}

void find_host_bound(const ExplainContext& context, Findings& found) {
  const auto& expected = context.profile().expected;
  // On a CPU the host is the device: there is no other one that waits.
  if (!expected || !expected->is_host_bound() || context.machine().kind == "cpu") return;
  const double idle_s = expected->time_s - expected->busy_s;
  ProfileFinding finding = context.finding(FindingCode::host_bound, "", idle_s);
  const std::string host = text_of(expected->host);
  finding.what = fmt::format(
      "the host{} takes {} to dispatch {} kernels, the GPU {} to run them: it is idle for {} "
      "of the iteration, and a faster GPU hardly helps",
      host.empty() ? "" : fmt::format(", {},", host), format_time(expected->host_s),
      expected->launches, format_time(expected->busy_s), percent_of(idle_s, expected->time_s));
  finding.evidence = {{"dispatching", expected->host_s, Measure::seconds},
                      {"GPU busy", expected->busy_s, Measure::seconds},
                      {"kernels", static_cast<double>(expected->launches), Measure::count}};
  finding.advice =
      "give each kernel more to do with a larger batch, or launch fewer: CUDA graphs, "
      "torch.compile (mode=\"reduce-overhead\")";
  finding.what_ifs = asked_of(context, [](const Change& change) {
    const auto* option = std::get_if<OptionSet>(&change);
    return std::holds_alternative<BatchOf>(change) ||
           (option != nullptr && option->name == "framework");
  });
  finding.what_ifs.push_back(
      context.computed("the iteration were one CUDA graph, with the same kernels",
                       saved_by_graph_s(*expected, context.machine())));
  found.push_back(std::move(finding));
}

void find_slow_precision(const ExplainContext& context, Findings& found) {
  std::vector<WhatIf> what_ifs = asked_of(context, is_of_precision);
  if (what_ifs.empty() || context.times() == nullptr) return;
  ProfileFinding finding = context.finding(FindingCode::wide_type, "", 0);
  finding.is_cost_the_gain = true;
  const DType own = dtype_named(context.profile().subject.dtype).value_or(DType::fp32);
  std::string names;
  const auto multiplies_in = [&](DType dtype) {
    return find_peak(context.machine(), dtype, ComputeUnit::matrix) != nullptr;
  };
  std::vector<DType> dtypes = {own};
  if (own != DType::tf32 && multiplies_in(DType::tf32)) dtypes.push_back(DType::tf32);
  dtypes.push_back(multiplies_in(DType::bf16) ? DType::bf16 : DType::fp16);
  for (const DType dtype : dtypes) {
    const PeakRoof peak = peak_for(context.times()->roofs(), dtype, true);
    finding.evidence.push_back(
        {fmt::format("{} products", name_of(dtype)), peak.flop_per_s, Measure::flop_per_s});
    names += fmt::format("{}{} in {}", names.empty() ? "" : ", ",
                         format_flop_per_s(peak.flop_per_s), name_of(dtype));
  }
  finding.what = fmt::format("products run in {}; {} multiplies at {}", name_of(own),
                             context.machine().name, names);
  finding.advice =
      own == DType::fp32 && multiplies_in(DType::tf32)
          ? "allow TF32 first (torch.backends.cuda.matmul.allow_tf32, cudnn.allow_tf32): nothing "
            "else changes; then autocast, which rounds to 16 bits: watch the loss"
          : "train under autocast, with weights in fp32; watch the loss";
  finding.what_ifs = std::move(what_ifs);
  found.push_back(std::move(finding));
}

}  // namespace strata
