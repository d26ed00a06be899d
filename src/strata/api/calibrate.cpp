// SPDX-License-Identifier: Apache-2.0
#include "strata/api/calibrate.hpp"

#include "strata/api/measure.hpp"
#include "strata/base/error.hpp"
#include "strata/base/this_run.hpp"
#include "strata/framework/operations.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/expected/calibrated_rates.hpp"
#include "strata/predict/expected/fit.hpp"
#include "strata/training/step_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

namespace strata {
namespace {

constexpr std::string_view engine_framework = "strata";

/// What all kernels of a class may be off by together. Of GPUs as in PyTorch's calibrations. With
/// that, 13 of 18 networks on a CPU lay inside the interval of nine of ten; 17 would with this
/// (docs/expected-time.md, "On a CPU"): the clock and the other work of a CPU move all classes.
constexpr double gpu_class_sigma = 0.1, cpu_class_sigma = 0.18;

/// A case, ready to run, and which of its steps are samples of which class.
class PreparedCase {
 public:
  PreparedCase(const TimedCase& timed, std::size_t iterations) {
    MeasureRequest request;
    request.loss = Loss::none;
    request.sizes.dtype = timed.dtype;
    request.options.engine.training.optimizer = timed.one.optimizer;
    request.options.iterations = iterations;
    request.options.warm_up = 1;
    model_ = trainable_model(timed.one.make(), request);
    program_ = make_program(model_->bound, {.optimizer = timed.one.optimizer,
                                            .loss = Loss::none,
                                            .separate_backward = true,
                                            .unroll_recurrent = false});
    const FrameworkOperations all =
        operations_of(program_, framework_named(engine_framework), {}, timed.one.optimizer);
    for (const FrameworkOperation& operation : all.operations) {
      if (is_measured(operation.step, timed)) operations_.push_back(operation);
    }
  }

  bool is_in(const Calibration& calibration) const {
    return std::all_of(operations_.begin(), operations_.end(), [&](const auto& operation) {
      return has_sample(calibration, name_of(operation.kernel_class), name_of(operation.precision),
                        dims_of_sample(operation));
    });
  }

  /// Adds its samples; false: it was interrupted before there were any.
  bool run(TrainingDevice& device, Calibration& calibration, const MeasureHooks& hooks) {
    const TrainingMeasurement measured =
        measure_training(model_->bound, device, model_->options, hooks);
    if (measured.is_interrupted) return false;
    for (const FrameworkOperation& operation : operations_) {
      KernelSample sample = sample_of(operation, measured.profile.rows);
      if (sample.busy_s > 0)
        put_sample(calibration, name_of(operation.kernel_class), name_of(operation.precision),
                   sample);
    }
    return true;
  }

 private:
  /// Of a case of updates, the updates; of all others the layers that are named so. TF32 is
  /// measured for products only.
  bool is_measured(StepId step, const TimedCase& timed) const {
    const bool is_update = program_.steps[step].pass == Pass::update;
    if (timed.one.optimizer != Optimizer::none) return is_update;
    return !is_update && layer_of(program_, step).starts_with(measured_layer);
  }

  static std::vector<double> dims_of_sample(const FrameworkOperation& operation) {
    const std::size_t count = dims_of(form_of(operation.kernel_class)).size();
    return {operation.dims.begin(), operation.dims.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  /// The time that one of four iterations stays below: other programs only make it longer.
  static double typical_s(const ProfileRow& row) {
    std::vector<double> times = row.kernel_samples_s.empty() ? row.samples_s : row.kernel_samples_s;
    if (times.empty() || !row.not_run.empty()) return 0;
    std::sort(times.begin(), times.end());
    return times[times.size() / 4];
  }

  /// Whether a row is of the operation: its step, or all of the backward pass where the operation
  /// is, too. All updates are one operation.
  bool is_row_of(const ProfileRow& row, const FrameworkOperation& operation) const {
    const Step& step = program_.steps[operation.step];
    const std::string_view update = name_of(Pass::update), forward = name_of(Pass::forward);
    if (step.pass == Pass::update) return row.pass == update;
    if (row.layer != layer_of(program_, operation.step)) return false;
    if ((row.op == "gradient_sum") != step.is_gradient_sum) return false;
    const std::string_view name = name_of(operation.kernel_class);
    const bool is_part = name.ends_with(".backward_input") || name.ends_with(".backward_weight");
    if (step.pass == Pass::forward || is_part) return row.pass == name_of(step.pass);
    return row.pass != forward && row.pass != update;
  }

  KernelSample sample_of(const FrameworkOperation& operation,
                         const std::vector<ProfileRow>& rows) const {
    KernelSample sample{.dims = dims_of_sample(operation), .kernels = 0};
    for (const ProfileRow& row : rows) {
      if (!is_row_of(row, operation)) continue;
      sample.busy_s += typical_s(row);
      sample.kernels += static_cast<double>(row.totals.launches);
    }
    sample.kernels_s = sample.busy_s;
    sample.kernels = std::max(sample.kernels, 1.0);
    return sample;
  }

  std::unique_ptr<TrainableModel> model_;
  Program program_;
  std::vector<FrameworkOperation> operations_;
};

/// The host runs ahead of a device that traces its kernels. On a CPU there is none but the kernels.
void measure_host(TrainingDevice& device, bool is_gpu, Calibration& calibration) {
  calibration.host_factor = 1;
  calibration.host_sigma = 0.15;
  calibration.gap_s = 0;
  if (!is_gpu) return;
  calibration.gap_s = 0.7e-6;
  MeasureRequest request;
  request.loss = Loss::none;
  request.options.times_whole_apart = true;
  const Graph graph = dispatch_graph();
  const std::unique_ptr<TrainableModel> model = trainable_model(graph, request);
  const TrainingMeasurement measured = measure_training(model->bound, device, model->options);
  double parts = 0;
  for (const ProfileRow& row : measured.profile.rows)
    parts += static_cast<double>(row.totals.steps);
  const double each_s = measured.profile.iteration_s.value_or(0) / std::max(parts, 1.0);
  calibration.host_times["relu"] = {each_s, each_s, each_s, each_s, 0};
  for (const char* update : {"update.sgd", "update.momentum", "update.adam"})
    calibration.host_times[update] = {0, 0, 0, 0, each_s};
}

}  // namespace

std::vector<TimedCase> cases_to_time(const Machine& machine, const CalibrateRequest& request) {
  CaseSizes sizes;
  if (request.device.is_gpu) sizes.samples = 8;
  if (const MemoryLevel* cache = last_on_chip(machine))
    sizes.cache_bytes = std::min(cache->capacity_bytes.value, 512e6);
  std::vector<DType> dtypes = {DType::fp32};
  if (request.device.is_gpu) dtypes = {DType::fp32, DType::bf16, DType::tf32};
  std::vector<TimedCase> timed;
  for (const DType dtype : dtypes) {
    for (const CalibrationCase& one : calibration_cases(sizes)) {
      if (dtype == DType::tf32 && !one.is_product) continue;
      if (dtype != DType::fp32 && one.optimizer != Optimizer::none) continue;
      std::string name =
          dtype == DType::fp32 ? one.name : fmt::format("{}, {}", one.name, name_of(dtype));
      if (name.find(request.only) != std::string::npos)
        timed.push_back({std::move(name), one, dtype});
    }
  }
  if (timed.empty())
    fail(ErrorKind::usage, "no case has '{}' in its name; --dry-run lists them", request.only);
  return timed;
}

Calibration empty_calibration(const Machine& machine, TrainingDevice& device) {
  Calibration made;
  made.machine = machine.name;
  made.framework = engine_framework;
  made.name = fmt::format("{}-{}", machine.name, engine_framework);
  for (const std::string& version : device.versions()) {
    // "oneDNN 2.6.3", "2 OpenMP threads"
    const std::size_t space = std::min(version.find(' '), version.size() - 1);
    std::string what = version.substr(0, space), which = version.substr(space + 1);
    if (!what.empty() && what.front() >= '0' && what.front() <= '9') std::swap(what, which);
    made.versions[what] = which;
  }
  made.host = this_host();
  made.date = this_moment().substr(0, 10);
  made.rates = calibrated_rates(gpu_rates(machine));
  made.class_sigma = machine.kind == "cpu" ? cpu_class_sigma : gpu_class_sigma;
  return made;
}

bool is_worth_keeping(const CalibrateResult& result, bool is_one_kept) {
  return result.is_complete() || (!is_one_kept && result.measured + result.found > 0);
}

bool is_same_subject(const Calibration& a, const Calibration& b) {
  return a.machine == b.machine && a.framework == b.framework && a.versions == b.versions &&
         a.host == b.host;
}

CalibrateResult calibrate(const Machine& machine, const CalibrateRequest& request,
                          Calibration begun, const CalibrateHooks& hooks) {
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed_s = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const std::vector<TimedCase> cases = cases_to_time(machine, request);
  CalibrateResult result{.calibration = std::move(begun), .total = cases.size()};
  std::map<DType, std::unique_ptr<TrainingDevice>> devices;
  const auto device_for = [&](DType dtype) -> TrainingDevice& {
    std::unique_ptr<TrainingDevice>& device = devices[dtype];
    if (!device) device = open_training_device(request.device, {.dtype = dtype});
    return *device;
  };
  const MeasureHooks measure_hooks{.is_interrupted = hooks.is_interrupted};
  measure_host(device_for(DType::fp32), request.device.is_gpu, result.calibration);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (hooks.is_interrupted && hooks.is_interrupted()) result.is_interrupted = true;
    if (result.is_interrupted || elapsed_s() > request.seconds) break;
    if (hooks.on_case) hooks.on_case(cases[i].name, i, cases.size());
    PreparedCase prepared(cases[i], request.iterations);
    if (request.only.empty() && prepared.is_in(result.calibration)) {
      ++result.found;
      continue;
    }
    try {
      if (!prepared.run(device_for(cases[i].dtype), result.calibration, measure_hooks)) {
        result.is_interrupted = true;
        break;
      }
      ++result.measured;
    } catch (const Error& error) {
      // One case that does not run (too little memory, no kernel) does not end the others.
      if (error.kind() != ErrorKind::environment && error.kind() != ErrorKind::unsupported) throw;
      result.notes.push_back(fmt::format("{}: {}", cases[i].name, error.what()));
      continue;
    }
    if (hooks.on_samples) hooks.on_samples(result.calibration);
  }
  // As it will be written: numbers that a file does not hold must not be in the fit.
  result.calibration = read_calibration(to_json(result.calibration));
  fit_calibration(result.calibration);
  return result;
}

void fit_calibration(Calibration& calibration) {
  fit(calibration, calibration.rates ? gpu_rates(*calibration.rates)
                                     : gpu_rates(load_recorded_machine(calibration.machine)));
}

}  // namespace strata
