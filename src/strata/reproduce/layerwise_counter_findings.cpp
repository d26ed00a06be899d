// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/layerwise_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace strata {
namespace {

/// Stalls and L1.
class CounterClaims {
 public:
  CounterClaims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims)
      : cases_(cases), one_(largest_counted(cases)), layers_(one_), claims_(claims) {}

  void add() {
    if (layers_.input().empty()) return;  // the claims are about convolutions
    stall_share();
    stall_time();
    first_level_hits();
    first_level_throughput();
  }

 private:
  /// Says which batch it was where that is not the largest.
  std::string of_batch(std::string what) const {
    if (one_.batch != cases_.back()->batch) what += fmt::format(", batch {}", one_.batch);
    return what;
  }

  void stall_share() {
    const std::string what = "waiting for data, of all waiting, in convolutions of most FLOP";
    std::vector<LayerSum> heavy = layers_.all();
    std::erase_if(heavy, [](const LayerSum& layer) { return !is_convolution(layer); });
    std::stable_sort(heavy.begin(), heavy.end(),
                     [](const LayerSum& a, const LayerSum& b) { return a.flop > b.flop; });
    heavy.resize(std::min<std::size_t>(heavy.size(), 4));
    const Mean data = layers_.mean(heavy, "stall_data_access");
    if (!data.is_there()) return claims_.missing("stalls", what, "> 30 %");
    const auto least =
        std::min_element(heavy.begin(), heavy.end(), [&](const auto& a, const auto& b) {
          return counted(one_, a, "stall_data_access").value_or(1) <
                 counted(one_, b, "stall_data_access").value_or(1);
        });
    std::string cause = least->title();
    if (const std::string ran = algorithms_text({*least}); !ran.empty()) cause += " ran as " + ran;
    if (const std::string rest = other_waiting(one_, *least); !rest.empty()) cause += ": " + rest;
    claims_.claim("stalls", of_batch(what), "> 30 %",
                  fmt::format("{} to {}", whole_percent(data.least()), whole_percent(data.most())),
                  {.holds = data.least() > 0.30,
                   .rule = "holds where each of the four heaviest is above 30 %",
                   .cause = cause});
    claims_.drawn("data-stalls", 0.30, "above 30 %, heaviest convolutions");
  }

  const LayerSum* longest_data_stall(bool (*is_kind)(const LayerSum&)) const {
    const LayerSum* longest = nullptr;
    for (const LayerSum& layer : layers_.all()) {
      if (!is_kind(layer) || !(layer.data_waiting.value_or(0) > 0)) continue;
      if (longest == nullptr || *layer.data_waiting > *longest->data_waiting) longest = &layer;
    }
    return longest;
  }

  void stall_time() {
    const std::string what =
        "time of data stalls, the longest convolution over the longest fully "
        "connected layer";
    const LayerSum* const convolution = longest_data_stall(is_convolution);
    const LayerSum* const connected = longest_data_stall(is_connected);
    if (convolution == nullptr || connected == nullptr)
      return claims_.missing("stalls", what, "up to 38 % longer");
    const double ratio = *convolution->data_waiting / *connected->data_waiting;
    claims_.claim(
        "stalls", of_batch(what), "up to 38 % longer",
        fmt::format("{}, {} over {}", times_text(ratio), convolution->title(), connected->title()),
        {.holds = ratio > 1,
         .rule = "holds where it is longer; instructions × warps that wait per "
                 "instruction × share that waits for data",
         .cause = ran_as("the convolution", {*convolution})});
  }

  void first_level_hits() {
    const std::string what = "L1 hits of the input convolution, and of the inner ones, forward";
    std::vector<double> hits;
    for (const LayerSum& layer : layers_.all()) {
      if (!is_convolution(layer) || layer.is_backward) continue;
      if (const auto rate = counted(one_, layer, "l1_hit_rate")) hits.push_back(*rate);
    }
    if (hits.size() < 2) return claims_.missing("L1", what, "high, falls with depth");
    double deeper = 0;
    for (std::size_t i = 1; i < hits.size(); ++i) deeper += hits[i];
    deeper /= static_cast<double>(hits.size() - 1);
    claims_.claim("L1", of_batch(what), "high, falls with depth",
                  fmt::format("{}, then {} on average, {} in the last", whole_percent(hits.front()),
                              whole_percent(deeper), whole_percent(hits.back())),
                  {.holds = hits.front() > deeper && hits.back() < hits.front(),
                   .rule = "holds where the first hits more than the others on average and than "
                           "the last",
                   .cause = ran_as("inner convolutions", layers_.inner())});
  }

  void first_level_throughput() {
    const std::string what =
        "L1 throughput of inner convolutions; of the input convolution, fully connected layers";
    const auto rate = [&](const std::vector<LayerSum>& layers) {
      return layers_.rate(layers, {"l1_load_bytes", "l1_store_bytes"});
    };
    const auto inner = rate(layers_.inner()), input = rate(layers_.input()),
               connected = rate(layers_.connected());
    if (!inner || !input || !connected) return claims_.missing("L1", what, "much lower");
    claims_.claim("L1", of_batch(what), "much lower",
                  fmt::format("{}; {}, {}", format_bytes_per_s(*inner), format_bytes_per_s(*input),
                              format_bytes_per_s(*connected)),
                  {.holds = *inner < 0.5 * *input && *inner < 0.5 * *connected,
                   .rule = "holds below half of both",
                   .cause = ran_as("inner convolutions", layers_.inner())});
  }

  const std::vector<const LayerwiseCase*>& cases_;
  const LayerwiseCase& one_;
  CountedLayers layers_;
  LayerwiseClaims& claims_;
};

}  // namespace

void add_counter_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims) {
  CounterClaims(cases, claims).add();
}

}  // namespace strata
