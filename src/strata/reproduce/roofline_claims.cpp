// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/roofline_claims.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata {
namespace {

constexpr double tensor_rate_for_box = 1.06e14;  // with which the paper computes its 0.445 GFLOP
constexpr double printed_samples = 3000;

double intensity_at(const StudySide& side, const KernelPoint& point) {
  return side.at(point).intensity.value_or(0);
}
double rate_at(const StudySide& side, const KernelPoint& point) {
  return side.at(point).flop_per_s;
}
double launches_at(const StudySide&, const KernelPoint& point) {
  return static_cast<double>(point.work.launches);
}
double overhead_share_at(const StudySide& side, const KernelPoint& point) {
  const double run_s = side.run_time_s(point);
  return run_s > 0 ? side.at(point).overhead_s / run_s : 0;
}

double bytes_at(const StudySide&, const KernelPoint& point) {
  return point.counted_bytes().value_or(static_cast<double>(point.work.bytes));
}
/// The paper's run time is that of the kernels; a prediction has no kernel below the limit, so that
/// starting them may take longer.
double run_time_at(const StudySide& side, const KernelPoint& point) {
  return side.is_measured() ? point.work.time_s : side.run_time_s(point);
}

std::string whole_text(double value) { return fmt::format("{:.0f}", value); }
std::string rate_text(double value) { return format_flop_per_s(value); }
std::string bytes_text(double value) { return format_bytes(value); }
std::string time_text(double value) { return format_time(value); }
std::string percent_text(double value) { return fmt::format("{:.1f} %", 100 * value); }

/// " (bytes counted are 1.94× the definition's at 16, 2.88× at 64)": caches and changes of layout
/// decide what crosses to memory.
std::string more_bytes_text(const KernelPoint& first, const KernelPoint& last) {
  const auto a = first.counted_bytes();
  const auto b = last.counted_bytes();
  if (!a || !b || first.work.bytes == 0 || last.work.bytes == 0) return "";
  const double before = *a / static_cast<double>(first.work.bytes);
  const double after = *b / static_cast<double>(last.work.bytes);
  return fmt::format(" (bytes counted are {} the definition's at {}, {} at {}{})",
                     growth_text(before), first.value, growth_text(after), last.value,
                     before < after ? ": caches hold more of the smaller one" : "");
}

/// " (cuDNN engine 28 in place of cuDNN engine 70)", where something else computed it.
std::string changed_text(const KernelPoint& before, const KernelPoint& after) {
  if (before.implementation == after.implementation) return "";
  return fmt::format(" ({} in place of {})", after.implementation, before.implementation);
}

/// " (42 → 70 launches)".
std::string more_launches_text(const KernelPoint& first, const KernelPoint& last) {
  if (first.work.launches == last.work.launches) return "";
  return fmt::format(" ({} → {} launches)", first.work.launches, last.work.launches);
}

/// What is claimed of the V100 alone; of another machine it is a number.
std::function<MaybeAnswer(const StudySide&)> of_the_machine(
    std::function<MaybeAnswer(const StudySide&)> ask) {
  return [ask = std::move(ask)](const StudySide& side) {
    MaybeAnswer answer = ask(side);
    if (answer && side.is_measured()) {
      answer->holds.reset();
      answer->why.clear();
    }
    return answer;
  };
}

std::optional<double> flop_to_leave(const StudySide& side) {
  if (!side.roofs().launch_latency_s) return std::nullopt;
  const double rate = side.is_measured() ? side.tensor_flop_per_s() : tensor_rate_for_box;
  return flop_to_leave_box(rate, *side.roofs().launch_latency_s);
}

MaybeAnswer tensor_balance(const StudySide& side) {
  const double balance = side.tensor_flop_per_s() / side.roofs().outer().bytes_per_s;
  return {{fmt::format("{:.2f}", balance), std::fabs(balance - 129.68) < 0.005,
           "the machine's tensor peak or bandwidth is not the paper's"}};
}

MaybeAnswer tensor_peak_of(const StudySide& side) {
  const double from_units = 80 * 8 * 1.312e9 * 4 * 4 * 4 * 2;
  const double peak = side.is_measured() ? side.tensor_flop_per_s() : from_units;
  return {{format_flop_per_s(peak, side.is_measured() ? 3 : 6),
           std::fabs(from_units / side.tensor_flop_per_s() - 1) < 1e-9,
           fmt::format("the machine has {}", format_flop_per_s(side.tensor_flop_per_s(), 6))}};
}

MaybeAnswer box_of(const StudySide& side) {
  const auto leave = flop_to_leave(side);
  if (!leave) return {};
  return {{fmt::format("{:.3f} GFLOP", 1e-9 * *leave), std::fabs(*leave - 0.445e9) < 0.0005e9,
           "the machine's launch latency is not the paper's 4.2 µs"}};
}

/// How many samples one launch must work on to leave the box, from the FLOP of the definition.
MaybeAnswer samples_to_leave(const StudySide& side) {
  const auto leave = flop_to_leave(side);
  const auto track = side.track("lstm", "batch", DType::fp16);
  if (!leave || track.empty() || track.front()->work.flop == 0) return {};
  const double of_sample =
      static_cast<double>(track.front()->work.flop) / static_cast<double>(track.front()->value);
  const double samples = *leave / of_sample;
  return {{fmt::format("{:.0f}", samples),
           std::fabs(samples / printed_samples - 1) <= roofline_limits::almost_equal,
           fmt::format("{:.3f} GFLOP over the {:.0f} FLOP of a sample's forward pass by "
                       "definition; {:.0f} samples would be {:.0f} FLOP each",
                       1e-9 * *leave, of_sample, printed_samples, *leave / printed_samples)}};
}

}  // namespace

const FollowedNumber followed_intensity = {intensity_at, whole_text, more_bytes_text};
const FollowedNumber followed_rate = {rate_at, rate_text, changed_text};
const FollowedNumber followed_bytes = {bytes_at, bytes_text, changed_text};
const FollowedNumber followed_run_time = {run_time_at, time_text, more_launches_text};
const FollowedNumber followed_launches = {launches_at, whole_text, changed_text};
const FollowedNumber followed_overhead_share = {overhead_share_at, percent_text, changed_text};

std::string growth_text(double ratio) { return fmt::format("{:.2f}×", ratio); }

std::string Trajectory::name() const { return fmt::format("{} {}", name_of(dtype), pass); }

std::string Tracks::words() const {
  std::string text;
  for (const DType dtype : dtypes)
    text += fmt::format("{}{}", text.empty() ? "" : " and ", name_of(dtype));
  std::string behind;
  for (const std::string_view pass : passes)
    behind += fmt::format("{}{}", behind.empty() ? ", " : " and ", pass);
  return text + behind;
}

std::vector<Trajectory> StudySide::trajectories(std::string_view kernel, std::string_view parameter,
                                                const Tracks& tracks) const {
  const SweepResult& result = sweep(kernel, parameter);
  std::vector<Trajectory> all;
  for (const DType dtype : tracks.dtypes) {
    for (const std::string_view pass : tracks.passes) {
      all.push_back({dtype, pass, result.sweep.parameter, result.track(dtype, pass)});
      if (all.back().points.size() != result.sweep.values.size()) return {};
    }
  }
  return all;
}

ClaimAnswer over_trajectories(const std::vector<Trajectory>& all, std::string shown,
                              const std::function<std::string(const Trajectory&)>& why_not) {
  ClaimAnswer answer{.found = std::move(shown)};
  std::size_t good = 0;
  for (const Trajectory& trajectory : all) {
    const std::string why = why_not(trajectory);
    good += why.empty() ? 1 : 0;
    if (why.empty()) continue;
    answer.why += fmt::format("{}{} {}", answer.why.empty() ? "" : ", ", trajectory.name(), why);
  }
  answer.holds = good == all.size();
  if (!*answer.holds) answer.found += fmt::format(", {} of {} trajectories", good, all.size());
  return answer;
}

namespace {

std::string ends_text(const StudySide& side, const FollowedNumber& number,
                      const Trajectory& trajectory) {
  return fmt::format("{} → {}", number.text(number.of(side, *trajectory.points.front())),
                     number.text(number.of(side, *trajectory.points.back())));
}

std::string why_not_rising(const StudySide& side, const FollowedNumber& number,
                           const Trajectory& trajectory) {
  for (std::size_t i = 1; i < trajectory.points.size(); ++i) {
    const KernelPoint& before = *trajectory.points[i - 1];
    const KernelPoint& after = *trajectory.points[i];
    const double a = number.of(side, before);
    const double b = number.of(side, after);
    if (b >= a * (1 - roofline_limits::noise)) continue;
    return fmt::format("falls from {} to {} at {}{}", number.text(a), number.text(b), after.value,
                       changed_text(before, after));
  }
  return "";
}

/// The largest number of a trajectory over its smallest.
double spread_of(const StudySide& side, const FollowedNumber& number,
                 const Trajectory& trajectory) {
  std::vector<double> values;
  for (const KernelPoint* point : trajectory.points) values.push_back(number.of(side, *point));
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most / *least;
}

std::string why_not(const StudySide& side, const CourseClaim& claim, const Trajectory& trajectory) {
  const FollowedNumber& number = *claim.number;
  if (claim.course == Course::rises) return why_not_rising(side, number, trajectory);
  const bool does_stay = spread_of(side, number, trajectory) <= 1 + roofline_limits::constant;
  if (does_stay == (claim.course == Course::stays)) return "";
  return fmt::format("{} {}{}", does_stay ? "stays at" : "goes",
                     ends_text(side, number, trajectory),
                     number.cause(*trajectory.points.front(), *trajectory.points.back()));
}

MaybeAnswer along(const StudySide& side, const CourseClaim& claim) {
  const std::vector<Trajectory> all =
      side.trajectories(claim.kernel, claim.parameter, claim.tracks);
  if (all.empty()) return {};
  const Trajectory& shown = all.front();
  return over_trajectories(
      all, ends_text(side, *claim.number, shown), [&](const Trajectory& trajectory) -> std::string {
        const std::string why = why_not(side, claim, trajectory);
        if (!why.empty() || claim.course != Course::rises || &trajectory != &shown) return why;
        const bool is_higher = claim.number->of(side, *shown.points.back()) >
                               claim.number->of(side, *shown.points.front());
        return is_higher ? "" : "does not end higher";
      });
}

struct CourseWords {
  std::string_view printed;
  std::string_view rule;
};
CourseWords words_of(Course course) {
  switch (course) {
    case Course::rises: return {"rises", "it rises from point to point, but for 2 % of noise,"};
    case Course::stays: return {"constant", "the largest is at most 10 % above the smallest"};
    case Course::changes: break;
  }
  return {"not constant", "the largest is more than 10 % above the smallest"};
}

}  // namespace

RooflineClaim claim_of(const CourseClaim& course) {
  const auto [printed, rule] = words_of(course.course);
  return {.about = std::string(course.about),
          .kernel = course.kernel,
          .what = std::string(course.what),
          .printed = std::string(printed),
          .sentence = std::string(course.sentence),
          .rule = fmt::format("holds where {} along {}", rule, course.tracks.words()),
          .ask = [course](const StudySide& side) { return along(side, course); }};
}

MaybeAnswer zero_flop_launches(const StudySide& side, std::string_view kernel) {
  const auto track = side.track(kernel, "batch", DType::fp16);
  if (track.empty()) return {};
  const Work work = track.front()->drawn_work();
  ClaimAnswer answer{.found = fmt::format("{} of {}", work.zero_flop_launches, work.launches)};
  if (side.is_measured()) answer.holds = work.zero_flop_launches > 0;
  answer.why = "every launch does arithmetic";
  return answer;
}

std::vector<RooflineClaim> machine_claims() {
  return {
      {.about = "machine",
       .kernel = "v100",
       .what = "balance of tensor peak and bandwidth, FLOP/byte",
       .printed = "129.68",
       .sentence = "Tensor peak over measured bandwidth is 129.68 FLOP/byte (ceilings of the V100)",
       .rule = "holds where both round to it",
       .ask = of_the_machine(tensor_balance)},
      {.about = "machine",
       .kernel = "v100",
       .what = "tensor peak: 80 SM × 8 × 1.312 GHz × 4³ × 2",
       .printed = "107.479 TFLOP/s",
       .sentence = "The tensor units peak at 107.479 TFLOP/s (ceilings of the V100)",
       .rule = "holds where units × FLOP per clock × clock is the machine's peak",
       .ask = of_the_machine(tensor_peak_of)},
      {.about = "machine",
       .kernel = "v100",
       .what = "FLOP with which one launch leaves the overhead box",
       .printed = "0.445 GFLOP",
       .sentence = "At 4.2 µs per launch and 1.06e14 FLOP/s a launch needs 0.445 GFLOP to leave "
                   "the overhead box (LSTM, launch overhead)",
       .rule = "holds where it rounds to it, with the paper's 1.06e14 FLOP/s",
       .ask = of_the_machine(box_of)},
      {.about = "machine",
       .kernel = "lstm",
       .what = "samples with which one launch leaves the overhead box (fp16 forward)",
       .printed = "3000",
       .sentence = "A batch of about 3000 would leave the overhead box (LSTM, launch overhead)",
       .rule = "holds within 20 %",
       .ask = of_the_machine(samples_to_leave)}};
}

}  // namespace strata
