// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/layerwise_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace strata {
namespace {

/// What times show of one network, whose batches rise.
class TimeClaims {
 public:
  TimeClaims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims)
      : cases_(cases), claims_(claims) {}

  void add() {
    dominance("inner convolutions' share of time, {}", "most of it",
              [](const LayerwiseCase&, const LayerSum& layer) {
                return std::optional<double>(layer.time_s);
              });
    dominance("and of instructions, {}", "most of them",
              [](const LayerwiseCase& one, const LayerSum& layer) {
                return counted(one, layer, "instructions");
              });
    backward();
  }

 private:
  using Number = std::function<std::optional<double>(const LayerwiseCase&, const LayerSum&)>;

  const LayerwiseCase& largest() const { return *cases_.back(); }
  std::string at_batch() const { return fmt::format("batch {}", largest().batch); }

  void dominance(fmt::format_string<std::string> what, std::string printed, const Number& number) {
    const std::vector<LayerSum> inner = inner_convolutions(largest());
    if (inner.empty()) return;  // the claim is about networks of convolutions
    double of_inner = 0, of_all = 0;
    for (const LayerSum& layer : inner) of_inner += number(largest(), layer).value_or(0);
    std::map<std::string, double> others;
    for (const LayerSum& layer : layers_of(largest())) {
      const double value = number(largest(), layer).value_or(0);
      of_all += value;
      const bool is_inner = std::any_of(inner.begin(), inner.end(), [&](const LayerSum& one) {
        return one.layer == layer.layer;
      });
      if (!is_inner) others[is_convolution(layer) ? "the input convolution" : layer.op] += value;
    }
    if (!(of_all > 0)) {
      claims_.missing("dominance", fmt::format(what, at_batch()), std::move(printed));
      return;
    }
    const auto most =
        std::max_element(others.begin(), others.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::string cause =
        most == others.end()
            ? ""
            : fmt::format("{} has {}", most->first, whole_percent(most->second / of_all));
    claims_.claim("dominance", fmt::format(what, at_batch()), std::move(printed),
                  whole_percent(of_inner / of_all),
                  {.holds = of_inner > 0.5 * of_all, .rule = "holds above 50 %", .cause = cause});
  }

  void backward() {
    const auto [forward_s, backward_s] = directions(largest());
    if (!(forward_s > 0)) return;
    const double ratio = backward_s / forward_s;
    std::map<std::string, std::pair<double, double>> by_layer;
    double forward_flop = 0, backward_flop = 0;
    for (const LayerSum& layer : layers_of(largest())) {
      if (!is_convolution(layer)) continue;
      auto& both = by_layer[layer.layer];
      (layer.is_backward ? both.second : both.first) += layer.time_s;
      (layer.is_backward ? backward_flop : forward_flop) += static_cast<double>(layer.flop);
    }
    if (by_layer.empty()) return;
    std::size_t beyond = 0;
    for (const auto& [layer, both] : by_layer) beyond += both.second > 2 * both.first ? 1 : 0;
    const std::string cause =
        forward_flop > 0 ? fmt::format("backward has {} the FLOP of forward in convolutions",
                                       times_text(backward_flop / forward_flop))
                         : "";
    claims_.claim(
        "backward", fmt::format("backward can exceed twice forward, {}", at_batch()), "> 2×",
        fmt::format("{}; {} of {} convolutions", times_text(ratio), beyond, by_layer.size()),
        {.holds = ratio > 2 || beyond > 0,
         .rule = "holds where all layers together, or one convolution, exceed 2×",
         .cause = cause});
    claims_.drawn("ratio", 2, "can exceed 2×");
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
    const auto forward_of = [](const LayerwiseCase& one) {
      std::vector<LayerSum> layers = layers_of(one);
      std::erase_if(layers, [](const LayerSum& layer) { return layer.is_backward; });
      return layers;
    };
    claims.claim("backward",
                 fmt::format("backward over forward, larger in VGG-16 than in AlexNet, batch {}",
                             (*large)->batch),
                 "VGG-16 > AlexNet",
                 fmt::format("{} and {}", times_text(of_vgg), times_text(of_alexnet)),
                 {.holds = of_vgg > of_alexnet,
                  .rule = "holds where VGG-16's ratio is the larger",
                  .cause = ran_as("VGG-16's convolutions forward", forward_of(**large))});
    return;
  }
}

}  // namespace

void add_time_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims) {
  TimeClaims(cases, claims).add();
}

std::vector<Finding> layerwise_findings(const LayerwiseStudy& study) {
  std::vector<Finding> findings;
  for (const std::string& network : study.networks()) {
    const std::vector<const LayerwiseCase*> cases = study.of(network);
    LayerwiseClaims claims(network, findings);
    add_time_claims(cases, claims);
    add_batch_claims(cases, claims);
    add_counter_claims(cases, claims);
    add_memory_claims(cases, claims);
  }
  LayerwiseClaims of_all("all", findings);
  add_deeper_backward(study, of_all);
  return findings;
}

std::string layerwise_notes(const LayerwiseStudy& study) {
  std::set<std::string> libraries;
  bool has_own = false;
  for (const LayerwiseCase& one : study.cases()) {
    has_own = has_own || one.is_own();
    for (std::size_t i = 0; i < one.implementations.size() && i < one.profile.rows.size(); ++i) {
      const std::string& op = one.profile.rows[i].op;
      const std::string& by = one.implementations[i];
      if (op != "convolution" && op != "linear") continue;
      const std::size_t version = by.find(' ');  // "cuDNN 9.14.0 engine 1"
      if (!by.empty()) libraries.insert(by.substr(0, by.find(' ', version + 1)));
    }
  }
  std::string text = fmt::format(
      "convolutions and fully connected layers by {}; synthetic data of the real shapes (the study "
      "had ImageNet, Caffe and 100 iterations)\n",
      libraries.empty() ? "kernels that the profiles do not name"
                        : fmt::format("{}", fmt::join(libraries, ", ")));
  text += has_own
              ? "rows of a network with \"-own\" are of convolutions by Strata's own strategies\n"
              : "convolutions by Strata's own strategies are not among these profiles; strata "
                "measure --conv NAME --metrics paper --json makes them, --from DIR shows both\n";
  return text +
         "paper's machine: GTX 1080 Ti; its table gives 24 KB of L1 and 4096 KB of L2, the "
         "GPU's data sheet (strata machine show gtx-1080-ti) 48 KB and 2816 KB\n";
}

}  // namespace strata
