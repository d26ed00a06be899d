// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/layerwise_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace strata {

CountedLayers::CountedLayers(const LayerwiseCase& one) : one_(one), all_(layers_of(one)) {
  inner_ = inner_convolutions(one);
  for (const LayerSum& layer : all_) {
    if (is_connected(layer)) connected_.push_back(layer);
    if (!is_convolution(layer)) continue;
    if (input_.empty() || input_.front().layer == layer.layer) input_.push_back(layer);
  }
}

std::optional<double> CountedLayers::sum(const std::vector<LayerSum>& layers,
                                         std::initializer_list<std::string_view> keys) const {
  std::optional<double> total;
  for (const LayerSum& layer : layers) {
    double of_layer = 0;
    bool is_whole = true;
    for (const std::string_view key : keys) {
      const auto value = counted(one_, layer, key);
      is_whole = is_whole && value;
      of_layer += value.value_or(0);
    }
    if (is_whole) total = total.value_or(0) + of_layer;
  }
  return total;
}

std::optional<double> CountedLayers::rate(const std::vector<LayerSum>& layers,
                                          std::initializer_list<std::string_view> keys) const {
  const std::optional<double> bytes = sum(layers, keys);
  double time_s = 0;
  for (const LayerSum& layer : layers) time_s += layer.time_s;
  if (!bytes || !(time_s > 0)) return std::nullopt;
  return *bytes / time_s;
}

Mean CountedLayers::mean(const std::vector<LayerSum>& layers, std::string_view key,
                         std::string_view weight_key) const {
  Mean mean;
  for (const LayerSum& layer : layers) {
    mean.add(counted(one_, layer, key),
             weight_key.empty() ? 1 : counted(one_, layer, weight_key).value_or(0));
  }
  return mean;
}

std::string algorithms_text(const std::vector<LayerSum>& layers) {
  std::map<std::string, std::size_t> counts;
  for (const LayerSum& layer : layers) {
    for (const std::string& algorithm : layer.algorithms) ++counts[algorithm];
  }
  std::vector<std::pair<std::string, std::size_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : order) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name,
                        count == 1 ? "" : fmt::format(" ({})", count));
  }
  return text;
}

std::string ran_as(std::string_view who, const std::vector<LayerSum>& layers) {
  const std::string algorithms = algorithms_text(layers);
  return algorithms.empty() ? "" : fmt::format("{} ran as {}", who, algorithms);
}

std::string defined_bytes(const std::vector<LayerSum>& layers) {
  double in_bytes = 0, out_bytes = 0;
  for (const LayerSum& layer : layers) {
    in_bytes += static_cast<double>(layer.in_bytes);
    out_bytes += static_cast<double>(layer.out_bytes);
  }
  return fmt::format("by definition they read {} and write {}", format_bytes(in_bytes),
                     format_bytes(out_bytes));
}

std::string write_hits_cause(const CountedLayers& layers) {
  const Mean writes = layers.mean(layers.all(), "l2_write_hit_rate", "l2_write_bytes");
  if (!writes.is_there()) return {};
  const std::string& source = layers.profile().profile.counters.source;
  const std::string everywhere =
      fmt::format("{} of all writes of the iteration hit", whole_percent(writes.value()));
  if (!source.starts_with("GH")) return everywhere;
  return "Hopper's L2 takes a write without reading memory first, and its counter calls that a "
         "hit: " +
         everywhere;
}

std::string other_waiting(const LayerwiseCase& one, const LayerSum& layer) {
  // Those that count as data, and those that are no waiting.
  constexpr std::array<std::string_view, 9> left_out = {
      "stall_data_access",  "stall_selected", "stall_long_scoreboard",
      "stall_lg_throttle",  "stall_drain",    "stall_membar",
      "stall_tex_throttle", "stall_imc_miss", "stall_not_selected"};
  double most = 0;
  std::string about;
  for (const CounterColumn& column : one.profile.counters.columns) {
    if (!column.key.starts_with("stall_") ||
        std::find(left_out.begin(), left_out.end(), column.key) != left_out.end())
      continue;
    const double share = counted(one, layer, column.key).value_or(0);
    if (share <= most) continue;
    most = share;
    about = column.about;
  }
  return most > 0 ? fmt::format("its other warps wait most because of: {}", about) : "";
}

const LayerwiseCase& largest_counted(const std::vector<const LayerwiseCase*>& cases) {
  const auto found = std::find_if(cases.rbegin(), cases.rend(), [](const LayerwiseCase* one) {
    return !one->profile.counters.columns.empty();
  });
  return found == cases.rend() ? *cases.back() : **found;
}

}  // namespace strata
