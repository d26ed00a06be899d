// SPDX-License-Identifier: Apache-2.0
#include "strata/api/user_changes.hpp"

#include "strata/graph/experts.hpp"

#include <algorithm>
#include <variant>

namespace strata {
namespace {

bool multiplies_in(const Machine& machine, DType dtype) {
  return find_peak(machine, dtype, ComputeUnit::matrix) != nullptr;
}

bool has_convolutions(const BoundGraph& bound) {
  return std::any_of(bound.graph->nodes.begin(), bound.graph->nodes.end(),
                     [](const Node& node) { return std::holds_alternative<Convolution>(node.op); });
}

/// The rate of products: of matrix units, but fp32 of vector units.
double rate_of(const Machine& machine, DType dtype) {
  const Peak* peak = find_peak(machine, dtype, ComputeUnit::matrix);
  if (peak == nullptr) peak = find_peak(machine, dtype, ComputeUnit::vector);
  return peak == nullptr ? 0 : peak->flop_per_s.value;
}

double bandwidth_of(const Machine& machine) {
  const MemoryLevel* level = off_chip(machine);
  return level == nullptr || !level->bandwidth_bytes_per_s ? 0
                                                           : level->bandwidth_bytes_per_s->value;
}

/// "NVIDIA", and whether it is a card for games.
std::pair<std::string_view, bool> family_of(const Machine& machine) {
  const std::string_view title = machine.title;
  return {title.substr(0, title.find(' ')), title.find("GeForce") != title.npos};
}

void add_autocast(std::vector<Change>& changes, DType dtype, const Machine& machine,
                  const PredictRequest& request) {
  if (request.framework_options.autocast || (dtype != DType::fp32 && dtype != DType::tf32)) return;
  if (multiplies_in(machine, DType::bf16)) {
    changes.emplace_back(OptionSet{"amp", "bf16"});
  } else if (multiplies_in(machine, DType::fp16)) {
    changes.emplace_back(OptionSet{"amp", "fp16"});
  }
}

/// Whether PyTorch runs operator by operator, which torch.compile would join. Its kernels run on
/// GPUs with matrix units, none older.
bool could_be_compiled(const Machine& machine, const PredictRequest& request) {
  return machine.kind == "gpu" && multiplies_in(machine, DType::fp16) &&
         request.framework.value_or(default_framework(machine)) == "pytorch-eager";
}

void add_faster_ways(std::vector<Change>& changes, const BoundGraph& bound, const Machine& machine,
                     const PredictRequest& request) {
  const FrameworkOptions& options = request.framework_options;
  const DType dtype = main_dtype(bound);
  const bool is_fp32 = dtype == DType::fp32 && !options.autocast;
  if (is_fp32 && multiplies_in(machine, DType::tf32))
    changes.emplace_back(OptionSet{"dtype", "tf32"});
  add_autocast(changes, dtype, machine, request);
  // Vector units take either layout; matrix units want channels last.
  const DType products = options.autocast.value_or(dtype);
  const bool chooses_layout =
      framework_named(request.framework.value_or(default_framework(machine))).fusion.has_value();
  if (!options.channels_last && !chooses_layout && products != DType::fp32 &&
      has_convolutions(bound))
    changes.emplace_back(OptionSet{"channels-last", "true"});
  if (options.attention == AttentionKernels::eager)
    changes.emplace_back(OptionSet{"attention", "sdpa"});
  const bool has_experts = !chooses_layout && !find_experts(*bound.graph).layers.empty();
  if (has_experts && options.experts == ExpertKernels::apart)
    changes.emplace_back(OptionSet{"experts", "grouped"});
  if (could_be_compiled(machine, request))
    changes.emplace_back(OptionSet{"framework", "pytorch-compile"});
  const auto batch = bound.binding.find("batch");
  if (batch != bound.binding.end() && batch->second > 0)
    changes.emplace_back(BatchOf{2 * batch->second});
}

}  // namespace

std::vector<std::string> next_gpus(const Machine& machine, DType dtype) {
  constexpr std::size_t most = 2;
  const double rate = rate_of(machine, dtype), bandwidth = bandwidth_of(machine);
  std::vector<const Machine*> faster;
  for (const Machine& other : shipped_machines()) {
    const bool is_faster = rate_of(other, dtype) > rate && bandwidth_of(other) > bandwidth;
    if (other.kind == "gpu" && is_faster && family_of(other) == family_of(machine) &&
        !ExpectedTimes::reason_against(other, {}))
      faster.push_back(&other);
  }
  std::stable_sort(faster.begin(), faster.end(), [](const Machine* a, const Machine* b) {
    return bandwidth_of(*a) < bandwidth_of(*b);
  });
  faster.resize(std::min(faster.size(), most));
  std::vector<std::string> names;
  for (const Machine* one : faster) names.push_back(one->name);
  return names;
}

std::vector<Change> user_changes(const BoundGraph& bound, const Machine& machine,
                                 const PredictRequest& request,
                                 const std::optional<MemoryNeed>& memory) {
  std::vector<Change> changes;
  if (memory && !memory->fits()) {
    changes = memory_savers(bound, machine, request);
    if (memory->largest_batch.value_or(0) > 0)
      changes.insert(changes.begin(), BatchOf{*memory->largest_batch});
  } else {
    add_faster_ways(changes, bound, machine, request);
  }
  // Rates that were set by hand are of no other machine.
  if (request.hardware.bytes_per_s || request.hardware.flop_per_s) return changes;
  const DType products = request.framework_options.autocast.value_or(main_dtype(bound));
  for (std::string& name : next_gpus(machine, products))
    changes.emplace_back(OnMachine{std::move(name)});
  return changes;
}

std::vector<Change> memory_savers(const BoundGraph& bound, const Machine& machine,
                                  const PredictRequest& request) {
  std::vector<Change> changes;
  const TrainingOptions& training = request.training;
  if (training.recompute == Recompute::none) changes.emplace_back(OptionSet{"recompute", "blocks"});
  if (training.recompute != Recompute::all) changes.emplace_back(OptionSet{"recompute", "all"});
  if (training.optimizer == Optimizer::adam)
    changes.emplace_back(OptionSet{"optimizer", "momentum"});
  if (training.optimizer == Optimizer::adam || training.optimizer == Optimizer::momentum)
    changes.emplace_back(OptionSet{"optimizer", "sgd"});
  add_autocast(changes, main_dtype(bound), machine, request);
  return changes;
}

}  // namespace strata
