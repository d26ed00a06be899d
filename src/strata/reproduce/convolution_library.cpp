// SPDX-License-Identifier: Apache-2.0
// What the study says of cuDNN beside the other implementations by unrolling, and of cuda-convnet2.
#include "strata/reproduce/convolution_claims.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

/// At how many points the library's matrix products, all that the study's cuDNN had, take less time
/// than explicit unrolling.
void add_fastest_unrolling(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("33");
  std::size_t points = 0, ahead = 0;
  for (const ConvPoint* point : study.points({"b", "i"})) {
    const auto ratio = time_ratio(study, *point, study.named("unroll"), study.vendor_gemm());
    if (!ratio) continue;
    ++points;
    ahead += *ratio > 1;
  }
  if (points == 0) return findings.missing(claim);
  findings.judge(claim, count_text(ahead, points), ahead == points,
                 "they take less time than unroll at every batch and input",
                 "unroll here multiplies with a library of today; that of the study was of 2015");
}

void add_second_fastest(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("34");
  std::size_t points = 0, second = 0;
  WhoWhere ahead;
  for (const ConvPoint* point : study.points({"b", "i", "f", "k"})) {
    const ConvContender* library = study.vendor_default();
    const auto mine = library == nullptr ? std::nullopt : study.trained(*point, *library);
    const auto fft = study.fft() == nullptr ? std::nullopt : study.trained(*point, *study.fft());
    if (!mine || !fft) continue;
    ++points;
    bool is_second = fft->time_s() < mine->time_s();
    if (!is_second) ahead.add(library->name, point->label);
    for (const char* name : {"direct", "unroll"}) {
      const ConvContender* other = study.named(name);
      const auto ratio = time_ratio(study, *point, other, library);
      if (!ratio || *ratio > 1) continue;
      is_second = false;
      ahead.add(other->name, point->label);
    }
    second += is_second;
  }
  if (points == 0) return findings.missing(claim);
  findings.judge(
      claim, count_text(second, points), 2 * second > points,
      "at most points FFT takes less time than its own choice, and direct and unroll more",
      ahead.is_empty() ? "" : "else ahead: " + ahead.text());
}

/// The strategy of cuda-convnet2 stands for it where it is not in the results.
void add_convnet_over_kernels(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("35");
  const ConvContender* convnet = study.named("cuda-convnet2");
  if (convnet == nullptr) convnet = study.named("direct");
  ConvExtent ratios;
  for (const ConvPoint* point : study.points({"k"})) {
    if (const auto ratio = time_ratio(study, *point, convnet, study.vendor_gemm()))
      ratios.add(*ratio);
  }
  if (ratios.count == 0) return findings.missing(claim);
  constexpr double about = 1.5;
  findings.judge(claim, factors_text(ratios), ratios.least > 1 / about && ratios.most < about,
                 "neither takes 1.5 times as long as the other at any kernel",
                 convnet->name == "direct"
                     ? "direct, the strategy of cuda-convnet2, which was written for Kepler and is "
                       "not in these results"
                     : convnet->name);
}

void add_library_memory(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("41");
  const ConvContender* unroll = study.named("unroll");
  const ConvContender* library = study.vendor_gemm();
  if (unroll == nullptr || library == nullptr) return findings.missing(claim);
  ConvExtent ratios;
  std::size_t more = 0;
  for (const ConvPoint* point : study.points({"b", "i", "f", "k"})) {
    const auto theirs = study.trained(*point, *unroll);
    const auto mine = study.trained(*point, *library);
    if (!mine || !theirs) continue;
    ratios.add(static_cast<double>(mine->peak_bytes()) / static_cast<double>(theirs->peak_bytes()));
    more += mine->peak_bytes() > theirs->peak_bytes();
  }
  if (ratios.count == 0) return findings.missing(claim);
  findings.judge(claim, factors_text(ratios), 2 * more > ratios.count,
                 "they need more at most points",
                 fmt::format("at {} points; the fastest of them in each pass",
                             count_text(more, ratios.count)));
}

/// At how many layers, forward, the library's fastest product has more of a counter than unroll.
void add_counterpart(const ConvStudy& study, const ConvClaim& claim,
                     std::optional<double> ConvEfficiency::*which, ConvFindings& findings) {
  const ConvContender* unroll = study.named("unroll");
  const ConvContender* library = study.vendor_gemm();
  std::size_t layers = 0, above = 0;
  std::string each;
  const auto value_of = [&](const ConvPoint& point,
                            const ConvContender* who) -> std::optional<double> {
    const auto trained = who == nullptr ? std::nullopt : study.trained(point, *who);
    if (!trained) return std::nullopt;
    for (const ConvCell* cell : trained->cells)
      if (cell->pass == ConvPass::forward) return mean_efficiency(*cell, which);
    return std::nullopt;
  };
  for (const ConvPoint* point : study.points({"layers"})) {
    const auto mine = value_of(*point, library), theirs = value_of(*point, unroll);
    if (!mine || !theirs) continue;
    ++layers;
    above += *mine > *theirs;
    each += fmt::format("{}{} {:.2f} and {:.2f}", each.empty() ? "" : ", ", point->label, *mine,
                        *theirs);
  }
  if (layers == 0) {
    return findings.missing(claim,
                            "no efficiencies in these results: measure with strata conv --suite "
                            "paper --metrics");
  }
  findings.judge(claim, count_text(above, layers), 2 * above > layers,
                 "they have more at most layers", each);
}

}  // namespace

void add_library_rows(const ConvStudy& study, ConvFindings& findings) {
  add_fastest_unrolling(study, findings);
  add_second_fastest(study, findings);
  add_convnet_over_kernels(study, findings);
  add_library_memory(study, findings);
  add_counterpart(study, conv_claim("37"), &ConvEfficiency::occupancy, findings);
  add_counterpart(study, conv_claim("36"), &ConvEfficiency::ipc, findings);
  add_counterpart(study, conv_claim("38"), &ConvEfficiency::shared, findings);
}

}  // namespace strata
