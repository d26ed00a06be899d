// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/gpu_rates.hpp"

#include "strata/base/text.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace strata {
namespace {

struct SmRate {
  int major, minor;
  DType dtype;
  ComputeUnit unit;
  double flop_per_clock;  // a multiply-add is two
};

constexpr ComputeUnit lanes = ComputeUnit::vector;
constexpr ComputeUnit matrix = ComputeUnit::matrix;

constexpr std::array sm_rates = {
    SmRate{7, 5, DType::fp64, lanes, 4},     SmRate{7, 5, DType::fp32, lanes, 128},
    SmRate{7, 5, DType::fp16, lanes, 256},   SmRate{8, 0, DType::fp64, lanes, 64},
    SmRate{8, 0, DType::fp32, lanes, 128},   SmRate{8, 0, DType::fp16, lanes, 512},
    SmRate{8, 0, DType::bf16, lanes, 256},   SmRate{8, 0, DType::fp64, matrix, 128},
    SmRate{8, 0, DType::tf32, matrix, 1024}, SmRate{8, 0, DType::fp16, matrix, 2048},
    SmRate{8, 0, DType::bf16, matrix, 2048}, SmRate{8, 0, DType::int8, matrix, 4096},
    SmRate{8, 6, DType::fp64, lanes, 4},     SmRate{8, 6, DType::fp32, lanes, 256},
    SmRate{8, 6, DType::fp16, lanes, 256},   SmRate{8, 6, DType::bf16, lanes, 256},
    SmRate{8, 9, DType::fp64, lanes, 4},     SmRate{8, 9, DType::fp32, lanes, 256},
    SmRate{8, 9, DType::fp16, lanes, 256},   SmRate{8, 9, DType::bf16, lanes, 256},
    SmRate{9, 0, DType::fp64, lanes, 128},   SmRate{9, 0, DType::fp32, lanes, 256},
    SmRate{9, 0, DType::fp16, lanes, 512},   SmRate{9, 0, DType::bf16, lanes, 512},
    SmRate{9, 0, DType::fp64, matrix, 256},  SmRate{9, 0, DType::tf32, matrix, 2048},
    SmRate{9, 0, DType::fp16, matrix, 4096}, SmRate{9, 0, DType::bf16, matrix, 4096},
    SmRate{9, 0, DType::fp8, matrix, 8192},  SmRate{9, 0, DType::int8, matrix, 8192},
};

/// A part of the driver's name, in lower case, and the machine. The first that matches counts, so
/// the longer names come first.
struct DeviceName {
  std::string_view part;
  std::string_view machine;
};
constexpr std::array device_names = {
    DeviceName{"gh200 480gb", "gh200"},
    DeviceName{"gh200", ""},     // another memory than the one with 96 GB
    DeviceName{"h200 nvl", ""},  // another power limit than the SXM part
    DeviceName{"h200", "h200"},
    DeviceName{"h20-3e", ""},  // another memory than the one with 96 GB
    DeviceName{"nvidia h20", "h20"},
    DeviceName{"h100 pcie", "h100-pcie"},
    DeviceName{"h100 80gb hbm3", "h100-sxm"},
    DeviceName{"a100-sxm4-40gb", "a100-40gb"},
    DeviceName{"a100-pcie-40gb", "a100-40gb"},
    DeviceName{"a100-sxm4-80gb", "a100-80gb"},
    DeviceName{"nvidia b200", "b200"},
    DeviceName{"nvidia b300", "b300"},
    DeviceName{"gb200", "gb200"},
    DeviceName{"gb300", "gb300"},
    DeviceName{"a10g", "a10g"},
    DeviceName{"l40s", "l40s"},
    DeviceName{"nvidia l4", "l4"},
    DeviceName{"rtx a6000", "rtx-a6000"},
    DeviceName{"rtx 6000 ada", "rtx-6000-ada"},
    DeviceName{"rtx pro 6000 blackwell server", "rtx-pro-6000-server"},
    DeviceName{"rtx pro 6000 blackwell workstation", "rtx-pro-6000-workstation"},
    DeviceName{"rtx 5090", "rtx-5090"},
    DeviceName{"rtx 4090", "rtx-4090"},
    DeviceName{"rtx 3090", "rtx-3090"},
    DeviceName{"rtx 2080 ti", "rtx-2080-ti"},
    DeviceName{"v100-sxm2", "v100"},
};

}  // namespace

std::optional<double> flop_per_clock_of_sm(int major, int minor, DType dtype, ComputeUnit unit) {
  for (const SmRate& rate : sm_rates) {
    if (rate.major == major && rate.minor == minor && rate.dtype == dtype && rate.unit == unit)
      return rate.flop_per_clock;
  }
  return std::nullopt;
}

const Machine* datasheet_of(std::string_view device_name) {
  const std::string name = lower_case(device_name);
  for (const DeviceName& known : device_names) {
    const std::size_t at = name.find(known.part);
    if (at == std::string::npos) continue;
    const std::size_t end = at + known.part.size();
    if (end < name.size() && name[end] >= 'a' && name[end] <= 'z') continue;  // "l4" in "l40"
    if (end < name.size() && name[end] >= '0' && name[end] <= '9') continue;
    for (const Machine& machine : shipped_machines()) {
      if (machine.name == known.machine) return &machine;
    }
    return nullptr;
  }
  return nullptr;
}

}  // namespace strata
