// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// What this computer and this build let Strata measure, and for each thing that they do not, why
/// and what would change it.
namespace strata {
namespace cpu {
struct VectorUnit;
}

enum class ReadyState : std::uint8_t {
  ready,
  limited,  ///< works, with numbers that must be read with care
  missing,
};
std::string_view name_of(ReadyState state);

struct ReadyItem {
  std::string area;  ///< "build", "GPU 0", "CPU"
  std::string name;  ///< "counters"
  ReadyState state = ReadyState::ready;
  std::string finding;  ///< what was found, or why it is missing
  std::string remedy;   ///< what to do about it; empty: nothing, or nothing that helps
};

/// Where to look; tests look elsewhere.
struct ReadinessSources {
  std::filesystem::path root = "/";  ///< of /proc and /sys
  /// Value of an environment variable; empty: not set.
  std::function<std::string(const char* name)> environment;
  /// What a shell command prints; empty: it prints nothing, or cannot be run.
  std::function<std::string(const char* command)> output_of = {};
};
ReadinessSources this_computer();

/// Optional parts of this build, from lines "name<tab>yes|no<tab>what for<tab>what is lost
/// without".
std::vector<ReadyItem> build_readiness(std::string_view parts);
/// Whether the Python that a user calls finds the package, and how it comes there.
ReadyItem python_readiness(const ReadinessSources& sources);
/// Loops run several times as fast in the CPU's own vectors as in those that every CPU has.
ReadyItem vector_readiness(const cpu::VectorUnit& unit);
/// Clocks, governor, throttling, allowance, counters of the CPU.
std::vector<ReadyItem> cpu_readiness(const ReadinessSources& sources);
/// Driver, permission for counters, other profilers; then every GPU: clocks, kernel times, counters
/// by trying them.
std::vector<ReadyItem> gpu_readiness(const ReadinessSources& sources);

/// All of them.
std::vector<ReadyItem> readiness(const ReadinessSources& sources);

}  // namespace strata
