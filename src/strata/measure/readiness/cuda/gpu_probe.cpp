// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/readiness/gpu_probe.hpp"

#include "strata/base/error.hpp"
#include "strata/gpu/cuda/api.cuh"
#include "strata/gpu/cuda/nvml.hpp"
#include "strata/gpu/device_trace.hpp"
#include "strata/gpu/range_counters.hpp"
#include "strata/measure/ceilings/cuda/kernels.cuh"

#include <algorithm>

namespace strata {
namespace {

void run_a_kernel(const cuda::Stream& stream) {
  cuda::launch_empty(1, 32, 0, stream.get());
  stream.synchronize();
}

std::string trace_problem(const cuda::Stream& stream) {
  try {
    const auto trace = begin_device_trace();
    trace->begin_part(0);
    run_a_kernel(stream);
    const DeviceActivity activity = trace->end();
    const bool is_seen =
        std::any_of(activity.records.begin(), activity.records.end(), [](const auto& record) {
          return record.work == DeviceWork::kernel && record.part == std::size_t{0};
        });
    return is_seen ? "" : "recording is on, but a kernel that ran was not recorded";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string counter_problem(int device, const cuda::Stream& stream, std::string& chip) {
  try {
    const auto counters = open_range_counters(device);
    chip = counters->chip();
    const CounterTable table = counters->count(counters->plan("roofline"), [&](RangeMarks& marks) {
      marks.push("probe");
      run_a_kernel(stream);
      marks.pop();
    });
    return table.columns.empty() ? "CUPTI knows none of the counters of this chip" : "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

GpuProbe probe_gpu(const DeviceInfo& device) {
  GpuProbe probe;
  if (const auto nvml = cuda::Nvml::open(device.pci_bus_id, probe.state_problem)) {
    if (const auto state = nvml->state()) {
      probe.sm_hz = state->sm_hz;
      probe.held_back_by = cuda::reasons_text(state->reasons);
    } else {
      probe.state_problem = "NVML does not tell the clocks";
    }
    probe.most_sm_hz = nvml->most_sm_hz();
    probe.is_persistent = nvml->is_persistent();
  }
  STRATA_CUDA_CALL(cudaSetDevice(device.index));
  STRATA_CUDA_CALL(cudaFree(nullptr));  // makes the context
  const cuda::Stream stream;
  probe.trace_problem = trace_problem(stream);
  probe.counter_problem = counter_problem(device.index, stream, probe.chip);
  return probe;
}

}  // namespace strata
