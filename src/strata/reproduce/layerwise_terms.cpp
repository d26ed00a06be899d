// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/layerwise_terms.hpp"

#include <algorithm>

namespace strata {

CountedLayers::CountedLayers(const LayerwiseCase& one) : one_(one), all_(layers_of(one)) {
  const auto first = std::find_if(all_.begin(), all_.end(), is_convolution);
  if (first != all_.end()) first_convolution_ = first->layer;
}

std::vector<LayerSum> CountedLayers::group(LayerGroup group, LayerDirection direction) const {
  const auto is_of = [&](const LayerSum& layer) {
    const bool is_first = layer.layer == first_convolution_;
    switch (group) {
      case LayerGroup::all: return true;
      case LayerGroup::convolutions:
      case LayerGroup::heaviest: return is_convolution(layer);
      case LayerGroup::input: return is_convolution(layer) && is_first;
      case LayerGroup::inner: return is_convolution(layer) && !is_first;
      case LayerGroup::connected: break;
    }
    return is_connected(layer);
  };
  std::vector<LayerSum> layers;
  for (const LayerSum& layer : all_) {
    const bool is_wanted = direction == LayerDirection::both ||
                           (direction == LayerDirection::backward) == layer.is_backward;
    if (is_wanted && is_of(layer)) layers.push_back(layer);
  }
  if (group != LayerGroup::heaviest) return layers;
  constexpr std::size_t few = 4;
  std::stable_sort(layers.begin(), layers.end(),
                   [](const LayerSum& a, const LayerSum& b) { return a.flop > b.flop; });
  layers.resize(std::min(layers.size(), few));
  return layers;
}

std::optional<double> CountedLayers::number(const LayerSum& layer, std::string_view key) const {
  if (key == "time_s") return layer.time_s;
  if (key == "waiting") return layer.waiting;
  if (key == "data_waiting") return layer.data_waiting;
  if (key == "l2_missed_bytes") {
    const auto bytes = counted(one_, layer, "l2_read_bytes");
    const auto hits = counted(one_, layer, "l2_read_hit_rate");
    return bytes && hits ? std::optional(*bytes * (1 - *hits)) : std::nullopt;
  }
  return counted(one_, layer, key);
}

std::optional<double> CountedLayers::sum(const std::vector<LayerSum>& layers,
                                         std::string_view key) const {
  std::optional<double> total;
  for (const LayerSum& layer : layers) {
    if (const auto value = number(layer, key)) total = total.value_or(0) + *value;
  }
  return total;
}

Mean CountedLayers::mean(const std::vector<LayerSum>& layers, std::string_view key,
                         std::string_view weight_key) const {
  Mean mean;
  for (const LayerSum& layer : layers)
    mean.add(number(layer, key), weight_key.empty() ? 1 : number(layer, weight_key).value_or(0));
  return mean;
}

std::optional<double> CountedLayers::value_of(const LayerTerm& term,
                                              const std::vector<LayerSum>& layers) const {
  const auto [key, second] = term.keys;
  const auto over = [](std::optional<double> part, std::optional<double> whole) {
    return part && whole && *whole > 0 ? std::optional(*part / *whole) : std::nullopt;
  };
  if (term.measure == LayerMeasure::share) return over(sum(layers, key), sum(layers, second));
  if (term.measure == LayerMeasure::mean || term.measure == LayerMeasure::most) {
    const bool is_mean = term.measure == LayerMeasure::mean;
    const Mean found = mean(layers, key, is_mean ? second : std::string_view());
    if (!found.is_there()) return std::nullopt;
    return is_mean ? found.value() : found.most();
  }
  std::optional<double> total = sum(layers, key);
  if (total && !second.empty()) {
    const std::optional<double> more = sum(layers, second);
    total = more ? std::optional(*total + *more) : std::nullopt;
  }
  return term.measure == LayerMeasure::sum ? total : over(total, sum(layers, "time_s"));
}

std::optional<double> CountedLayers::value(const LayerTerm& term) const {
  return value_of(term, group(term.group, term.direction));
}
std::optional<double> CountedLayers::value(const LayerTerm& term, const LayerSum& layer) const {
  return value_of(term, {layer});
}

}  // namespace strata
