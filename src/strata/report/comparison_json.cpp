// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"
#include "strata/report/comparison_report.hpp"
#include "strata/report/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

using CompareJson = nlohmann::ordered_json;

constexpr int comparison_schema_version = 1;

CompareJson label_json(const ProfileLabel& label, const std::string& file) {
  const ProfileSubject& subject = label.subject;
  CompareJson expected;
  if (label.expected)
    expected = {{"framework", label.expected->framework},
                {"time_s", label.expected->time_s},
                {"interval_s", {label.expected->low_s, label.expected->high_s}}};
  CompareJson json = {{"file", file},
                      {"evidence", name_of(label.evidence)},
                      {"times", label.times()},
                      {"expected", std::move(expected)},
                      {"limit_time_s", label.limit_s ? CompareJson(*label.limit_s) : CompareJson()},
                      {"network", subject.network},
                      {"title", subject.title},
                      {"dtype", subject.dtype},
                      {"machine", subject.machine},
                      {"machine_title", subject.machine_title}};
  if (!subject.setup.empty()) json["setup"] = subject.setup;
  return json;
}

CompareJson side_json(const Totals& totals) {
  return {{"time_s", totals.time_s},
          {"flop", totals.flop},
          {"traffic_bytes", totals.traffic_bytes()},
          {"launches", totals.launches}};
}

/// The work of all rows in the time of the iteration.
CompareJson total_json(const Totals& total, const IterationTime& iteration) {
  CompareJson json = side_json(total);
  json.update({{"time_s", iteration.time_s},
               {"time_from", name_of(iteration.from)},
               {"busy_time_s", iteration.busy_s},
               {"overlap_time_s", iteration.overlap_s},
               {"gap_time_s", iteration.gaps_s},
               {"drain_time_s", iteration.drain_s}});
  return json;
}

CompareJson ratio_json(double a_s, double b_s) {
  return a_s > 0 ? CompareJson(b_s / a_s) : CompareJson();
}

CompareJson compared_row_json(const ComparedRow& row) {
  return {{"layer", row.layer},
          {"pass", row.pass},
          {"op", row.op},
          {"block", row.block},
          {"a", row.a ? side_json(*row.a) : CompareJson()},
          {"b", row.b ? side_json(*row.b) : CompareJson()},
          {"ratio", row.a && row.b ? ratio_json(row.a_s(), row.b_s()) : CompareJson()},
          {"difference_s", row.difference_s()}};
}

CompareJson compared_group_json(const ComparedGroup& group) {
  return {{"name", group.name},
          {"a", side_json(group.a)},
          {"b", side_json(group.b)},
          {"ratio", ratio_json(group.a.time_s, group.b.time_s)},
          {"difference_s", group.b.time_s - group.a.time_s}};
}

}  // namespace

std::string to_json(const ProfileComparison& comparison, const CompareView& view,
                    const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", comparison_schema_version);
  text.add("kind", "comparison");
  text.add("a", label_json(comparison.a, view.a));
  text.add("b", label_json(comparison.b, view.b));
  const double a_s = comparison.iteration_a.time_s;
  const double b_s = comparison.iteration_b.time_s;
  text.add("totals", {{"a", total_json(comparison.total_a, comparison.iteration_a)},
                      {"b", total_json(comparison.total_b, comparison.iteration_b)},
                      {"ratio", ratio_json(a_s, b_s)},
                      {"difference_s", b_s - a_s}});
  text.add_list("idle", comparison.idle, [](const ComparedIdle& idle) {
    return CompareJson{{"cause", idle.cause}, {"a_s", idle.a_s}, {"b_s", idle.b_s}};
  });
  text.add("threshold", view.threshold ? CompareJson(*view.threshold) : CompareJson());
  text.add("beyond_threshold",
           view.threshold ? CompareJson(comparison.is_beyond(*view.threshold)) : CompareJson());
  text.add_list("by_type", grouped(comparison, &ComparedRow::op), compared_group_json);
  text.add_list("by_pass", grouped(comparison, &ComparedRow::pass), compared_group_json);
  text.add_list("by_block", grouped(comparison, &ComparedRow::block), compared_group_json);
  text.add_list("rows", comparison.rows, compared_row_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

std::string to_csv(const ProfileComparison& comparison) {
  std::string text = "layer,pass,op,block,a_time_s,b_time_s,ratio,difference_s\n";
  for (const ComparedRow& row : comparison.rows) {
    const bool is_in_both = row.a && row.b && row.a_s() > 0;
    text += fmt::format(
        "{},{},{},{},{},{},{},{}\n", csv_cell(row.layer), csv_cell(row.pass), csv_cell(row.op),
        csv_cell(row.block), row.a ? fmt::format("{}", row.a_s()) : "",
        row.b ? fmt::format("{}", row.b_s()) : "",
        is_in_both ? fmt::format("{}", row.b_s() / row.a_s()) : "", row.difference_s());
  }
  return text;
}

}  // namespace strata
