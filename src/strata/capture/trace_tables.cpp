// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/trace_tables.hpp"

#include "strata/capture/trace_builder.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

namespace strata {
namespace {

template <class Rows>
void longest_first(Rows& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.time.total_ns > b.time.total_ns; });
}

StepTimes step_times(const FoundSteps& steps) {
  std::vector<std::int64_t> lengths;
  for (const TimeSpan& span : steps.spans) {
    if (span.length_ns() > 0) lengths.push_back(span.length_ns());
  }
  StepTimes times{.count = lengths.size(), .how = steps.how};
  if (lengths.empty()) return times;
  std::sort(lengths.begin(), lengths.end());
  times.least_ns = lengths.front();
  times.median_ns = steps.spans[median_step(steps)].length_ns();
  times.most_ns = lengths.back();
  return times;
}

}  // namespace

void Durations::add(std::int64_t length_ns) {
  least_ns = calls == 0 ? length_ns : std::min(least_ns, length_ns);
  most_ns = std::max(most_ns, length_ns);
  total_ns += length_ns;
  ++calls;
}

void Durations::add(const RecordedSum& sum) {
  if (sum.calls <= 0) return;
  least_ns = calls == 0 ? sum.least_ns : std::min(least_ns, sum.least_ns);
  most_ns = std::max(most_ns, sum.most_ns);
  total_ns += sum.total_ns;
  calls += sum.calls;
}

std::string pass_of(const KernelOrigin& origin, const KernelClass& kernel_class) {
  const bool says_backward = kernel_class.pass.starts_with("backward");
  switch (origin.pass) {
    case WorkPass::forward: return "forward";
    case WorkPass::backward: return says_backward ? kernel_class.pass : "backward";
    case WorkPass::update: return "update";
    case WorkPass::unknown: break;
  }
  if (kernel_class.name == "optimizer") return "update";
  return kernel_class.pass.empty() ? "forward" : kernel_class.pass;
}

std::vector<KernelClass> classes_of_names(const Recording& recording) {
  std::vector<KernelClass> classes(recording.names.size());
  std::vector<bool> is_known(recording.names.size(), false);
  for (const KernelRecord& kernel : recording.kernels) {
    if (is_known[kernel.name]) continue;
    is_known[kernel.name] = true;
    classes[kernel.name] = class_of_kernel(recording.names.text(kernel.name));
  }
  return classes;
}

void add_kernel_rows(const TraceInput& input, TraceTables& tables) {
  const Recording& recording = input.recording;
  std::unordered_map<NameId, std::size_t> row_of_name;
  std::map<std::pair<std::string, std::string>, Durations> by_class;
  for (const KernelRecord& kernel : recording.kernels) {
    const auto [at, is_new] = row_of_name.emplace(kernel.name, tables.by_kernel.size());
    if (is_new) {
      KernelRow row;
      row.name = recording.names.text(kernel.name);
      row.kernel_class = input.class_of_name[kernel.name];
      row.longest = kernel;
      tables.by_kernel.push_back(std::move(row));
    }
    KernelRow& row = tables.by_kernel[at->second];
    const std::int64_t length = kernel.time.length_ns();
    if (length > row.longest.time.length_ns()) row.longest = kernel;
    row.time.add(length);
    tables.kernels.add(length);
    by_class[{row.kernel_class.name, row.kernel_class.algorithm}].add(length);
    const RecordedDevice* device = device_of(recording.process, kernel.device);
    const std::optional<std::int64_t> blocks = launched_count(kernel.grid);
    if (device != nullptr && blocks && *blocks < device->multiprocessors) {
      ++row.few_blocks_calls;
      row.few_blocks_ns += length;
    }
  }
  for (const RecordedSum& sum : recording.sums) {
    if (sum.kind != SumKind::kernel) continue;
    const auto [at, is_new] = row_of_name.emplace(sum.name, tables.by_kernel.size());
    if (is_new) {
      KernelRow row;
      row.name = recording.names.text(sum.name);
      row.kernel_class = class_of_kernel(row.name);
      tables.by_kernel.push_back(std::move(row));
    }
    KernelRow& row = tables.by_kernel[at->second];
    row.time.add(sum);
    tables.kernels.add(sum);
    by_class[{row.kernel_class.name, row.kernel_class.algorithm}].add(sum);
  }
  for (KernelRow& row : tables.by_kernel) {
    if (const RecordedDevice* device = device_of(recording.process, row.longest.device))
      row.occupancy = occupancy_of(row.longest, *device);
  }
  for (const auto& [key, time] : by_class) tables.by_class.push_back({key.first, key.second, time});
  longest_first(tables.by_kernel);
  longest_first(tables.by_class);
}

void add_layer_rows(const TraceInput& input, TraceTables& tables) {
  struct Layer {
    Durations time;
    std::map<std::string, std::int64_t> class_ns;
  };
  std::map<std::pair<NameId, std::string>, Layer> layers;
  for (std::size_t i = 0; i < input.recording.kernels.size(); ++i) {
    const KernelRecord& kernel = input.recording.kernels[i];
    const KernelOrigin& origin = input.origins.of_kernel[i];
    const KernelClass& kernel_class = input.class_of_name[kernel.name];
    if (origin.call != no_index) tables.launched_ns += kernel.time.length_ns();
    Layer& layer = layers[{origin.layer, pass_of(origin, kernel_class)}];
    layer.time.add(kernel.time.length_ns());
    layer.class_ns[kernel_class.name] += kernel.time.length_ns();
  }
  for (const auto& [key, layer] : layers) {
    const auto most =
        std::max_element(layer.class_ns.begin(), layer.class_ns.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    tables.by_layer.push_back(
        {std::string(input.origins.layers.text(key.first)), key.second, most->first, layer.time});
  }
  longest_first(tables.by_layer);
}

void add_api_rows(const TraceInput& input, TraceTables& tables) {
  std::map<std::pair<NameId, ApiKind>, Durations> calls;
  for (const ApiRecord& call : input.recording.calls)
    calls[{call.name, call.kind}].add(call.time.length_ns());
  for (const RecordedSum& sum : input.recording.sums) {
    if (sum.kind != SumKind::call) continue;
    const bool is_runtime = input.recording.names.text(sum.name).starts_with("cuda");
    calls[{sum.name, is_runtime ? ApiKind::runtime : ApiKind::driver}].add(sum);
  }
  for (const auto& [key, time] : calls)
    tables.by_api.push_back({std::string(input.recording.names.text(key.first)), key.second, time});
  longest_first(tables.by_api);
}

namespace {

void add_metric_rows(const Recording& recording, TraceTables& tables) {
  std::map<std::pair<NameId, NameId>, std::size_t> row_of;
  for (const RecordedMetric& metric : recording.metrics) {
    const auto [at, is_new] =
        row_of.emplace(std::pair(metric.kernel, metric.name), tables.by_metric.size());
    if (is_new) {
      tables.by_metric.push_back({.kernel = std::string(recording.names.text(metric.kernel)),
                                  .metric = std::string(recording.names.text(metric.name)),
                                  .unit = std::string(recording.names.text(metric.unit)),
                                  .launches = 0,
                                  .least = metric.least,
                                  .most = metric.most,
                                  .mean = 0});
    }
    MetricRow& row = tables.by_metric[at->second];
    const auto before = static_cast<double>(row.launches);
    const auto more = static_cast<double>(metric.launches);
    row.least = std::min(row.least, metric.least);
    row.most = std::max(row.most, metric.most);
    if (before + more > 0) row.mean += (metric.mean - row.mean) * (more / (before + more));
    row.launches += metric.launches;
  }
}

/// What a summary has of memsets.
void add_fill_sums(const Recording& recording, TraceTables& tables) {
  for (const RecordedSum& sum : recording.sums) {
    if (sum.kind != SumKind::fill) continue;
    tables.fills += sum.calls;
    tables.fills_ns += sum.total_ns;
  }
}

}  // namespace

TraceTables make_trace_tables(const Recording& recording) {
  const LaunchCalls calls(recording);
  const KernelOrigins origins = origins_of_kernels(recording, calls);
  const TraceInput input{recording, calls, origins, classes_of_names(recording)};
  TraceTables tables;
  tables.process = recording.process;
  tables.span = device_span(recording);
  tables.lost_records = recording.lost_records;
  tables.notes = recording.notes;
  for (const FillRecord& fill : recording.fills) tables.fills_ns += fill.time.length_ns();
  tables.fills = static_cast<std::int64_t>(recording.fills.size());
  for (const OverheadRecord& overhead : recording.overheads)
    tables.overhead_ns += overhead.time.length_ns();
  add_fill_sums(recording, tables);
  add_metric_rows(recording, tables);
  add_kernel_rows(input, tables);
  add_kernel_counters(input, tables);
  add_layer_rows(input, tables);
  add_api_rows(input, tables);
  add_copy_rows(input, tables);
  add_memory_rows(input, tables);
  add_collective_rows(input, tables);
  add_device_rows(input, tables);
  longest_first(tables.by_copy);
  longest_first(tables.by_collective);
  if (recording.process.has_times) {
    const FoundSteps steps = find_steps(recording, origins);
    tables.steps = step_times(steps);
    tables.recording_cost = recording_cost(recording, steps);
  }
  return tables;
}

}  // namespace strata
