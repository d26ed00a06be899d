// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/calibration.hpp"
#include "strata/parallel/section.hpp"
#include "strata/parallel/strategy.hpp"
#include "strata/parallel/tensor_split.hpp"
#include "strata/parallel/working_memory.hpp"
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

/// Time for which the kernels of a rank wait for others, and the bytes that it sends for that.
struct LinkUse {
  double time_s = 0, sent_bytes = 0;
  double hidden_s = 0;  ///< for which its link is busy behind kernels, besides
  LinkUse& operator+=(const LinkUse& other) {
    time_s += other.time_s;
    sent_bytes += other.sent_bytes;
    hidden_s += other.hidden_s;
    return *this;
  }
};

/// What layers exchange while they compute.
struct LayerTraffic {
  LinkUse tensor;   ///< collectives of tensor parallelism
  LinkUse context;  ///< for attention over the sequence, beyond attention's own time
  LinkUse experts;  ///< words that go to experts of other ranks, and back
  double time_s() const { return tensor.time_s + context.time_s + experts.time_s; }
  LayerTraffic& operator+=(const LayerTraffic& other) {
    tensor += other.tensor;
    context += other.context;
    experts += other.experts;
    return *this;
  }
};

/// Weights of a unit on a rank.
struct WeightCost {
  std::int64_t parameters = 0, tensors = 0;
  std::int64_t weight_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  WeightCost& operator+=(const WeightCost& other) {
    parameters += other.parameters;
    tensors += other.tensors;
    weight_bytes += other.weight_bytes;
    gradient_bytes += other.gradient_bytes;
    state_bytes += other.state_bytes;
    return *this;
  }
};

struct UnitCost {
  Section forward, backward;      ///< with recomputation and what layers exchange
  double weight_gradients_s = 0;  ///< of backward: what need not be done at once
  double recompute_s = 0;         ///< of backward
  LayerTraffic forward_traffic, backward_traffic;
  std::int64_t parameters = 0, tensors = 0;  ///< that the rank has of the unit
  std::int64_t weight_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  WeightCost experts;               ///< of those, weights of experts that are spread over ranks
  std::int64_t saved_bytes = 0;     ///< from forward to backward
  std::int64_t boundary_bytes = 0;  ///< that go on to the next unit

  void add(const WeightCost& more) {
    parameters += more.parameters;
    tensors += more.tensors;
    weight_bytes += more.weight_bytes;
    gradient_bytes += more.gradient_bytes;
    state_bytes += more.state_bytes;
  }
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
  bool keeps_scores = false;        ///< of attention, for backward
  double start_s = 0;               ///< of the host, before the first call
  bool waits_at_steps = false;      ///< the host, around forward and backward of a micro-batch
  double low = 1, high = 1;         ///< the interval of kernels and host over the expected time
  std::int64_t working_bytes = 0;   ///< the most that steps make for one another
  std::int64_t peak_bytes = 0;      ///< of the iteration on one device; 0: there are several
  std::int64_t other_bytes = 0;     ///< inputs, tables
  std::int64_t exchange_bytes = 0;  ///< for attention and experts of other ranks, at once
};

/// `binding` gives every size, with the samples of one micro-batch. Of a network that lacks some of
/// its equal blocks, times are of the blocks that are there, memory of all. Errors (unsupported):
/// the network cannot be shared as the strategy says (rank_views.hpp).
RankCosts rank_costs(const SplitGraph& split, const Binding& binding, const Strategy& strategy,
                     const Cluster& cluster, const RankEngine& engine,
                     const RepeatedBlock& repeated = {});

/// What the optimizer takes for so many parameters in so many tensors.
Section update_section(const RankEngine& engine, std::int64_t tensors, double parameters);

/// What the host takes to start a collective.
inline constexpr double collective_dispatch_s = 20e-6;

}  // namespace strata
