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
constexpr std::string_view not_measured =
    "needs the hardware counters of a framework's run: not yet measured";

constexpr std::string_view weights_note =
    "a fifth of the shortest one's bytes are weights, read once however long the sequence is";

std::string ratio_text(double ratio) { return fmt::format("{:.2f}×", ratio); }

class RooflineFindings {
 public:
  explicit RooflineFindings(const RooflineStudy& study)
      : study_(study), roofs_(roofs_of(study.machine, {.kind = RoofChoice::Kind::tensor})) {}

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
  using Track = std::vector<const KernelPoint*>;

  Finding& claim(std::string about, std::string_view kernel, std::string what, std::string printed,
                 std::string found, bool holds, std::string note = {}) {
    findings_.push_back({.observation = std::move(about),
                         .network = std::string(kernel),
                         .what = std::move(what),
                         .printed = std::move(printed),
                         .found = std::move(found),
                         .is_printed = true,
                         .holds = holds,
                         .note = holds ? std::string() : std::move(note)});
    return findings_.back();
  }
  void beside(std::string about, std::string_view kernel, std::string what, std::string printed,
              std::string found, std::string_view note) {
    Finding& finding = claim(std::move(about), kernel, std::move(what), std::move(printed),
                             std::move(found), true);
    finding.is_printed = false;
    finding.note = note;
  }

  RooflinePoint at(const KernelPoint& point) const { return place(point.work, roofs_); }

  template <class Visit>
  void each_track(const SweepResult& result, const Visit& visit) const {
    for (const DType dtype : {DType::fp16, DType::fp32}) {
      for (const std::string_view pass : {"forward", "backward"}) visit(result.track(dtype, pass));
    }
  }

  void machine() {
    const PeakRoof tensor = peak_for(roofs_, DType::fp16, /*is_matrix=*/true);
    const double balance = tensor.flop_per_s / roofs_.outer().bytes_per_s;
    claim("machine", "v100", "balance of tensor peak and bandwidth, FLOP/byte", "129.68",
          fmt::format("{:.2f}", balance), std::fabs(balance - 129.68) < 0.005);
    const double from_units = 80 * 8 * 1.312e9 * 4 * 4 * 4 * 2;
    claim("machine", "v100", "tensor peak: 80 SM × 8 × 1.312 GHz × 4³ × 2", "107.479 TFLOP/s",
          format_flop_per_s(from_units, 6), std::fabs(from_units / tensor.flop_per_s - 1) < 1e-9);
    const double leave = flop_to_leave_box(tensor_rate_for_box, *roofs_.launch_latency_s);
    claim("machine", "v100", "FLOP with which one launch leaves the overhead box", "0.445 GFLOP",
          fmt::format("{:.3f} GFLOP", 1e-9 * leave), std::fabs(leave - 0.445e9) < 0.0005e9);
  }

  void launches() {
    for (const std::string_view parameter : {"batch", "sequence"}) {
      std::size_t inside = 0;
      const SweepResult& result = study_.sweep("lstm", parameter);
      for (const KernelPoint& point : result.points) inside += at(point).bound == Bound::launch;
      claim("overhead", "lstm", fmt::format("launch-bound whatever the {}", parameter), "always",
            fmt::format("{} of {} points", inside, result.points.size()),
            inside == result.points.size());
    }
    const KernelPoint& first = *study_.sweep("lstm", "batch").track(DType::fp16, "forward").front();
    beside("overhead", "lstm", "launches of a forward pass", "36 PyTorch, 243–277 others",
           format_exact(first.work.launches),
           "one per step: a product and nine point-wise operations per time step; with those fused "
           "it would be 32 of PyTorch's 16 + 16 + 2 + 2");
  }

  void filters() {
    const SweepResult& result = study_.sweep("conv2d", "filters");
    std::size_t denser = 0;
    std::size_t faster = 0;
    std::size_t tracks = 0;
    each_track(result, [&](const Track& track) {
      ++tracks;
      const auto rises = [&](auto number) {
        for (std::size_t i = 1; i < track.size(); ++i) {
          if (number(at(*track[i])) < number(at(*track[i - 1])) * (1 - 1e-9)) return false;
        }
        return true;
      };
      denser += rises([](const RooflinePoint& p) { return p.intensity.value_or(0); });
      faster += rises([](const RooflinePoint& p) { return p.flop_per_s; });
    });
    const Track forward = result.track(DType::fp16, "forward");
    const auto span = [&](auto text) {
      return fmt::format("{} → {}", text(at(*forward.front())), text(at(*forward.back())));
    };
    const auto gain = [&](auto number) {
      return number(at(*forward.back())) / number(at(*forward.front()));
    };
    claim("filters", "conv2d", "more filters raise FLOP per byte (64 → 512, fp16 forward)", "rises",
          span([](const RooflinePoint& p) { return fmt::format("{:.0f}", *p.intensity); }),
          denser == tracks && gain([](const RooflinePoint& p) { return *p.intensity; }) > 1);
    claim("filters", "conv2d", "and the rate of arithmetic, where it is not at the peak already",
          "rises", span([](const RooflinePoint& p) { return format_flop_per_s(p.flop_per_s); }),
          faster == tracks && gain([](const RooflinePoint& p) { return p.flop_per_s; }) > 1);
  }

  void stride() {
    const Track track = study_.sweep("conv2d", "stride").track(DType::fp16, "forward");
    const auto change = [&](std::size_t from, std::size_t to, std::string note) {
      const Work& a = track[from]->work;
      const Work& b = track[to]->work;
      const double flop = static_cast<double>(b.flop) / static_cast<double>(a.flop);
      const double bytes = static_cast<double>(b.bytes) / static_cast<double>(a.bytes);
      claim("stride", "conv2d",
            fmt::format("stride {} → {} lowers FLOP at almost equal bytes (fp16 forward)",
                        track[from]->value, track[to]->value),
            "FLOP falls, bytes stay",
            fmt::format("{} FLOP, {} bytes", ratio_text(flop), ratio_text(bytes)),
            flop < 1 - almost_equal && std::fabs(bytes - 1) <= almost_equal, std::move(note));
    };
    change(0, 1, "the output shrinks, too, and at stride 1 it is half of the bytes that must move");
    change(1, 2, "the output shrinks, too");
  }

  void sequence() {
    const Track track = study_.sweep("lstm", "sequence").track(DType::fp16, "forward");
    const KernelPoint& a = *track.front();
    const KernelPoint& b = *track.back();
    const double longer = static_cast<double>(b.value) / static_cast<double>(a.value);
    const double slower = b.work.time_s / a.work.time_s;
    claim("sequence", "lstm",
          fmt::format("run time grows as the sequence, {} → {} (fp16 forward)", a.value, b.value),
          ratio_text(longer), ratio_text(slower), std::fabs(slower / longer - 1) <= proportional,
          std::string(weights_note));
    const double more = static_cast<double>(b.work.launches) / static_cast<double>(a.work.launches);
    claim("sequence", "lstm", "and so do the launches, which bound it", ratio_text(longer),
          ratio_text(more), std::fabs(more / longer - 1) <= proportional);
    const double denser = *at(b).intensity / *at(a).intensity;
    claim("sequence", "lstm", "at constant FLOP per byte", "1.00×", ratio_text(denser),
          std::fabs(denser - 1) <= constant_share, std::string(weights_note));
  }

  void counters() {
    const SweepResult& result = study_.sweep("conv2d", "batch");
    const double growth =
        static_cast<double>(result.track(DType::fp32, "forward").front()->work.bytes) /
        static_cast<double>(result.track(DType::fp16, "forward").front()->work.bytes);
    beside("counters", "conv2d", "bytes that do not grow from fp16 to fp32 betray a conversion",
           "seen", fmt::format("{} predicted", ratio_text(growth)), not_measured);
    beside("counters", "conv2d", "tensor units unused at small batch", "one framework",
           "not predicted", not_measured);
    beside("counters", "conv2d", "an fp32 algorithm on fp16 data at stride 3", "one framework",
           "not predicted", not_measured);
    beside("counters", "both", "the same sweeps on an H200", "", "not predicted",
           "not yet measured");
  }

  const RooflineStudy& study_;
  Roofs roofs_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> roofline_findings(const RooflineStudy& study) {
  return RooflineFindings(study).run();
}

}  // namespace strata
