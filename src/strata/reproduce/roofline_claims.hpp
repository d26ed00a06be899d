// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/roofline_study.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The claims of the time-based roofline paper, each asked of the prediction and of what was
/// measured in the same words.
namespace strata {

namespace roofline_limits {
constexpr double almost_equal = 0.2;   ///< share by which "almost equal" and "about" may differ
constexpr double proportional = 0.1;   ///< by which a ratio may miss the parameter's
constexpr double constant = 0.1;       ///< by which "constant" may differ
constexpr double noise = 0.02;         ///< by which "rises" may fall from point to point
constexpr double steep = 2;            ///< by how much FLOP change more than bytes, as logarithms
constexpr double least_growth = 1.25;  ///< of bytes from fp16 to fp32, without a conversion
}  // namespace roofline_limits

/// Which data types and passes a claim is about.
struct Tracks {
  std::vector<DType> dtypes = {DType::fp16, DType::fp32};
  std::vector<std::string_view> passes = {"forward", "backward"};

  std::string words() const;  ///< "fp16 and fp32, forward and backward"
};

/// The points of one data type and pass over all values of a sweep.
struct Trajectory {
  DType dtype = DType::fp16;
  std::string_view pass;
  std::string_view parameter;
  std::vector<const KernelPoint*> points;

  std::string name() const;  ///< "fp16 forward"
};

/// One machine with its points.
class StudySide {
 public:
  explicit StudySide(const RooflineStudy& study) : study_(study), roofs_(roofs_of_study(study)) {}

  const Roofs& roofs() const { return roofs_; }
  const RooflineStudy& study() const { return study_; }
  bool is_measured() const { return study_.evidence == Evidence::measured; }
  RooflinePoint at(const KernelPoint& point) const { return place(point.drawn_work(), roofs_); }
  double tensor_flop_per_s() const {
    return peak_for(roofs_, DType::fp16, /*is_matrix=*/true).flop_per_s;
  }
  const SweepResult& sweep(std::string_view kernel, std::string_view parameter) const {
    return study_.sweep(kernel, parameter);
  }
  /// Forward.
  std::vector<const KernelPoint*> track(std::string_view kernel, std::string_view parameter,
                                        DType dtype) const {
    return sweep(kernel, parameter).track(dtype, "forward");
  }
  /// The tracks of a sweep; none where a value of any of them is not there.
  std::vector<Trajectory> trajectories(std::string_view kernel, std::string_view parameter,
                                       const Tracks& tracks) const;
  double run_time_s(const KernelPoint& point) const { return strata::run_time_s(point, roofs_); }

 private:
  const RooflineStudy& study_;
  Roofs roofs_;
};

struct ClaimAnswer {
  std::string found;
  std::optional<bool> holds = {};  ///< nothing: a number, about which nothing is claimed
  std::string why = {};            ///< it does not hold
};
using MaybeAnswer = std::optional<ClaimAnswer>;  ///< nothing: the points for it are not there

struct RooflineClaim {
  std::string about;
  std::string_view kernel;
  std::string what;
  std::string printed;   ///< empty: a number of ours, about which the paper claims nothing
  std::string sentence;  ///< what the paper says, in our words, and where
  std::string rule;      ///< when it holds, in words
  std::function<MaybeAnswer(const StudySide&)> ask;
};

/// A number of a point that a claim follows along trajectories.
struct FollowedNumber {
  double (*of)(const StudySide&, const KernelPoint&);
  std::string (*text)(double);
  /// Of a change from the first to the last point; empty: not known.
  std::string (*cause)(const KernelPoint& first, const KernelPoint& last);
};
extern const FollowedNumber followed_intensity;       ///< FLOP per byte
extern const FollowedNumber followed_rate;            ///< FLOP per second
extern const FollowedNumber followed_bytes;           ///< as counted, where they were
extern const FollowedNumber followed_launches;        ///< of one pass
extern const FollowedNumber followed_run_time;        ///< of kernels; predicted, with launches
extern const FollowedNumber followed_overhead_share;  ///< launches × latency over the run time

/// How a number goes from the first value of a sweep to the last.
enum class Course : std::uint8_t {
  rises,    ///< from point to point, but for noise; the first track ends higher
  stays,    ///< the largest is at most 10 % above the smallest
  changes,  ///< the largest is more than 10 % above the smallest
};

/// A claim about a number along a sweep, as data. Its rule is made of it.
struct CourseClaim {
  std::string_view about;
  std::string_view kernel;
  std::string_view parameter;
  std::string_view what;
  std::string_view sentence;
  const FollowedNumber* number = nullptr;
  Course course = Course::stays;
  Tracks tracks = {};
};
RooflineClaim claim_of(const CourseClaim& course);

/// Launches that do no arithmetic, in fp16 forward at the smallest batch. A prediction's
/// have a number and no verdict: it knows no copies.
MaybeAnswer zero_flop_launches(const StudySide& side, std::string_view kernel);

/// Counts of trajectories for which `why_not` finds nothing; `shown` is of fp16 forward.
ClaimAnswer over_trajectories(const std::vector<Trajectory>& all, std::string shown,
                              const std::function<std::string(const Trajectory&)>& why_not);

std::string growth_text(double ratio);  ///< "2.00×"

/// What the paper claims of frameworks, of those that were captured; `own` has the roofs of the
/// device and is one of them.
std::vector<Finding> frameworks_of_the_paper(const CaptureStudy& study, const RooflineStudy& own);

/// Of the machine, of Conv2D and of the LSTM, in this order.
std::vector<RooflineClaim> machine_claims();
std::vector<RooflineClaim> conv2d_claims();
std::vector<RooflineClaim> lstm_claims();

}  // namespace strata
