// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/layerwise_study.hpp"
#include "strata/reproduce/mean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace strata {
namespace {

constexpr std::string_view no_counters = "no counters in these profiles";
constexpr std::string_view no_kernel_counters = "no counters of single kernels in these profiles";

std::string whole_percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
std::string times_text(double ratio) { return fmt::format("{:.2f}×", ratio); }
bool is_convolution(const LayerSum& layer) { return layer.op == "convolution"; }
bool is_connected(const LayerSum& layer) { return layer.op == "linear"; }

class LayerwiseFindings {
 public:
  explicit LayerwiseFindings(const LayerwiseStudy& study) : study_(study) {}

  std::vector<Finding> run() && {
    for (const std::string& network : study_.networks()) {
      cases_ = study_.of(network);
      network_ = network;
      dominance();
      backward();
      growth();
      stalls();
      first_level();
      second_level();
      memory();
      stability();
      interconnect();
    }
    network_ = "all";
    deeper_backward();
    return std::move(findings_);
  }

 private:
  void claim(std::string about, std::string what, std::string printed, std::string found,
             bool holds, std::string note = {}) {
    findings_.push_back({.observation = std::move(about),
                         .network = network_,
                         .what = std::move(what),
                         .printed = std::move(printed),
                         .found = std::move(found),
                         .is_printed = true,
                         .holds = holds,
                         .note = std::move(note)});
  }
  void missing(std::string about, std::string what, std::string printed,
               std::string_view reason = no_counters) {
    claim(std::move(about), std::move(what), std::move(printed), "–", false, std::string(reason));
    findings_.back().is_printed = false;
  }

  const LayerwiseCase& largest() const { return *cases_.back(); }
  std::string at_batch() const { return fmt::format("batch {}", largest().batch); }

  template <class Pick>
  Mean mean_over(const std::vector<LayerSum>& layers, std::string_view key, const Pick& pick,
                 std::string_view weight_key = "") const {
    Mean mean;
    for (const LayerSum& layer : layers) {
      if (!pick(layer)) continue;
      mean.add(counted(largest(), layer, key),
               weight_key.empty() ? 1 : counted(largest(), layer, weight_key).value_or(0));
    }
    return mean;
  }

  void dominance() {
    const std::vector<LayerSum> inner = inner_convolutions(largest());
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
    claim("dominance", fmt::format("inner convolutions' share of time, {}", at_batch()),
          "most of it", whole_percent(inner_s / all_s), inner_s > 0.5 * all_s);
    const std::string what = fmt::format("and of instructions, {}", at_batch());
    if (all_count > 0) {
      claim("dominance", what, "most of them", whole_percent(inner_count / all_count),
            inner_count > 0.5 * all_count);
    } else {
      missing("dominance", what, "most of them");
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
    std::size_t beyond = 0;
    for (const auto& [layer, both] : by_layer) beyond += both.second > 2 * both.first ? 1 : 0;
    claim("backward", fmt::format("backward can exceed twice forward, {}", at_batch()), "> 2×",
          fmt::format("{}; {} of {} convolutions", times_text(ratio), beyond, by_layer.size()),
          ratio > 2 || beyond > 0);
  }

  // Only where both networks are there.
  void deeper_backward() {
    const auto alexnet = study_.of("alexnet_caffe"), vgg = study_.of("vgg16");
    if (alexnet.empty() || vgg.empty()) return;
    for (auto large = vgg.rbegin(); large != vgg.rend(); ++large) {
      const auto small =
          std::find_if(alexnet.begin(), alexnet.end(),
                       [&](const LayerwiseCase* one) { return one->batch == (*large)->batch; });
      if (small == alexnet.end()) continue;
      const auto a = directions(**small), b = directions(**large);
      if (!(a.first > 0) || !(b.first > 0)) return;
      const double of_alexnet = a.second / a.first, of_vgg = b.second / b.first;
      claim("backward",
            fmt::format("backward over forward, larger in VGG-16 than in AlexNet, batch {}",
                        (*large)->batch),
            "VGG-16 > AlexNet",
            fmt::format("{} and {}", times_text(of_vgg), times_text(of_alexnet)),
            of_vgg > of_alexnet);
      return;
    }
  }

  template <class Number>
  void grows(const std::string& what, const Number& number, std::string_view reason) {
    if (cases_.size() < 2) {
      missing("batch", what, "grows", "only one batch in these profiles");
      return;
    }
    std::vector<double> values;
    for (const LayerwiseCase* one : cases_) {
      double sum = 0;
      bool is_there = false;
      for (const LayerSum& layer : layers_of(*one)) {
        const std::optional<double> value = number(*one, layer);
        sum += value.value_or(0);
        is_there = is_there || value;
      }
      if (is_there) values.push_back(sum);
    }
    if (values.size() < 2) {
      missing("batch", what, "grows", reason);
      return;
    }
    claim("batch", what, "grows",
          fmt::format("{} (batch {} → {})", times_text(values.back() / values.front()),
                      cases_.front()->batch, cases_.back()->batch),
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
        no_counters);
    grows("stalls (warps that wait × cycles) with the batch", waiting_of, no_counters);
  }

  void stalls() {
    const std::string what = "waiting for data, of all waiting, in convolutions of most FLOP";
    const std::string longer = "and longer there than in fully connected layers";
    std::vector<LayerSum> layers = layers_of(largest());
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
    for (const LayerSum& layer : layers_of(largest())) {
      if (!is_convolution(layer) || layer.is_backward) continue;
      if (const auto rate = counted(largest(), layer, "l1_hit_rate")) hits.push_back(*rate);
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
    const std::vector<LayerSum> inner = inner_convolutions(largest());
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
    bias();
  }

  void bias() {
    const std::string what = "L2 hits when a bias is added, reads and writes, and of convolution";
    Mean reads, writes, conv_reads, conv_writes;
    const Profile& profile = largest().profile;
    const auto read_place = profile.counters.place_of("l2_read_hit_rate");
    const auto write_place = profile.counters.place_of("l2_write_hit_rate");
    if (read_place && write_place) {
      for (const CountedKernel& kernel : profile.counted_kernels) {
        const ProfileRow& row = profile.rows[kernel.row];
        if (row.op != "convolution" || row.pass != "forward") continue;
        const bool is_bias = kernel.name.find("bias") != std::string::npos;
        (is_bias ? reads : conv_reads).add(kernel.values[*read_place]);
        (is_bias ? writes : conv_writes).add(kernel.values[*write_place]);
      }
    }
    if (!reads.is_there() || !writes.is_there() || !conv_reads.is_there()) {
      missing("L2", what, "few and many; the reverse", no_kernel_counters);
      return;
    }
    claim("L2", what, "few and many; the reverse",
          fmt::format("{} and {}; {} and {}", whole_percent(reads.value()),
                      whole_percent(writes.value()), whole_percent(conv_reads.value()),
                      whole_percent(conv_writes.value())),
          reads.value() < writes.value() && conv_reads.value() > conv_writes.value());
  }

  void memory() {
    const std::string inner_what = "inner convolutions write more to DRAM than they read";
    std::size_t more = 0, all = 0;
    for (const LayerSum& layer : inner_convolutions(largest())) {
      const auto read = counted(largest(), layer, "dram_read_bytes");
      const auto written = counted(largest(), layer, "dram_write_bytes");
      if (!read || !written) continue;
      ++all;
      more += *written > *read ? 1 : 0;
    }
    if (all == 0) {
      missing("DRAM", inner_what, "they do");
    } else {
      claim("DRAM", inner_what, "they do", fmt::format("{} of {}", more, all), 2 * more > all);
    }
    double read = 0, written = 0;
    Mean read_hits, write_hits;
    for (const LayerSum& layer : layers_of(largest())) {
      if (!is_connected(layer)) continue;
      read += counted(largest(), layer, "dram_read_bytes").value_or(0);
      written += counted(largest(), layer, "dram_write_bytes").value_or(0);
      read_hits.add(counted(largest(), layer, "l2_read_hit_rate"));
      write_hits.add(counted(largest(), layer, "l2_write_hit_rate"));
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

  // The kernels that are chosen change with the batch; what L1 does hardly.
  void stability() {
    if (cases_.size() < 2) return;
    std::map<std::string, std::set<std::string>> ways;
    std::map<std::string, Mean> hits;
    for (const LayerwiseCase* one : cases_) {
      for (const LayerSum& layer : layers_of(*one)) {
        if (!is_convolution(layer)) continue;
        const std::string key = layer.layer + (layer.is_backward ? " backward" : "");
        if (!layer.implementation.empty()) ways[key].insert(layer.implementation);
        hits[key].add(counted(*one, layer, "l1_hit_rate"));
      }
    }
    std::size_t changed = 0;
    for (const auto& [layer, list] : ways) changed += list.size() > 1 ? 1 : 0;
    claim("batch", "the kernels chosen for convolutions change with the batch", "they do",
          fmt::format("{} of {}", changed, ways.size()), changed > 0);
    double widest = 0;
    bool is_there = false;
    for (const auto& [layer, mean] : hits) {
      if (!mean.is_there()) continue;
      is_there = true;
      widest = std::max(widest, mean.most() - mean.least());
    }
    const std::string what = "while L1 hits are stable: the widest difference of a convolution";
    if (!is_there) {
      missing("batch", what, "small");
      return;
    }
    claim("batch", what, "small", fmt::format("{:.0f} points", 100 * widest), widest <= 0.10,
          "holds up to 10 points");
  }

  void interconnect() {
    const std::string what = "bytes/s between L1 and L2 in the layer with most of them";
    const std::optional<double> roof = l2_bytes_per_s(largest());
    double most = 0;
    std::string where;
    for (const LayerSum& layer : layers_of(largest())) {
      const auto read = counted(largest(), layer, "crossbar_read_bytes");
      const auto written = counted(largest(), layer, "crossbar_write_bytes");
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
      claim("interconnect", what, "can be the bottleneck", found, false,
            "the machine's L2 bandwidth is not known");
      findings_.back().is_printed = false;
      return;
    }
    claim("interconnect", what, "can be the bottleneck",
          fmt::format("{}: {} of L2's {}", found, whole_percent(most / *roof),
                      format_bytes_per_s(*roof)),
          most >= 0.8 * *roof, "holds from 80 % of what L2 reaches on");
  }

  const LayerwiseStudy& study_;
  std::vector<const LayerwiseCase*> cases_;
  std::string network_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> layerwise_findings(const LayerwiseStudy& study) {
  return LayerwiseFindings(study).run();
}

}  // namespace strata
