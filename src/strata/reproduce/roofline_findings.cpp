// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/reproduce/roofline_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata {
namespace {

constexpr double tensor_rate_for_box = 1.06e14;  // with which the paper computes its 0.445 GFLOP
constexpr double almost_equal = 0.2;             // share by which "almost equal" may differ
constexpr double proportional = 0.1;             // by which a ratio may miss the parameter's
constexpr double constant_share = 0.1;           // by which "constant" may differ
constexpr double noise = 0.02;                   // by which "rises" may fall from point to point
constexpr double least_growth = 1.25;            // of bytes from fp16 to fp32, without a conversion
constexpr std::string_view not_measured =
    "needs the hardware counters of a framework's run: not yet measured";

constexpr std::string_view weights_note =
    "a fifth of the shortest one's bytes are weights, read once however long the sequence is";

std::string ratio_text(double ratio) { return fmt::format("{:.2f}×", ratio); }

using FindingTrack = std::vector<const KernelPoint*>;

/// One machine with its points: each finding asks both sides the same question.
class StudySide {
 public:
  explicit StudySide(const RooflineStudy& study) : study_(study), roofs_(roofs_of_study(study)) {}

  const Roofs& roofs() const { return roofs_; }
  bool is_measured() const { return study_.evidence == Evidence::measured; }
  RooflinePoint at(const KernelPoint& point) const { return place(point.drawn_work(), roofs_); }
  const SweepResult& sweep(std::string_view kernel, std::string_view parameter) const {
    return study_.sweep(kernel, parameter);
  }
  FindingTrack track(std::string_view kernel, std::string_view parameter, DType dtype) const {
    return sweep(kernel, parameter).track(dtype, "forward");
  }
  /// Every value of the sweep is there.
  static bool is_whole(const SweepResult& result, const FindingTrack& track) {
    return track.size() == result.sweep.values.size();
  }

 private:
  const RooflineStudy& study_;
  Roofs roofs_;
};

using Answer = std::optional<MeasuredAnswer>;  ///< nothing: the points for it are not there

Answer launch_bound(const StudySide& side, std::string_view parameter) {
  const SweepResult& result = side.sweep("lstm", parameter);
  if (result.points.empty() || !side.roofs().launch_latency_s) return {};
  const auto inside = static_cast<std::size_t>(
      std::count_if(result.points.begin(), result.points.end(),
                    [&](const KernelPoint& p) { return side.at(p).bound == Bound::launch; }));
  return {{fmt::format("{} of {} points", inside, result.points.size()),
           inside == result.points.size()}};
}

double intensity_of(const RooflinePoint& point) { return point.intensity.value_or(0); }
double rate_of(const RooflinePoint& point) { return point.flop_per_s; }

/// Along every track of the sweep; the first and the last of fp16 forward are shown.
template <class Number, class Text>
Answer rises(const StudySide& side, const Number& number, const Text& text) {
  const SweepResult& result = side.sweep("conv2d", "filters");
  bool all_rise = true;
  for (const DType dtype : {DType::fp16, DType::fp32}) {
    for (const std::string_view pass : {"forward", "backward"}) {
      const FindingTrack track = result.track(dtype, pass);
      if (!StudySide::is_whole(result, track)) return {};
      for (std::size_t i = 1; i < track.size(); ++i) {
        all_rise =
            all_rise && number(side.at(*track[i])) >= number(side.at(*track[i - 1])) * (1 - noise);
      }
    }
  }
  const FindingTrack shown = result.track(DType::fp16, "forward");
  const double first = number(side.at(*shown.front()));
  const double last = number(side.at(*shown.back()));
  return {{fmt::format("{} → {}", text(first), text(last)), all_rise && last > first}};
}

/// As the device counted them, where it did.
std::pair<double, bool> bytes_of(const KernelPoint& point) {
  if (const auto counted = point.counted_bytes()) return {*counted, true};
  return {static_cast<double>(point.work.bytes), false};
}

Answer stride_lowers(const StudySide& side, std::size_t from) {
  const FindingTrack track = side.track("conv2d", "stride", DType::fp16);
  if (track.size() < from + 2) return {};
  const KernelPoint& a = *track[from];
  const KernelPoint& b = *track[from + 1];
  const double flop = static_cast<double>(b.work.flop) / static_cast<double>(a.work.flop);
  const auto [bytes_a, is_counted] = bytes_of(a);
  const double bytes = bytes_a > 0 ? bytes_of(b).first / bytes_a : 0;
  return {{fmt::format("{} FLOP, {} bytes{}", ratio_text(flop), ratio_text(bytes),
                       is_counted ? " counted" : ""),
           flop < 1 - almost_equal && std::fabs(bytes - 1) <= almost_equal}};
}

/// Last over first of the sequence sweep, against what the claim expects.
template <class Number>
Answer over_sequence(const StudySide& side, const Number& number, bool as_the_sequence,
                     double tolerance) {
  const SweepResult& result = side.sweep("lstm", "sequence");
  const FindingTrack track = result.track(DType::fp16, "forward");
  if (!StudySide::is_whole(result, track)) return {};
  const KernelPoint& a = *track.front();
  const KernelPoint& b = *track.back();
  const double expected =
      as_the_sequence ? static_cast<double>(b.value) / static_cast<double>(a.value) : 1;
  if (!(number(a) > 0)) return {};
  const double found = number(b) / number(a);
  return {{ratio_text(found), std::fabs(found / expected - 1) <= tolerance}};
}

/// Share of the arithmetic that the matrix units did, at one value of a sweep in fp16.
Answer matrix_share(const StudySide& side, std::string_view parameter, std::int64_t value) {
  for (const KernelPoint* point : side.track("conv2d", parameter, DType::fp16)) {
    const auto counted = point->counted_matrix_flop();
    if (point->value != value || !counted || point->work.flop == 0) continue;
    const double share = *counted / static_cast<double>(point->work.flop);
    return {{fmt::format("matrix units did {:.0f} % of the FLOP", 100 * share), std::nullopt}};
  }
  return {};
}

Answer growth_of_bytes(const StudySide& side) {
  const FindingTrack half = side.track("conv2d", "batch", DType::fp16);
  const FindingTrack single = side.track("conv2d", "batch", DType::fp32);
  if (half.empty() || single.empty()) return {};
  const auto [bytes, is_counted] = bytes_of(*half.front());
  if (!(bytes > 0) || (side.is_measured() && !is_counted)) return {};
  const double growth = bytes_of(*single.front()).first / bytes;
  return {{fmt::format("{} {}{}", ratio_text(growth), is_counted ? "counted" : "predicted",
                       growth < least_growth ? ": it converts" : ""),
           std::nullopt}};
}

class RooflineFindings {
 public:
  RooflineFindings(const RooflineStudy& predicted, const RooflineStudy* measured)
      : predicted_(predicted) {
    if (measured != nullptr) measured_.emplace(*measured);
  }

  std::vector<Finding> run() && {
    machine();
    launches();
    filters();
    stride();
    sequence();
    counters();
    return std::move(findings_);
  }

 private:
  /// Asks both sides; each has a note for when it does not hold.
  template <class Ask>
  void claim(std::string about, std::string_view kernel, std::string what, std::string printed,
             const Ask& ask, std::string_view note = {}, std::string_view measured_note = {}) {
    const Answer found = ask(predicted_);
    Finding finding{.observation = std::move(about),
                    .network = std::string(kernel),
                    .what = std::move(what),
                    .printed = std::move(printed),
                    .found = found ? found->found : "not predicted",
                    .is_printed = found && found->holds,
                    .holds = found && found->holds.value_or(true),
                    .note = {}};
    if (!finding.is_printed || !finding.holds) finding.note = note;
    if (measured_) {
      const Answer seen = ask(*measured_);
      finding.measured = seen ? *seen : MeasuredAnswer{"not measured", std::nullopt};
      if (!finding.measured->holds.value_or(true) && !measured_note.empty()) {
        finding.note += fmt::format("{}{}", finding.note.empty() ? "" : "; ", measured_note);
      }
    }
    findings_.push_back(std::move(finding));
  }
  /// What the paper saw of frameworks' own launches and counters: numbers beside, no verdict.
  template <class Ask>
  void beside(std::string_view kernel, std::string what, std::string printed, const Ask& ask) {
    claim("counters", kernel, std::move(what), std::move(printed), ask,
          measured_ ? std::string_view("of what Strata runs; the paper's are of frameworks")
                    : not_measured);
  }

  /// What is claimed of the V100 alone; of another machine it is a number.
  template <class Ask>
  void of_the_machine(std::string what, std::string printed, const Ask& ask) {
    claim("machine", "v100", std::move(what), std::move(printed), [&](const StudySide& side) {
      Answer answer = ask(side);
      if (answer && side.is_measured()) answer->holds.reset();
      return answer;
    });
  }

  void machine() {
    const auto tensor = [](const StudySide& side) {
      return peak_for(side.roofs(), DType::fp16, /*is_matrix=*/true).flop_per_s;
    };
    of_the_machine("balance of tensor peak and bandwidth, FLOP/byte", "129.68",
                   [&](const StudySide& side) -> Answer {
                     const double balance = tensor(side) / side.roofs().outer().bytes_per_s;
                     return {{fmt::format("{:.2f}", balance), std::fabs(balance - 129.68) < 0.005}};
                   });
    const double from_units = 80 * 8 * 1.312e9 * 4 * 4 * 4 * 2;
    of_the_machine("tensor peak: 80 SM × 8 × 1.312 GHz × 4³ × 2", "107.479 TFLOP/s",
                   [&](const StudySide& side) -> Answer {
                     const double peak = side.is_measured() ? tensor(side) : from_units;
                     return {{format_flop_per_s(peak, side.is_measured() ? 3 : 6),
                              std::fabs(from_units / tensor(side) - 1) < 1e-9}};
                   });
    of_the_machine("FLOP with which one launch leaves the overhead box", "0.445 GFLOP",
                   [&](const StudySide& side) -> Answer {
                     if (!side.roofs().launch_latency_s) return {};
                     const double rate = side.is_measured() ? tensor(side) : tensor_rate_for_box;
                     const double leave = flop_to_leave_box(rate, *side.roofs().launch_latency_s);
                     return {{fmt::format("{:.3f} GFLOP", 1e-9 * leave),
                              std::fabs(leave - 0.445e9) < 0.0005e9}};
                   });
  }

  /// Why launches need not bound an lstm today: nothing where every step has one.
  std::string steps_per_launch() const {
    if (!measured_) return {};
    const FindingTrack track = measured_->track("lstm", "sequence", DType::fp16);
    const std::int64_t steps = measured_->sweep("lstm", "sequence").sweep.values.back();
    if (track.empty() || track.back()->work.launches >= steps) return {};
    return fmt::format("measured: {} launches do {} steps, as kernels stay on the device",
                       track.back()->work.launches, steps);
  }

  void launches() {
    const std::string fewer = steps_per_launch();
    for (const std::string_view parameter : {"batch", "sequence"}) {
      claim(
          "overhead", "lstm", fmt::format("launch-bound whatever the {}", parameter), "always",
          [&](const StudySide& side) { return launch_bound(side, parameter); }, {}, fewer);
    }
    claim(
        "overhead", "lstm", "launches of a forward pass", "36 PyTorch, 243–277 others",
        [](const StudySide& side) -> Answer {
          const FindingTrack track = side.track("lstm", "batch", DType::fp16);
          if (track.empty()) return {};
          return {{format_exact(track.front()->work.launches), std::nullopt}};
        },
        "predicted one per step: a product and nine point-wise operations per time step; with "
        "those fused it would be 32 of PyTorch's 16 + 16 + 2 + 2");
  }

  void filters() {
    claim("filters", "conv2d", "more filters raise FLOP per byte (64 → 512, fp16 forward)", "rises",
          [](const StudySide& side) {
            return rises(side, intensity_of, [](double v) { return fmt::format("{:.0f}", v); });
          });
    claim("filters", "conv2d", "and the rate of arithmetic, where it is not at the peak already",
          "rises", [](const StudySide& side) {
            return rises(side, rate_of, [](double v) { return format_flop_per_s(v); });
          });
  }

  void stride() {
    constexpr std::string_view notes[] = {
        "the output shrinks, too, and at stride 1 it is half of the bytes that must move",
        "the output shrinks, too"};
    for (std::size_t from = 0; from < std::size(notes); ++from) {
      claim(
          "stride", "conv2d",
          fmt::format("stride {} → {} lowers FLOP at almost equal bytes (fp16 forward)", from + 1,
                      from + 2),
          "FLOP falls, bytes stay",
          [&](const StudySide& side) { return stride_lowers(side, from); }, notes[from]);
    }
  }

  /// Why counted FLOP per byte of a short sequence are high: the caches hold what it works on.
  std::string cached_note() const {
    if (!measured_) return {};
    const FindingTrack track = measured_->track("lstm", "sequence", DType::fp16);
    if (track.empty()) return {};
    const auto counted = track.front()->counted_bytes();
    const auto defined = static_cast<double>(track.front()->work.bytes);
    if (!counted || *counted >= defined / 2) return {};
    return fmt::format("of the {} of the shortest one {} crossed to memory: caches hold the rest",
                       format_bytes(defined), format_bytes(*counted));
  }

  void sequence() {
    const std::vector<std::int64_t>& values = predicted_.sweep("lstm", "sequence").sweep.values;
    const std::string longer =
        ratio_text(static_cast<double>(values.back()) / static_cast<double>(values.front()));
    const std::string fewer = steps_per_launch();
    claim(
        "sequence", "lstm",
        fmt::format("run time grows as the sequence, {} → {} (fp16 forward)", values.front(),
                    values.back()),
        longer,
        [](const StudySide& side) {
          return over_sequence(
              side, [](const KernelPoint& p) { return p.work.time_s; }, true, proportional);
        },
        weights_note, fewer);
    claim(
        "sequence", "lstm", "and so do the launches, which bound it", longer,
        [](const StudySide& side) {
          return over_sequence(
              side, [](const KernelPoint& p) { return static_cast<double>(p.work.launches); }, true,
              proportional);
        },
        {}, fewer);
    claim(
        "sequence", "lstm", "at constant FLOP per byte", "1.00×",
        [](const StudySide& side) {
          return over_sequence(
              side, [&](const KernelPoint& p) { return intensity_of(side.at(p)); }, false,
              constant_share);
        },
        weights_note, cached_note());
  }

  void counters() {
    beside("conv2d", "bytes that do not grow from fp16 to fp32 betray a conversion", "seen",
           growth_of_bytes);
    beside("conv2d", "tensor units unused at small batch", "one framework",
           [](const StudySide& side) { return matrix_share(side, "batch", 16); });
    beside("conv2d", "an fp32 algorithm on fp16 data at stride 3", "one framework",
           [](const StudySide& side) { return matrix_share(side, "stride", 3); });
    if (measured_) return;
    findings_.push_back({.observation = "counters",
                         .network = "both",
                         .what = "the same sweeps on a device of today",
                         .printed = "",
                         .found = "not predicted",
                         .is_printed = false,
                         .holds = true,
                         .note = "not yet measured: no measured sweeps are at hand"});
  }

  const StudySide predicted_;
  std::optional<StudySide> measured_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> roofline_findings(const RooflineStudy& predicted,
                                       const RooflineStudy* measured) {
  return RooflineFindings(predicted, measured).run();
}

}  // namespace strata
