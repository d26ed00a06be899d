// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/sourced.hpp"
#include "strata/measure/ceilings/ceilings.hpp"
#include "strata/measure/ceilings/cpu/thread_team.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// How everything on the CPU is timed: warm up, take samples of some milliseconds in which nobody
/// else had the processors, and count the clock meanwhile.
namespace strata::cpu {

/// How much time a number is worth.
struct Effort {
  int samples = 20;
  double sample_s = 2e-3;  ///< short, so that many are undisturbed on a busy machine
  double warm_up_s = 0.03;
};

struct Timing {
  std::vector<double> samples_s;  ///< of one pass
  std::vector<double> clocks_hz;  ///< counted right after each sample
  int disturbed = 0;              ///< samples left out: others had a processor meanwhile
  bool is_disturbed = false;      ///< too few were left; these are the fastest of all

  double median_s() const { return median_of(samples_s); }
};

class Bench {
 public:
  Bench(const CeilingOptions& options, ThreadTeam& team) : options_(options), team_(&team) {}

  /// `passes` of the work in one thread; must not throw.
  using Work = std::function<void(int worker, std::int64_t passes)>;
  Timing time(const Work& work, int active) const { return time(work, active, effort()); }
  Timing time(const Work& work, int active, const Effort& effort) const;
  /// Seconds of one pass from a few short samples; to compare candidates.
  double glance(const Work& work, int active) const;

  /// Clock of all cores, by additions that need one each.
  std::vector<double> clocks_hz(int active) const;

  Effort effort() const;
  const CeilingOptions& options() const { return options_; }
  ThreadTeam& team() const { return *team_; }
  int threads() const { return team_->size(); }

 private:
  /// The first run that nobody disturbs, or the fastest of some.
  ThreadTeam::Span quiet_run(const Work& work, int active, std::int64_t passes) const;
  std::int64_t passes_for(const Work& work, int active, double sample_s) const;

  CeilingOptions options_;
  ThreadTeam* team_;
};

/// A measured number: `amount` per pass over the median time of one.
Sourced rate_of(double amount, const Timing& timing, std::string method);

inline constexpr const char* measured_source = "measured";

}  // namespace strata::cpu
