// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/policy.hpp"

#include <cstdint>
#include <memory>

namespace strata {

class SharedSearch;

/// What a sweep keeps of one prediction.
struct PointTotals {
  double time_s = 0;
  double compute_s = 0;
  double stall_s = 0;
  double drain_s = 0;
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  std::int64_t refetch_bytes = 0;
  std::int64_t peak_occupied_bytes = 0;

  bool operator==(const PointTotals&) const = default;
};

/// One program under one set of options, predicted on many points of hardware. What does not depend
/// on the point is made once, and neighbouring points share what they can; the results are those of
/// independent predictions, bit for bit. One object per thread.
class SweepProgram {
 public:
  /// `program` is from make_program; a granularity cuts its values here. It must outlive this
  /// object. Objects of several threads for one program and options can share the search of policy
  /// `best`.
  SweepProgram(const Program& program, const PredictOptions& options,
               std::shared_ptr<SharedSearch> search = nullptr);
  ~SweepProgram();
  SweepProgram(SweepProgram&&) noexcept;
  SweepProgram& operator=(SweepProgram&&) noexcept;

  /// The totals at a point. Points in any order; fastest when one capacity comes with all its rates
  /// before the next, and capacities go up. Errors are those of predict(); the object stays usable.
  PointTotals at(const Hardware& hardware);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata
