// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/layerwise_study.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/machine/machine.hpp"
#include "strata/profile/read_profile.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {

std::vector<std::string_view> layerwise_networks() { return {"alexnet_caffe", "vgg16"}; }
std::vector<std::int64_t> layerwise_batches() { return {32, 64, 128, 256}; }

LayerwiseCase read_layerwise_case(std::string_view json_text) {
  LayerwiseCase one{.profile = read_profile(json_text), .batch = 0, .implementations = {}};
  const auto json = nlohmann::json::parse(json_text);
  const auto model = json.find("model");
  if (model != json.end() && model->is_object() && model->contains("batch") &&
      (*model)["batch"].is_number_unsigned())
    one.batch = (*model)["batch"].get<std::int64_t>();
  if (one.profile.evidence != Evidence::measured || one.batch <= 0)
    fail(ErrorKind::input, "not a profile of `strata measure` with a batch");
  for (const auto& row : json["layers"]) {
    const auto by = row.find("implementation");
    one.implementations.push_back(by != row.end() && by->is_string() ? by->get<std::string>() : "");
  }
  return one;
}

LayerwiseStudy::LayerwiseStudy(std::vector<LayerwiseCase> cases) : cases_(std::move(cases)) {
  if (cases_.empty()) fail(ErrorKind::input, "there are no profiles of training iterations");
  std::stable_sort(cases_.begin(), cases_.end(), [](const auto& a, const auto& b) {
    return a.network() != b.network() ? a.network() < b.network() : a.batch < b.batch;
  });
  for (std::size_t i = 1; i < cases_.size(); ++i) {
    const LayerwiseCase &a = cases_[i - 1], &b = cases_[i];
    if (a.network() == b.network() && a.batch == b.batch) {
      fail(ErrorKind::input, "{} at batch {} is there twice", printable(a.network()), a.batch);
    }
  }
}

std::vector<std::string> LayerwiseStudy::networks() const {
  std::vector<std::string> names;
  for (const LayerwiseCase& one : cases_) {
    if (names.empty() || names.back() != one.network()) names.push_back(one.network());
  }
  return names;
}

std::vector<const LayerwiseCase*> LayerwiseStudy::of(std::string_view network) const {
  std::vector<const LayerwiseCase*> list;
  for (const LayerwiseCase& one : cases_) {
    if (one.network() == network) list.push_back(&one);
  }
  return list;
}

bool LayerwiseStudy::has_counters() const {
  return std::any_of(cases_.begin(), cases_.end(), [](const LayerwiseCase& one) {
    return !one.profile.counters.columns.empty();
  });
}

std::vector<LayerSum> layers_of(const LayerwiseCase& one) {
  const Profile& profile = one.profile;
  std::vector<LayerSum> layers;
  std::vector<CounterSum> sums;
  std::map<std::pair<std::string, bool>, std::size_t> index;
  for (std::size_t i = 0; i < profile.rows.size(); ++i) {
    const ProfileRow& row = profile.rows[i];
    if (row.pass == "update" || row.op == "loss" || row.op == "gradient_sum") continue;
    const bool is_backward = row.pass != "forward";
    const auto [place, is_new] = index.try_emplace({row.layer, is_backward}, layers.size());
    if (is_new) {
      layers.push_back({.layer = row.layer, .op = row.op, .is_backward = is_backward});
      sums.emplace_back(profile.counters.columns);
    }
    LayerSum& layer = layers[place->second];
    layer.time_s += row.totals.time_s;
    layer.flop += row.totals.flop;
    if (i < one.implementations.size() && !one.implementations[i].empty())
      layer.implementation += (layer.implementation.empty() ? "" : ", ") + one.implementations[i];
    if (row.counters.empty()) continue;
    sums[place->second].add(row.counters);
    layer.counters = sums[place->second].values();
  }
  // Backward runs in the opposite order; a layer's two directions belong together.
  std::map<std::string, std::size_t> order;
  for (const LayerSum& layer : layers) order.try_emplace(layer.layer, order.size());
  std::stable_sort(layers.begin(), layers.end(), [&](const LayerSum& a, const LayerSum& b) {
    return order.at(a.layer) < order.at(b.layer);
  });
  return layers;
}

std::vector<LayerSum> inner_convolutions(const LayerwiseCase& one) {
  std::vector<LayerSum> layers = layers_of(one);
  std::erase_if(layers, [](const LayerSum& layer) { return layer.op != "convolution"; });
  const std::string first = layers.empty() ? "" : layers.front().layer;
  std::erase_if(layers, [&](const LayerSum& layer) { return layer.layer == first; });
  return layers;
}

std::pair<double, double> directions(const LayerwiseCase& one) {
  double forward_s = 0, backward_s = 0;
  for (const LayerSum& layer : layers_of(one))
    (layer.is_backward ? backward_s : forward_s) += layer.time_s;
  return {forward_s, backward_s};
}

std::optional<double> l2_bytes_per_s(const LayerwiseCase& one) {
  const auto l2_of = [](const Machine& machine) -> std::optional<double> {
    for (const MemoryLevel& level : machine.memory) {
      if (level.name == "L2" && level.bandwidth_bytes_per_s)
        return level.bandwidth_bytes_per_s->value;
    }
    return std::nullopt;
  };
  // Datasheets are silent about L2: what was measured on the same device comes first.
  for (const EmbeddedFile& file : embedded_roofline_results()) {
    if (file.name != "machine") continue;
    const Machine machine = read_machine(file.text);
    const std::string& title = one.profile.subject.machine_title;
    if (!title.empty() && machine.title.starts_with(title)) return l2_of(machine);
  }
  for (const Machine& machine : shipped_machines()) {
    if (machine.name == one.profile.subject.machine) return l2_of(machine);
  }
  return std::nullopt;
}

std::optional<double> counted(const LayerwiseCase& one, const LayerSum& layer,
                              std::string_view key) {
  const auto place = one.profile.counters.place_of(key);
  if (!place || *place >= layer.counters.size()) return std::nullopt;
  return layer.counters[*place];
}

std::optional<double> waiting_of(const LayerwiseCase& one, const LayerSum& layer) {
  const auto instructions = counted(one, layer, "instructions");
  const auto waiting = counted(one, layer, "waiting_warps_per_issue");
  if (!instructions || !waiting) return std::nullopt;
  return *instructions * *waiting;
}

}  // namespace strata
