// SPDX-License-Identifier: Apache-2.0
#include "strata/report/explain_report.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/trace_report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

using TraceDocument = nlohmann::ordered_json;

constexpr int trace_schema_version = 1;

double in_seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

template <class Number>
TraceDocument maybe_number(const std::optional<Number>& number) {
  return number ? TraceDocument(*number) : TraceDocument();
}

TraceDocument known_count(std::uint32_t count) {
  return count == unknown_count ? TraceDocument() : TraceDocument(count);
}

void add_times(TraceDocument& json, const Durations& time) {
  json["calls"] = time.calls;
  json["time_s"] = in_seconds(time.total_ns);
  json["mean_s"] = 1e-9 * time.mean_ns();
  json["min_s"] = in_seconds(time.least_ns);
  json["max_s"] = in_seconds(time.most_ns);
}

TraceDocument kernel_json(const KernelRow& row) {
  const KernelRecord& launch = row.longest;
  TraceDocument json = {{"name", row.name},
                        {"class", row.kernel_class.name},
                        {"algorithm", row.kernel_class.algorithm},
                        {"pass", row.kernel_class.pass}};
  add_times(json, row.time);
  json["grid"] = launch.grid;
  json["block"] = launch.block;
  json["registers"] = known_count(launch.registers);
  json["static_shared_bytes"] = known_count(launch.static_shared_bytes);
  json["dynamic_shared_bytes"] = known_count(launch.dynamic_shared_bytes);
  json["occupancy"] = row.occupancy ? TraceDocument(row.occupancy->share) : TraceDocument();
  json["occupancy_limit"] = name_of(row.occupancy.value_or(Occupancy{}).limit);
  json["load_efficiency"] = maybe_number(row.counters.load_efficiency);
  json["shared_efficiency"] = maybe_number(row.counters.shared_efficiency);
  json["warp_efficiency"] = maybe_number(row.counters.warp_efficiency);
  return json;
}

TraceDocument metric_json(const MetricRow& row) {
  return {{"kernel", row.kernel},     {"metric", row.metric}, {"unit", row.unit},
          {"launches", row.launches}, {"mean", row.mean},     {"min", row.least},
          {"max", row.most}};
}

TraceDocument class_json(const ClassRow& row) {
  TraceDocument json = {{"class", row.name}, {"algorithm", row.algorithm}};
  add_times(json, row.time);
  return json;
}

TraceDocument range_json(const LayerRow& row) {
  TraceDocument json = {{"layer", row.layer}, {"pass", row.pass}, {"class", row.kernel_class}};
  add_times(json, row.time);
  return json;
}

TraceDocument call_json(const ApiRow& row) {
  TraceDocument json = {{"name", row.name},
                        {"kind", row.kind == ApiKind::driver ? "driver" : "runtime"}};
  add_times(json, row.time);
  return json;
}

TraceDocument copy_json(const CopyRow& row, const std::optional<double>& ceiling) {
  TraceDocument json = {{"kind", name_of(row.kind)},
                        {"source", name_of(row.source)},
                        {"destination", name_of(row.destination)}};
  add_times(json, row.time);
  json["bytes"] = row.bytes;
  json["bytes_per_s"] = row.bytes_per_s();
  json["link_bytes_per_s"] = maybe_number(ceiling);
  json["under_kernels_s"] = in_seconds(row.under_kernels_ns);
  json["calls_by_size"] = row.by_size;
  json["small_calls"] = row.small_calls;
  return json;
}

TraceDocument collective_json(const CollectiveRow& row) {
  TraceDocument json = {{"name", row.name}};
  add_times(json, row.time);
  json["exposed_s"] = in_seconds(row.exposed_ns);
  json["calls_with_bytes"] = row.known_calls;
  json["bytes"] = row.known_calls > 0 ? TraceDocument(row.bytes) : TraceDocument();
  json["bytes_per_s"] = row.known_ns > 0 ? TraceDocument(row.bytes_per_s()) : TraceDocument();
  return json;
}

TraceDocument memory_row_json(const MemoryRow& row) {
  return {{"device", maybe_number(row.device)},
          {"is_framework", row.is_framework},
          {"peak_bytes", row.peak_bytes},
          {"allocations", row.allocations},
          {"frees", row.frees},
          {"allocated_bytes", row.allocated_bytes}};
}

TraceDocument device_json(const DeviceRow& row) {
  TraceDocument idle = TraceDocument::object();
  for (std::size_t i = 0; i < idle_causes; ++i)
    idle[std::string(name_of(static_cast<IdleCause>(i)))] = in_seconds(row.idle_ns[i]);
  return {{"device", row.device == unknown_device ? TraceDocument() : TraceDocument(row.device)},
          {"name", row.name},
          {"kernels", row.kernels},
          {"span_s", in_seconds(row.span_ns)},
          {"kernel_time_s", in_seconds(row.kernel_sum_ns)},
          {"kernel_busy_s", in_seconds(row.kernel_busy_ns)},
          {"concurrent_s", in_seconds(row.concurrent_ns)},
          {"most_at_once", row.most_at_once},
          {"copy_busy_s", in_seconds(row.copy_busy_ns)},
          {"copies_at_once_s", in_seconds(row.copies_at_once_ns)},
          {"copy_exposed_s", in_seconds(row.copy_exposed_ns)},
          {"collective_busy_s", in_seconds(row.collective_busy_ns)},
          {"collective_exposed_s", in_seconds(row.collective_exposed_ns)},
          {"gaps", row.gaps},
          {"longest_gap_s", in_seconds(row.longest_gap_ns)},
          {"idle_s", std::move(idle)}};
}

template <class Rows, class ToJson>
TraceDocument list_of(const Rows& rows, const ToJson& to_item) {
  TraceDocument list = TraceDocument::array();
  for (const auto& row : rows) list.push_back(to_item(row));
  return list;
}

TraceDocument network_json(const TraceNetwork& network) {
  TraceDocument dims = TraceDocument::object();
  for (const Dimension& dimension : network.dims) dims[dimension.name] = dimension.value;
  const LayerMatch& match = network.match;
  return {{"name", network.name},
          {"title", network.title},
          {"dtype", network.dtype},
          {"mode", network.is_inference ? "inference" : "training"},
          {"dims", std::move(dims)},
          {"calls", match.calls},
          {"calls_by_parameter", match.by_parameter},
          {"calls_by_name", match.by_name},
          {"calls_by_order", match.by_order},
          {"no_order_reason", match.reason},
          {"operators", match.operators},
          {"operators_matched", match.by_operator},
          {"operator_sizes_agree", match.has_operator_sizes},
          {"no_operator_reason", match.operator_reason},
          {"layers_by_kernel_order", match.by_kernel},
          {"kernels", match.kernels},
          {"kernels_matched", match.matched_kernels},
          {"kernels_between_calls", match.between_calls},
          {"kernels_of_collectives", match.collectives},
          {"time_of_collectives_s", in_seconds(match.collectives_ns)},
          {"time_s", in_seconds(match.time_ns)},
          {"time_matched_s", in_seconds(match.matched_ns)},
          {"layers", match.nodes},
          {"layers_without_kernel", match.nodes_without_kernel},
          {"unmatched", list_of(match.unmatched, [](const UnmatchedWork& work) {
             return TraceDocument{{"layer", work.layer},
                                  {"pass", work.pass},
                                  {"kernels", work.kernels},
                                  {"time_s", in_seconds(work.time_ns)}};
           })}};
}

TraceDocument interval_json(const TimeInterval& interval) {
  return {
      {"least_s", interval.least_s}, {"likely_s", interval.likely_s}, {"most_s", interval.most_s}};
}

TraceDocument recording_cost_json(const std::optional<RecordingCost>& cost) {
  if (!cost) return {};
  return {
      {"launches", cost->launches},
      {"calls", cost->calls},
      {"per_launch", interval_json(cost->per_launch)},
      {"in_all", interval_json(cost->in_all)},
      {"step_s", maybe_number(cost->step_s)},
      {"step_without", cost->step_without ? interval_json(*cost->step_without) : TraceDocument()},
      {"source", cost->source}};
}

TraceDocument process_json(const TraceReport& report) {
  const TraceTables& tables = report.tables;
  const ProcessInfo& process = tables.process;
  TraceDocument copies = TraceDocument::array();
  for (std::size_t i = 0; i < tables.by_copy.size(); ++i)
    copies.push_back(copy_json(tables.by_copy[i], report.copy_ceilings[i]));
  TraceDocument json = {
      {"file", report.file},
      {"source_format", process.source_format},
      {"pid", process.pid},
      {"rank", process.rank < 0 ? TraceDocument() : TraceDocument(process.rank)},
      {"host", process.host},
      {"command", process.command},
      {"date", process.date},
      {"ending", process.ending},
      {"span_s", in_seconds(tables.span.length_ns())},
      {"launches", tables.kernels.calls},
      {"kernel_time_s", in_seconds(tables.kernels.total_ns)},
      {"launched_time_s", in_seconds(tables.launched_ns)},
      {"lost_records", tables.lost_records},
      {"overhead_s", in_seconds(tables.overhead_ns)},
      {"recording_cost", recording_cost_json(tables.recording_cost)},
      {"steps",
       {{"count", tables.steps.count},
        {"how", tables.steps.how},
        {"min_s", in_seconds(tables.steps.least_ns)},
        {"median_s", in_seconds(tables.steps.median_ns)},
        {"max_s", in_seconds(tables.steps.most_ns)}}},
      {"devices", list_of(tables.devices, device_json)},
      {"kernels", list_of(tables.by_kernel, kernel_json)},
      {"classes", list_of(tables.by_class, class_json)},
      {"ranges", list_of(tables.by_layer, range_json)},
      {"calls", list_of(tables.by_api, call_json)},
      {"copies", std::move(copies)},
      {"collectives", list_of(tables.by_collective, collective_json)},
      {"memory", list_of(tables.memory, memory_row_json)},
      {"network", report.network ? network_json(*report.network) : TraceDocument()},
      {"findings", list_of(report.findings, finding_json)},
      {"notes", tables.notes}};
  if (!tables.by_metric.empty()) json["metrics"] = list_of(tables.by_metric, metric_json);
  return json;
}

/// The one time of the profile. The time in which kernels ran is busy_time_s − overlap_time_s.
TraceDocument recorded_totals_json(const Profile& profile) {
  const IterationTime iteration = iteration_of(profile);
  const Totals total = total_of(profile);
  const auto& recorded = profile.recorded;
  return {{"time_s", iteration.time_s},
          {"time_from", name_of(iteration.from)},
          {"busy_time_s", iteration.busy_s},
          {"overlap_time_s", iteration.overlap_s},
          {"gap_time_s", iteration.gaps_s},
          {"host_time_s", recorded ? maybe_number(recorded->host_s) : TraceDocument()},
          {"launches", total.launches}};
}

TraceDocument idle_json(const IdleShare& idle) {
  return {{"cause", idle.cause}, {"time_s", idle.time_s}};
}

TraceDocument layer_json(const ProfileRow& row, const ProfileColumns& columns) {
  TraceDocument json = {{"layer", row.layer},
                        {"pass", row.pass},
                        {"op", row.op},
                        {"block", row.block},
                        {"time_s", row.totals.time_s},
                        {"launches", row.totals.launches},
                        {"steps", row.totals.steps}};
  if (row.step_s) json["step_time_s"] = *row.step_s;
  if (!row.layer_class.empty()) json["class"] = row.layer_class;
  if (columns.has_flop) {
    json["flop"] = row.totals.flop;
    json["zero_flop_launches"] = row.totals.zero_flop_launches;
    json["zero_flop_time_s"] = row.totals.zero_flop_s;
    json["arithmetic"] = list_of(row.arithmetic, [](const TypedFlop& part) {
      return TraceDocument{{"dtype", name_of(part.dtype)},
                           {"unit", part.is_matrix ? "matrix" : "vector"},
                           {"flop", part.flop}};
    });
  }
  if (columns.has_bytes) {
    json["traffic_in_bytes"] = row.totals.in_bytes;
    json["traffic_out_bytes"] = row.totals.out_bytes;
  }
  return json;
}

TraceDocument step_kernel_json(const StepKernel& kernel, const Profile& profile) {
  const ProfileRow& row = profile.rows[kernel.row];
  const KernelRecord& launch = kernel.launch;
  TraceDocument json = {{"name", kernel.name},
                        {"layer", row.layer},
                        {"pass", row.pass},
                        {"begin_s", in_seconds(kernel.begin_ns)},
                        {"time_s", in_seconds(launch.time.length_ns())},
                        {"stream", launch.stream}};
  if (const auto blocks = launched_count(launch.grid)) json["blocks"] = *blocks;
  if (const auto threads = launched_count(launch.block)) json["threads_per_block"] = *threads;
  if (launch.registers != unknown_count) json["registers_per_thread"] = launch.registers;
  if (launch.static_shared_bytes != unknown_count && launch.dynamic_shared_bytes != unknown_count)
    json["shared_bytes_per_block"] =
        std::int64_t{launch.static_shared_bytes} + launch.dynamic_shared_bytes;
  if (kernel.occupancy) {
    json["possible_occupancy"] = kernel.occupancy->share;
    json["limited_by"] = name_of(kernel.occupancy->limit);
  }
  return json;
}

TraceDocument model_head(const TraceReport& report) {
  const ProfileSubject& subject = report.profile->subject;
  TraceDocument head = {
      {"name", subject.network}, {"title", subject.title}, {"dtype", subject.dtype}};
  if (!report.network) return head;
  for (const Dimension& dimension : report.network->dims)
    if (dimension.name == "batch") head["batch"] = dimension.value;
  head["mode"] = report.network->is_inference ? "inference" : "training";
  return head;
}

}  // namespace

std::string to_json(std::span<const TraceReport> reports, const Provenance& provenance) {
  const TraceReport* longest = nullptr;
  for (const TraceReport& report : reports) {
    const bool is_longer =
        longest == nullptr || report.tables.kernels.total_ns > longest->tables.kernels.total_ns;
    if (report.profile && is_longer) longest = &report;
  }
  JsonText text;
  text.add("schema_version", trace_schema_version);
  text.add("kind", "trace");
  text.add("evidence", "measured");
  if (longest != nullptr) {
    const Profile& profile = *longest->profile;
    text.add("model", model_head(*longest));
    text.add("machine", {{"name", profile.subject.machine},
                         {"title", profile.subject.machine_title},
                         {"missing", longest->missing_machine}});
    text.add("totals", recorded_totals_json(profile));
    text.add_list("idle", profile.recorded ? profile.recorded->idle : std::vector<IdleShare>{},
                  idle_json);
  }
  text.add_list("processes", reports, process_json);
  if (longest != nullptr) {
    const Profile& profile = *longest->profile;
    text.add_list("layers", profile.rows,
                  [&](const ProfileRow& row) { return layer_json(row, profile.columns); });
    text.add_list("kernels", longest->kernels,
                  [&](const StepKernel& kernel) { return step_kernel_json(kernel, profile); });
  }
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
