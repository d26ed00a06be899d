// SPDX-License-Identifier: Apache-2.0
// Figure 5 of the study: device memory; and which shapes strategies take.
#include "strata/base/units.hpp"
#include "strata/reproduce/convolution_claims.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace strata {
namespace {

double bytes_of(const ConvTrained& trained) { return static_cast<double>(trained.peak_bytes()); }

std::vector<const ConvPoint*> sweep_points(const ConvStudy& study) {
  return study.points({"b", "i", "f", "k"});
}

/// The pass in which somebody needs most scratch memory anywhere: "backward_weight, 3.9 MiB".
std::string most_scratch_text(const ConvStudy& study, const ConvContender& who) {
  const ConvCell* most = nullptr;
  for (const ConvPoint* point : sweep_points(study)) {
    const auto trained = study.trained(*point, who);
    if (!trained) continue;
    for (const ConvCell* cell : trained->cells)
      if (most == nullptr || cell->scratch_bytes > most->scratch_bytes) most = cell;
  }
  return most == nullptr ? ""
                         : fmt::format("{}, {}", name_of(most->pass),
                                       format_capacity(static_cast<double>(most->scratch_bytes)));
}

void add_direct_memory(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("8");
  const ConvContender* direct = study.named("direct");
  ConvExtent sizes;
  std::size_t points = 0, least = 0;
  WhoWhere below;
  constexpr double same = 1.02;
  for (const ConvPoint* point : sweep_points(study)) {
    const auto mine = direct == nullptr ? std::nullopt : study.trained(*point, *direct);
    if (!mine) continue;
    ++points;
    sizes.add(bytes_of(*mine));
    bool is_least = true;
    for (const ConvContender& other : study.contenders()) {
      const auto theirs = study.trained(*point, other);
      if (!theirs || bytes_of(*mine) <= same * bytes_of(*theirs)) continue;
      is_least = false;
      below.add(other.name, point->label);
    }
    least += is_least;
  }
  if (points == 0) return findings.missing(claim);
  const std::string at = fmt::format("at {} points", count_text(least, points));
  findings.judge(claim, sizes_text(sizes), least == points,
                 "no strategy needs less than direct by more than 2 % at any point",
                 least == points
                     ? at
                     : fmt::format("{}; less: {}; direct's scratch memory is for {}", at,
                                   below.text(), most_scratch_text(study, *direct)));
}

void add_fft_memory(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("9");
  ConvExtent sizes;
  std::size_t points = 0, most = 0;
  WhoWhere above;
  for (const ConvPoint* point : sweep_points(study)) {
    const auto mine = study.fft() == nullptr ? std::nullopt : study.trained(*point, *study.fft());
    if (!mine) continue;
    ++points;
    sizes.add(bytes_of(*mine));
    bool is_most = true;
    for (const ConvContender& other : study.contenders()) {
      if (other.is_fft() || other.is_default) continue;
      const auto theirs = study.trained(*point, other);
      if (!theirs || bytes_of(*theirs) < bytes_of(*mine)) continue;
      is_most = false;
      above.add(other.name, point->label);
    }
    most += is_most;
  }
  if (points == 0) return findings.missing(claim);
  std::string remark = fmt::format("{}, at {} points", study.fft()->name, count_text(most, points));
  if (!above.is_empty()) remark += "; more: " + above.text();
  findings.judge(claim, sizes_text(sizes), 2 * most > points,
                 "FFT needs more than every strategy that is not FFT at most points (the library's "
                 "own choice may be FFT and is left out)",
                 remark);
}

/// A library's GEMM that unrolls all images at once, forward: its range of memory.
std::string whole_unrolling_text(const ConvStudy& study) {
  ConvExtent sizes;
  std::string name;
  for (const ConvCell& cell : study.results().cells) {
    if (!cell.is_measured() || !cell.strategy.ends_with(":gemm")) continue;
    name = cell.strategy;
    sizes.add(static_cast<double>(cell.peak_bytes()));
  }
  return sizes.count == 0 ? "" : fmt::format("; {} {}", name, sizes_text(sizes));
}

void add_unrolling_memory(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("18");
  const ConvContender* direct = study.named("direct");
  const ConvContender* unroll = study.named("unroll");
  if (direct == nullptr || unroll == nullptr || study.fft() == nullptr)
    return findings.missing(claim);
  ConvExtent sizes;
  std::size_t points = 0, between = 0;
  WhoWhere outside;
  for (const ConvPoint* point : sweep_points(study)) {
    const auto least = study.trained(*point, *direct);
    const auto mine = study.trained(*point, *unroll);
    const auto most = study.trained(*point, *study.fft());
    if (!least || !mine || !most) continue;
    ++points;
    sizes.add(bytes_of(*mine));
    if (bytes_of(*mine) < bytes_of(*least)) {
      outside.add("less than direct", point->label);
    } else if (bytes_of(*mine) > bytes_of(*most)) {
      outside.add("more than " + study.fft()->name, point->label);
    } else {
      ++between;
    }
  }
  if (points == 0) return findings.missing(claim);
  std::string remark =
      fmt::format("at {} points{}{}", count_text(between, points),
                  outside.is_empty() ? "" : "; " + outside.text(), whole_unrolling_text(study));
  findings.judge(
      claim, sizes_text(sizes), 2 * between > points,
      "unroll needs at least as much as direct and at most as much as FFT at most points", remark);
}

/// Judges memory in bytes, as figure 5 has it, and not beside the tensors, which grow along the
/// axis.
void add_fft_fluctuation(const ConvStudy& study, const ConvClaim& claim, std::string_view series,
                         ConvFindings& findings) {
  ConvExtent sizes;
  double risen = 0, fallen = 0;
  std::string each;
  std::optional<double> before;
  for (const ConvPoint* point : study.points({series})) {
    const auto mine = study.fft() == nullptr ? std::nullopt : study.trained(*point, *study.fft());
    if (!mine) continue;
    const double bytes = bytes_of(*mine);
    sizes.add(bytes);
    if (before) (bytes > *before ? risen : fallen) += std::abs(bytes - *before);
    constexpr double mib = 1 << 20;
    each += fmt::format("{}{:.0f}", each.empty() ? "" : " · ", bytes / mib);
    before = bytes;
  }
  if (sizes.count < 3) return findings.missing(claim);
  constexpr double noticeable = 0.01;
  const bool fluctuates = risen > noticeable * sizes.least && fallen > noticeable * sizes.least;
  findings.judge(claim, sizes_text(sizes), fluctuates,
                 "it rises in all, and falls in all, by more than 1 % of the least",
                 fmt::format("{} has {} MiB", study.fft()->name, each));
}

struct Refusals {
  std::size_t count = 0;
  std::string reason;  ///< the first
};

/// Of every valid point once, forward: who refuses how many.
std::map<std::string, Refusals> refusals_of(const ConvStudy& study) {
  std::map<std::string, Refusals> refusals;
  for (const ConvCell& cell : study.results().cells) {
    if (cell.pass != study.results().passes.front() || cell.status != ConvStatus::refused) continue;
    Refusals& mine = refusals[cell.strategy];
    if (mine.count++ == 0) mine.reason = cell.reason;
  }
  return refusals;
}

void add_shape_limits(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("16");
  const auto& cells = study.results().cells;
  if (std::none_of(cells.begin(), cells.end(),
                   [](const ConvCell& cell) { return cell.strategy == "unroll"; }))
    return findings.missing(claim);
  const std::size_t shapes = distinct_points(study.results().series).size();
  const auto refusals = refusals_of(study);
  std::string others;
  for (const auto& [name, mine] : refusals) {
    if (name == "unroll" || mine.count >= shapes) continue;  // none at all is no limit of a shape
    others +=
        fmt::format("{}{} {} ({})", others.empty() ? "" : ", ", name, mine.count, mine.reason);
  }
  const auto unroll = refusals.find("unroll");
  const std::size_t refused = unroll == refusals.end() ? 0 : unroll->second.count;
  std::string remark = refused > 0 ? "unroll: " + unroll->second.reason : "";
  if (!others.empty())
    remark += fmt::format("{}others refuse some: {}", remark.empty() ? "" : "; ", others);
  findings.judge(claim, count_text(shapes - refused, shapes), refused == 0,
                 "unroll refuses none of the shapes", remark);
}

/// Time per image off the multiples of 128 over that at them, along the batch.
ConvExtent off_multiples(const ConvStudy& study, const ConvContender& who) {
  constexpr std::int64_t step = 128;
  double at_s = 0;
  std::int64_t images = 0;
  for (const ConvPoint* point : study.points({"b"})) {
    const auto mine = study.trained(*point, who);
    if (!mine || *point->at % step != 0) continue;
    at_s += mine->time_s();
    images += *point->at;
  }
  ConvExtent ratios;
  if (images == 0) return ratios;
  for (const ConvPoint* point : study.points({"b"})) {
    const auto mine = study.trained(*point, who);
    if (!mine || *point->at % step == 0) continue;
    ratios.add(mine->time_s() / static_cast<double>(*point->at) /
               (at_s / static_cast<double>(images)));
  }
  return ratios;
}

void add_multiples(const ConvStudy& study, ConvFindings& findings) {
  const ConvClaim claim = conv_claim("17");
  constexpr double longer = 1.1;
  for (const ConvContender& each : study.contenders()) {
    if (each.name.find("convnet") == std::string::npos) continue;
    const ConvExtent ratios = off_multiples(study, each);
    if (ratios.count == 0) break;
    return findings.judge(
        claim, factors_text(ratios), ratios.least > longer,
        "an image takes more than 1.1 times as long at every batch that is no multiple of 128",
        fmt::format("{}, {} batches", each.name, ratios.count));
  }
  const ConvContender* direct = study.named("direct");
  const ConvExtent ratios = direct == nullptr ? ConvExtent{} : off_multiples(study, *direct);
  if (ratios.count == 0) return findings.missing(claim);
  findings.show(claim, factors_text(ratios),
                fmt::format("no verdict: cuda-convnet2, written for Kepler, is not in these "
                            "results; this is direct, which has {} step",
                            ratios.most > longer ? "such a" : "no such"));
}

}  // namespace

void add_memory_rows(const ConvStudy& study, ConvFindings& findings) {
  add_direct_memory(study, findings);
  add_fft_memory(study, findings);
}

void add_shape_rows(const ConvStudy& study, ConvFindings& findings) {
  add_shape_limits(study, findings);
  add_multiples(study, findings);
  add_unrolling_memory(study, findings);
  add_fft_fluctuation(study, conv_claim("19"), "i", findings);
  add_fft_fluctuation(study, conv_claim("31"), "k", findings);
}

}  // namespace strata
