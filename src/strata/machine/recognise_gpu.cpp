// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/recognise_gpu.hpp"

#include "strata/base/text.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace strata {
namespace {

struct DriverName {
  std::string_view name;  ///< without "NVIDIA ", which older drivers leave out
  std::string_view machine;
};

/// Names as drivers give them, each as a whole. A board that was sold with two sizes of memory
/// stands here twice. Variants without a machine file (H100 NVL, A100 80GB PCIe) are not here.
constexpr DriverName driver_names[] = {
    {"A100-PG509-200", "a100-40gb"},  // boards of large buyers, with either memory
    {"A100-PG509-200", "a100-80gb"},
    {"A100-SXM4-40GB", "a100-40gb"},
    {"A100-SXM-40GB", "a100-40gb"},
    {"A100-PCIE-40GB", "a100-40gb"},
    {"A100-SXM4-80GB", "a100-80gb"},
    {"A100-SXM-80GB", "a100-80gb"},
    {"H100 80GB HBM3", "h100-sxm"},
    {"H100 SXM5 80GB", "h100-sxm"},
    {"H100 PCIe", "h100-pcie"},
    {"H200", "h200"},
    {"H20", "h20"},
    {"GH200 480GB", "gh200"},
    {"B200", "b200"},
    {"B300 SXM6 AC", "b300"},
    {"GB200", "gb200"},
    {"GB300", "gb300"},
    {"A10G", "a10g"},
    {"L4", "l4"},
    {"L40S", "l40s"},
    {"Tesla T4", "t4"},
    {"T4", "t4"},
    {"Tesla V100-SXM2-16GB", "v100"},
    {"Tesla P100-PCIE-16GB", "p100"},
    {"Tesla P40", "p40"},
    {"Tesla K80", "k80"},
    {"Tesla K40c", "k40c"},
    {"GeForce GTX 1080 Ti", "gtx-1080-ti"},
    {"GeForce RTX 2080 Ti", "rtx-2080-ti"},
    {"GeForce RTX 3090", "rtx-3090"},
    {"GeForce RTX 4090", "rtx-4090"},
    {"GeForce RTX 5090", "rtx-5090"},
    {"RTX A6000", "rtx-a6000"},
    {"RTX 6000 Ada Generation", "rtx-6000-ada"},
    {"RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"},
    {"RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-workstation"},
    {"AMD Instinct MI250X", "mi250x"},
    {"AMD Instinct MI300X", "mi300x"},
    {"AMD Instinct MI325X", "mi325x"},
    {"AMD Instinct MI355X", "mi355x"},
    {"AMD Radeon RX 6900 XT", "radeon-6900-xt"}};

/// Drivers keep some memory for themselves, and error correction takes more.
constexpr double least_of_memory = 0.88;
constexpr double most_of_memory = 1.03;

bool has_memory(const Machine& machine, std::int64_t bytes) {
  const MemoryLevel* const outermost = off_chip(machine);
  if (bytes <= 0 || outermost == nullptr) return true;
  const double share = static_cast<double>(bytes) / outermost->capacity_bytes.value;
  return share >= least_of_memory && share <= most_of_memory;
}

bool has_units(const Machine& machine, std::int64_t multiprocessors) {
  if (multiprocessors <= 0 || !machine.units) return true;
  return std::llround(machine.units->count.value) == multiprocessors;
}

std::string facts_text(const GpuFacts& gpu) {
  std::string text = fmt::format("'{}'", gpu.name);
  std::string numbers;
  if (gpu.multiprocessors > 0) numbers = fmt::format("{} multiprocessors", gpu.multiprocessors);
  if (gpu.memory_bytes > 0)
    numbers +=
        (numbers.empty() ? "" : ", ") + format_capacity(static_cast<double>(gpu.memory_bytes));
  return numbers.empty() ? text : fmt::format("{} ({})", text, numbers);
}

std::vector<const Machine*> machines_of_name(std::string_view name) {
  constexpr std::string_view vendor = "nvidia ";
  std::string lower = lower_case(trimmed(name));
  if (lower.starts_with(vendor)) lower.erase(0, vendor.size());
  std::vector<const Machine*> machines;
  for (const DriverName& rule : driver_names) {
    if (lower_case(rule.name) != lower) continue;
    for (const Machine& machine : shipped_machines())
      if (machine.name == rule.machine) machines.push_back(&machine);
  }
  return machines;
}

std::string names_of(const std::vector<const Machine*>& machines) {
  std::string names;
  for (const Machine* machine : machines) names += (names.empty() ? "" : " or ") + machine->name;
  return names;
}

}  // namespace

RecognisedGpu recognise_gpu(const GpuFacts& gpu) {
  if (trimmed(gpu.name).empty())
    return {.machine = nullptr, .missing = "the recording does not name its GPU"};
  const std::vector<const Machine*> named = machines_of_name(gpu.name);
  if (named.empty())
    return {.missing =
                fmt::format("no machine that ships is the recording's GPU, {}", facts_text(gpu))};
  std::vector<const Machine*> fitting;
  std::copy_if(
      named.begin(), named.end(), std::back_inserter(fitting), [&](const Machine* machine) {
        return has_memory(*machine, gpu.memory_bytes) && has_units(*machine, gpu.multiprocessors);
      });
  if (fitting.size() == 1) return {.machine = fitting.front()};
  if (fitting.empty())
    return {.missing = fmt::format(
                "the recording's GPU, {}, has the name of {}, but not its memory and processors",
                facts_text(gpu), names_of(named))};
  return {.missing = fmt::format("the recording's GPU, {}, may be {}: its memory is not recorded",
                                 facts_text(gpu), names_of(fitting))};
}

}  // namespace strata
