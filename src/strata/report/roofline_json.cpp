// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/roofline_summary.hpp"
#include "strata/roofline/counted_work.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

using RoofJson = nlohmann::ordered_json;

constexpr int roofline_schema_version = 1;

RoofJson roof_peaks_json(const std::vector<PeakRoof>& peaks) {
  RoofJson list = RoofJson::array();
  for (const PeakRoof& peak : peaks)
    list.push_back({{"name", peak.name}, {"flop_per_s", peak.flop_per_s}});
  return list;
}

RoofJson roof_memory_json(const std::vector<MemoryRoof>& memory) {
  RoofJson list = RoofJson::array();
  for (const MemoryRoof& level : memory)
    list.push_back({{"name", level.name}, {"bytes_per_s", level.bytes_per_s}});
  return list;
}

RoofJson roof_levels_json(const std::vector<LevelUse>& levels) {
  RoofJson list = RoofJson::array();
  for (const LevelUse& use : levels) {
    list.push_back({{"level", use.level},
                    {"bytes", use.bytes},
                    {"flop_per_byte", number_or_null(use.intensity)},
                    {"roof_time_s", use.roof_s}});
  }
  return list;
}

/// FLOP and bytes are the definition's here; what was counted stands beside them.
const Work& defined_work(const RooflineRow& row) {
  return row.definition ? row.definition->work : row.work;
}
std::optional<std::int64_t> counted_flop(const RooflineRow& row) {
  return row.work.counts_flop ? std::optional(row.work.flop) : std::nullopt;
}
std::optional<std::int64_t> counted_bytes(const RooflineRow& row) {
  return row.work.counts_bytes ? std::optional(row.work.bytes) : std::nullopt;
}
std::optional<double> definition_intensity(const RooflineRow& row) {
  return row.definition ? row.definition->point.intensity : std::nullopt;
}

template <class Number>
std::string number_or_empty(const std::optional<Number>& value) {
  return value ? fmt::format("{}", *value) : "";
}

void add_counted(RoofJson& json, const RooflineRow& row) {
  const auto count = [](const std::optional<std::int64_t>& value) {
    return value ? RoofJson(*value) : RoofJson();
  };
  json["counted_flop"] = count(counted_flop(row));
  json["counted_bytes"] = count(counted_bytes(row));
  json["is_counted_flop_upper_bound"] = row.work.is_flop_at_most;
  json["definition_flop_per_byte"] = number_or_null(definition_intensity(row));
  json["algorithm"] = row.work.counts_flop ? RoofJson(name_of(algorithm_of(row))) : RoofJson();
}

RoofJson roof_row_json(const RooflineRow& row, const ProfileColumns& columns) {
  const RooflinePoint& point = row.point;
  const auto timed = [&](double number) {
    return columns.has_time ? RoofJson(number) : RoofJson();
  };
  RoofJson json = {{"name", row.name},
                   {"flop", defined_work(row).flop},
                   {"bytes", defined_work(row).bytes},
                   {"launches", columns.has_launches ? RoofJson(row.work.launches) : RoofJson()},
                   {"time_s", timed(row.work.time_s)},
                   {"wall_time_s", number_or_null(row.work.wall_s)},
                   {"zero_flop_launches", row.work.zero_flop_launches},
                   {"zero_flop_time_s", timed(row.work.zero_flop_s)},
                   {"is_zero_flop", point.is_zero_flop},
                   {"flop_per_byte", number_or_null(point.intensity)},
                   {"peaks", roof_peaks_json(point.peaks)},
                   {"peak_flop_per_s", point.peak_flop_per_s},
                   {"balance_flop_per_byte", point.balance},
                   {"memory_level", point.memory_level},
                   {"levels", roof_levels_json(point.levels)},
                   {"complexity_bound", name_of(point.complexity_bound)},
                   {"bound", columns.has_time ? RoofJson(name_of(point.bound)) : RoofJson()},
                   {"compute_roof_time_s", point.compute_roof_s},
                   {"memory_roof_time_s", point.memory_roof_s},
                   {"roof_time_s", point.roof_s},
                   {"overhead_s", point.overhead_s},
                   {"compute_time_s", timed(point.compute_time_s)},
                   {"bandwidth_time_s", timed(point.bandwidth_time_s)},
                   {"flop_per_s", timed(point.flop_per_s)},
                   {"attainable_flop_per_s", point.attainable_flop_per_s},
                   {"distance_from_roof", timed(point.distance)}};
  add_counted(json, row);
  return json;
}

}  // namespace

std::string to_json(const RooflineSummary& summary, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", roofline_schema_version);
  text.add("kind", "roofline");
  text.add("machine", {{"name", summary.machine}, {"title", summary.machine_title}});
  text.add("roof", summary.roof);
  text.add("peaks", roof_peaks_json(summary.peaks));
  text.add("memory", roof_memory_json(summary.memory));
  text.add("launch_latency_s", number_or_null(summary.launch_latency_s));
  text.add("by", roofline_by_names()[static_cast<std::size_t>(summary.by)]);
  text.add("is_trajectory", summary.is_trajectory);
  text.add("notes", summary.notes);
  text.add_list("profiles", summary.series, [](const RooflineSeries& series) {
    RoofJson rows = RoofJson::array();
    for (const RooflineRow& row : series.rows) rows.push_back(roof_row_json(row, series.columns));
    return RoofJson{{"label", series.label},
                    {"network", series.subject.network},
                    {"dtype", series.subject.dtype},
                    {"machine", series.subject.machine},
                    {"evidence", name_of(series.evidence)},
                    {"iteration_time_s",
                     series.columns.has_time ? RoofJson(series.iteration.time_s) : RoofJson()},
                    {"total", roof_row_json(series.total, series.columns)},
                    {"rows", std::move(rows)}};
  });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

std::string to_csv(const RooflineSummary& summary) {
  std::string text =
      "profile,name,flop,bytes,launches,time_s,zero_flop_launches,zero_flop_time_s,flop_per_byte,"
      "peak_flop_per_s,memory_level,complexity_bound,bound,compute_roof_time_s,memory_roof_time_s,"
      "roof_time_s,overhead_s,compute_time_s,bandwidth_time_s,flop_per_s,attainable_flop_per_s,"
      "distance_from_roof,counted_flop,counted_bytes,definition_flop_per_byte,algorithm\n";
  for (const RooflineSeries& series : summary.series) {
    const auto timed = [&](double number) {
      return series.columns.has_time ? fmt::format("{}", number) : std::string();
    };
    for (const RooflineRow& row : series.rows) {
      const RooflinePoint& point = row.point;
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
          csv_cell(series.label), csv_cell(row.name), defined_work(row).flop,
          defined_work(row).bytes,
          series.columns.has_launches ? fmt::format("{}", row.work.launches) : "",
          timed(row.work.time_s), row.work.zero_flop_launches, timed(row.work.zero_flop_s),
          number_or_empty(point.intensity), point.peak_flop_per_s, csv_cell(point.memory_level),
          name_of(point.complexity_bound), series.columns.has_time ? name_of(point.bound) : "",
          point.compute_roof_s, point.memory_roof_s, point.roof_s, point.overhead_s,
          timed(point.compute_time_s), timed(point.bandwidth_time_s), timed(point.flop_per_s),
          point.attainable_flop_per_s, timed(point.distance), number_or_empty(counted_flop(row)),
          number_or_empty(counted_bytes(row)), number_or_empty(definition_intensity(row)),
          row.work.counts_flop ? name_of(algorithm_of(row)) : "");
    }
  }
  return text;
}

}  // namespace strata
