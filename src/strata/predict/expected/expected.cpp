// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/expected.hpp"

#include "strata/predict/expected/allocated_memory.hpp"
#include "strata/predict/expected/host_pipeline.hpp"
#include "strata/training/step_names.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace strata {
namespace {

enum class Cause : std::uint8_t { below_peak, parallelism, bandwidth, conversions, host };
constexpr std::array<std::string_view, 5> cause_names = {
    "kernels below their peak", "too little parallelism", "memory bandwidth",
    "layout changes and casts", "launches and host"};

Cause cause_of(OperationClass kernel_class) {
  const std::string_view name = name_of(kernel_class);
  if (name == "stream.cast" || name == "heads.permute_contiguous" ||
      name == "channels.to_channels_last")
    return Cause::conversions;
  switch (form_of(kernel_class)) {
    case KernelForm::product:
    case KernelForm::convolution:
    case KernelForm::attention:
    case KernelForm::recurrent: return Cause::below_peak;
    case KernelForm::rows:
    case KernelForm::channels:
    case KernelForm::pool:
    case KernelForm::depthwise: return Cause::parallelism;
    default: return Cause::bandwidth;
  }
}

/// FLOP of a product, which its peak is held against; 0 of everything else.
double product_flop(const FrameworkOperation& operation) {
  const KernelDims& d = operation.dims;
  switch (form_of(operation.kernel_class)) {
    case KernelForm::product: return 2 * d[0] * d[1] * d[2] * d[3];
    case KernelForm::convolution: return 2 * d[0] * d[2] * d[4] * d[1] * d[5] / d[6];
    case KernelForm::attention: return 4 * d[0] * d[1] * d[2] * d[3] * d[4] / d[5];
    case KernelForm::recurrent: return 2 * d[0] * d[1] * 4 * d[3] * (d[2] + d[3]) * d[4];
    default: return 0;
  }
}

/// Whole launches of parts that have fractions: a rule may give an operator a share of a class, and
/// one launch of an optimizer updates many weights. They add up to the launches of the whole.
class WholeLaunches {
 public:
  std::int64_t next(double launches) {
    sum_ += launches;
    const std::int64_t before = std::exchange(whole_, std::llround(sum_));
    return whole_ - before;
  }

 private:
  double sum_ = 0;
  std::int64_t whole_ = 0;
};

/// Of the busy time: what kernels of a class have in common, and each by itself.
struct ClassShare {
  double busy_s = 0, squares = 0;
  bool is_used = false, is_calibrated = true;
  double sigma = 0, launches = 0;
};

/// All launches of an iteration with host and device, and its interval.
class IterationSum {
 public:
  IterationSum(const Framework& framework, const FrameworkOperations& operations,
               std::vector<KernelTime> times, bool is_autocast, const Calibration& calibration)
      : times_(std::move(times)),
        shares_(operation_class_names().size()),
        pipeline_(operations, times_, is_autocast, framework.iteration_calls, calibration) {
    for (std::size_t i = 0; i < times_.size(); ++i)
      add(operations.operations[i].kernel_class, times_[i], calibration.class_sigma);
    const PipelineTime expected = pipeline_.run(1);
    totals_.time_s = expected.time_s;
    totals_.host_s = expected.host_s;
    totals_.launches = std::llround(launches_);
    find_interval(calibration);
  }

  const ExpectedTotals& totals() const { return totals_; }
  const std::vector<KernelTime>& times() const { return times_; }
  const std::vector<ClassShare>& shares() const { return shares_; }  ///< by OperationClass
  double host_s(std::size_t call) const { return pipeline_.host_s(call); }

 private:
  void add(OperationClass kernel_class, const KernelTime& time, double class_sigma) {
    totals_.busy_s += time.busy_s;
    totals_.kernels_s += time.kernels_s;
    launches_ += time.kernels;
    ClassShare& share = shares_[static_cast<std::size_t>(kernel_class)];
    share.is_used = true;
    share.busy_s += time.busy_s;
    share.launches += time.kernels;
    share.squares += std::pow(time.busy_s * time.sigma, 2);
    share.is_calibrated &= time.is_calibrated;
    share.sigma = time.is_calibrated ? class_sigma : time.sigma;
  }

  void find_interval(const Calibration& calibration) {
    double variance = 0;
    for (const ClassShare& share : shares_) {
      if (!share.is_used) continue;
      variance +=
          (share.squares + std::pow(share.busy_s * share.sigma, 2)) / std::pow(totals_.time_s, 2);
    }
    // The host can be slower and faster than it was when it was measured.
    const double slow =
        std::log(pipeline_.run(std::exp(calibration.host_sigma)).time_s / totals_.time_s);
    const double fast =
        std::log(totals_.time_s / pipeline_.run(std::exp(-calibration.host_sigma)).time_s);
    const double factor = calibration.interval_factor;
    totals_.low_s = totals_.time_s * std::exp(-factor * std::sqrt(variance + fast * fast));
    totals_.high_s = totals_.time_s * std::exp(factor * std::sqrt(variance + slow * slow));
  }

  std::vector<KernelTime> times_;
  std::vector<ClassShare> shares_;
  HostPipeline pipeline_;
  ExpectedTotals totals_;
  double launches_ = 0;
};

/// By class: the longest first, and those that nobody measured.
void add_classes(ExpectedTime& result, const std::vector<ClassShare>& shares) {
  WholeLaunches whole;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const ClassShare& share = shares[i];
    if (!share.is_used) continue;
    const auto kernel_class = static_cast<OperationClass>(i);
    result.classes.push_back({kernel_class, share.busy_s, whole.next(share.launches)});
    if (!share.is_calibrated)
      result.uncovered.push_back(
          {std::string(name_of(kernel_class)), share.busy_s / result.busy_s});
  }
  std::stable_sort(result.classes.begin(), result.classes.end(),
                   [](const ClassTime& a, const ClassTime& b) { return a.busy_s > b.busy_s; });
}

}  // namespace

std::string_view name_of(CalibrationUse use) {
  switch (use) {
    case CalibrationUse::calibrated: return "calibrated";
    case CalibrationUse::transferred: return "transferred";
    case CalibrationUse::corrected: break;
  }
  return "corrected";
}

ExpectedTotals expected_totals(const Framework& framework, const FrameworkOperations& operations,
                               const KernelList& kernels, const FrameworkOptions& options,
                               const Calibration& calibration, const KernelTimes& times) {
  return IterationSum(framework, operations, kernels.times_on(times), options.autocast.has_value(),
                      calibration)
      .totals();
}

ExpectedTime expected_time(const Program& program, const Framework& framework,
                           const FrameworkOperations& operations, const FrameworkOptions& options,
                           const Calibration& calibration, const KernelTimes& times) {
  const IterationSum iteration(framework, operations, KernelList(operations, times).times_on(times),
                               options.autocast.has_value(), calibration);
  const ExpectedTotals& totals = iteration.totals();
  ExpectedTime result;
  result.framework = framework.name;
  result.calibrated_on = calibration.machine;
  result.unknown_operators = operations.unknown;
  result.time_s = totals.time_s;
  result.low_s = totals.low_s;
  result.high_s = totals.high_s;
  result.busy_s = totals.busy_s;
  result.kernels_s = totals.kernels_s;
  result.host_s = totals.host_s;
  result.launches = totals.launches;
  result.memory_bytes =
      allocated_memory_bytes(program, framework, options, operations, iteration.times());
  result.steps.resize(program.steps.size());
  std::vector<double> launches(program.steps.size(), 0);
  std::array<double, cause_names.size()> lost{};
  for (std::size_t i = 0; i < operations.operations.size(); ++i) {
    const FrameworkOperation& operation = operations.operations[i];
    const KernelTime& time = iteration.times()[i];
    ExpectedStep& step = result.steps[operation.step];
    step.busy_s += time.busy_s;
    step.kernels_s += time.kernels_s;
    launches[operation.step] += time.kernels;
    const double arithmetic_s =
        std::min(time.busy_s,
                 product_flop(operation) / std::max(times.gpu().peak(operation.precision), 1.0));
    result.arithmetic_s += arithmetic_s;
    lost[static_cast<std::size_t>(cause_of(operation.kernel_class))] += time.busy_s - arithmetic_s;
  }
  WholeLaunches whole;
  for (std::size_t id = 0; id < launches.size(); ++id)
    result.steps[id].launches = whole.next(launches[id]);
  for (std::size_t i = 0; i < operations.calls.size(); ++i)
    result.steps[operations.calls[i].step].host_s += iteration.host_s(i);
  lost[static_cast<std::size_t>(Cause::host)] = result.time_s - result.busy_s;
  add_classes(result, iteration.shares());
  for (std::size_t i = 0; i < lost.size(); ++i) {
    if (lost[i] > 0) result.lost_to.push_back({std::string(cause_names[i]), lost[i]});
  }
  std::stable_sort(result.lost_to.begin(), result.lost_to.end(),
                   [](const LostTime& a, const LostTime& b) { return a.time_s > b.time_s; });
  return result;
}

void name_layers(ExpectedTime& expected, const Program& program) {
  double update_bytes = 0;
  ExpectedStep update;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    if (program.steps[id].pass != Pass::update) continue;
    update_bytes += static_cast<double>(program.write_bytes(id));
    update.busy_s += expected.steps[id].busy_s;
    update.kernels_s += expected.steps[id].kernels_s;
    update.host_s += expected.steps[id].host_s;
    update.launches += expected.steps[id].launches;
  }
  WholeLaunches whole;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    ExpectedStep step = expected.steps[id];
    if (program.steps[id].pass == Pass::update && update_bytes > 0) {
      const double share = static_cast<double>(program.write_bytes(id)) / update_bytes;
      step = {update.busy_s * share, update.kernels_s * share, update.host_s * share,
              whole.next(static_cast<double>(update.launches) * share)};
    }
    expected.layers.push_back(
        {layer_of(program, id), pass_of(program, id), program.steps[id].is_gradient_sum, step});
  }
}

}  // namespace strata
