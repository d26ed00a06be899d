// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/core_model.hpp"

#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace strata::cpu {
namespace {

constexpr std::string_view intel_source =
    "Intel 64 and IA-32 Architectures Optimization Reference Manual, execution ports";
constexpr std::string_view amd_source =
    "AMD Software Optimization Guides of families 17h, 19h and 1Ah, floating-point unit";
constexpr std::string_view arm_source = "Arm Neoverse Software Optimization Guides, pipelines";

struct KnownCore {
  std::string_view vendor;
  int family;
  int first_model;
  int last_model;
  FmaUnits units;
};

// Intel: two units of 256 bits; servers with AVX-512 join those two and have one more of 512, what
// is sold to desktops and laptops has not.
constexpr std::array known_cores = {
    KnownCore{"GenuineIntel", 6, 60, 60, {"Haswell", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 63, 63, {"Haswell", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 69, 70, {"Haswell", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 61, 61, {"Broadwell", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 71, 71, {"Broadwell", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 79, 79, {"Broadwell", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 86, 86, {"Broadwell", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 78, 78, {"Skylake", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 94, 94, {"Skylake", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 142, 142, {"Kaby Lake", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 158, 158, {"Kaby Lake", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 165, 166, {"Comet Lake", 2, 512, intel_source}},
    KnownCore{"GenuineIntel", 6, 85, 85, {"Skylake-SP", 2, 1024, intel_source}},
    KnownCore{"GenuineIntel", 6, 106, 106, {"Ice Lake-SP", 2, 1024, intel_source}},
    KnownCore{"GenuineIntel", 6, 108, 108, {"Ice Lake-SP", 2, 1024, intel_source}},
    KnownCore{"GenuineIntel", 6, 143, 143, {"Sapphire Rapids", 2, 1024, intel_source}},
    KnownCore{"GenuineIntel", 6, 207, 207, {"Emerald Rapids", 2, 1024, intel_source}},
    KnownCore{"GenuineIntel", 6, 173, 174, {"Granite Rapids", 2, 1024, intel_source}},
    KnownCore{"AuthenticAMD", 0x17, 0x00, 0x2f, {"Zen", 2, 256, amd_source}},
    KnownCore{"AuthenticAMD", 0x17, 0x30, 0xff, {"Zen 2", 2, 512, amd_source}},
    KnownCore{"AuthenticAMD", 0x19, 0x00, 0x0f, {"Zen 3", 2, 512, amd_source}},
    KnownCore{"AuthenticAMD", 0x19, 0x10, 0x1f, {"Zen 4", 2, 512, amd_source}},
    KnownCore{"AuthenticAMD", 0x19, 0x20, 0x5f, {"Zen 3", 2, 512, amd_source}},
    KnownCore{"AuthenticAMD", 0x19, 0x60, 0xaf, {"Zen 4", 2, 512, amd_source}},
    KnownCore{"AuthenticAMD", 0x1a, 0x00, 0x1f, {"Zen 5", 2, 1024, amd_source}},
    KnownCore{"AuthenticAMD", 0x1a, 0x40, 0x4f, {"Zen 5", 2, 1024, amd_source}},
    KnownCore{"Arm", -1, 0xd0c, 0xd0c, {"Neoverse N1", 2, 256, arm_source}},
    KnownCore{"Arm", -1, 0xd49, 0xd49, {"Neoverse N2", 2, 256, arm_source}},
    KnownCore{"Arm", -1, 0xd40, 0xd40, {"Neoverse V1", 4, 512, arm_source}},
    KnownCore{"Arm", -1, 0xd4f, 0xd4f, {"Neoverse V2", 4, 512, arm_source}},
};

const KnownCore* find_known(const CoreModel& core) {
  for (const KnownCore& known : known_cores) {
    if (known.vendor == core.vendor && known.family == core.family &&
        core.model >= known.first_model && core.model <= known.last_model)
      return &known;
  }
  return nullptr;
}

std::int64_t number_of(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

}  // namespace

CoreModel core_model_from(std::span<const std::string> cpuinfo_lines) {
  CoreModel core;
  for (const std::string& line : cpuinfo_lines) {
    if (trimmed(line).empty()) break;  // the first processor is enough
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = trimmed(std::string_view(line).substr(0, colon));
    const std::string_view value = trimmed(std::string_view(line).substr(colon + 1));
    if (key == "model name") core.name = value;
    if (key == "vendor_id") core.vendor = value;
    if (key == "cpu family") core.family = number_of(value);
    if (key == "model" || key == "CPU part") core.model = number_of(value);
    if (key == "CPU implementer") core.vendor = number_of(value) == 0x41 ? "Arm" : value;
  }
  if (core.name.empty()) {
    const KnownCore* known = find_known(core);
    if (known != nullptr) core.name = fmt::format("Arm {}", known->units.architecture);
  }
  if (core.name.empty()) core.name = "unknown CPU";
  return core;
}

std::optional<FmaUnits> fma_units_of(const CoreModel& core) {
  const KnownCore* known = find_known(core);
  if (known == nullptr) return std::nullopt;
  FmaUnits units = known->units;
  // Of the first two generations the smaller Xeons lack the second unit of 512 bits.
  const bool is_small = core.name.find("Silver") != std::string::npos ||
                        core.name.find("Bronze") != std::string::npos;
  if (units.architecture == "Skylake-SP" && is_small) units.most_bits = 512;
  return units;
}

}  // namespace strata::cpu
