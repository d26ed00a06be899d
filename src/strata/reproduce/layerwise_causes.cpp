// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/layerwise_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace strata {

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

std::string inner_ran_as(const CountedLayers& layers) {
  return ran_as("inner convolutions", layers.group(LayerGroup::inner));
}
std::string inner_bytes(const CountedLayers& layers) {
  const std::string ran = inner_ran_as(layers);
  return defined_bytes(layers.group(LayerGroup::inner)) + (ran.empty() ? "" : "; ") + ran;
}
std::string input_bytes(const CountedLayers& layers) {
  return "the input convolution: " + defined_bytes(layers.group(LayerGroup::input));
}
std::string connected_bytes(const CountedLayers& layers) {
  return defined_bytes(layers.group(LayerGroup::connected));
}

std::string longest_other_type(const CountedLayers& layers) {
  std::map<std::string, double> others;
  double all_s = 0;
  const std::vector<LayerSum> inner = layers.group(LayerGroup::inner);
  for (const LayerSum& layer : layers.all()) {
    all_s += layer.time_s;
    const bool is_inner = std::any_of(
        inner.begin(), inner.end(), [&](const LayerSum& one) { return one.layer == layer.layer; });
    if (!is_inner)
      others[is_convolution(layer) ? "the input convolution" : layer.op] += layer.time_s;
  }
  const auto most =
      std::max_element(others.begin(), others.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == others.end() || !(all_s > 0)) return {};
  return fmt::format("{} has {} of the time", most->first, whole_percent(most->second / all_s));
}

std::string backward_by_layer(const CountedLayers& layers) {
  constexpr double twice = 2;
  std::size_t beyond = 0, all = 0;
  for (const LayerSum& forward : layers.all()) {
    if (forward.is_backward || (!is_convolution(forward) && !is_connected(forward))) continue;
    ++all;
    for (const LayerSum& backward : layers.all())
      beyond += backward.is_backward && backward.layer == forward.layer &&
                backward.time_s > twice * forward.time_s;
  }
  return fmt::format("{} of {} convolutions and fully connected layers exceed 2×", beyond, all);
}

std::string kept_by_l1(const CountedLayers& layers) {
  std::string text;
  for (const auto& [who, group] : {std::pair("the input convolution", LayerGroup::input),
                                   std::pair("inner convolutions", LayerGroup::inner),
                                   std::pair("fully connected layers", LayerGroup::connected)}) {
    const Mean hits = layers.mean(layers.group(group), "l1_hit_rate", "l1_load_bytes");
    if (hits.is_there())
      text += fmt::format("{}{} {}", text.empty() ? "L1 keeps of what layers ask for: " : ", ", who,
                          whole_percent(hits.value()));
  }
  return text;
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

namespace {

/// What a layer waits for most, data aside; empty: not counted.
std::string waits_for(const LayerwiseCase& one, const LayerSum& layer) {
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

}  // namespace

std::string other_waiting(const CountedLayers& layers) {
  const std::vector<LayerSum> heavy = layers.group(LayerGroup::heaviest);
  const auto data = [&](const LayerSum& layer) {
    return layers.number(layer, "stall_data_access").value_or(1);
  };
  const auto least =
      std::min_element(heavy.begin(), heavy.end(),
                       [&](const LayerSum& a, const LayerSum& b) { return data(a) < data(b); });
  if (least == heavy.end()) return {};
  std::string cause = least->title();
  if (const std::string ran = algorithms_text({*least}); !ran.empty()) cause += " ran as " + ran;
  if (const std::string rest = waits_for(layers.profile(), *least); !rest.empty())
    cause += ": " + rest;
  return cause;
}

const LayerwiseCase& largest_counted(const std::vector<const LayerwiseCase*>& cases) {
  const auto found = std::find_if(cases.rbegin(), cases.rend(), [](const LayerwiseCase* one) {
    return !one->profile.counters.columns.empty();
  });
  return found == cases.rend() ? *cases.back() : **found;
}

}  // namespace strata
