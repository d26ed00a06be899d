// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// What else runs on the machine while it is measured.
namespace strata::cpu {

/// Of some processors together, since the system started.
struct ProcessorTimes {
  double busy_s = 0;
  double idle_s = 0;
  double stolen_s = 0;  ///< a virtual machine wanted to run, and its host let another one
};
/// From the lines of /proc/stat; ticks of `ticks_per_s`.
ProcessorTimes processor_times(std::span<const std::string> stat_lines,
                               std::span<const int> processors, double ticks_per_s);

struct SystemLoad {
  ProcessorTimes times;
  double own_s = 0;            ///< CPU time of this process
  std::optional<double> load;  ///< mean number of running threads over the last minute
};
/// `root` is "/" but in tests.
SystemLoad system_load_now(const std::filesystem::path& root, std::span<const int> processors);

/// The share of the processors' time between two readings that other programs had, or that the host
/// of a virtual machine took; nothing where the system does not tell, or counted too little time.
std::optional<double> others_share(const SystemLoad& before, const SystemLoad& after);

/// What happened between two readings, in words for the notes and, where it spoils numbers, for the
/// warnings.
struct Disturbance {
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};
Disturbance disturbance_between(const SystemLoad& before, const SystemLoad& after);

}  // namespace strata::cpu
