// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/layerwise_claims.hpp"
#include "strata/reproduce/mean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace strata {
namespace {

/// What times and the names of kernels show of one network, whose batches rise.
class TimeClaims {
 public:
  TimeClaims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims)
      : cases_(cases), claims_(claims) {}

  void add() {
    dominance();
    backward();
    growth();
    stability();
  }

 private:
  const LayerwiseCase& largest() const { return *cases_.back(); }
  std::string at_batch() const { return fmt::format("batch {}", largest().batch); }

  void dominance() {
    const std::vector<LayerSum> inner = inner_convolutions(largest());
    if (inner.empty()) return;  // the claim is about networks of convolutions
    double inner_s = 0, all_s = 0;
    for (const LayerSum& layer : inner) inner_s += layer.time_s;
    double inner_count = 0, all_count = 0;
    for (const LayerSum& layer : inner)
      inner_count += counted(largest(), layer, "instructions").value_or(0);
    for (const LayerSum& layer : layers_of(largest())) {
      all_s += layer.time_s;
      all_count += counted(largest(), layer, "instructions").value_or(0);
    }
    if (!(all_s > 0)) return;
    claims_.claim("dominance", fmt::format("inner convolutions' share of time, {}", at_batch()),
                  "most of it", whole_percent(inner_s / all_s), inner_s > 0.5 * all_s);
    const std::string what = fmt::format("and of instructions, {}", at_batch());
    if (all_count > 0) {
      claims_.claim("dominance", what, "most of them", whole_percent(inner_count / all_count),
                    inner_count > 0.5 * all_count);
    } else {
      claims_.missing("dominance", what, "most of them");
    }
  }

  void backward() {
    const auto [forward_s, backward_s] = directions(largest());
    if (!(forward_s > 0)) return;
    const double ratio = backward_s / forward_s;
    std::map<std::string, std::pair<double, double>> by_layer;
    for (const LayerSum& layer : layers_of(largest())) {
      if (!is_convolution(layer)) continue;
      auto& both = by_layer[layer.layer];
      (layer.is_backward ? both.second : both.first) += layer.time_s;
    }
    if (by_layer.empty()) return;
    std::size_t beyond = 0;
    for (const auto& [layer, both] : by_layer) beyond += both.second > 2 * both.first ? 1 : 0;
    claims_.claim(
        "backward", fmt::format("backward can exceed twice forward, {}", at_batch()), "> 2×",
        fmt::format("{}; {} of {} convolutions", times_text(ratio), beyond, by_layer.size()),
        ratio > 2 || beyond > 0);
  }

  template <class Number>
  void grows(const std::string& what, const Number& number, std::string_view reason) {
    if (cases_.size() < 2) {
      claims_.missing("batch", what, "grows", "only one batch in these profiles");
      return;
    }
    std::vector<double> values;
    std::vector<std::int64_t> batches;
    for (const LayerwiseCase* one : cases_) {
      double sum = 0;
      bool is_there = false;
      for (const LayerSum& layer : layers_of(*one)) {
        const std::optional<double> value = number(*one, layer);
        sum += value.value_or(0);
        is_there = is_there || value;
      }
      if (!is_there) continue;
      values.push_back(sum);
      batches.push_back(one->batch);
    }
    if (values.size() < 2) {
      claims_.missing("batch", what, "grows", reason);
      return;
    }
    claims_.claim("batch", what, "grows",
                  fmt::format("{} (batch {} → {})", times_text(values.back() / values.front()),
                              batches.front(), batches.back()),
                  std::is_sorted(values.begin(), values.end()) && values.back() > values.front());
  }

  void growth() {
    grows(
        "time of an iteration with the batch",
        [](const LayerwiseCase&, const LayerSum& layer) {
          return std::optional<double>(layer.time_s);
        },
        "");
    grows(
        "instructions with the batch",
        [](const LayerwiseCase& one, const LayerSum& layer) {
          return counted(one, layer, "instructions");
        },
        no_counters_in_profiles);
    grows("stalls (warps that wait × cycles) with the batch", waiting_of, no_counters_in_profiles);
  }

  // The kernels that are chosen change with the batch; what L1 does hardly.
  void stability() {
    if (cases_.size() < 2) return;
    std::map<std::string, std::set<std::string>> implementations;
    std::map<std::string, Mean> hits;
    for (const LayerwiseCase* one : cases_) {
      for (const LayerSum& layer : layers_of(*one)) {
        if (!is_convolution(layer)) continue;
        const std::string key = layer.layer + (layer.is_backward ? " backward" : "");
        if (!layer.implementation.empty()) implementations[key].insert(layer.implementation);
        hits[key].add(counted(*one, layer, "l1_hit_rate"));
      }
    }
    if (implementations.empty()) return;
    std::size_t changed = 0;
    for (const auto& [layer, list] : implementations) changed += list.size() > 1 ? 1 : 0;
    claims_.claim("batch", "the kernels chosen for convolutions change with the batch", "they do",
                  fmt::format("{} of {}", changed, implementations.size()), changed > 0);
    double widest = 0;
    bool is_there = false;
    for (const auto& [layer, mean] : hits) {
      if (mean.count() < 2) continue;
      is_there = true;
      widest = std::max(widest, mean.most() - mean.least());
    }
    const std::string what = "while L1 hits are stable: the widest difference of a convolution";
    if (!is_there) {
      claims_.missing("batch", what, "small");
      return;
    }
    claims_.claim("batch", what, "small", fmt::format("{:.0f} points", 100 * widest),
                  widest <= 0.10, "holds up to 10 points");
  }

  const std::vector<const LayerwiseCase*>& cases_;
  LayerwiseClaims& claims_;
};

// Only where both networks are there.
void add_deeper_backward(const LayerwiseStudy& study, LayerwiseClaims& claims) {
  const auto alexnet = study.of("alexnet_caffe"), vgg = study.of("vgg16");
  if (alexnet.empty() || vgg.empty()) return;
  for (auto large = vgg.rbegin(); large != vgg.rend(); ++large) {
    const auto small = std::find_if(alexnet.begin(), alexnet.end(), [&](const LayerwiseCase* one) {
      return one->batch == (*large)->batch;
    });
    if (small == alexnet.end()) continue;
    const auto a = directions(**small), b = directions(**large);
    if (!(a.first > 0) || !(b.first > 0)) return;
    const double of_alexnet = a.second / a.first, of_vgg = b.second / b.first;
    claims.claim("backward",
                 fmt::format("backward over forward, larger in VGG-16 than in AlexNet, batch {}",
                             (*large)->batch),
                 "VGG-16 > AlexNet",
                 fmt::format("{} and {}", times_text(of_vgg), times_text(of_alexnet)),
                 of_vgg > of_alexnet);
    return;
  }
}

}  // namespace

std::vector<Finding> layerwise_findings(const LayerwiseStudy& study) {
  std::vector<Finding> findings;
  for (const std::string& network : study.networks()) {
    const std::vector<const LayerwiseCase*> cases = study.of(network);
    LayerwiseClaims claims(network, findings);
    TimeClaims(cases, claims).add();
    add_counter_claims(cases, claims);
  }
  LayerwiseClaims of_all("all", findings);
  add_deeper_backward(study, of_all);
  return findings;
}

}  // namespace strata
