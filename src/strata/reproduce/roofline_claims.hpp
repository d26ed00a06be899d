// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/roofline_study.hpp"

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
constexpr double least_growth = 1.25;  ///< of bytes from fp16 to fp32, without a conversion
}  // namespace roofline_limits

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
  /// fp16 and fp32, forward and backward; none where a value of any of them is not there.
  std::vector<Trajectory> trajectories(std::string_view kernel, std::string_view parameter) const;
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
  std::string printed;
  std::string rule;  ///< when it holds, in words
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
extern const FollowedNumber followed_launches;        ///< of one pass
extern const FollowedNumber followed_overhead_share;  ///< launches × latency over the run time

/// The number rises along every trajectory, but for noise; along fp16 forward it ends higher.
MaybeAnswer rises_along(const StudySide& side, std::string_view kernel, std::string_view parameter,
                        const FollowedNumber& number);
/// The largest number of every trajectory is at most 10 % above the smallest.
MaybeAnswer stays_along(const StudySide& side, std::string_view kernel, std::string_view parameter,
                        const FollowedNumber& number);

/// Launches that do no arithmetic, in fp16 forward at the smallest batch: a number.
MaybeAnswer zero_flop_launches(const StudySide& side, std::string_view kernel);

/// Counts of trajectories for which `why_not` finds nothing; `shown` is of fp16 forward.
ClaimAnswer over_trajectories(const std::vector<Trajectory>& all, std::string shown,
                              const std::function<std::string(const Trajectory&)>& why_not);

std::string growth_text(double ratio);  ///< "2.00×"

/// Of the machine, of Conv2D and of the LSTM, in this order.
std::vector<RooflineClaim> machine_claims();
std::vector<RooflineClaim> conv2d_claims();
std::vector<RooflineClaim> lstm_claims();

}  // namespace strata
