// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/memory_shortage.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace strata {
namespace {

std::optional<DType> replaced_dtype(const BoundGraph& bound) {
  for (TensorId id = 0; id < bound.tensors.size(); ++id) {
    const DType own = bound.graph->tensors[id].type.dtype;
    if (is_floating(own) && bound.tensors[id].dtype != own) return bound.tensors[id].dtype;
  }
  return std::nullopt;
}

std::int64_t scaled(std::int64_t bytes, std::int64_t batch, std::int64_t of) {
  const double share = static_cast<double>(batch) / static_cast<double>(of);
  return static_cast<std::int64_t>(static_cast<double>(bytes) * share);
}

/// What the plan of another batch takes. What kernels need beside tensors is taken to grow with
/// the batch.
std::int64_t bytes_at(const BoundGraph& bound, const TrainingOptions& options,
                      std::vector<NodeAbility> abilities, std::int64_t batch) {
  Binding binding = bound.binding;
  const std::int64_t now = binding.at("batch");
  binding["batch"] = batch;
  for (NodeAbility& ability : abilities) {
    ability.needs.saved_bytes = scaled(ability.needs.saved_bytes, batch, now);
    ability.needs.scratch_bytes = scaled(ability.needs.scratch_bytes, batch, now);
  }
  const BoundGraph other = bind_graph(*bound.graph, binding, replaced_dtype(bound));
  return plan_memory(lower_program(runnable_program(other, options), abilities)).total_bytes();
}

std::string fitting_batch_text(const BoundGraph& bound, const TrainingOptions& options,
                               const std::vector<NodeAbility>& abilities, std::int64_t free_bytes) {
  const auto batch = bound.binding.find("batch");
  if (batch == bound.binding.end()) return "";
  const auto fits = [&](std::int64_t size) {
    try {
      return bytes_at(bound, options, abilities, size) <= free_bytes;
    } catch (const Error&) {
      return false;  // a network that this batch does not go with
    }
  };
  std::int64_t least_failing = batch->second;
  std::int64_t most_fitting = 0;
  while (most_fitting + 1 < least_failing) {
    const std::int64_t middle = most_fitting + (least_failing - most_fitting) / 2;
    (fits(middle) ? most_fitting : least_failing) = middle;
  }
  if (most_fitting == 0) return "; no batch fits";
  return fmt::format("; --batch {} fits", most_fitting);
}

}  // namespace

std::string memory_shortage_text(const BoundGraph& bound, const TrainingOptions& options,
                                 const std::vector<NodeAbility>& abilities,
                                 std::int64_t needed_bytes, std::int64_t free_bytes) {
  constexpr std::size_t named_layers = 3;
  const auto bytes_text = [](std::int64_t bytes) {
    return format_capacity(static_cast<double>(bytes));
  };
  std::string layers;
  std::vector<LayerMemory> by_layer =
      memory_by_layer(lower_program(runnable_program(bound, options), abilities));
  by_layer.resize(std::min(by_layer.size(), named_layers));
  for (const LayerMemory& layer : by_layer) {
    layers += fmt::format("{}{} {}", layers.empty() ? "" : ", ",
                          bound.graph->nodes[layer.node].name, bytes_text(layer.bytes));
  }
  return fmt::format("not enough memory: {} needed, {} free; the largest layers are {}{}",
                     bytes_text(needed_bytes), bytes_text(free_bytes), layers,
                     fitting_batch_text(bound, options, abilities, free_bytes));
}

}  // namespace strata
