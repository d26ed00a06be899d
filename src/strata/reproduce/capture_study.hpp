// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"
#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/figures.hpp"
#include "strata/reproduce/roofline_study.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// "Performance Analysis of various Deep Learning Models on High Performance Computing Systems"
/// (nvprof on PyTorch, K80 and P40), beside what strata capture records today: training at growing
/// batches, the whole iteration and its backward part, and the two reference kernels of the
/// time-based roofline in several frameworks.
namespace strata {

/// One network at one batch in one framework; every time and count is of one step.
struct CaptureCase {
  std::string framework;  ///< "pytorch", "jax"
  std::string network;
  std::int64_t batch = 0;
  std::string part;   ///< iteration, backward, forward
  std::string dtype;  ///< "fp32"; empty: what the framework takes by itself
  std::int64_t steps = 0;
  double wall_s = 0;  ///< on the host, recorded
  double launches = 0;
  double kernel_s = 0;      ///< kernels added up
  double busy_s = 0;        ///< at least one kernel ran
  double concurrent_s = 0;  ///< at least two
  double copy_s = 0;
  double copy_bytes = 0;
  double pool_backward_s = 0;
  double api_s = 0;                       ///< calls of the runtime
  double launch_api_s = 0;                ///< of those, launches
  std::map<std::string, double> class_s;  ///< kernels by class; "convolution winograd" by algorithm
  std::map<std::string, double> call_s;   ///< calls by name; empty in results of older programs
  /// FLOP and bytes by column of data/metrics, where every kernel of the case was counted.
  std::map<std::string, double> counted;
};

/// Wall time per step in turn without and with a profiler.
struct CaptureOverhead {
  std::string profiler;  ///< "strata", "torch", "none"
  std::vector<double> plain_ms;
  std::vector<double> watched_ms;
};
/// The median of the ratios of neighbours, minus 1.
double overhead_of(const CaptureOverhead& overhead);

struct CaptureStudy {
  std::string device;
  std::string about;  ///< versions, clocks, how it was made
  std::vector<CaptureCase> cases;
  std::vector<CaptureOverhead> overheads;
};

/// Adds up what was recorded within these spans, which are `steps` steps.
CaptureCase capture_case(Recording recording, std::span<const TimeSpan> spans, std::int64_t steps);

/// FLOP and bytes that were counted of all kernels of a recording, by column of data/metrics; a
/// column that one kernel lacks is left out.
std::map<std::string, double> counted_columns(const Recording& recording);

/// The cases of a log: steps are NVTX ranges
/// "study:<framework>:<network>:<batch>[:<part>[:<dtype>]]", of which "backward part" inside is a
/// case of its own. The log is read once per case.
std::vector<CaptureCase> cases_of_ranges(const std::function<Recording()>& read);

/// The same of a program that says itself, as JSON, when each case ran
/// (python/studies/capture_jax.py).
std::vector<CaptureCase> cases_of_times(std::string_view json_text,
                                        const std::function<Recording()>& read);

/// What tests/device/capture_run leaves in a folder: results.json and its logs (*.log). A stage
/// "X-counted" ran the program of stage X again, with counters instead of times; they are joined.
CaptureStudy read_study_folder(const std::filesystem::path& folder);

/// Errors (input) name what is missing.
CaptureStudy read_capture_study(std::string_view json_text);
std::string to_json(const CaptureStudy& study);

/// What the report saw beside the study; what the study does not hold is a finding that says so.
/// The reference kernels of our own engine, measured on the same device, are one more framework.
std::vector<Finding> reproduce_capture(const CaptureStudy& study,
                                       const RooflineStudy* own = nullptr);
/// What the report's own public logs say, in lines for people.
std::string capture_notes();
/// Shares, calls and FLOP over the batch; the reference kernels of all frameworks under the roofs
/// of the device, where `own` says which they are.
std::vector<Figure> capture_figures(const CaptureStudy& study, const RooflineStudy* own = nullptr);

}  // namespace strata
