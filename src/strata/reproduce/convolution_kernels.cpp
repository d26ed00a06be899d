// SPDX-License-Identifier: Apache-2.0
// Figures 4, 6 and 7 and table II of the study: kernels, how well they use the GPU, and copies.
#include "strata/base/units.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/reproduce/convolution_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace strata {
namespace {

/// The study's configuration of figure 4: (64, 128, 64, 11, 1).
const ConvPoint* point_of_figure_4(const ConvStudy& study) {
  for (const ConvPoint* point : study.points({"b", "i", "f", "k", "s"})) {
    const ConvShape& shape = point->shape;
    if (shape.batch == 64 && shape.height == 128 && shape.filters == 64 &&
        shape.kernel_height == 11 && shape.stride_height == 1)
      return point;
  }
  return nullptr;
}

/// Share that kernels of a role have of the time of all kernels of a contender; nothing where they
/// are not known.
std::optional<double> role_share(const ConvStudy& study, const ConvPoint* point,
                                 const ConvContender* who, KernelRole role) {
  if (point == nullptr || who == nullptr) return std::nullopt;
  const auto mine = study.trained(*point, *who);
  const double all_s = mine ? mine->role_s(std::nullopt) : 0;
  return all_s > 0 ? std::optional(mine->role_s(role) / all_s) : std::nullopt;
}

void add_gemm_share(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("10");
  const ConvContender* unroll = study.named("unroll");
  const auto share = role_share(study, point_of_figure_4(study), unroll, KernelRole::gemm);
  if (!share) return findings.missing(claim);
  ConvExtent at_layers;
  for (const ConvPoint* point : study.points({"layers"})) {
    if (const auto there = role_share(study, point, unroll, KernelRole::gemm))
      at_layers.add(*there);
  }
  constexpr double printed_least = 0.80, printed_most = 0.87, tolerance = 0.05;
  findings.judge(claim, fmt::format("{:.1f} %", 100 * *share),
                 *share >= printed_least - tolerance && *share <= printed_most + tolerance,
                 "it is within 5 points of the printed range",
                 fmt::format("the others are im2col and col2im{}",
                             at_layers.count == 0 ? ""
                                                  : fmt::format("; {} at the layers of table I",
                                                                shares_text(at_layers))));
}

void add_fft_roles(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("46");
  const ConvPoint* point = point_of_figure_4(study);
  constexpr KernelRole roles[] = {KernelRole::transform, KernelRole::gemm,
                                  KernelRole::inverse_transform, KernelRole::transpose};
  std::string found;
  bool has_all = true;
  for (const KernelRole role : roles) {
    const auto share = role_share(study, point, study.fft(), role);
    if (!share) return findings.missing(claim);
    found += fmt::format("{}{} {:.0f} %", found.empty() ? "" : ", ", name_of(role), 100 * *share);
    has_all = has_all && *share >= 0.01;
  }
  findings.judge(claim, std::move(found), has_all, "each takes 1 % of the time or more",
                 fmt::format("{} has its products and transpositions in the kernels of its "
                             "transforms",
                             study.fft()->name));
}

/// A number of the main kernels, and whose it is.
struct KernelExtent {
  ConvExtent values;
  std::string least_of, most_of;

  void add(double value, const ConvCell& cell, const KernelFacts& kernel) {
    const std::string who = fmt::format("{} of {}", short_kernel_name(kernel.name), cell.strategy);
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
          if (kernel.registers_per_thread <= 0) continue;  // a processor has no such number
          has_library = has_library || each.is_vendor;
          registers.add(kernel.registers_per_thread, *cell, kernel);
          if (kernel.shared_bytes_per_block > 0)
            shared.add(kernel.shared_bytes_per_block, *cell, kernel);
        }
      }
    }
  }
  const std::string_view not_told = has_library ? "" : "; the library's were not traced";
  const ConvClaim claim = conv_claim("12");
  if (registers.values.count == 0) {
    findings.missing(claim);
  } else {
    constexpr double most_registers = 116;
    findings.judge(claim,
                   fmt::format("{:.0f}–{:.0f}", registers.values.least, registers.values.most),
                   registers.values.least >= 2 && registers.values.most <= most_registers,
                   "all are within the printed range, Theano-fft's 2 with it",
                   fmt::format("the most: {}{}", registers.most_of, not_told));
  }
  const ConvClaim shared_claim = conv_claim("13");
  if (shared.values.count == 0) return findings.missing(shared_claim);
  constexpr double kib = 1024;
  findings.judge(shared_claim, sizes_text(shared.values),
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

/// Means over the layers by implementation; the library's own choice, which is one of the others,
/// is left out.
std::vector<std::pair<double, std::string>> means_of(const ConvStudy& study,
                                                     const EfficiencyValues& found) {
  const ConvContender* pick = study.vendor_default();
  std::map<std::string, std::pair<double, std::size_t>> sums;
  for (const auto& [strategy, layer, value] : found.values) {
    if (pick != nullptr && strategy == pick->name) continue;
    sums[strategy].first += value;
    ++sums[strategy].second;
  }
  std::vector<std::pair<double, std::string>> means;
  for (const auto& [strategy, sum] : sums)
    means.emplace_back(sum.first / static_cast<double>(sum.second), strategy);
  std::sort(means.begin(), means.end());
  return means;
}

std::string mean_text(const std::pair<double, std::string>& mean) {
  return fmt::format("{} {:.0f} %", mean.second, 100 * mean.first);
}

/// More than half of the implementations are below a bound; `counted_as` says what is counted,
/// where that is the point.
void add_mostly_below(const ConvStudy& study, const ConvClaim& claim,
                      std::optional<double> ConvEfficiency::*which, double bound,
                      std::string_view counted_as, ConvFindings& findings) {
  const auto means = means_of(study, efficiencies_at_layers(study, which));
  if (means.empty()) return findings.missing(claim, std::string(no_efficiencies));
  const auto below = static_cast<std::size_t>(std::count_if(
      means.begin(), means.end(), [&](const auto& mean) { return mean.first < bound; }));
  findings.judge(
      claim, fmt::format("{:.0f}–{:.0f} %", 100 * means.front().first, 100 * means.back().first),
      2 * below > means.size(),
      fmt::format("the mean of more than half of the implementations is below {:.0f} %",
                  100 * bound),
      fmt::format("{} are; the least: {}, the most: {}{}{}", count_text(below, means.size()),
                  mean_text(means.front()), mean_text(means.back()),
                  counted_as.empty() ? "" : "; counted as ", counted_as));
}

void add_lowest_shared(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("39");
  const auto means = means_of(study, efficiencies_at_layers(study, &ConvEfficiency::shared));
  const auto fft = std::find_if(means.begin(), means.end(), [](const auto& mean) {
    return mean.second.find("fft") != std::string::npos;
  });
  if (fft == means.end()) return findings.missing(claim, std::string(no_efficiencies));
  findings.judge(claim, fmt::format("{:.0f} %", 100 * fft->first), fft == means.begin(),
                 "an FFT has the lowest mean of all implementations",
                 "the lowest: " + mean_text(means.front()));
}

/// At how many layers the strategy of the highest occupancy is not the fastest.
void add_occupancy_and_speed(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("21");
  const EfficiencyValues found = efficiencies_at_layers(study, &ConvEfficiency::occupancy);
  if (found.all.count == 0) return findings.missing(claim, std::string(no_efficiencies));
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
  findings.judge(claim, count_text(others, layers), 2 * others > layers,
                 "at most layers another strategy is faster than that of the highest occupancy",
                 example);
}

void add_shared_efficiency(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("24");
  const EfficiencyValues found = efficiencies_at_layers(study, &ConvEfficiency::shared);
  ConvExtent library;
  for (const auto& [strategy, layer, value] : found.values) {
    if (const ConvContender* pick = study.vendor_default();
        pick != nullptr && strategy == pick->name)
      library.add(value);
  }
  if (library.count == 0) return findings.missing(claim, std::string(no_efficiencies));
  constexpr double bound = 1.3;
  const bool holds = library.least > bound;
  const std::string all = "all strategies " + shares_text(found.all);
  findings.judge(claim, shares_text(library), holds,
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
  const ConvClaim claim = conv_claim("25");
  const ConvClaim fft_claim = conv_claim("32");
  const EfficiencyValues found = efficiencies_at_layers(study, &ConvEfficiency::warp_execution);
  ConvExtent others, fft;
  WhoWhere below;
  std::size_t above = 0;
  constexpr double bound = 0.97, far_below = 0.90;
  for (const auto& [strategy, layer, value] : found.values) {
    const bool is_fft = ran_fft(study, strategy, layer);
    (is_fft ? fft : others).add(value);
    above += !is_fft && value > bound;
    if (!is_fft && value <= bound)
      below.add(strategy, fmt::format("{} ({:.0f} %)", layer, 100 * value));
  }
  if (others.count == 0) {
    findings.missing(claim, std::string(no_efficiencies));
  } else {
    findings.judge(claim, shares_text(others), 2 * above > others.count,
                   "more than half of the implementations at the layers are above 97 %",
                   fmt::format("{} are{}{}", count_text(above, others.count),
                               below.is_empty() ? "" : "; below: ", below.text()));
  }
  if (fft.count == 0) return findings.missing(fft_claim, std::string(no_efficiencies));
  findings.judge(fft_claim, shares_text(fft), fft.most < far_below,
                 "FFT is below 90 % at every layer",
                 "its threads all take part: no implementation here is Theano's");
}

}  // namespace

void add_kernel_rows(const ConvStudy& study, ConvFindings& findings) {
  add_gemm_share(study, findings);
  add_fft_roles(study, findings);
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
  const ConvClaim pinned_claim = conv_claim("14");
  const ConvClaim pageable_claim = conv_claim("15");
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
    findings.missing(pinned_claim);
    return findings.missing(pageable_claim);
  }
  constexpr double most_pinned = 0.15, least_pageable = 0.60;
  findings.judge(pinned_claim, shares_text(pinned), pinned.most <= most_pinned,
                 "no strategy waits for more than 15 % of an iteration at any layer", worst_pinned);
  findings.judge(pageable_claim, fmt::format("{:.0f} %", 100 * pageable.most),
                 pageable.most > least_pageable,
                 "some strategy at some layer spends more than 60 % in the copy", worst_pageable);
}

void add_efficiency_rows(const ConvStudy& study, ConvFindings& findings) {
  add_mostly_below(study, conv_claim("20"), &ConvEfficiency::occupancy, 0.30, "", findings);
  findings.drawn_in_efficiencies("occupancy", 0.30, "below 30 %");
  add_occupancy_and_speed(study, findings);
  const std::string_view sectors = "bytes asked for, of the sectors of 32 bytes that were touched";
  add_mostly_below(study, conv_claim("22"), &ConvEfficiency::global_load, 0.20, sectors, findings);
  findings.drawn_in_efficiencies("gld_efficiency", 0.20, "below 20 %");
  add_mostly_below(study, conv_claim("23"), &ConvEfficiency::global_store, 0.60, sectors, findings);
  findings.drawn_in_efficiencies("gst_efficiency", 0.60, "below 60 %");
  add_shared_efficiency(study, findings);
  findings.drawn_in_efficiencies("shared_efficiency", 1.30, "above 130 %, the library");
  add_lowest_shared(study, findings);
  add_warp_efficiency(study, findings);
  findings.drawn_in_efficiencies("warp_execution_efficiency", 0.97, "above 97 %, most but FFT");
}

}  // namespace strata
