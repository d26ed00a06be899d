// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/layerwise_study.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/capture/kernel_class.hpp"
#include "strata/machine/machine.hpp"
#include "strata/profile/read_profile.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace strata {

namespace {

/// "implicit_gemm" as people write it; empty where a name says nothing.
std::string algorithm_word(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> words[] = {{"winograd", "Winograd"},
                                                                     {"fft", "FFT"},
                                                                     {"implicit", "implicit GEMM"},
                                                                     {"unroll", "unrolled"},
                                                                     {"direct", "direct"}};
  const std::string lower = lower_case(name);
  for (const auto& [part, word] : words) {
    if (lower.find(part) != std::string::npos) return std::string(word);
  }
  return {};
}

/// Instructions × warps that wait per issued instruction, and of those the share for data.
void add_stall_time(const Profile& profile, const ProfileRow& row, LayerSum& layer) {
  const auto value = [&](std::string_view key) -> std::optional<double> {
    const auto place = profile.counters.place_of(key);
    if (!place || *place >= row.counters.size()) return std::nullopt;
    return row.counters[*place];
  };
  const auto instructions = value("instructions"), warps = value("waiting_warps_per_issue");
  if (!instructions || !warps) return;
  layer.waiting = layer.waiting.value_or(0) + *instructions * *warps;
  if (const auto share = value("stall_data_access"))
    layer.data_waiting = layer.data_waiting.value_or(0) + *instructions * *warps * *share;
}

/// Kernels of convolutions, and their algorithms: by what the row says it ran; where that is a
/// library's number alone, by the names of the traced kernels.
void add_kernels(const nlohmann::json& json, LayerwiseCase& one) {
  const auto text = [](const nlohmann::json& kernel, const char* key) {
    const auto found = kernel.find(key);
    return found != kernel.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  std::map<std::pair<std::string, std::string>, std::pair<double, std::string>> by_kernels;
  std::set<std::string> convolutions;
  for (const ProfileRow& row : one.profile.rows) {
    if (row.op == "convolution") convolutions.insert(row.layer);
  }
  const auto kernels = json.find("kernels");
  if (kernels != json.end() && kernels->is_array()) {
    for (const nlohmann::json& kernel : *kernels) {
      if (!kernel.is_object()) continue;
      const auto time = kernel.find("time_s");
      if (time == kernel.end() || !time->is_number()) continue;
      const std::string name = text(kernel, "name");
      if (text(kernel, "pass") == "forward" && convolutions.contains(text(kernel, "layer")))
        one.convolution_kernel_s[name] += time->get<double>();
      std::string word = algorithm_word(class_of_kernel(name).algorithm);
      if (word.empty()) continue;
      auto& longest = by_kernels[{text(kernel, "layer"), text(kernel, "pass")}];
      if (time->get<double>() > longest.first) longest = {time->get<double>(), std::move(word)};
    }
  }
  std::vector<std::string>& algorithms = one.algorithms;
  algorithms.resize(one.profile.rows.size());
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    const ProfileRow& row = one.profile.rows[i];
    if (row.op != "convolution") continue;
    if (i < one.implementations.size()) algorithms[i] = algorithm_word(one.implementations[i]);
    const auto traced = by_kernels.find({row.layer, row.pass});
    if (algorithms[i].empty() && traced != by_kernels.end()) algorithms[i] = traced->second.second;
  }
}

}  // namespace

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
  add_kernels(json, one);
  return one;
}

bool LayerwiseCase::is_own() const {
  std::size_t own = 0, all = 0;
  for (std::size_t i = 0; i < implementations.size() && i < profile.rows.size(); ++i) {
    const std::string& by = implementations[i];
    if (profile.rows[i].op != "convolution" || by.empty()) continue;
    ++all;
    const bool is_vendor =
        by.starts_with("cuDNN") || by.starts_with("cudnn:") || by.starts_with("oneDNN");
    own += is_vendor ? 0 : 1;
  }
  return 2 * own > all;
}

std::map<std::string, std::string> paper_names(const LayerwiseCase& one) {
  std::map<std::string, std::string> names;
  if (one.profile.subject.network != "vgg16")
    return names;  // Caffe's AlexNet has the study's names
  // Blocks of convolutions end with a pool; the study counts the layers of the classifier on.
  std::size_t block = 1, in_block = 0;
  for (const ProfileRow& row : one.profile.rows) {
    if (row.pass != "forward") continue;
    if (row.op == "convolution") {
      names.try_emplace(row.layer, fmt::format("CONV{}_{}", block, ++in_block));
    } else if (row.op == "max_pool") {
      names.try_emplace(row.layer, fmt::format("POOL{}", block++));
      in_block = 0;
    } else if (row.op == "linear") {
      names.try_emplace(row.layer, fmt::format("FC{}", block++));
    }
  }
  return names;
}

LayerwiseStudy::LayerwiseStudy(std::vector<LayerwiseCase> cases) : cases_(std::move(cases)) {
  if (cases_.empty()) fail(ErrorKind::input, "there are no profiles of training iterations");
  std::stable_sort(cases_.begin(), cases_.end(), [](const auto& a, const auto& b) {
    return a.key() != b.key() ? a.key() < b.key() : a.batch < b.batch;
  });
  for (std::size_t i = 1; i < cases_.size(); ++i) {
    const LayerwiseCase &a = cases_[i - 1], &b = cases_[i];
    if (a.key() == b.key() && a.batch == b.batch) {
      fail(ErrorKind::input, "{} at batch {} is there twice", printable(a.key()), a.batch);
    }
  }
}

std::vector<std::string> LayerwiseStudy::networks() const {
  std::vector<std::string> names;
  for (const LayerwiseCase& one : cases_) {
    if (names.empty() || names.back() != one.key()) names.push_back(one.key());
  }
  return names;
}

std::vector<const LayerwiseCase*> LayerwiseStudy::of(std::string_view key) const {
  std::vector<const LayerwiseCase*> list;
  for (const LayerwiseCase& one : cases_) {
    if (one.key() == key) list.push_back(&one);
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
  const std::map<std::string, std::string> names = paper_names(one);
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
      if (const auto name = names.find(row.layer); name != names.end())
        layers.back().paper_name = name->second;
      sums.emplace_back(profile.counters.columns);
    }
    LayerSum& layer = layers[place->second];
    layer.time_s += row.totals.time_s;
    layer.flop += row.totals.flop;
    layer.in_bytes += row.totals.in_bytes;
    layer.out_bytes += row.totals.out_bytes;
    if (i < one.algorithms.size() && !one.algorithms[i].empty())
      layer.algorithms.push_back(one.algorithms[i]);
    if (i < one.implementations.size() && !one.implementations[i].empty())
      layer.implementation += (layer.implementation.empty() ? "" : ", ") + one.implementations[i];
    if (row.counters.empty()) continue;
    add_stall_time(profile, row, layer);
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

std::string LayerSum::title() const {
  const std::string_view direction = is_backward ? "backward" : "forward";
  if (paper_name.empty()) return fmt::format("{} {}", layer, direction);
  return fmt::format("{} ({}) {}", paper_name, layer, direction);
}

}  // namespace strata
