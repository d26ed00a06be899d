// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/devices.hpp"

#include "strata/base/error.hpp"
#include "strata/gpu/cuda/api.cuh"
#include "strata/version.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace strata {
namespace {

constexpr const char* what_still_works =
    "Predictions for GPUs work without one: strata list machines";

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Everything that can be between a program and a GPU, from the driver outwards.
[[noreturn]] void fail_without_devices(cudaError_t status) {
  constexpr const char* control = "/dev/nvidiactl";
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (driver == 0) {
    fail(ErrorKind::environment,
         "no NVIDIA driver was found on this computer (libcuda.so.1), so no GPU is measured. {}",
         what_still_works);
  }
  if (status == cudaErrorInsufficientDriver) {
    fail(ErrorKind::environment,
         "the NVIDIA driver is too old: it speaks CUDA {}, and this strata was built with {}. "
         "Update the driver, or build with a toolkit of its version. {}",
         version_text(driver), cuda_toolkit_version, what_still_works);
  }
  if (access(control, F_OK) == 0 && access(control, R_OK | W_OK) != 0 && errno == EACCES) {
    fail(ErrorKind::environment,
         "no permission to use the GPU: this user may not open {} (often a matter of the group "
         "'video' or of the batch system). {}",
         control, what_still_works);
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  fail(ErrorKind::environment, "no GPU that CUDA can use: {} ({}){}. {}",
       cudaGetErrorString(status), cudaGetErrorName(status),
       visible != nullptr ? fmt::format("; CUDA_VISIBLE_DEVICES is '{}'", visible) : "",
       what_still_works);
}

DeviceInfo info_of(int index) {
  DeviceInfo info;
  cudaDeviceProp properties{};
  STRATA_CUDA_CALL(cudaGetDeviceProperties(&properties, index));
  std::array<char, 32> bus{};
  STRATA_CUDA_CALL(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), index));
  info.index = index;
  info.name = properties.name;
  info.pci_bus_id = bus.data();
  info.major = properties.major;
  info.minor = properties.minor;
  info.sm_count = properties.multiProcessorCount;
  info.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info.l2_bytes = properties.l2CacheSize;
  info.multiprocessor = {
      .compute_major = properties.major,
      .compute_minor = properties.minor,
      .threads = properties.maxThreadsPerMultiProcessor,
      .registers = properties.regsPerMultiprocessor,
      .shared_bytes = static_cast<std::int64_t>(properties.sharedMemPerMultiprocessor)};
  return info;
}

}  // namespace

std::vector<DeviceInfo> cuda_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) fail_without_devices(status);
  if (count == 0) fail_without_devices(cudaErrorNoDevice);
  std::vector<DeviceInfo> devices;
  for (int index = 0; index < count; ++index) devices.push_back(info_of(index));
  return devices;
}

}  // namespace strata
