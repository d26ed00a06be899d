// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/profiler_reasons.hpp"

#include <fmt/format.h>

namespace strata {

// Numbers of CUptiResult (cupti_result.h); they have never changed.
std::string_view profiler_advice(int status) {
  switch (status) {
    case 2: return "CUPTI does not know this device";
    case 8: return "there is not enough memory for the profiler";
    case 14:
      return "CUPTI and the driver do not fit; the driver must not be older than the toolkit";
    case 15: return "CUPTI does not start; is NVIDIA's driver loaded?";
    case 26:
      return "the counters are taken by another program; stop DCGM (dcgmi profile --pause) or the "
             "profiler that holds them";
    case 27: return "this device does not offer it";
    case 33: return "a virtual GPU whose host does not offer profiling";
    case 35: return counter_permission_advice();
    case 36: return "another part of the process uses CUPTI's old profiler";
    case 38: return "the old events of CUPTI are gone from this driver";
    case 39:
      return "another profiler is attached to this process (Nsight, a framework's profiler, "
             "cuda-gdb, compute-sanitizer); only one can be";
    case 40: return "the host of this virtual GPU does not let it read counters";
    case 41: return "confidential computing is on, and counters would leak";
    case 42: return "a mining processor; it has no counters for others";
    case 43: return "a part of a divided GPU (MIG) has no counters of its own";
    case 44: return "GPUs joined by SLI have no counters of their own";
    case 45: return "Windows' subsystem for Linux does not offer it";
    case 46: return "this CUPTI does not know the chip; a newer toolkit may";
    default: return {};
  }
}

std::string_view counter_permission_advice() {
  return "counters are for root only here; run as root, or let everybody read them: put 'options "
         "nvidia NVreg_RestrictProfilingToAdminUsers=0' into /etc/modprobe.d/nvidia.conf and "
         "restart (in a container: --cap-add SYS_ADMIN)";
}

std::string profiler_problem(std::string_view call, int status, std::string_view status_name) {
  const std::string_view advice = profiler_advice(status);
  if (advice.empty()) return fmt::format("{}: {} ({})", call, status_name, status);
  return fmt::format("{} ({}: {}, {})", advice, call, status_name, status);
}

}  // namespace strata
