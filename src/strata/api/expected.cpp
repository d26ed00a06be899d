// SPDX-License-Identifier: Apache-2.0
#include "strata/api/expected.hpp"

#include "strata/api/kept_files.hpp"
#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/expected/allocated_memory.hpp"
#include "strata/predict/expected/calibrated_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

/// Kernels of one vendor say nothing of another one's.
bool may_transfer(const Calibration& calibration, const Machine& machine) {
  if (machine.vendor.empty()) return true;
  static std::mutex mutex;
  static std::map<std::string, std::string> vendors;  // of the machines that were measured
  const std::lock_guard lock(mutex);
  const auto [vendor, is_new] = vendors.try_emplace(calibration.machine);
  if (is_new) vendor->second = load_recorded_machine(calibration.machine).vendor;
  return vendor->second.empty() || vendor->second == machine.vendor;
}

CalibrationSources with_base(const Calibration& calibration) {
  const Calibration* base = base_of(calibration);
  return base == nullptr ? CalibrationSources{&calibration, nullptr}
                         : CalibrationSources{base, &calibration};
}

/// Of the machine itself, or of another GPU in the same framework, or in the one whose calibration
/// the framework uses. Nothing is transferred to CPUs, which differ more.
CalibrationSources sources_for(const Machine& machine, const std::string& name) {
  const std::string& framework = framework_named(name).calibration;
  if (const Calibration* kept = kept_calibration(machine.name, framework)) return with_base(*kept);
  if (const Calibration* own = find_calibration(machine.name, framework)) return {own, nullptr};
  if (machine.kind != "gpu") return {};
  if (const Calibration* transfer = find_transfer(machine.name, framework))
    return with_base(*transfer);
  for (const Calibration& one : shipped_calibrations()) {
    if (one.framework == framework && may_transfer(one, machine)) return {&one, nullptr};
  }
  return {};
}

CalibrationSources usable_sources(const Machine& machine, const ExpectedRequest& request) {
  if (const auto reason = ExpectedTimes::reason_against(machine, request))
    fail(ErrorKind::unsupported, "{}", *reason);
  return sources_for(machine, request.framework);
}

/// The calibration without samples, with the times of the host that dispatches.
std::shared_ptr<const Calibration> numbers_for(const Calibration& calibration,
                                               const Framework& framework, const HostChoice& host) {
  Calibration numbers = with_host(calibration, host);
  numbers.host_factor *= framework.host_factor;
  return std::make_shared<const Calibration>(std::move(numbers));
}

GpuRates rates_measured_on(const Calibration& calibration) {
  if (!calibration.rates) return gpu_rates(load_recorded_machine(calibration.machine));
  GpuRates rates = gpu_rates(*calibration.rates);
  if (!calibration.base.empty()) {  // another card of the same chip, which issues as much per clock
    const GpuRates chip = gpu_rates(load_recorded_machine(calibration.machine));
    rates.issues_per_s *= chip.issues_per_s / (chip.units * chip.clock_hz);
  }
  return rates;
}

/// Kernels of another GPU are other kernels: with this, 89 % of 298 published runs of 52 image
/// networks on RTX 3090, 4090 and 5090 are inside (docs/expected-time.md).
constexpr double transferred = 0.3;

/// By so much to each side, in logarithms.
template <class Time>
void widen(Time& time, double by) {
  const double low = std::log(time.time_s / time.low_s), high = std::log(time.high_s / time.time_s);
  time.low_s = time.time_s * std::exp(-std::hypot(low, by));
  time.high_s = time.time_s * std::exp(std::hypot(high, by));
}

/// The factors that networks in the framework gave for such runs; null: none ran.
const NetworkFactors* networks_of(const Calibration* transfer, const Framework& framework,
                                  RunKind run) {
  if (transfer == nullptr) return nullptr;
  for (const NetworkFactors& one : transfer->networks) {
    if (one.framework == framework.name && one.is_inference == run.is_inference &&
        one.in_16_bits == run.in_16_bits)
      return &one;
  }
  return nullptr;
}

}  // namespace

std::string default_framework(const Machine& machine) {
  return machine.kind == "cpu" ? "strata" : "pytorch-eager";
}

std::optional<std::string> ExpectedTimes::reason_against(const Machine& machine,
                                                         const ExpectedRequest& request) {
  const bool is_gpu = machine.kind == "gpu";
  if (!is_gpu && machine.kind != "cpu")
    return fmt::format("expected times are of GPUs and CPUs, and {} is a {}", machine.name,
                       machine.kind);
  if (!is_gpu && request.host.is_given())
    return fmt::format("--host is for GPUs: on a CPU as {} the host is the device", machine.name);
  framework_named(request.framework);
  if (!is_gpu && request.framework != "strata")
    return fmt::format("expected times of {} are of GPUs, and {} is a cpu", request.framework,
                       machine.name);
  const bool is_nvidia = machine.vendor.empty() || machine.vendor == "NVIDIA";
  if (is_gpu && !is_nvidia && sources_for(machine, request.framework).calibration == nullptr)
    return fmt::format("there is no calibration of {} on a GPU of {}", request.framework,
                       machine.vendor);
  if (sources_for(machine, request.framework).calibration == nullptr)
    return fmt::format(
        "there is no calibration of {} on {}; strata machine measure --device {} --calibrate makes "
        "one on that computer",
        request.framework, machine.name, is_gpu ? "cuda" : "cpu");
  try {
    gpu_rates(machine);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

ExpectedTimes::ExpectedTimes(const Machine& machine, const ExpectedRequest& request)
    : ExpectedTimes(machine, request, usable_sources(machine, request)) {}

ExpectedTimes::ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                             const CalibrationSources& sources)
    : ExpectedTimes(machine, request, *sources.calibration,
                    rates_measured_on(*sources.calibration)) {
  if (sources.transfer == nullptr) return;
  use_ = CalibrationUse::corrected;
  transfer_ = sources.transfer;
  times_ = times_.corrected_by(*transfer_, rates_measured_on(*transfer_), framework_);
}

ExpectedTimes::ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                             const Calibration& calibration)
    : ExpectedTimes(machine, request, with_base(calibration)) {}

ExpectedTimes::ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                             const Calibration& calibration, const Machine& measured_on)
    : ExpectedTimes(machine, request, calibration, gpu_rates(measured_on)) {}

ExpectedTimes::ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                             const Calibration& calibration, const GpuRates& measured_on)
    : framework_(framework_named(request.framework)),
      options_(request.options),
      calibration_(calibration),
      numbers_(numbers_for(calibration, framework_, request.host)),
      host_slower_(request.host.slower),
      use_(calibration.machine == machine.name ? CalibrationUse::calibrated
                                               : CalibrationUse::transferred),
      times_(calibration, measured_on, gpu_rates(machine), framework_.fp16_as_fp32) {
  // Of a calibration of one's own nobody knows how well it does.
  const auto& shipped = shipped_calibrations();
  if (std::none_of(shipped.begin(), shipped.end(),
                   [&](const Calibration& one) { return &one == &calibration; }))
    return;
  for (const CheckedPass pass :
       {CheckedPass::training, CheckedPass::inference, CheckedPass::parallel})
    checked_[static_cast<std::size_t>(pass)] = checked_runs(machine, framework_.name, pass);
}

/// By what the calibration does not know: kernels of another GPU, or of another framework.
double ExpectedTimes::widening(RunKind run) const {
  const double other_framework = framework_.sigma * calibration_.interval_factor;
  if (use_ == CalibrationUse::calibrated) return other_framework;
  // Found with the framework's own width on top.
  if (const NetworkFactors* networks = networks_of(transfer_, framework_, run))
    return std::hypot(networks->widening, other_framework);
  return std::hypot(transferred, other_framework);
}

ExpectedTimes ExpectedTimes::on(const Machine& changed) const {
  ExpectedTimes other = *this;
  other.times_ = times_.on(gpu_rates(changed));
  other.checked_ = {};
  return other;
}

ExpectedTimes ExpectedTimes::by(const HostChoice& host) const {
  ExpectedTimes other = *this;
  other.numbers_ = numbers_for(calibration_, framework_, host);
  other.host_slower_ = host.slower;
  return other;
}

ExpectedProgram::ExpectedProgram(const Program& program, const ExpectedRequest& request,
                                 Optimizer optimizer)
    : framework_(framework_named(request.framework)),
      options_(request.options),
      operations_(operations_of(program, framework_, options_, optimizer)),
      allocated_bytes_(allocated_bytes(program, framework_, options_, operations_.never_stored)) {}

const ExpectedProgram::ByCalibration& ExpectedProgram::by(const Calibration& calibration,
                                                          const KernelTimes& times) const {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const ByCalibration>& found =
      by_calibration_[{&calibration, times.corrections()}];
  if (found == nullptr) {
    KernelList kernels(operations_, times);
    std::vector<std::int64_t> bytes = allocated_bytes_;
    add_scratch(bytes, operations_, kernels.times_on(times));
    const std::int64_t most = bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
    found = std::make_unique<ByCalibration>(ByCalibration{std::move(kernels), most});
  }
  return *found;
}

ExpectedTotals ExpectedTimes::totals(const ExpectedProgram& program) const {
  ExpectedTotals totals =
      expected_totals(program.framework(), program.operations(),
                      program.kernels(calibration_, times_), program.options(), *numbers_, times_);
  widen(totals, widening(program.operations().run));
  return totals;
}

ExpectedTime ExpectedTimes::of(const BoundGraph& bound, const TrainingOptions& training) const {
  return expected_of(bound, training, true);
}

ExpectedTime ExpectedTimes::without_widening(const BoundGraph& bound,
                                             const TrainingOptions& training) const {
  return expected_of(bound, training, false);
}

ExpectedTime ExpectedTimes::expected_of(const BoundGraph& bound, const TrainingOptions& training,
                                        bool is_widened) const {
  TrainingOptions whole = training;
  whole.unroll_recurrent = false;
  const Program program = make_program(bound, whole);
  const FrameworkOperations operations =
      operations_of(program, framework_, options_, whole.optimizer);
  ExpectedTime time = expected_time(program, framework_, operations, options_, *numbers_, times_);
  name_layers(time, program);
  time.calibration = use_;
  time.checked = checked(whole.inference ? CheckedPass::inference : CheckedPass::training);
  time.host = {numbers_->name, numbers_->host, host_slower_};
  if (is_widened) widen(time, widening(operations.run));
  return time;
}

}  // namespace strata
