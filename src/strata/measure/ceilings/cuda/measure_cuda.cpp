// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/this_run.hpp"
#include "strata/measure/ceilings/cuda/ceilings.cuh"
#include "strata/version.hpp"

#include <fmt/format.h>

#include <array>

namespace strata {
namespace {

using cuda::Bench;
using cuda::Nvml;
using cuda::Say;

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Measured facts_of_this_run(const Nvml* nvml, const std::string& nvml_problem) {
  Measured measured;
  measured.host = this_host();
  measured.date = this_moment();
  int driver = 0, runtime = 0;
  STRATA_CUDA_CALL(cudaDriverGetVersion(&driver));
  STRATA_CUDA_CALL(cudaRuntimeGetVersion(&runtime));
  measured.versions.push_back({"strata", std::string(version)});
  if (nvml != nullptr && !nvml->driver_version().empty())
    measured.versions.push_back({"driver", nvml->driver_version()});
  measured.versions.push_back({"CUDA of the driver", cuda_version(driver)});
  measured.versions.push_back({"CUDA run time", cuda_version(runtime)});
  measured.versions.push_back({"CUDA toolkit of the build", std::string(cuda_toolkit_version)});
  if (nvml == nullptr)
    measured.warnings.push_back(
        fmt::format("clocks, power and their limits were not seen: {}", nvml_problem));
  return measured;
}

DeviceInfo device_of(const CeilingOptions& options) {
  const std::vector<DeviceInfo> devices = cuda_devices();
  if (options.device < 0 || static_cast<std::size_t>(options.device) >= devices.size()) {
    fail(ErrorKind::environment, "there is no GPU {}; this computer has {}: 0 to {}",
         options.device, devices.size(), devices.size() - 1);
  }
  return devices[static_cast<std::size_t>(options.device)];
}

Machine empty_machine(const DeviceInfo& device, const Nvml* nvml, const std::string& nvml_problem) {
  Machine machine;
  machine.name = measured_name(device.name);
  machine.title = fmt::format("{} (measured)", device.name);
  machine.kind = "gpu";
  machine.units =
      Units{"SM", {static_cast<double>(device.sm_count), "cudaDeviceProp::multiProcessorCount"}};
  machine.measured = facts_of_this_run(nvml, nvml_problem);
  if (nvml == nullptr) return machine;
  if (const auto hz = nvml->most_sm_hz()) machine.clocks.boost_hz = Sourced{*hz, "NVML: maximum"};
  if (const auto watts = nvml->power_limit_w())
    machine.power_w = Sourced{*watts, "NVML: enforced limit"};
  return machine;
}

/// Clocks under load: of the lanes' fp32 kernel, which no power limit slows down on most GPUs.
void set_clocks_seen(const Nvml* nvml, Machine& machine) {
  const Peak* fp32 = find_peak(machine, DType::fp32, ComputeUnit::vector);
  if (fp32 != nullptr && fp32->clock_hz)
    machine.clocks.seen_hz = Sourced{fp32->clock_hz->value,
                                     "NVML, during the fp32 multiply-adds; each peak has its own"};
  if (nvml == nullptr) return;
  if (const auto state = nvml->state(); state && state->memory_hz > 0)
    machine.clocks.memory_hz = Sourced{state->memory_hz, "NVML"};
}

using Part = void (*)(const Bench&, const Say&, Machine&);
struct PartOfRun {
  Part measure;
  double share;  // of the whole, in time
};
constexpr std::array parts = {
    PartOfRun{cuda::measure_lanes, 0.15},  PartOfRun{cuda::measure_products, 0.35},
    PartOfRun{cuda::measure_memory, 0.25}, PartOfRun{cuda::measure_launches, 0.1},
    PartOfRun{cuda::measure_copies, 0.14}, PartOfRun{cuda::measure_peers, 0.01},
};

}  // namespace

Machine measure_cuda(const CeilingOptions& options, const CeilingProgress& progress) {
  const DeviceInfo device = device_of(options);
  STRATA_CUDA_CALL(cudaSetDevice(device.index));
  std::string nvml_problem;
  const std::unique_ptr<Nvml> nvml = Nvml::open(device.pci_bus_id, nvml_problem);
  Machine machine = empty_machine(device, nvml.get(), nvml_problem);
  const Bench bench(options, device, nvml.get());
  double done = 0;
  for (const PartOfRun& part : parts) {
    const Say say = [&](std::string_view what) {
      if (progress) progress(what, done);
    };
    part.measure(bench, say, machine);
    done += part.share;
  }
  set_clocks_seen(nvml.get(), machine);
  if (progress) progress("done", 1);
  return machine;
}

}  // namespace strata
