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

/// Of the machine itself, or of another GPU in the same framework, or in the one whose calibration
/// the framework uses. Nothing is transferred to CPUs, which differ more.
const Calibration* nearest_calibration(const Machine& machine, const std::string& name) {
  const std::string& framework = framework_named(name).calibration;
  if (const Calibration* kept = kept_calibration(machine.name, framework)) return kept;
  if (const Calibration* own = find_calibration(machine.name, framework)) return own;
  if (machine.kind != "gpu") return nullptr;
  for (const Calibration& one : shipped_calibrations()) {
    if (one.framework == framework && may_transfer(one, machine)) return &one;
  }
  return nullptr;
}

const Calibration& usable_calibration(const Machine& machine, const ExpectedRequest& request) {
  if (const auto reason = ExpectedTimes::reason_against(machine, request))
    fail(ErrorKind::unsupported, "{}", *reason);
  return *nearest_calibration(machine, request.framework);
}

/// The calibration without samples, with the times of the host that dispatches.
std::shared_ptr<const Calibration> numbers_for(const Calibration& calibration,
                                               const Framework& framework, const HostChoice& host) {
  Calibration numbers = with_host(calibration, host);
  numbers.host_factor *= framework.host_factor;
  return std::make_shared<const Calibration>(std::move(numbers));
}

GpuRates rates_measured_on(const Calibration& calibration) {
  return calibration.rates ? gpu_rates(*calibration.rates)
                           : gpu_rates(load_recorded_machine(calibration.machine));
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

/// By what the calibration does not know: kernels of another GPU, or of another framework.
double widening_for(CalibrationUse use, const Framework& framework,
                    const Calibration& calibration) {
  const double other_gpu = use == CalibrationUse::transferred ? transferred : 0;
  return std::hypot(other_gpu, framework.sigma * calibration.interval_factor);
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
  if (is_gpu && !is_nvidia && nearest_calibration(machine, request.framework) == nullptr)
    return fmt::format("there is no calibration of {} on a GPU of {}", request.framework,
                       machine.vendor);
  if (nearest_calibration(machine, request.framework) == nullptr)
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
    : ExpectedTimes(machine, request, usable_calibration(machine, request)) {}

ExpectedTimes::ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                             const Calibration& calibration)
    : ExpectedTimes(machine, request, calibration, rates_measured_on(calibration)) {}

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

double ExpectedTimes::widening() const { return widening_for(use_, framework_, calibration_); }

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
  std::unique_ptr<const ByCalibration>& found = by_calibration_[&calibration];
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
  widen(totals, widening());
  return totals;
}

ExpectedTime ExpectedTimes::of(const BoundGraph& bound, const TrainingOptions& training) const {
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
  widen(time, widening());
  return time;
}

}  // namespace strata
