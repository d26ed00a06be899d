// SPDX-License-Identifier: Apache-2.0
#include "strata/report/trace_report.hpp"

#include "strata/base/printable.hpp"
#include "strata/capture/model_profile.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/explain/trace_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace strata {

namespace {

TraceNetwork trace_network(const BoundGraph& bound, ModelProfile& made) {
  TraceNetwork network{.name = made.profile.subject.network,
                       .title = made.profile.subject.title,
                       .dtype = made.profile.subject.dtype,
                       .dims = {},
                       .is_inference = made.is_inference,
                       .is_forward_only = made.is_forward_only,
                       .match = std::move(made.match)};
  for (const Parameter& parameter : bound.graph->symbols.parameters()) {
    const auto value = bound.binding.find(parameter.name);
    if (value != bound.binding.end()) network.dims.push_back({parameter.name, value->second});
  }
  return network;
}

/// A page that shows more would not open.
constexpr std::size_t most_step_kernels = 20'000;

std::vector<StepKernel> step_kernels(const Recording& recording,
                                     const std::vector<RowKernel>& kernels) {
  std::vector<StepKernel> made;
  if (!recording.process.has_times || kernels.size() > most_step_kernels) return made;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (const RowKernel& one : kernels)
    first_ns = std::min(first_ns, recording.kernels[one.kernel].time.start_ns);
  for (const RowKernel& one : kernels) {
    const KernelRecord& launch = recording.kernels[one.kernel];
    const RecordedDevice* device = device_of(recording.process, launch.device);
    made.push_back({.name = printable(recording.names.text(launch.name)),
                    .row = one.row,
                    .begin_ns = launch.time.start_ns - first_ns,
                    .launch = launch,
                    .occupancy = device == nullptr ? std::nullopt : occupancy_of(launch, *device)});
  }
  return made;
}

}  // namespace

RecognisedGpu machine_of_recording(const Recording& recording) {
  std::set<std::uint32_t> devices;
  for (const KernelRecord& kernel : recording.kernels) devices.insert(kernel.device);
  RecognisedGpu first;
  for (const std::uint32_t id : devices) {
    const RecordedDevice* const device = device_of(recording.process, id);
    RecognisedGpu found = recognise_gpu(
        device == nullptr ? GpuFacts{}
                          : GpuFacts{device->name, device->memory_bytes, device->multiprocessors});
    if (found.machine == nullptr) return found;
    if (first.machine != nullptr && first.machine != found.machine)
      return {.machine = nullptr, .missing = "the kernels ran on GPUs of different kinds"};
    first = found;
  }
  if (first.machine == nullptr) first.missing = "no kernel is recorded";
  return first;
}

std::string without_machine_text(std::string_view missing) {
  return fmt::format(
      "{}: nothing is held against peaks; name the machine with --on NAME (strata machine list) or "
      "--on FILE.json",
      missing);
}

TraceReport make_trace_report(std::string file, const Recording& recording, const Machine* machine,
                              const BoundGraph* network, const TrainingOptions& options) {
  TraceReport report;
  report.file = std::move(file);
  if (machine == nullptr) {
    RecognisedGpu found = machine_of_recording(recording);
    machine = found.machine;
    if (!recording.kernels.empty()) report.missing_machine = std::move(found.missing);
  }
  report.tables = make_trace_tables(recording);
  report.findings = find_in_trace(report.tables, machine);
  if (!recording.kernels.empty()) {
    if (network != nullptr) {
      ModelProfile made = model_profile_of(recording, *network, options);
      report.network = trace_network(*network, made);
      report.kernels = step_kernels(recording, made.kernels);
      report.profile = std::move(made.profile);
    } else {
      ProfileWithKernels made = profile_with_kernels(recording);
      report.kernels = step_kernels(recording, made.kernels);
      report.profile = std::move(made.profile);
    }
    if (machine != nullptr) report.profile->subject.machine = machine->name;
    if (report.profile->subject.network.empty()) report.profile->subject.network = report.file;
    if (report.profile->subject.title.empty())
      report.profile->subject.title = report.profile->subject.network;
  }
  if (machine != nullptr) report.machine = machine->title;
  for (const CopyRow& row : report.tables.by_copy) {
    report.copy_ceilings.push_back(machine == nullptr ? std::nullopt : copy_ceiling(row, *machine));
  }
  return report;
}

void add_slower_algorithms(TraceReport& report, std::span<const MeasuredAlternative> alternatives) {
  if (!report.profile) return;
  std::optional<ProfileFinding> found = find_slower_algorithms(*report.profile, alternatives);
  if (!found) return;
  // The profile is of one step, the other findings are of the recording.
  found->cost_s *= static_cast<double>(std::max<std::size_t>(1, report.tables.steps.count));
  double whole_s = 0;
  for (const DeviceRow& device : report.tables.devices)
    whole_s += 1e-9 * static_cast<double>(device.span_ns);
  found->is_of_recording = true;
  found->cost_share = whole_s > 0 ? found->cost_s / whole_s : 0;
  const auto place = std::find_if(
      report.findings.begin(), report.findings.end(), [&](const ProfileFinding& other) {
        return !kind_of(other.code).is_about_time || other.cost_s < found->cost_s;
      });
  report.findings.insert(place, std::move(*found));
}

}  // namespace strata
