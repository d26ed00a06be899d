// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/layerwise_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

namespace strata {
namespace {

constexpr std::string_view one_batch_only = "only one batch in these profiles";

/// What changes with the batch: time, instructions, stalls, traffic, kernels.
class BatchClaims {
 public:
  BatchClaims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims)
      : cases_(cases), claims_(claims) {
    for (const LayerwiseCase* one : cases) {
      if (!one->profile.counters.columns.empty()) counted_.push_back(one);
    }
  }

  void add() {
    grows("time of an iteration with the batch", [](const LayerwiseCase&, const LayerSum& layer) {
      return std::optional<double>(layer.time_s);
    });
    grows("instructions with the batch", [](const LayerwiseCase& one, const LayerSum& layer) {
      return counted(one, layer, "instructions");
    });
    grows("stalls (warps that wait × cycles) with the batch",
          [](const LayerwiseCase&, const LayerSum& layer) { return layer.waiting; });
    linear_traffic();
    kernels_change();
    stable_hits();
    connected_jump();
  }

 private:
  using Number = std::function<std::optional<double>(const LayerwiseCase&, const LayerSum&)>;

  static std::optional<double> total(const LayerwiseCase& one, const Number& number) {
    std::optional<double> sum;
    for (const LayerSum& layer : layers_of(one)) {
      if (const auto value = number(one, layer)) sum = sum.value_or(0) + *value;
    }
    return sum;
  }

  void grows(const std::string& what, const Number& number) {
    std::vector<double> values;
    std::vector<std::int64_t> batches;
    for (const LayerwiseCase* one : cases_) {
      const std::optional<double> sum = total(*one, number);
      if (!sum) continue;
      values.push_back(*sum);
      batches.push_back(one->batch);
    }
    if (values.size() < 2) {
      claims_.missing("batch", what, "grows",
                      cases_.size() < 2 ? one_batch_only : no_counters_in_profiles);
      return;
    }
    const auto falls = std::adjacent_find(values.begin(), values.end(), std::greater_equal<>());
    std::string cause;
    if (falls != values.end()) {
      const auto at = static_cast<std::size_t>(falls - values.begin());
      cause = fmt::format("batch {} has {} that of batch {}, where other kernels were chosen",
                          batches[at + 1], times_text(values[at + 1] / values[at]), batches[at]);
    }
    claims_.claim("batch", what, "grows",
                  fmt::format("{} (batch {} → {})", times_text(values.back() / values.front()),
                              batches.front(), batches.back()),
                  {.holds = falls == values.end(),
                   .rule = "holds where each larger batch has more",
                   .cause = cause});
  }

  static std::optional<double> dram(const LayerwiseCase& one, const LayerSum& layer) {
    const auto read = counted(one, layer, "dram_read_bytes");
    const auto written = counted(one, layer, "dram_write_bytes");
    if (!read || !written) return std::nullopt;
    return *read + *written;
  }

  void linear_traffic() {
    const std::string what = "bytes to and from DRAM with the batch";
    const auto from = counted_.empty() ? std::nullopt : total(*counted_.front(), dram);
    const auto to = counted_.empty() ? std::nullopt : total(*counted_.back(), dram);
    if (counted_.size() < 2 || !from || !to || !(*from > 0)) {
      claims_.missing("batch", what, "almost linear",
                      cases_.size() < 2 ? one_batch_only : no_counters_in_profiles);
      return;
    }
    const LayerwiseCase &small = *counted_.front(), &large = *counted_.back();
    const double growth = *to / *from;
    const double batches = static_cast<double>(large.batch) / static_cast<double>(small.batch);
    claims_.claim("batch", what, "almost linear",
                  fmt::format("{} → {}, {} for {:.3g}× the batch", format_bytes(*from),
                              format_bytes(*to), times_text(growth), batches),
                  {.holds = std::abs(growth / batches - 1) <= 0.2,
                   .rule = "holds within 20 % of the batch's growth",
                   .cause = traffic_cause(small, large)});
  }

  /// How much each kind of layer grows, and how many convolutions run another algorithm.
  static std::string traffic_cause(const LayerwiseCase& small, const LayerwiseCase& large) {
    const auto growth_of = [&](bool (*is_kind)(const LayerSum&)) -> std::optional<double> {
      const auto sum = [&](const LayerwiseCase& one) {
        return total(one, [&](const LayerwiseCase& of, const LayerSum& layer) {
          return is_kind(layer) ? dram(of, layer) : std::nullopt;
        });
      };
      const auto a = sum(small), b = sum(large);
      if (!a || !b || !(*a > 0)) return std::nullopt;
      return *b / *a;
    };
    std::string text;
    if (const auto growth = growth_of(is_convolution))
      text = fmt::format("that of convolutions grows {}", times_text(*growth));
    if (const auto growth = growth_of(is_connected)) {
      text += fmt::format("{}that of fully connected layers, weights for the most part, {}",
                          text.empty() ? "" : ", ", times_text(*growth));
    }
    const std::vector<LayerSum> before = layers_of(small), after = layers_of(large);
    std::size_t changed = 0, all = 0;
    for (const LayerSum& layer : before) {
      if (!is_convolution(layer)) continue;
      const auto same = std::find_if(after.begin(), after.end(), [&](const LayerSum& other) {
        return other.layer == layer.layer && other.is_backward == layer.is_backward;
      });
      if (same == after.end()) continue;
      ++all;
      changed += same->implementation != layer.implementation ? 1 : 0;
    }
    if (all == 0) return text;
    return text + fmt::format("{}{} of {} convolutions run other kernels at batch {}",
                              text.empty() ? "" : "; ", changed, all, large.batch);
  }

  // The kernels that are chosen change with the batch.
  void kernels_change() {
    if (cases_.size() < 2) return;
    std::map<std::string, std::set<std::string>> implementations;
    for (const LayerwiseCase* one : cases_) {
      for (const LayerSum& layer : layers_of(*one)) {
        if (is_convolution(layer) && !layer.implementation.empty())
          implementations[layer.title()].insert(layer.implementation);
      }
    }
    if (implementations.empty()) return;
    std::size_t changed = 0;
    for (const auto& [layer, list] : implementations) changed += list.size() > 1 ? 1 : 0;
    claims_.claim("batch", "the kernels chosen for convolutions change with the batch", "they do",
                  fmt::format("{} of {}", changed, implementations.size()),
                  {.holds = changed > 0,
                   .rule = "holds where one does",
                   .cause = "the same are fastest at every batch"});
  }

  // What L1 does hardly changes.
  void stable_hits() {
    if (cases_.size() < 2) return;
    struct Seen {
      double hits = 0;
      std::string where;
    };
    std::map<std::string, std::pair<Seen, Seen>> extremes;  // least and most of each layer
    std::map<std::string, std::size_t> seen;
    for (const LayerwiseCase* one : counted_) {
      for (const LayerSum& layer : layers_of(*one)) {
        const auto hits = counted(*one, layer, "l1_hit_rate");
        if (!is_convolution(layer) || !hits) continue;
        const Seen now{*hits, fmt::format("{} at batch {}", algorithms_text({layer}), one->batch)};
        auto [place, is_new] = extremes.try_emplace(layer.title(), now, now);
        if (now.hits < place->second.first.hits) place->second.first = now;
        if (now.hits > place->second.second.hits) place->second.second = now;
        ++seen[layer.title()];
      }
    }
    const std::string what = "while L1 hits are stable: the widest difference of a convolution";
    double widest = -1;
    std::string cause;
    for (const auto& [title, both] : extremes) {
      const double difference = both.second.hits - both.first.hits;
      if (seen[title] < 2 || difference <= widest) continue;
      widest = difference;
      cause = fmt::format("{}: {} with {}, {} with {}", title, whole_percent(both.first.hits),
                          both.first.where, whole_percent(both.second.hits), both.second.where);
    }
    if (widest < 0) {
      claims_.missing("batch", what, "small");
      return;
    }
    claims_.claim("batch", what, "small", fmt::format("{:.0f} points", 100 * widest),
                  {.holds = widest <= 0.10, .rule = "holds up to 10 points", .cause = cause});
  }

  void connected_jump() {
    const std::string what = "L1 throughput of fully connected layers, forward, at the next batch";
    if (counted_.size() < 2) {
      claims_.missing("L1", what, "jumps from 32 to 64: other kernels",
                      cases_.size() < 2 ? one_batch_only : no_counters_in_profiles);
      return;
    }
    const auto seen = [](const LayerwiseCase& one) {
      const CountedLayers layers(one);
      std::vector<LayerSum> forward = layers.connected();
      std::erase_if(forward, [](const LayerSum& layer) { return layer.is_backward; });
      std::set<std::string> by;
      for (const LayerSum& layer : forward) by.insert(layer.implementation);
      return std::pair(layers.rate(forward, {"l1_load_bytes", "l1_store_bytes"}),
                       fmt::format("{}", fmt::join(by, ", ")));
    };
    const auto before = seen(*counted_[0]), after = seen(*counted_[1]);
    if (!before.first || !after.first || !(*before.first > 0)) {
      claims_.missing("L1", what, "jumps from 32 to 64: other kernels");
      return;
    }
    const double ratio = *after.first / *before.first;
    claims_.claim("L1", what, "jumps from 32 to 64: other kernels",
                  fmt::format("{} ({} → {}, batch {} → {})", times_text(ratio),
                              format_bytes_per_s(*before.first), format_bytes_per_s(*after.first),
                              counted_[0]->batch, counted_[1]->batch),
                  {.holds = ratio >= 1.5,
                   .rule = "holds from 1.5× on",
                   .cause = before.second == after.second
                                ? fmt::format("the same kernels at both: {}", before.second)
                                : fmt::format("{} became {}", before.second, after.second)});
  }

  const std::vector<const LayerwiseCase*>& cases_;
  std::vector<const LayerwiseCase*> counted_;
  LayerwiseClaims& claims_;
};

}  // namespace

void add_batch_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims) {
  BatchClaims(cases, claims).add();
}

}  // namespace strata
