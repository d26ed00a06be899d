// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/parallel.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Expected times of strategies beside iterations that others measured on many devices.
namespace strata {

struct ParallelRun {
  std::string model;     ///< as load_model takes it
  std::string on;        ///< a cluster of the set, or as load_cluster takes it
  std::string strategy;  ///< as parse_strategy takes it
  std::int64_t batch = 0, sequence = 0;
  double time_s = 0;
  bool is_fitted = false;  ///< numbers were fitted to it: it is no check
};

struct ParallelTruth {
  std::string name, framework, what, fitted_on;
  std::string dtype, optimizer;
  AttentionKernels attention = AttentionKernels::automatic;
  std::string options;                      ///< of every strategy
  std::map<std::string, Cluster> clusters;  ///< that the file describes
  std::vector<ParallelRun> runs;
};

/// Errors (input) name the place.
ParallelTruth read_parallel_truth(std::string_view json_text);
std::vector<std::string> shipped_parallel_truth_names();
/// Whether the text names a file that says "strata_parallel_truth".
bool is_parallel_truth_file(std::string_view path);
/// A set that ships, or such a file.
ParallelTruth load_parallel_truth(std::string_view name);

struct ValidatedParallelRun {
  ParallelRun measured;
  StrategyTime expected;
  std::string left_out;  ///< why it could not be predicted; empty: it was

  double ratio() const { return expected.time_s / measured.time_s; }
  bool is_inside() const;
};

std::vector<ValidatedParallelRun> validate(
    const ParallelTruth& truth, const std::function<void(std::size_t, std::size_t)>& progress = {});

/// Of the strategies that were measured for one model, batch and number of devices: is the one that
/// is expected to be fastest among the fastest?
struct RankingSummary {
  std::size_t cases = 0;   ///< with at least two strategies
  std::size_t within = 0;  ///< the choice takes at most 5 % longer than the fastest
  double mean_regret = 0;  ///< how much longer it takes
  double most_regret = 0;
};
RankingSummary ranking_of(const std::vector<ValidatedParallelRun>& runs);

}  // namespace strata
