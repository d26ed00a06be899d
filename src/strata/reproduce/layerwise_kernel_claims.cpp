// SPDX-License-Identifier: Apache-2.0
// Claims of the layer-wise study that look at single kernels, and at the way between L1 and L2.
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/reproduce/layerwise_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace strata {
namespace {

/// Names of kernels that add a bias: Caffe's and cuDNN's, ours, and the sum of two tensors that our
/// engine takes for it.
bool adds_bias(std::string_view kernel) {
  const std::string name = lower_case(kernel);
  constexpr std::array<std::string_view, 4> parts = {"bias", "tensor_add", "addtensor",
                                                     "joinedinputs"};
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

void add_changing_kernels(const std::vector<const LayerwiseCase*>& cases, LayerwiseRows& rows) {
  static const LayerwiseClaim claim{
      .about = "batch",
      .sentence = "Other kernels are chosen for convolutions at other batches (figure 5)",
      .what = "convolutions, forward and backward apart, with other kernels at another batch",
      .printed = "they change"};
  std::map<std::string, std::set<std::string>> implementations;
  for (const LayerwiseCase* one : cases) {
    for (const LayerSum& layer : layers_of(*one)) {
      if (is_convolution(layer) && !layer.implementation.empty())
        implementations[layer.title()].insert(layer.implementation);
    }
  }
  if (cases.size() < 2 || implementations.empty()) {
    return rows.add_without_verdict(
        claim, std::string(claim.what), "–",
        cases.size() < 2 ? one_batch_only : "these profiles do not name their kernels");
  }
  std::size_t changed = 0;
  for (const auto& [layer, list] : implementations) changed += list.size() > 1;
  rows.add(claim,
           fmt::format("{}, batch {} → {}", claim.what, cases.front()->batch, cases.back()->batch),
           fmt::format("{} of {}", changed, implementations.size()),
           {.holds = 10 * changed >= implementations.size(),
            .rule = "holds where a tenth or more change",
            .cause = "the same are fastest at every batch"});
}

/// Judges the largest batch at which kernels were counted one by one.
void add_bias_hits(const std::vector<const LayerwiseCase*>& cases, LayerwiseRows& rows) {
  static const LayerwiseClaim claim{
      .about = "L2",
      .sentence =
          "tensor_add, which adds the bias, hits L2 on writes and hardly on reads, "
          "convolution the reverse (L2, kernels)",
      .what = "L2 hits of the bias, reads and writes; of convolution kernels",
      .printed = "few and many; the reverse"};
  Mean reads, writes, conv_reads, conv_writes;
  const auto found = std::find_if(cases.rbegin(), cases.rend(), [](const LayerwiseCase* one) {
    return !one->profile.counted_kernels.empty();
  });
  if (found != cases.rend()) {
    const Profile& profile = (*found)->profile;
    const auto read_place = profile.counters.place_of("l2_read_hit_rate");
    const auto write_place = profile.counters.place_of("l2_write_hit_rate");
    for (const CountedKernel& kernel : profile.counted_kernels) {
      const ProfileRow& row = profile.rows[kernel.row];
      if (!read_place || !write_place || row.op != "convolution" || row.pass != "forward") continue;
      const bool is_bias = adds_bias(kernel.name);
      (is_bias ? reads : conv_reads).add(kernel.values[*read_place]);
      (is_bias ? writes : conv_writes).add(kernel.values[*write_place]);
    }
  }
  if (!reads.is_there() || !writes.is_there() || !conv_reads.is_there() ||
      !conv_writes.is_there()) {
    return rows.add_without_verdict(
        claim, std::string(claim.what), "–",
        "these profiles have no counters of single kernels (strata measure --metrics paper "
        "--kernels)");
  }
  rows.add(claim, fmt::format("{}, batch {}", claim.what, (*found)->batch),
           fmt::format("{} and {}; {} and {}", whole_percent(reads.value()),
                       whole_percent(writes.value()), whole_percent(conv_reads.value()),
                       whole_percent(conv_writes.value())),
           {.holds = reads.value() < writes.value() && conv_reads.value() > conv_writes.value(),
            .rule = "holds where the bias hits more on writes, the convolution on reads",
            .cause = write_hits_cause(CountedLayers(**found))});
}

void add_long_bias(const std::vector<const LayerwiseCase*>& cases, LayerwiseRows& rows) {
  static const LayerwiseClaim claim{
      .about = "kernels",
      .sentence = "tensor_add is among the kernels that take longest in convolutions (kernels)",
      .what = "place of the bias among the kernels of convolutions by time, forward",
      .printed = "among the longest"};
  const LayerwiseCase& one = *cases.back();
  std::vector<std::pair<double, std::string>> kernels;
  double all_s = 0;
  for (const auto& [name, seconds] : one.convolution_kernel_s) {
    kernels.emplace_back(seconds, name);
    all_s += seconds;
  }
  std::sort(kernels.rbegin(), kernels.rend());
  const auto bias = std::find_if(kernels.begin(), kernels.end(),
                                 [](const auto& kernel) { return adds_bias(kernel.second); });
  if (bias == kernels.end()) {
    return rows.add_without_verdict(claim, std::string(claim.what), "–",
                                    "no kernel of these profiles adds a bias by its name");
  }
  constexpr std::ptrdiff_t few = 3;
  const std::ptrdiff_t place = bias - kernels.begin() + 1;
  rows.add(claim, fmt::format("{}, batch {}", claim.what, one.batch),
           fmt::format("{} of {}, {} of the time", place, kernels.size(),
                       whole_percent(bias->first / all_s)),
           {.holds = place <= few,
            .rule = "holds where it is among the three longest names",
            .cause = ""});
}

}  // namespace

void add_claims_of_kernels(const std::vector<const LayerwiseCase*>& cases, LayerwiseRows& rows) {
  if (CountedLayers(*cases.back()).group(LayerGroup::convolutions).empty()) return;
  add_changing_kernels(cases, rows);
  add_bias_hits(cases, rows);
  add_long_bias(cases, rows);
}

void add_interconnect(const std::vector<const LayerwiseCase*>& cases, LayerwiseRows& rows) {
  static const LayerwiseClaim claim{
      .about = "interconnect",
      .sentence = "The interconnect of L1 and L2 can be the bottleneck (abstract, finding iii)",
      .what = "bytes/s between L1 and L2 in the layer with most of them",
      .printed = "can be the bottleneck"};
  const LayerwiseCase& one = largest_counted(cases);
  const CountedLayers layers(one);
  const LayerTerm crossing{
      LayerGroup::all, LayerMeasure::rate, {"crossbar_read_bytes", "crossbar_write_bytes"}};
  double most = 0;
  const LayerSum* where = nullptr;
  for (const LayerSum& layer : layers.all()) {
    const auto rate = layers.value(crossing, layer);
    if (!rate || *rate <= most) continue;
    most = *rate;
    where = &layer;
  }
  if (where == nullptr) {
    return rows.add_without_verdict(claim, std::string(claim.what), "–", no_counters_in_profiles);
  }
  const std::string what = fmt::format("{}, batch {}", claim.what, one.batch);
  const std::string found = fmt::format("{}, {}", format_bytes_per_s(most), where->title());
  const std::optional<double> roof = l2_bytes_per_s(one);
  if (!roof) {
    return rows.add_without_verdict(claim, what, found, "the machine's L2 bandwidth is not known");
  }
  const auto dram = layers.value(
      {LayerGroup::all, LayerMeasure::rate, {"dram_read_bytes", "dram_write_bytes"}}, *where);
  rows.add(claim, what,
           fmt::format("{}: {} of L2's {}", found, whole_percent(most / *roof),
                       format_bytes_per_s(*roof)),
           {.holds = most >= 0.8 * *roof,
            .rule = "holds from 80 % of what L2 reaches on, reads and writes together",
            .cause = dram ? fmt::format("that layer moves {} to and from DRAM beside it",
                                        format_bytes_per_s(*dram))
                          : ""});
}

}  // namespace strata
