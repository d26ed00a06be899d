// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/expected.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Expected times beside iterations that were measured. Kernels are fitted to single operations,
/// not to these; the factor of the host and the width of the interval are (leave_one_out.hpp).
namespace strata {

/// Which part of an iteration was measured.
enum class MeasuredPasses : std::uint8_t { training, gradients, inference };

struct MeasuredRun {
  std::string machine;    ///< empty: that of the set
  std::string model;      ///< as load_model takes it, or networks/NAME of data/truth/networks/
  std::string precision;  ///< fp32, tf32, amp-bf16, amp-fp16
  std::int64_t batch = 0;
  std::int64_t sequence = 0;  ///< 0: the network has none
  AttentionKernels attention = AttentionKernels::automatic;
  bool channels_last = false;
  MeasuredPasses passes = MeasuredPasses::training;
  double iteration_s = 0;
  double kernels_s = 0, launches = 0, busy_s = 0;  ///< 0: not measured
  double memory_bytes = 0;                         ///< 0: not measured
  std::int64_t parameters = 0;                     ///< 0: not known
};

/// What is asked of a network to get the iteration that was measured.
struct AskedRun {
  Graph graph;
  BoundGraph bound;  ///< of `graph`
  ExpectedRequest request;
  TrainingOptions training;

  /// Errors (input): the network is another one than that which ran.
  AskedRun(const MeasuredRun& run, const std::string& framework);
  AskedRun(const AskedRun&) = delete;
  AskedRun& operator=(const AskedRun&) = delete;
};

struct TruthSet {
  std::string name, framework, what;
  std::string machine;  ///< of runs that name none
  std::vector<MeasuredRun> runs;
};

/// Errors (input) name the place.
TruthSet read_truth(std::string_view json_text);
std::vector<std::string> shipped_truth_names();
/// One that ships, or a file.
TruthSet load_truth(std::string_view name_or_path);

struct ValidatedRun {
  MeasuredRun measured;
  ExpectedTime expected;
  std::vector<ExpectedTotals> by_host;  ///< with each of tried_hosts() (leave_one_out.hpp)
  std::string left_out;                 ///< why it could not be predicted; empty: it was

  /// Whether the GPU, and not the host that feeds it, takes most of the iteration: as measured, or
  /// as expected where kernels were not measured.
  bool is_gpu_bound() const;
  bool is_inside() const;  ///< the interval
};

/// Predicts every run; `progress(done, all)` after each.
std::vector<ValidatedRun> validate(
    const TruthSet& truth, const std::function<void(std::size_t, std::size_t)>& progress = {});

/// Mean and median of |error|, signed mean, and the share inside the interval.
struct ErrorSummary {
  std::size_t runs = 0;
  double mean = 0, median = 0, bias = 0;
};
ErrorSummary errors_of(const std::vector<double>& predicted_over_measured);

}  // namespace strata
