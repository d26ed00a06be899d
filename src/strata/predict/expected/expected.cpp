// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/expected.hpp"

#include "strata/predict/expected/host_pipeline.hpp"
#include "strata/training/step_names.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

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

/// Of the busy time: what kernels of a class have in common, and each by itself.
struct ClassShare {
  double busy_s = 0, squares = 0;
  bool is_calibrated = true;
  double sigma = 0, launches = 0;
};

}  // namespace

std::string_view name_of(CalibrationUse use) {
  return use == CalibrationUse::calibrated ? "calibrated" : "transferred";
}

ExpectedTime expected_time(const Program& program, const Framework& framework,
                           const FrameworkOperations& operations, const FrameworkOptions& options,
                           const Calibration& calibration, const KernelTimes& times) {
  ExpectedTime result;
  result.framework = calibration.framework;
  result.calibrated_on = calibration.machine;
  result.unknown_operators = operations.unknown;
  result.steps.resize(program.steps.size());
  std::array<double, cause_names.size()> lost{};
  std::map<OperationClass, ClassShare> shares;
  std::vector<KernelTime> all(operations.operations.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const FrameworkOperation& operation = operations.operations[i];
    const KernelTime time = times.time(operation);
    all[i] = time;
    ExpectedStep& step = result.steps[operation.step];
    step.busy_s += time.busy_s;
    step.kernels_s += time.kernels_s;
    step.launches += time.kernels;
    result.busy_s += time.busy_s;
    result.kernels_s += time.kernels_s;
    result.launches += time.kernels;
    const double arithmetic_s =
        std::min(time.busy_s,
                 product_flop(operation) / std::max(times.gpu().peak(operation.precision), 1.0));
    result.arithmetic_s += arithmetic_s;
    lost[static_cast<std::size_t>(cause_of(operation.kernel_class))] += time.busy_s - arithmetic_s;
    ClassShare& share = shares[operation.kernel_class];
    share.busy_s += time.busy_s;
    share.launches += time.kernels;
    share.squares += std::pow(time.busy_s * time.sigma, 2);
    share.is_calibrated &= time.is_calibrated;
    share.sigma = time.is_calibrated ? calibration.class_sigma : time.sigma;
  }

  HostPipeline pipeline(operations, all, options.autocast.has_value(), framework.iteration_calls,
                        calibration);
  const PipelineTime expected = pipeline.run(1);
  result.time_s = expected.time_s;
  result.host_s = expected.host_s;
  for (std::size_t i = 0; i < operations.calls.size(); ++i)
    result.steps[operations.calls[i].step].host_s += pipeline.host_s(i);
  lost[static_cast<std::size_t>(Cause::host)] = result.time_s - result.busy_s;

  double variance = 0;
  for (const auto& [kernel_class, share] : shares) {
    variance +=
        (share.squares + std::pow(share.busy_s * share.sigma, 2)) / std::pow(result.time_s, 2);
    result.classes.push_back({kernel_class, share.busy_s, share.launches});
    if (!share.is_calibrated)
      result.uncovered.push_back(
          {std::string(name_of(kernel_class)), share.busy_s / result.busy_s});
  }
  std::stable_sort(result.classes.begin(), result.classes.end(),
                   [](const ClassTime& a, const ClassTime& b) { return a.busy_s > b.busy_s; });
  // The host can be slower and faster than it was when it was measured.
  const double slow =
      std::log(pipeline.run(std::exp(calibration.host_sigma)).time_s / result.time_s);
  const double fast =
      std::log(result.time_s / pipeline.run(std::exp(-calibration.host_sigma)).time_s);
  const double factor = calibration.interval_factor;
  result.low_s = result.time_s * std::exp(-factor * std::sqrt(variance + fast * fast));
  result.high_s = result.time_s * std::exp(factor * std::sqrt(variance + slow * slow));
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
  for (StepId id = 0; id < program.steps.size(); ++id) {
    ExpectedStep step = expected.steps[id];
    if (program.steps[id].pass == Pass::update && update_bytes > 0) {
      const double share = static_cast<double>(program.write_bytes(id)) / update_bytes;
      step = {update.busy_s * share, update.kernels_s * share, update.host_s * share,
              update.launches * share};
    }
    expected.layers.push_back({layer_of(program, id), pass_of(program, id), step});
  }
}

}  // namespace strata
