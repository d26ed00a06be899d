// SPDX-License-Identifier: Apache-2.0
#include "cli/measured_sweep_study.hpp"

#include "cli/measure_flags.hpp"
#include "cli/output.hpp"
#include "strata/base/error.hpp"

#include <utility>

namespace strata {

const EmbeddedFile* shipped_roofline(std::string_view name) {
  for (const EmbeddedFile& file : embedded_roofline_results()) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

Machine machine_of_sweeps(const StudyRequest& request, const MeasuredSweeps& sweeps) {
  if (request.machine) return load_machine(*request.machine);
  if (const EmbeddedFile* file = shipped_roofline("machine")) {
    Machine machine = read_machine(file->text);
    if (machine.title.starts_with(sweeps.device)) return machine;
  }
  const ChosenDevice device = chosen_device(request.device);
  if (const auto machine = machine_at_hand_of(device, sweeps.device)) return *machine;
  fail(ErrorKind::usage,
       "whose roofs? no machine called '{}' ships or was measured here; give --on MACHINE, or run "
       "`strata machine measure`",
       sweeps.device);
}

MeasuredSweeps run_sweeps(const StudyRequest& request, std::vector<KernelSweep> sweeps,
                          const std::string& path, const InterruptWatch& interrupts) {
  const ChosenDevice device = chosen_device(request.device.value_or("cuda"));
  const auto progress = study_progress(request, "measuring");
  SweepProtocol protocol;
  protocol.sweeps = std::move(sweeps);
  protocol.counts = device.is_gpu;
  if (!protocol.counts) protocol.no_counters = "counters are read of NVIDIA GPUs only";
  return measure_sweeps(protocol,
                        {.open = [&](DType dtype) { return opened(device, {.dtype = dtype}); },
                         .on_point =
                             [&](const MeasuredSweeps& so_far, double share) {
                               write_output(path, to_json(so_far, request.command));
                               if (progress) progress(share);
                             },
                         .is_interrupted = [&] { return interrupts.was_asked(); }});
}

}  // namespace strata
