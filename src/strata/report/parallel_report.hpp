// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/search.hpp"
#include "strata/predict/expected/expected.hpp"
#include "strata/report/model_summary.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"
#include "strata/report/training_run.hpp"

#include <optional>
#include <string>
#include <vector>

/// Training on many devices, for people and programs.
namespace strata {

/// What all strategies of a network on a cluster have in common.
struct ParallelContext {
  std::string network, title, cluster, machine_title, dtype, framework, calibrated_on;
  CalibrationUse calibration = CalibrationUse::calibrated;
  CheckedRuns checked;  ///< training on several of such devices
  Optimizer optimizer = Optimizer::momentum;
  bool master_weights = false;
  bool is_autocast = false;  ///< the data type is that of the products then

  /// "bf16 autocast", "pure bf16".
  std::string precision() const;
  std::vector<Dimension> dims;
  std::int64_t devices = 1, devices_per_node = 1, nodes = 1, samples = 0;
  std::optional<std::int64_t> tokens;     ///< of an iteration, where the network has sequences
  double model_flop = 0;                  ///< of an iteration, without what is computed again
  std::optional<double> peak_flop_per_s;  ///< of one device for products in the data type
  std::optional<double> device_memory_bytes;
  std::vector<std::string> assumptions;
  TrainingTerms terms = {};  ///< of the whole run, where they were asked for

  /// Model FLOP utilisation: of the peak of all devices.
  std::optional<double> mfu(double time_s) const;
};

/// One strategy.
struct ParallelSummary {
  ParallelContext context;
  StrategyTime result;
  std::vector<std::string> stages;  ///< what each stage has: "model.layers.0 … model.layers.9"
  double limit_s = 0;               ///< with perfect kernels and links, nothing waiting

  bool fits() const;
  TrainingPace pace() const;
};

/// Every strategy; the best one in full.
struct ParallelChoice {
  ParallelContext context;
  StrategySearch search;
  std::optional<ParallelSummary> best;  ///< nothing: none fits
  double searched_s = 0;                ///< CPU time
};

std::string to_text(const ParallelSummary& summary, const TextStyle& style);
std::string to_text(const ParallelChoice& choice, std::size_t top, const TextStyle& style);
std::string to_json(const ParallelSummary& summary, const Provenance& provenance);
std::string to_json(const ParallelChoice& choice, const Provenance& provenance);
/// A timeline for Perfetto: of each stage a track for kernels, for the collectives that they wait
/// for, for other waits, and for communication beside kernels. The summary must hold events.
std::string to_trace(const ParallelSummary& summary);

}  // namespace strata
