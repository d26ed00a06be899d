// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/report/measurement_report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

using TraceJson = nlohmann::ordered_json;

constexpr double microseconds = 1e6;  // the trace format counts in them

TraceJson track_name(int track, std::string_view name) {
  return {
      {"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", {{"name", name}}}};
}

std::string one_line(const TraceJson& json) {
  return printable_json(json.dump(-1, ' ', false, TraceJson::error_handler_t::replace));
}

}  // namespace

std::string to_trace(const MeasurementSummary& summary) {
  const TrainingMeasurement& measured = summary.measured;
  std::string text = "{\"traceEvents\":[\n";
  text += one_line(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", {{"name", measured.device}}}});
  text += ",\n" + one_line(track_name(1, "layers"));
  if (!measured.kernels.empty()) text += ",\n" + one_line(track_name(2, "kernels"));
  const auto add = [&](const TimelineSpan& span, int track) {
    const ProfileRow& row = measured.profile.rows[span.row];
    text +=
        ",\n" +
        one_line(
            {{"name", span.name},
             {"cat", row.op},
             {"ph", "X"},
             {"pid", 1},
             {"tid", track},
             {"ts", microseconds * span.begin_s},
             {"dur", microseconds * std::max(0.0, span.seconds)},
             {"args",
              {{"layer", row.layer}, {"pass", row.pass}, {"implementation", row.implementation}}}});
  };
  for (const TimelineSpan& span : measured.parts) add(span, 1);
  for (const TimelineSpan& span : measured.kernels) add(span, 2);
  return text + "\n],\"displayTimeUnit\":\"ms\"}\n";
}

}  // namespace strata
