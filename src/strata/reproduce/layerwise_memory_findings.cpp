// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/reproduce/layerwise_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace strata {
namespace {

/// "About equal": neither twice the other.
bool is_about_equal(double ratio) { return ratio >= 0.5 && ratio <= 2; }

/// Names of kernels that add a bias: Caffe's and cuDNN's, ours, and the sum of two tensors that our
/// engine takes for it.
bool adds_bias(std::string_view kernel) {
  const std::string name = lower_case(kernel);
  constexpr std::array<std::string_view, 4> parts = {"bias", "tensor_add", "addtensor",
                                                     "joinedinputs"};
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

/// L2, DRAM, and bytes between L1 and L2.
class MemoryClaims {
 public:
  MemoryClaims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims)
      : cases_(cases), one_(largest_counted(cases)), layers_(one_), claims_(claims) {}

  void add() {
    if (!layers_.input().empty()) {
      second_level_hits();
      second_level_throughput();
      convolution_hits();
      bias();
      inner_memory();
    }
    connected_hits();
    connected_memory();
    interconnect();
  }

 private:
  std::string of_batch(std::string what) const {
    if (one_.batch != cases_.back()->batch) what += fmt::format(", batch {}", one_.batch);
    return what;
  }
  void claim(std::string about, std::string what, std::string printed, std::string found,
             LayerwiseVerdict verdict) {
    claims_.claim(std::move(about), of_batch(std::move(what)), std::move(printed), std::move(found),
                  std::move(verdict));
  }

  Mean read_hits(const std::vector<LayerSum>& layers) const {
    return layers_.mean(layers, "l2_read_hit_rate", "l2_read_bytes");
  }
  Mean write_hits(const std::vector<LayerSum>& layers) const {
    return layers_.mean(layers, "l2_write_hit_rate", "l2_write_bytes");
  }
  std::vector<LayerSum> convolutions() const {
    std::vector<LayerSum> layers = layers_.input();
    layers.insert(layers.end(), layers_.inner().begin(), layers_.inner().end());
    return layers;
  }

  void second_level_hits() {
    const Mean first = layers_.mean(layers_.inner(), "l1_hit_rate");
    const Mean reads = read_hits(layers_.inner()), writes = write_hits(layers_.inner());
    const std::string reads_what = "L2 read hits of inner convolutions, beside L1's";
    const std::string writes_what = "L2 write hits of inner convolutions";
    if (!reads.is_there() || !writes.is_there() || !first.is_there()) {
      claims_.missing("L2", reads_what, "68 %");
      claims_.missing("L2", writes_what, "45 %");
      return;
    }
    claim("L2", reads_what, "68 %",
          fmt::format("{}; L1 {}", whole_percent(reads.value()), whole_percent(first.value())),
          {.holds = reads.value() > 0.5 && reads.value() > first.value(),
           .rule = "holds where most reads that L1 misses are found in L2, and more than in L1",
           .cause = ran_as("they", layers_.inner())});
    claims_.drawn("l2-read-hits", 0.68, "68 %, inner convolutions");
    claim("L2", writes_what, "45 %", whole_percent(writes.value()),
          {.holds = std::abs(writes.value() - 0.45) <= 0.15,
           .rule = "holds within 15 points",
           .cause = write_hits_cause(layers_)});
    claims_.drawn("l2-write-hits", 0.45, "45 %, inner convolutions");
  }

  std::optional<double> read_over_write(const std::vector<LayerSum>& layers) const {
    const auto read = layers_.sum(layers, {"l2_read_bytes"});
    const auto written = layers_.sum(layers, {"l2_write_bytes"});
    if (!read || !written || !(*written > 0)) return std::nullopt;
    return *read / *written;
  }
  std::optional<double> second_over_first(const std::vector<LayerSum>& layers) const {
    const auto second = layers_.sum(layers, {"l2_read_bytes", "l2_write_bytes"});
    const auto first = layers_.sum(layers, {"l1_load_bytes", "l1_store_bytes"});
    if (!second || !first || !(*first > 0)) return std::nullopt;
    return *second / *first;
  }

  void second_level_throughput() {
    const std::string inner_what = "L2 read over write throughput of inner convolutions";
    if (const auto inner = read_over_write(layers_.inner())) {
      claim("L2", inner_what, "about equal", times_text(*inner),
            {.holds = is_about_equal(*inner),
             .rule = "holds from 0.5× to 2×",
             .cause = ran_as("they", layers_.inner())});
    } else {
      claims_.missing("L2", inner_what, "about equal");
    }
    const std::string outer_what = "and of the input convolution, of fully connected layers";
    const auto input = read_over_write(layers_.input());
    const auto connected = read_over_write(layers_.connected());
    if (input && connected) {
      const bool is_input = *input <= 2;
      claim(
          "L2", outer_what, "reads far more",
          fmt::format("{}, {}", times_text(*input), times_text(*connected)),
          {.holds = *input > 2 && *connected > 2,
           .rule = "holds where both exceed 2×",
           .cause = fmt::format("{}: {}", is_input ? "the input convolution" : "fully connected",
                                defined_bytes(is_input ? layers_.input() : layers_.connected()))});
    } else {
      claims_.missing("L2", outer_what, "reads far more");
    }
    level_beside_level();
  }

  void level_beside_level() {
    const std::string what =
        "L2 over L1 throughput: inner convolutions; input convolution, fully connected layers";
    const auto inner = second_over_first(layers_.inner());
    const auto input = second_over_first(layers_.input());
    const auto connected = second_over_first(layers_.connected());
    if (!inner || !input || !connected) return claims_.missing("L2", what, "about equal");
    const bool holds =
        is_about_equal(*inner) && is_about_equal(*input) && is_about_equal(*connected);
    const Mean hits = layers_.mean(is_about_equal(*inner) ? layers_.input() : layers_.inner(),
                                   "l1_hit_rate", "l1_load_bytes");
    claim("L2", what, "about equal",
          fmt::format("{}; {}, {}", times_text(*inner), times_text(*input), times_text(*connected)),
          {.holds = holds,
           .rule = "holds where each is from 0.5× to 2×",
           .cause = hits.is_there() ? fmt::format("L1 keeps {} of what {} asks for",
                                                  whole_percent(hits.value()),
                                                  is_about_equal(*inner) ? "the input convolution"
                                                                         : "an inner convolution")
                                    : ""});
  }

  void convolution_hits() {
    const std::string what = "convolutions hit L2 on reads more than on writes";
    const Mean reads = read_hits(convolutions()), writes = write_hits(convolutions());
    if (!reads.is_there() || !writes.is_there()) return claims_.missing("L2", what, "more");
    claim("L2", what, "more",
          fmt::format("{} and {}", whole_percent(reads.value()), whole_percent(writes.value())),
          {.holds = reads.value() > writes.value(),
           .rule = "holds where reads hit more",
           .cause = write_hits_cause(layers_)});
  }

  void connected_hits() {
    const std::string what = "fully connected layers hit L2 on writes more than on reads";
    const Mean reads = read_hits(layers_.connected()), writes = write_hits(layers_.connected());
    if (!reads.is_there() || !writes.is_there()) return claims_.missing("L2", what, "more");
    claim("L2", what, "more",
          fmt::format("{} and {}", whole_percent(writes.value()), whole_percent(reads.value())),
          {.holds = writes.value() > reads.value(),
           .rule = "holds where writes hit more",
           .cause = defined_bytes(layers_.connected())});
  }

  /// Of the largest batch at which kernels were counted one by one.
  void bias() {
    const std::string what = "L2 hits of tensor_add (the bias), reads and writes; of convolution";
    Mean reads, writes, conv_reads, conv_writes;
    const auto found = std::find_if(cases_.rbegin(), cases_.rend(), [](const LayerwiseCase* one) {
      return !one->profile.counted_kernels.empty();
    });
    if (found != cases_.rend()) {
      const Profile& profile = (*found)->profile;
      const auto read_place = profile.counters.place_of("l2_read_hit_rate");
      const auto write_place = profile.counters.place_of("l2_write_hit_rate");
      for (const CountedKernel& kernel : profile.counted_kernels) {
        const ProfileRow& row = profile.rows[kernel.row];
        if (!read_place || !write_place || row.op != "convolution" || row.pass != "forward")
          continue;
        const bool is_bias = adds_bias(kernel.name);
        (is_bias ? reads : conv_reads).add(kernel.values[*read_place]);
        (is_bias ? writes : conv_writes).add(kernel.values[*write_place]);
      }
    }
    if (!reads.is_there() || !writes.is_there() || !conv_reads.is_there() ||
        !conv_writes.is_there()) {
      claims_.missing("L2", what, "few and many; the reverse",
                      "these profiles have no counters of single kernels (strata measure --metrics "
                      "paper --kernels)");
      return;
    }
    claims_.claim(
        "L2", fmt::format("{}, batch {}", what, (*found)->batch), "few and many; the reverse",
        fmt::format("{} and {}; {} and {}", whole_percent(reads.value()),
                    whole_percent(writes.value()), whole_percent(conv_reads.value()),
                    whole_percent(conv_writes.value())),
        {.holds = reads.value() < writes.value() && conv_reads.value() > conv_writes.value(),
         .rule = "holds where the bias hits more on writes, the convolution on reads",
         .cause = write_hits_cause(CountedLayers(**found))});
  }

  void inner_memory() {
    const std::string what = "inner convolutions write more to DRAM than they read";
    std::size_t more = 0, all = 0;
    for (const LayerSum& layer : layers_.inner()) {
      const auto read = counted(one_, layer, "dram_read_bytes");
      const auto written = counted(one_, layer, "dram_write_bytes");
      if (!read || !written) continue;
      ++all;
      more += *written > *read ? 1 : 0;
    }
    if (all == 0) return claims_.missing("DRAM", what, "they do");
    claim("DRAM", what, "they do", fmt::format("{} of {}", more, all),
          {.holds = 2 * more > all,
           .rule = "holds where most do, forward and backward apart",
           .cause = fmt::format("{}; {}", defined_bytes(layers_.inner()),
                                ran_as("they", layers_.inner()))});
  }

  void connected_memory() {
    const std::string what = "fully connected layers read far more DRAM than they write";
    const auto ratio_of = [&](const std::vector<LayerSum>& layers) -> std::optional<double> {
      const auto read = layers_.sum(layers, {"dram_read_bytes"});
      const auto written = layers_.sum(layers, {"dram_write_bytes"});
      if (!read || !written || !(*written > 0)) return std::nullopt;
      return *read / *written;
    };
    const auto ratio = ratio_of(layers_.connected());
    if (!ratio) return claims_.missing("DRAM", what, "far more");
    std::vector<LayerSum> forward = layers_.connected();
    std::erase_if(forward, [](const LayerSum& layer) { return layer.is_backward; });
    const auto alone = ratio_of(forward);
    claim(
        "DRAM", what, "far more", times_text(*ratio),
        {.holds = *ratio > 2,
         .rule = "holds above 2×",
         .cause = fmt::format("backward writes gradients as large as the weights{}",
                              alone ? fmt::format("; forward alone {}", times_text(*alone)) : "")});
  }

  void interconnect() {
    const std::string what = "bytes/s between L1 and L2 in the layer with most of them";
    const std::optional<double> roof = l2_bytes_per_s(one_);
    double most = 0;
    const LayerSum* where = nullptr;
    for (const LayerSum& layer : layers_.all()) {
      const auto rate = layers_.rate({layer}, {"crossbar_read_bytes", "crossbar_write_bytes"});
      if (!rate || *rate <= most) continue;
      most = *rate;
      where = &layer;
    }
    if (where == nullptr) return claims_.missing("interconnect", what, "can be the bottleneck");
    const std::string found = fmt::format("{}, {}", format_bytes_per_s(most), where->title());
    if (!roof) {
      claims_.without_verdict("interconnect", of_batch(what), "can be the bottleneck", found,
                              "the machine's L2 bandwidth is not known");
      return;
    }
    const auto dram = layers_.rate({*where}, {"dram_read_bytes", "dram_write_bytes"});
    claim("interconnect", what, "can be the bottleneck",
          fmt::format("{}: {} of L2's {}", found, whole_percent(most / *roof),
                      format_bytes_per_s(*roof)),
          {.holds = most >= 0.8 * *roof,
           .rule = "holds from 80 % of what L2 reaches on",
           .cause = dram ? fmt::format("that layer moves {} to and from DRAM beside it",
                                       format_bytes_per_s(*dram))
                         : ""});
  }

  const std::vector<const LayerwiseCase*>& cases_;
  const LayerwiseCase& one_;
  CountedLayers layers_;
  LayerwiseClaims& claims_;
};

}  // namespace

void add_memory_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims) {
  MemoryClaims(cases, claims).add();
}

}  // namespace strata
