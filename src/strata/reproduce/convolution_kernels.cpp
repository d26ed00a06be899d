// SPDX-License-Identifier: Apache-2.0
// Figures 4, 6 and 7 and table II of the study: kernels, how well they use the GPU, and copies.
#include "strata/base/units.hpp"
#include "strata/reproduce/convolution_claims.hpp"

#include <fmt/format.h>

#include <map>

namespace strata {
namespace {

void add_gemm_share(const ConvStudy& study, ConvFindings& findings) {
  ConvClaim claim{"10", "figure 4, layers", "share of GEMM in an unrolled convolution", "80–87 %"};
  ConvExtent gemm;
  std::string lowest, highest;
  const ConvContender* unroll = study.named("unroll");
  for (const ConvPoint* point : study.points({"layers"})) {
    const auto mine = unroll == nullptr ? std::nullopt : study.trained(*point, *unroll);
    const double all_s = mine ? mine->role_s(std::nullopt) : 0;
    if (!(all_s > 0)) continue;
    const double share = mine->role_s(KernelRole::gemm) / all_s;
    if (gemm.count == 0 || share < gemm.least) lowest = point->label;
    if (gemm.count == 0 || share > gemm.most) highest = point->label;
    gemm.add(share);
  }
  if (gemm.count == 0) return findings.missing(std::move(claim));
  constexpr double printed_least = 0.80, printed_most = 0.87, tolerance = 0.05;
  const double middle = (gemm.least + gemm.most) / 2;
  const bool holds = middle >= printed_least - tolerance && middle <= printed_most + tolerance;
  findings.judge(std::move(claim), shares_text(gemm), holds,
                 "the middle of the range is within 5 points of the printed one",
                 fmt::format("the least in {}, the most in {}", lowest, highest));
}

/// A number of the main kernels, and whose it is.
struct KernelExtent {
  ConvExtent values;
  std::string least_of, most_of;

  void add(double value, const ConvCell& cell, const KernelFacts& kernel) {
    const std::string who = fmt::format("{} of {}", kernel.name, cell.strategy);
    if (values.count == 0 || value < values.least) least_of = who;
    if (values.count == 0 || value > values.most) most_of = who;
    values.add(value);
  }
};

void add_kernel_resources(const ConvStudy& study, ConvFindings& findings) {
  KernelExtent registers, shared;
  bool has_library = false;  // its kernels were traced
  for (const ConvPoint* point : study.points({"layers"})) {
    for (const ConvContender& each : study.contenders()) {
      const auto mine = study.trained(*point, each);
      if (!mine) continue;
      for (const ConvCell* cell : mine->cells) {
        for (const KernelFacts& kernel : cell->kernels) {
          has_library = has_library || each.is_vendor;
          registers.add(kernel.registers_per_thread, *cell, kernel);
          if (kernel.shared_bytes_per_block > 0)
            shared.add(kernel.shared_bytes_per_block, *cell, kernel);
        }
      }
    }
  }
  const std::string_view not_told = has_library ? "" : "; the library's were not traced";
  ConvClaim claim{"12", "table II", "registers per thread of the main kernels", "2–116"};
  if (registers.values.count == 0) {
    findings.missing(std::move(claim));
  } else {
    constexpr double most_registers = 116;
    findings.judge(std::move(claim),
                   fmt::format("{:.0f}–{:.0f}", registers.values.least, registers.values.most),
                   registers.values.least >= 2 && registers.values.most <= most_registers,
                   "all are within the printed range, Theano-fft's 2 with it",
                   fmt::format("the most: {}{}", registers.most_of, not_told));
  }
  claim = {"13", "table II", "shared memory per block of the main kernels", "4.5–16 KB"};
  if (shared.values.count == 0) return findings.missing(std::move(claim));
  constexpr double kib = 1024;
  findings.judge(std::move(claim), sizes_text(shared.values),
                 shared.values.least >= 4.5 * kib && shared.values.most <= 16 * kib,
                 "all that use any are within the printed range, Theano-fft's 4.5 with it",
                 fmt::format("the least: {}, the most: {}; a block of a K40c had 48 KiB{}",
                             shared.least_of, shared.most_of, not_told));
}

/// An efficiency of every strategy at every layer, forward; those of cuDNN's graph left out, which
/// repeat others.
struct EfficiencyValues {
  ConvExtent all;
  std::vector<std::tuple<std::string, std::string, double>> values;  ///< strategy, layer, value
};

EfficiencyValues efficiencies_at_layers(const ConvStudy& study,
                                        std::optional<double> ConvEfficiency::*which) {
  EfficiencyValues found;
  const ConvIndex index(study.results());
  for (const ConvPoint* point : study.points({"layers"})) {
    for (const ConvStrategyName& strategy : study.results().strategies) {
      const ConvCell* cell = index.find(point->shape, ConvPass::forward, strategy.name);
      if (cell == nullptr || !cell->is_measured() || is_any_engine(strategy)) continue;
      const auto mean = mean_efficiency(*cell, which);
      if (!mean) continue;
      found.all.add(*mean);
      found.values.emplace_back(strategy.name, point->label, *mean);
    }
  }
  return found;
}

constexpr std::string_view no_efficiencies =
    "no efficiencies in these results: measure with strata conv --suite paper --metrics";

/// More than half are below a bound; `counted_as` says what is counted, where that is the point.
void add_mostly_below(const ConvStudy& study, ConvClaim claim,
                      std::optional<double> ConvEfficiency::*which, double bound,
                      std::string_view counted_as, ConvFindings& findings) {
  const EfficiencyValues found = efficiencies_at_layers(study, which);
  if (found.all.count == 0) return findings.missing(std::move(claim), std::string(no_efficiencies));
  std::size_t below = 0;
  std::string least_of, most_of;
  for (const auto& [strategy, layer, value] : found.values) {
    below += value < bound;
    const std::string who = fmt::format("{} at {}", strategy, layer);
    if (least_of.empty() && value <= found.all.least) least_of = who;
    if (most_of.empty() && value >= found.all.most) most_of = who;
  }
  findings.judge(
      std::move(claim), shares_text(found.all), 2 * below > found.values.size(),
      fmt::format("more than half of the strategies at the layers are below {:.0f} %", 100 * bound),
      fmt::format("{} are; the least: {}, the most: {}{}{}", count_text(below, found.values.size()),
                  least_of, most_of, counted_as.empty() ? "" : "; counted as ", counted_as));
}

/// At how many layers the strategy of the highest occupancy is not the fastest.
void add_occupancy_and_speed(const ConvStudy& study, ConvFindings& findings) {
  ConvClaim claim{"21", "figure 6a", "high occupancy does not make a kernel fast: others win at",
                  "most layers"};
  const EfficiencyValues found = efficiencies_at_layers(study, &ConvEfficiency::occupancy);
  if (found.all.count == 0) return findings.missing(std::move(claim), std::string(no_efficiencies));
  const ConvIndex index(study.results());
  std::size_t layers = 0, others = 0;
  std::string example;
  for (const ConvPoint* point : study.points({"layers"})) {
    std::string fullest, fastest;
    double most = 0, least_s = 0;
    for (const auto& [strategy, layer, value] : found.values) {
      if (layer != point->label) continue;
      const double time_s = index.find(point->shape, ConvPass::forward, strategy)->time_s();
      if (fullest.empty() || value > most) fullest = strategy, most = value;
      if (fastest.empty() || time_s < least_s) fastest = strategy, least_s = time_s;
    }
    if (fullest.empty()) continue;
    ++layers;
    others += fullest != fastest;
    example = fmt::format("{}: {} has {:.0f} %, {} is the fastest", point->label, fullest,
                          100 * most, fastest);
  }
  findings.judge(std::move(claim), count_text(others, layers), 2 * others > layers,
                 "at most layers another strategy is faster than that of the highest occupancy",
                 example);
}

void add_shared_efficiency(const ConvStudy& study, ConvFindings& findings) {
  ConvClaim claim{"24", "figure 6d", "shared memory efficiency of the library", "> 130 %"};
  const EfficiencyValues found = efficiencies_at_layers(study, &ConvEfficiency::shared);
  ConvExtent library;
  for (const auto& [strategy, layer, value] : found.values) {
    if (const ConvContender* pick = study.vendor_default();
        pick != nullptr && strategy == pick->name)
      library.add(value);
  }
  if (library.count == 0) return findings.missing(std::move(claim), std::string(no_efficiencies));
  constexpr double bound = 1.3;
  const bool holds = library.least > bound;
  const std::string all = "all strategies " + shares_text(found.all);
  findings.judge(std::move(claim), shares_text(library), holds,
                 "the library's own choice is above 130 % at every layer",
                 holds ? all
                       : all +
                             "; 100 % is 128 bytes per access, all that banks of 4 bytes can; "
                             "those of a K40c are 8 bytes wide");
}

/// Whether a strategy is FFT, or a library's own choice that was FFT at this layer.
bool ran_fft(const ConvStudy& study, std::string_view strategy, std::string_view layer) {
  const auto is_fft = [](std::string_view name) { return name.find("fft") != name.npos; };
  const ConvContender* pick = study.vendor_default();
  if (pick == nullptr || strategy != pick->name) return is_fft(strategy);
  for (const ConvPoint* point : study.points({"layers"}))
    if (point->label == layer) return is_fft(study.picked(*point, ConvPass::forward));
  return false;
}

void add_warp_efficiency(const ConvStudy& study, ConvFindings& findings) {
  ConvClaim claim{"25", "figure 6e", "warp execution efficiency of all but FFT", "> 97 %"};
  const EfficiencyValues found = efficiencies_at_layers(study, &ConvEfficiency::warp_execution);
  ConvExtent others, fft;
  WhoWhere below;
  constexpr double bound = 0.97;
  for (const auto& [strategy, layer, value] : found.values) {
    const bool is_fft = ran_fft(study, strategy, layer);
    (is_fft ? fft : others).add(value);
    if (!is_fft && value <= bound)
      below.add(strategy, fmt::format("{} ({:.0f} %)", layer, 100 * value));
  }
  if (others.count == 0) return findings.missing(std::move(claim), std::string(no_efficiencies));
  std::string remark = below.is_empty() ? "" : "below: " + below.text();
  if (fft.count > 0)
    remark += fmt::format("{}FFT {}", remark.empty() ? "" : "; ", shares_text(fft));
  findings.judge(std::move(claim), shares_text(others), below.is_empty(),
                 "every strategy but FFT is above 97 % at every layer", remark);
}

}  // namespace

void add_kernel_rows(const ConvStudy& study, ConvFindings& findings) {
  add_gemm_share(study, findings);
  add_unrolling_row(study, findings);
  add_kernel_resources(study, findings);
}

std::optional<TransferShares> copy_shares(const ConvTrained& trained) {
  // The input is copied once for all passes.
  ConvCell iteration = *trained.cells.front();
  iteration.samples_s = {trained.time_s()};
  return transfer_shares(iteration);
}

void add_copy_rows(const ConvStudy& study, ConvFindings& findings) {
  ConvClaim pinned_claim{"14", "figure 7, layers",
                         "share of time in copies of the input, page-locked and asynchronous",
                         "about 0–15 %"};
  ConvClaim pageable_claim{"15", "figure 7, layers",
                           "once, from ordinary memory while nothing runs: the most",
                           "more than 60 %"};
  ConvExtent pinned, pageable;
  std::string worst_pinned, worst_pageable;
  double longest_beside = -1;
  for (const ConvPoint* point : study.points({"layers"})) {
    for (const ConvContender& each : study.contenders()) {
      const auto mine = study.trained(*point, each);
      const auto shares = mine ? copy_shares(*mine) : std::nullopt;
      if (!shares) continue;
      const auto where = [&](double copy_s) {
        return fmt::format("{} at {}: {:.2f} ms to copy, {:.2f} ms to compute", each.name,
                           point->label, 1e3 * copy_s, 1e3 * mine->time_s());
      };
      const HostTransfers& copies = *mine->cells.front()->transfers;
      if (copies.pinned_s / mine->time_s() > longest_beside) {
        longest_beside = copies.pinned_s / mine->time_s();
        worst_pinned = where(copies.pinned_s);
      }
      if (pageable.count == 0 || shares->pageable > pageable.most)
        worst_pageable = where(copies.pageable_s);
      pinned.add(shares->pinned);
      pageable.add(shares->pageable);
    }
  }
  if (pinned.count == 0) {
    findings.missing(std::move(pinned_claim));
    return findings.missing(std::move(pageable_claim));
  }
  constexpr double most_pinned = 0.15, least_pageable = 0.60;
  findings.judge(std::move(pinned_claim), shares_text(pinned), pinned.most <= most_pinned,
                 "no strategy waits for more than 15 % of an iteration at any layer", worst_pinned);
  findings.judge(std::move(pageable_claim), fmt::format("{:.0f} %", 100 * pageable.most),
                 pageable.most > least_pageable,
                 "some strategy at some layer spends more than 60 % in the copy", worst_pageable);
}

void add_efficiency_rows(const ConvStudy& study, ConvFindings& findings) {
  add_mostly_below(study, {"20", "figure 6a", "achieved occupancy", "< 30 %"},
                   &ConvEfficiency::occupancy, 0.30, "", findings);
  findings.drawn_in_efficiencies("occupancy", 0.30, "below 30 %");
  add_occupancy_and_speed(study, findings);
  const std::string_view sectors = "bytes asked for, of the sectors of 32 bytes that were touched";
  add_mostly_below(study, {"22", "figure 6b", "global load efficiency", "< 20 %"},
                   &ConvEfficiency::global_load, 0.20, sectors, findings);
  findings.drawn_in_efficiencies("gld_efficiency", 0.20, "below 20 %");
  add_mostly_below(study, {"23", "figure 6c", "global store efficiency", "< 60 %"},
                   &ConvEfficiency::global_store, 0.60, sectors, findings);
  findings.drawn_in_efficiencies("gst_efficiency", 0.60, "below 60 %");
  add_shared_efficiency(study, findings);
  findings.drawn_in_efficiencies("shared_efficiency", 1.30, "above 130 %, the library");
  add_warp_efficiency(study, findings);
  findings.drawn_in_efficiencies("warp_execution_efficiency", 0.97, "above 97 %, all but FFT");
}

}  // namespace strata
