// SPDX-License-Identifier: Apache-2.0
// Figure 3 of the study: who is the fastest along each sweep.
#include "strata/base/units.hpp"
#include "strata/reproduce/convolution_claims.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

void add_fft_over_all(const ConvStudy& study, const ConvClaim& claim,
                      std::initializer_list<std::string_view> series, ConvFindings& findings) {
  ConvExtent slower;
  WhoWhere ahead;
  std::string closest;
  for (const ConvPoint* point : study.points(series)) {
    if (point->shape.stride_height > 1) continue;
    for (const ConvContender& other : study.contenders()) {
      if (other.is_fft()) continue;
      const auto ratio = time_ratio(study, *point, &other, study.fft());
      if (!ratio) continue;
      if (slower.count == 0 || *ratio < slower.least)
        closest = fmt::format("the closest is {} at {}", other.name, point->label);
      slower.add(*ratio);
      if (*ratio <= 1) ahead.add(other.name, point->label);
    }
  }
  if (slower.count == 0) return findings.missing(claim);
  const std::string rule =
      fmt::format("every other strategy takes longer than {} at every point", study.fft()->name);
  findings.judge(claim, factors_text(slower), ahead.is_empty(), rule,
                 ahead.is_empty() ? closest : "ahead of it: " + ahead.text());
}

/// What the FFT of the library, if it is another, does of what the study's FFT does otherwise.
std::string library_fft_text(const ConvStudy& study, const ConvExtent& extent,
                             std::string_view what) {
  if (extent.count == 0 || study.vendor_fft() == study.fft()) return "";
  return fmt::format("; the library's {} {} {}", study.vendor_fft()->name, what,
                     factors_text(extent));
}

void add_small_kernels(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("3");
  ConvExtent slower, library_slower;
  WhoWhere ahead;
  for (const ConvPoint* point : study.points({"k"})) {
    if (*point->at >= 7) continue;
    const auto ratio = time_ratio(study, *point, study.fft(), study.vendor_default());
    const auto library = time_ratio(study, *point, study.vendor_fft(), study.vendor_default());
    if (library) library_slower.add(*library);
    if (!ratio) continue;
    slower.add(*ratio);
    if (*ratio <= 1) ahead.add(study.fft()->name, point->label);
  }
  if (slower.count == 0) return findings.missing(claim);
  const std::string library_text = library_fft_text(study, library_slower, "takes");
  findings.judge(claim, factors_text(slower), ahead.is_empty(),
                 "FFT takes longer than the library's own choice at every k < 7",
                 ahead.is_empty() ? "" : "ahead: " + ahead.text() + library_text);
}

void add_large_kernels(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("4");
  ConvExtent slower;
  WhoWhere ahead, chosen;
  for (const ConvPoint* point : study.points({"k"})) {
    if (*point->at <= 7) continue;
    const auto ratio = time_ratio(study, *point, study.vendor_default(), study.fft());
    if (!ratio) continue;
    slower.add(*ratio);
    if (*ratio <= 1) ahead.add(study.vendor_default()->name, point->label);
    if (const std::string by = study.picked(*point, ConvPass::forward); by.find("fft") != by.npos)
      chosen.add(by, point->label);
  }
  if (slower.count == 0) return findings.missing(claim);
  const std::string chose = chosen.is_empty() ? "" : "forward, it chose " + chosen.text();
  findings.judge(claim, factors_text(slower), ahead.is_empty(),
                 "the library's own choice takes longer than FFT at every k > 7",
                 ahead.is_empty() ? chose
                                  : fmt::format("ahead: {}{}{}", ahead.text(),
                                                chose.empty() ? "" : "; ", chose));
}

/// The most over the least time of somebody along the sweep of the kernel.
ConvExtent times_over_kernels(const ConvStudy& study, const ConvContender* who) {
  ConvExtent extent;
  if (who == nullptr) return extent;
  for (const ConvPoint* point : study.points({"k"})) {
    if (const auto trained = study.trained(*point, *who)) extent.add(trained->time_s());
  }
  return extent;
}

void add_flat_fft(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("5");
  const ConvExtent times = times_over_kernels(study, study.fft());
  if (times.count < 2) return findings.missing(claim);
  constexpr double nearly = 1.5;
  const double spread = times.most / times.least;
  std::string remark;
  if (const ConvContender* library = study.vendor_fft();
      library != nullptr && library != study.fft()) {
    const ConvExtent other = times_over_kernels(study, library);
    if (other.count > 1)
      remark = fmt::format("{} {:.2f}×", library->name, other.most / other.least);
  }
  if (spread >= nearly) {
    const auto points = study.points({"k"});
    const auto first = study.trained(*points.front(), *study.fft());
    const auto last = study.trained(*points.back(), *study.fft());
    std::string why = fmt::format("tiles of {} overlap by the kernel, and more of them are needed",
                                  study.fft()->name);
    if (first && last) {
      why += fmt::format(
          " ({} of memory at {}, {} at {})",
          format_capacity(static_cast<double>(first->peak_bytes())), points.front()->label,
          format_capacity(static_cast<double>(last->peak_bytes())), points.back()->label);
    }
    remark = why + (remark.empty() ? "" : "; ") + remark;
  }
  findings.judge(claim, fmt::format("{:.2f}×", spread), spread < nearly,
                 "the longest time of the sweep is less than 1.5 times the shortest", remark);
}

void add_strides(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("6");
  std::size_t points = 0, first = 0;
  WhoWhere ahead;
  for (const ConvPoint* point : study.points({"s"})) {
    if (*point->at < 2) continue;
    std::optional<double> library_s, own_s;
    std::string own_name;
    for (const ConvContender& each : study.contenders()) {
      const auto trained = study.trained(*point, each);
      if (!trained) continue;
      std::optional<double>& best = each.is_vendor ? library_s : own_s;
      if (best && *best <= trained->time_s()) continue;
      best = trained->time_s();
      if (!each.is_vendor) own_name = each.name;
    }
    if (!library_s || !own_s) continue;
    ++points;
    if (*library_s < *own_s) {
      ++first;
    } else {
      ahead.add(own_name, fmt::format("{} ({:.2f}×)", point->label, *own_s / *library_s));
    }
  }
  if (points == 0) return findings.missing(claim);
  findings.judge(claim, count_text(first, points), first == points,
                 "the library's fastest is ahead of every other strategy at every s > 1",
                 first == points ? "" : "ahead: " + ahead.text());
}

void add_fft_strides(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("7");
  std::size_t points = 0, runs = 0;
  std::optional<double> first_s, last_s;
  for (const ConvPoint* point : study.points({"s"})) {
    const auto trained =
        study.fft() == nullptr ? std::nullopt : study.trained(*point, *study.fft());
    if (*point->at < 2) {
      if (trained) first_s = trained->time_s();
      continue;
    }
    ++points;
    if (!trained) continue;
    ++runs;
    last_s = trained->time_s();
  }
  if (points == 0 || study.fft() == nullptr) return findings.missing(claim);
  std::string remark;
  if (runs > 0) {
    remark = fmt::format("{} computes every position and drops those between", study.fft()->name);
    if (first_s && last_s)
      remark += fmt::format(", in {:.2f}× its time at stride 1", *last_s / *first_s);
    if (const ConvContender* library = study.vendor_fft();
        library != nullptr && library != study.fft()) {
      std::size_t others = 0;
      for (const ConvPoint* point : study.points({"s"}))
        others += *point->at > 1 && study.trained(*point, *library);
      remark += fmt::format("; {} runs at {}", library->name, count_text(others, points));
    }
  }
  findings.judge(claim, count_text(runs, points), runs == 0, "FFT runs at no stride above 1",
                 remark);
}

}  // namespace

std::optional<double> time_ratio(const ConvStudy& study, const ConvPoint& point,
                                 const ConvContender* over, const ConvContender* under) {
  if (over == nullptr || under == nullptr) return std::nullopt;
  const auto a = study.trained(point, *over);
  const auto b = study.trained(point, *under);
  if (!a || !b) return std::nullopt;
  return a->time_s() / b->time_s();
}

void add_speed_rows(const ConvStudy& study, ConvFindings& findings) {
  add_fft_over_all(study, conv_claim("1"), {"b", "i"}, findings);
  add_fft_over_all(study, conv_claim("2"), {"f"}, findings);
  add_small_kernels(study, findings);
  add_large_kernels(study, findings);
  add_flat_fft(study, findings);
  add_strides(study, findings);
  add_fft_strides(study, findings);
  add_fft_over_all(study, conv_claim("40"), {"s"}, findings);
}

void add_unrolling_row(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("11");
  const ConvContender* unroll = study.named("unroll");
  // The cuDNN of the study computed by matrix products alone.
  const ConvContender* products = study.vendor_gemm();
  const ConvContender* pick = study.vendor_default();
  const ConvContender* library = products != nullptr ? products : pick;
  std::size_t points = 0, ahead = 0, picks = 0, ahead_of_pick = 0;
  WhoWhere faster, chosen;
  for (const ConvPoint* point : study.points({"f"})) {
    if (*point->at <= 160) continue;
    if (const auto ratio = time_ratio(study, *point, library, unroll)) {
      ++points;
      ahead += *ratio > 1;
      if (*ratio <= 1) faster.add(library->name, point->label);
    }
    if (const auto ratio = time_ratio(study, *point, pick, unroll)) {
      ++picks;
      ahead_of_pick += *ratio > 1;
      const std::string by = study.picked(*point, ConvPass::forward);
      if (*ratio <= 1 && !by.empty()) chosen.add(by, point->label);
    }
  }
  if (points == 0) return findings.missing(claim);
  std::string remark = faster.is_empty() ? "" : "ahead: " + faster.text();
  if (picks > 0 && library != pick) {
    remark += fmt::format("{}ahead of {} at {}", remark.empty() ? "" : "; unroll is ", pick->name,
                          count_text(ahead_of_pick, picks));
    if (!chosen.is_empty()) remark += ", which elsewhere chose " + chosen.text();
  }
  const std::string rule =
      fmt::format("unroll takes less time than {} at every f > 160{}", library->name,
                  library == products ? ": what the study's cuDNN computed by" : "");
  findings.judge(claim, count_text(ahead, points), ahead == points, rule, remark);
}

}  // namespace strata
