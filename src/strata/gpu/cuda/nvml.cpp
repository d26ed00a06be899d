// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace strata::cuda {
namespace {

// From nvml.h, which is not part of every toolkit; the interface is stable (the _v2 names are the
// current ones). A device is an opaque pointer.
constexpr int nvml_success = 0;
constexpr int nvml_clock_sm = 1;
constexpr int nvml_clock_memory = 2;

constexpr std::array<std::pair<std::uint64_t, std::string_view>, 7> reason_names = {{
    {0x2, "clocks set by an application"},
    {0x4, "power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "synchronised with other GPUs"},
    {0x20, "thermal slowdown (software)"},
    {0x40, "thermal slowdown (hardware)"},
    {0x80, "power brake"},
}};

}  // namespace

struct Nvml::Library {
  void* handle = nullptr;
  void* device = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_bus)(const char*, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*most_clock)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*power_limit)(void*, unsigned*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*persistence)(void*, int*) = nullptr;  // may be lacking
  bool is_started = false;

  template <class Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }
  bool find_all() {
    find(persistence, "nvmlDeviceGetPersistenceMode");
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
           find(device_by_bus, "nvmlDeviceGetHandleByPciBusId_v2") &&
           find(clock, "nvmlDeviceGetClockInfo") && find(most_clock, "nvmlDeviceGetMaxClockInfo") &&
           find(power, "nvmlDeviceGetPowerUsage") &&
           find(power_limit, "nvmlDeviceGetEnforcedPowerLimit") &&
           (find(reasons, "nvmlDeviceGetCurrentClocksEventReasons") ||
            find(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons")) &&
           find(driver, "nvmlSystemGetDriverVersion");
  }
};

std::unique_ptr<Nvml> Nvml::open(const std::string& pci_bus_id, std::string& problem) {
  std::unique_ptr<Nvml> nvml(new Nvml);
  nvml->library_ = std::make_unique<Library>();
  Library& library = *nvml->library_;
  library.handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    const char* reason = dlerror();
    problem = fmt::format("NVML cannot be loaded ({})", reason != nullptr ? reason : "no reason");
    return nullptr;
  }
  if (!library.find_all()) {
    problem = "NVML is too old";
    return nullptr;
  }
  const int started = library.init();
  if (started != nvml_success) {
    problem = fmt::format("NVML does not start (error {})", started);
    return nullptr;
  }
  library.is_started = true;
  const int found = library.device_by_bus(pci_bus_id.c_str(), &library.device);
  if (found != nvml_success) {
    problem = fmt::format("NVML does not know the GPU {} (error {})", pci_bus_id, found);
    return nullptr;
  }
  return nvml;
}

Nvml::~Nvml() {
  if (library_ == nullptr || library_->handle == nullptr) return;
  if (library_->is_started) library_->shutdown();
  dlclose(library_->handle);
}

std::optional<DeviceState> Nvml::state() const {
  unsigned sm_mhz = 0, memory_mhz = 0, milliwatts = 0;
  unsigned long long reasons = 0;
  if (library_->clock(library_->device, nvml_clock_sm, &sm_mhz) != nvml_success ||
      library_->clock(library_->device, nvml_clock_memory, &memory_mhz) != nvml_success)
    return std::nullopt;
  if (library_->power(library_->device, &milliwatts) != nvml_success) milliwatts = 0;
  if (library_->reasons(library_->device, &reasons) != nvml_success) reasons = 0;
  return DeviceState{1e6 * sm_mhz, 1e6 * memory_mhz, 1e-3 * milliwatts, reasons};
}

std::optional<double> Nvml::most_sm_hz() const {
  unsigned mhz = 0;
  if (library_->most_clock(library_->device, nvml_clock_sm, &mhz) != nvml_success || mhz == 0)
    return std::nullopt;
  return 1e6 * mhz;
}

std::optional<double> Nvml::power_limit_w() const {
  unsigned milliwatts = 0;
  if (library_->power_limit(library_->device, &milliwatts) != nvml_success || milliwatts == 0)
    return std::nullopt;
  return 1e-3 * milliwatts;
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  if (library_->driver(text, sizeof text) != nvml_success) return {};
  return text;
}

std::optional<bool> Nvml::is_persistent() const {
  int mode = 0;
  if (library_->persistence == nullptr ||
      library_->persistence(library_->device, &mode) != nvml_success)
    return std::nullopt;
  return mode != 0;
}

std::string reasons_text(std::uint64_t reasons) {
  std::string text;
  for (const auto& [bit, name] : reason_names) {
    if ((reasons & bit) == 0) continue;
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace strata::cuda
