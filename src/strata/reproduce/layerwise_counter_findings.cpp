// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/reproduce/layerwise_claims.hpp"
#include "strata/reproduce/mean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace strata {
namespace {

class CounterClaims {
 public:
  CounterClaims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims)
      : cases_(cases), counted_(largest_counted(cases)), claims_(claims) {
    for (const LayerSum& layer : layers_of(counted_))
      has_convolutions_ = has_convolutions_ || is_convolution(layer);
  }

  void add() {
    if (has_convolutions_) {
      stalls();
      first_level();
      second_level();
      bias();
      inner_memory();
    }
    connected_memory();
    interconnect();
  }

 private:
  static const LayerwiseCase& largest_counted(const std::vector<const LayerwiseCase*>& cases) {
    const auto found = std::find_if(cases.rbegin(), cases.rend(), [](const LayerwiseCase* one) {
      return !one->profile.counters.columns.empty();
    });
    return found == cases.rend() ? *cases.back() : **found;
  }

  /// Says which batch it was where that is not the largest.
  std::string of_batch(std::string what) const {
    if (counted_.batch != cases_.back()->batch) what += fmt::format(", batch {}", counted_.batch);
    return what;
  }
  void claim(std::string about, std::string what, std::string printed, std::string found,
             bool holds, std::string note = {}) {
    claims_.claim(std::move(about), of_batch(std::move(what)), std::move(printed), std::move(found),
                  holds, std::move(note));
  }
  void missing(std::string about, std::string what, std::string printed,
               std::string_view reason = no_counters_in_profiles) {
    claims_.missing(std::move(about), std::move(what), std::move(printed), reason);
  }

  template <class Pick>
  Mean mean_over(const std::vector<LayerSum>& layers, std::string_view key, const Pick& pick,
                 std::string_view weight_key = "") const {
    Mean mean;
    for (const LayerSum& layer : layers) {
      if (!pick(layer)) continue;
      mean.add(counted(counted_, layer, key),
               weight_key.empty() ? 1 : counted(counted_, layer, weight_key).value_or(0));
    }
    return mean;
  }

  void stalls() {
    const std::string what = "waiting for data, of all waiting, in convolutions of most FLOP";
    const std::string longer = "and longer there than in fully connected layers";
    std::vector<LayerSum> layers = layers_of(counted_);
    std::vector<LayerSum> heavy = layers;
    std::erase_if(heavy, [](const LayerSum& layer) { return !is_convolution(layer); });
    std::stable_sort(heavy.begin(), heavy.end(),
                     [](const LayerSum& a, const LayerSum& b) { return a.flop > b.flop; });
    heavy.resize(std::min<std::size_t>(heavy.size(), 4));
    const auto every = [](const LayerSum&) { return true; };
    const Mean data = mean_over(heavy, "stall_data_access", every);
    if (!data.is_there()) {
      missing("stalls", what, "> 30 %");
      missing("stalls", longer, "up to 38 %");
      return;
    }
    claim("stalls", what, "> 30 %",
          fmt::format("{} to {}", whole_percent(data.least()), whole_percent(data.most())),
          data.least() > 0.30);
    const Mean connected = mean_over(layers, "stall_data_access", is_connected);
    if (!connected.is_there()) return;
    claim("stalls", longer, "up to 38 %", whole_percent(data.most() / connected.value() - 1),
          data.most() > connected.value());
  }

  void first_level() {
    const std::string what = "L1 hits of the input convolution, and of the inner ones, forward";
    std::vector<double> hits;
    for (const LayerSum& layer : layers_of(counted_)) {
      if (!is_convolution(layer) || layer.is_backward) continue;
      if (const auto rate = counted(counted_, layer, "l1_hit_rate")) hits.push_back(*rate);
    }
    if (hits.size() < 2) {
      missing("L1", what, "high, falls with depth");
      return;
    }
    double deeper = 0;
    for (std::size_t i = 1; i < hits.size(); ++i) deeper += hits[i];
    deeper /= static_cast<double>(hits.size() - 1);
    claim("L1", what, "high, falls with depth",
          fmt::format("{}, then {} on average, {} in the last", whole_percent(hits.front()),
                      whole_percent(deeper), whole_percent(hits.back())),
          hits.front() > deeper && hits.back() < hits.front());
  }

  void second_level() {
    const std::vector<LayerSum> inner = inner_convolutions(counted_);
    const auto every = [](const LayerSum&) { return true; };
    const Mean first = mean_over(inner, "l1_hit_rate", every);
    const Mean reads = mean_over(inner, "l2_read_hit_rate", every, "l2_read_bytes");
    const Mean writes = mean_over(inner, "l2_write_hit_rate", every, "l2_write_bytes");
    const std::string reads_what = "L2 read hits of inner convolutions, beside L1's";
    const std::string writes_what = "L2 write hits of inner convolutions";
    if (!reads.is_there() || !writes.is_there() || !first.is_there()) {
      missing("L2", reads_what, "68 %");
      missing("L2", writes_what, "45 %");
    } else {
      claim("L2", reads_what, "68 %",
            fmt::format("{}; L1 {}", whole_percent(reads.value()), whole_percent(first.value())),
            reads.value() > 0.5 && reads.value() > first.value(),
            "holds where most reads that L1 misses are found in L2");
      claim("L2", writes_what, "45 %", whole_percent(writes.value()),
            std::abs(writes.value() - 0.45) <= 0.15, "holds within 15 points");
    }
  }

  /// Of the largest batch at which kernels were counted one by one.
  void bias() {
    const std::string what = "L2 hits when a bias is added, reads and writes, and of convolution";
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
        const bool is_bias = lower_case(kernel.name).find("bias") != std::string::npos;
        (is_bias ? reads : conv_reads).add(kernel.values[*read_place]);
        (is_bias ? writes : conv_writes).add(kernel.values[*write_place]);
      }
    }
    if (!reads.is_there() || !writes.is_there() || !conv_reads.is_there()) {
      missing("L2", what, "few and many; the reverse",
              "no counters of single kernels in these profiles");
      return;
    }
    claims_.claim("L2", fmt::format("{}, batch {}", what, (*found)->batch),
                  "few and many; the reverse",
                  fmt::format("{} and {}; {} and {}", whole_percent(reads.value()),
                              whole_percent(writes.value()), whole_percent(conv_reads.value()),
                              whole_percent(conv_writes.value())),
                  reads.value() < writes.value() && conv_reads.value() > conv_writes.value());
  }

  void inner_memory() {
    const std::string inner_what = "inner convolutions write more to DRAM than they read";
    std::size_t more = 0, all = 0;
    for (const LayerSum& layer : inner_convolutions(counted_)) {
      const auto read = counted(counted_, layer, "dram_read_bytes");
      const auto written = counted(counted_, layer, "dram_write_bytes");
      if (!read || !written) continue;
      ++all;
      more += *written > *read ? 1 : 0;
    }
    if (all == 0) {
      missing("DRAM", inner_what, "they do");
    } else {
      claim("DRAM", inner_what, "they do", fmt::format("{} of {}", more, all), 2 * more > all);
    }
  }

  void connected_memory() {
    double read = 0, written = 0;
    Mean read_hits, write_hits;
    for (const LayerSum& layer : layers_of(counted_)) {
      if (!is_connected(layer)) continue;
      read += counted(counted_, layer, "dram_read_bytes").value_or(0);
      written += counted(counted_, layer, "dram_write_bytes").value_or(0);
      read_hits.add(counted(counted_, layer, "l2_read_hit_rate"));
      write_hits.add(counted(counted_, layer, "l2_write_hit_rate"));
    }
    const std::string connected_what = "fully connected layers read far more DRAM than they write";
    const std::string hits_what = "and hit L2 on writes more than on reads";
    if (!(read > 0) || !(written > 0) || !read_hits.is_there() || !write_hits.is_there()) {
      missing("DRAM", connected_what, "far more");
      missing("DRAM", hits_what, "more");
      return;
    }
    claim("DRAM", connected_what, "far more", times_text(read / written), read > 2 * written,
          "holds from twice on");
    claim("DRAM", hits_what, "more",
          fmt::format("{} and {}", whole_percent(write_hits.value()),
                      whole_percent(read_hits.value())),
          write_hits.value() > read_hits.value());
  }

  void interconnect() {
    const std::string what = "bytes/s between L1 and L2 in the layer with most of them";
    const std::optional<double> roof = l2_bytes_per_s(counted_);
    double most = 0;
    std::string where;
    for (const LayerSum& layer : layers_of(counted_)) {
      const auto read = counted(counted_, layer, "crossbar_read_bytes");
      const auto written = counted(counted_, layer, "crossbar_write_bytes");
      if (!read || !written || !(layer.time_s > 0)) continue;
      const double rate = (*read + *written) / layer.time_s;
      if (rate <= most) continue;
      most = rate;
      where = layer.layer + (layer.is_backward ? " backward" : " forward");
    }
    if (!(most > 0)) {
      missing("interconnect", what, "can be the bottleneck");
      return;
    }
    const std::string found = fmt::format("{}, {}", format_bytes_per_s(most), where);
    if (!roof) {
      claims_.without_verdict("interconnect", of_batch(what), "can be the bottleneck", found,
                              "the machine's L2 bandwidth is not known");
      return;
    }
    claim("interconnect", what, "can be the bottleneck",
          fmt::format("{}: {} of L2's {}", found, whole_percent(most / *roof),
                      format_bytes_per_s(*roof)),
          most >= 0.8 * *roof, "holds from 80 % of what L2 reaches on");
  }

  const std::vector<const LayerwiseCase*>& cases_;
  const LayerwiseCase& counted_;
  LayerwiseClaims& claims_;
  bool has_convolutions_ = false;
};

}  // namespace

void add_counter_claims(const std::vector<const LayerwiseCase*>& cases, LayerwiseClaims& claims) {
  CounterClaims(cases, claims).add();
}

}  // namespace strata
