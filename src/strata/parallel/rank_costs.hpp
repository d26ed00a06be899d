// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/calibration.hpp"
#include "strata/parallel/section.hpp"
#include "strata/parallel/strategy.hpp"
#include "strata/parallel/tensor_split.hpp"
#include "strata/parallel/units.hpp"
#include "strata/predict/expected/kernel_times.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// What one micro-batch costs a rank, unit by unit: time, memory, bytes on links.
namespace strata {

/// In what way the ranks compute, the same for every strategy.
struct RankEngine {
  const Framework* framework = nullptr;
  FrameworkOptions options;
  const Calibration* calibration = nullptr;
  const KernelTimes* times = nullptr;
  TrainingOptions training;  ///< of one micro-batch; recomputation is the strategy's
  std::optional<DType> dtype;
  double sigma = 0;  ///< of log(time), beyond that of the calibration
};

/// Time of the collectives of tensor parallelism, and the bytes that a rank sends for them.
struct TensorTraffic {
  double time_s = 0, sent_bytes = 0;
  TensorTraffic& operator+=(const TensorTraffic& other) {
    time_s += other.time_s;
    sent_bytes += other.sent_bytes;
    return *this;
  }
};

struct UnitCost {
  Section forward, backward;      ///< with recomputation and tensor parallel collectives
  double weight_gradients_s = 0;  ///< of backward: what need not be done at once
  double recompute_s = 0;         ///< of backward
  TensorTraffic forward_traffic, backward_traffic;
  std::int64_t parameters = 0, tensors = 0;  ///< that the rank has of the unit
  std::int64_t weight_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  std::int64_t saved_bytes = 0;     ///< from forward to backward
  std::int64_t boundary_bytes = 0;  ///< that go on to the next unit
};

/// A weight that two units have: its gradients are summed where they are on two stages.
struct SharedWeight {
  std::size_t first = 0, second = 0;
  std::int64_t bytes = 0;
};

struct RankCosts {
  std::vector<std::string> names;  ///< of units
  std::vector<UnitCost> units;
  std::vector<SharedWeight> shared;
  bool keeps_scores = false;       ///< of attention, for backward
  double start_s = 0;              ///< of the host, before the first call
  bool waits_at_steps = false;     ///< the host, around forward and backward of a micro-batch
  double low = 1, high = 1;        ///< the interval of kernels and host over the expected time
  std::int64_t working_bytes = 0;  ///< the most that steps make for one another
  std::int64_t peak_bytes = 0;     ///< of an iteration of one rank and one micro-batch
  std::int64_t other_bytes = 0;    ///< inputs, tables
};

/// `binding` gives every size, with the samples of one micro-batch. Errors (unsupported): sequence
/// parallelism of a network whose length is fixed.
RankCosts rank_costs(const SplitGraph& split, const Binding& binding, const Strategy& strategy,
                     const Cluster& cluster, const RankEngine& engine);

/// What the optimizer takes for so many parameters in so many tensors.
Section update_section(const RankEngine& engine, std::int64_t tensors, double parameters);

/// What the host takes to start a collective.
inline constexpr double collective_dispatch_s = 20e-6;

}  // namespace strata
