// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/cpu/system_files.hpp"
#include "strata/gpu/metrics.hpp"
#include "strata/gpu/profiler_reasons.hpp"
#include "strata/measure/ceilings/ceilings.hpp"
#include "strata/measure/readiness/gpu_probe.hpp"
#include "strata/measure/readiness/readiness.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace strata {
namespace {

namespace fs = std::filesystem;

/// "580.159.04" of "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release
/// …"; the whole line where there is nothing like it.
std::string driver_version_in(const std::string& line) {
  for (const std::string_view word : split(line, ' ')) {
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789.") == word.npos;
    if (is_number && word.find('.') != word.npos) return std::string(word);
  }
  return line;
}

ReadyItem driver_item(const fs::path& root) {
  ReadyItem item{.area = "GPU", .name = "driver"};
  if (const auto line = cpu::first_line(root / "proc/driver/nvidia/version")) {
    item.finding = driver_version_in(*line);
    return item;
  }
  item.state = ReadyState::missing;
  item.finding = "NVIDIA's kernel module is not loaded (no /proc/driver/nvidia/version)";
  item.remedy = "install NVIDIA's driver; in a container, start it with the GPUs (--gpus all)";
  return item;
}

/// Whether the kernel module keeps counters for root: "RmProfilingAdminOnly: 1".
ReadyItem permission_item(const fs::path& root) {
  ReadyItem item{.area = "GPU", .name = "counter permission"};
  std::string value;
  for (const std::string& line : cpu::lines_of(root / "proc/driver/nvidia/params")) {
    constexpr std::string_view key = "RmProfilingAdminOnly:";
    if (line.starts_with(key)) value = trimmed(std::string_view(line).substr(key.size()));
  }
  if (value.empty()) {
    item.state = ReadyState::limited;
    item.finding = "the driver does not say who may read counters (no RmProfilingAdminOnly)";
  } else if (value == "0") {
    item.finding = "everybody may read counters (RmProfilingAdminOnly 0)";
  } else if (::geteuid() == 0) {
    item.finding = "only root may read counters (RmProfilingAdminOnly 1), and this is root";
  } else {
    item.state = ReadyState::missing;
    item.finding = "only root may read counters (RmProfilingAdminOnly 1); times need no permission";
    item.remedy = counter_permission_advice();
  }
  return item;
}

ReadyItem attached_item(const ReadinessSources& sources) {
  ReadyItem item{.area = "GPU", .name = "other profilers"};
  std::string found;
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    const std::string value = sources.environment ? sources.environment(name) : "";
    if (value.empty()) continue;
    found += fmt::format("{}{}={}", found.empty() ? "" : ", ", name, value);
    item.remedy += fmt::format("{}unset {}", item.remedy.empty() ? "" : "; ", name);
  }
  if (found.empty()) {
    item.finding = "none is loaded by the environment";
    return item;
  }
  item.state = ReadyState::limited;
  item.finding =
      fmt::format("{}: it is loaded into every CUDA program, and only one can profile", found);
  return item;
}

ReadyItem problem_item(std::string area, std::string name, const std::string& problem,
                       std::string fine) {
  ReadyItem item{.area = std::move(area), .name = std::move(name)};
  item.finding = problem.empty() ? std::move(fine) : problem;
  item.state = problem.empty() ? ReadyState::ready : ReadyState::missing;
  return item;
}

ReadyItem clock_item(const std::string& area, const GpuProbe& probe) {
  ReadyItem item{.area = area, .name = "clocks"};
  if (!probe.state_problem.empty()) {
    item.state = ReadyState::limited;
    item.finding = probe.state_problem + "; measurements cannot tell a slow clock";
    return item;
  }
  item.finding = fmt::format("{:.0f} MHz now", 1e-6 * probe.sm_hz);
  if (probe.most_sm_hz)
    item.finding += fmt::format(", at most {:.0f} MHz", 1e-6 * *probe.most_sm_hz);
  if (!probe.held_back_by.empty()) {
    item.state = ReadyState::limited;
    item.finding += fmt::format("; held back by: {}", probe.held_back_by);
    item.remedy =
        "wait until it is idle and cool, or ask who set it (nvidia-smi -q -d PERFORMANCE)";
  }
  return item;
}

ReadyItem persistence_item(const std::string& area, bool is_persistent) {
  ReadyItem item{.area = area, .name = "persistence"};
  item.finding = is_persistent
                     ? "the driver stays loaded between programs"
                     : "the driver unloads when nobody uses the GPU: programs start slowly";
  if (!is_persistent) {
    item.state = ReadyState::limited;
    item.remedy = "nvidia-smi -pm 1 (as root), or run nvidia-persistenced";
  }
  return item;
}

std::vector<ReadyItem> items_of(const DeviceInfo& device) {
  const std::string area = fmt::format("GPU {}", device.index);
  std::vector<ReadyItem> items = {
      {area, "device", ReadyState::ready,
       fmt::format("{}, compute capability {}.{}, {} SMs, {}", device.name, device.major,
                   device.minor, device.sm_count,
                   format_capacity(static_cast<double>(device.memory_bytes))),
       ""}};
  try {
    const GpuProbe probe = probe_gpu(device);
    items.push_back(clock_item(area, probe));
    if (probe.is_persistent) items.push_back(persistence_item(area, *probe.is_persistent));
    items.push_back(problem_item(area, "kernel times", probe.trace_problem,
                                 "each kernel is timed on the device"));
    items.push_back(
        problem_item(area, "counters", probe.counter_problem,
                     fmt::format("of {} ({})", probe.chip, metrics_of_chip(probe.chip).title)));
  } catch (const Error& error) {
    items.push_back({area, "use", ReadyState::missing, error.what(), ""});
  }
  return items;
}

}  // namespace

std::vector<ReadyItem> gpu_readiness(const ReadinessSources& sources) {
  std::vector<ReadyItem> items = {driver_item(sources.root)};
  const bool has_driver = items[0].state == ReadyState::ready;
  if (has_driver) items.push_back(permission_item(sources.root));
  items.push_back(attached_item(sources));
  try {
    for (const DeviceInfo& device : cuda_devices()) {
      for (ReadyItem& item : items_of(device)) items.push_back(std::move(item));
    }
  } catch (const Error& error) {
    items.push_back({"GPU", "devices", ReadyState::missing, error.what(), ""});
  }
  return items;
}

}  // namespace strata
