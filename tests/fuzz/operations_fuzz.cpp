// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recording of what PyTorch ran, from the file to its program, its kernels and its
// memory. Built by clang with STRATA_FUZZ=ON; run as operations_fuzz
// -dict=tests/fuzz/operations.dict FOUND tests/fuzz/corpus/operations
#include "strata/framework/framework.hpp"
#include "strata/framework/operations.hpp"
#include "strata/machine/calibration.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/operations/read_recording.hpp"
#include "strata/predict/expected/allocated_memory.hpp"
#include "strata/predict/expected/gpu_rates.hpp"
#include "strata/predict/expected/kernel_list.hpp"
#include "strata/training/program.hpp"
#include "tests/fuzz/any_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strata;
  const std::string_view text = fuzz::text_of(data, size);
  try {
    const Graph graph = recorded_graph(read_recording(text));
    const BoundGraph bound = bind_graph(graph, {});
    costs_of(bound);
    const Program program = make_program(bound, {.unroll_recurrent = false});
    if (!problems_of(program).empty()) __builtin_trap();
    const Framework& framework = framework_named("pytorch-eager");
    const FrameworkOperations operations =
        operations_of(program, framework, {}, Optimizer::momentum);
    static const GpuRates h200 = gpu_rates(load_machine("h200"));
    static const KernelTimes times(*find_calibration("h200", framework.name), h200, h200);
    allocated_memory_bytes(program, framework, {}, operations,
                           KernelList(operations, times).times_on(times));
  } catch (const Error& error) {
    if (!fuzz::is_the_files_fault(error)) throw;
  }
  return 0;
}
