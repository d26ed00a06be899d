// SPDX-License-Identifier: Apache-2.0
#include "strata/report/json_text.hpp"
#include "strata/report/sweep_answers.hpp"
#include "strata/sweep/answers_table.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr int answers_schema_version = 1;

// JSON has no NaN; whole numbers are written as such.
Json number_json(double number) {
  if (!std::isfinite(number)) return {};
  const bool is_whole = std::floor(number) == number && std::fabs(number) < 9e15;
  return is_whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
}

Json maybe_json(const std::optional<double>& number) {
  return number ? number_json(*number) : Json();
}

Json cell_json(const SweepColumn& column, std::size_t row) {
  return column.is_number ? number_json(column.number(row)) : Json(column.text(row));
}

Json row_object(const SweepTable& table, std::size_t row, bool axes_only = false) {
  Json json = Json::object();
  for (const SweepColumn& column : table.columns) {
    if (!axes_only || column.is_axis) json[column.name] = cell_json(column, row);
  }
  return json;
}

Json network_name(const SweepTable& table, std::size_t row) {
  const auto model = find_column("model", formula_columns(table));
  return model ? Json(table.columns[*model].text(row)) : Json();
}

Json pareto_json(const SweepAnswers& answers) {
  if (!answers.questions.pareto) return {};
  Json goals = Json::array();
  for (const Goal& goal : answers.goals)
    goals.push_back({{"column", answers.table.columns[goal.column].name},
                     {"better", goal.is_most ? "more" : "less"},
                     {"per_sample", goal.is_per_sample}});
  Json fronts = Json::array();
  for (const ParetoFront& front : answers.fronts) {
    Json points = Json::array();
    for (const std::size_t row : front.rows) points.push_back(row_object(answers.table, row));
    fronts.push_back(
        {{"model", front.rows.empty() ? Json() : network_name(answers.table, front.rows.front())},
         {"considered", front.considered},
         {"out_of_memory", front.out_of_memory},
         {"points", std::move(points)}});
  }
  return {{"goals", std::move(goals)}, {"fronts", std::move(fronts)}};
}

Json knee_json(const SweepAnswers& answers, const KneeAnswer& answer) {
  const std::string& column = answers.table.columns[answer.question.column].name;
  Json knees = Json::array();
  for (const Knee& knee : answer.knees) {
    Json at = row_object(answers.table, knee.row, /*axes_only=*/true);
    at.erase(column);
    knees.push_back({{"at", std::move(at)},
                     {"value", maybe_json(knee.value)},
                     {"gain_of_doubling", knee.judged ? Json(knee.gain) : Json()},
                     {"largest_judged", maybe_json(knee.judged)}});
  }
  return {{"column", column}, {"least_gain", answer.question.least_gain}, {"knees", knees}};
}

Json best_json(const SweepAnswers& answers) {
  if (!answers.questions.best_under) return {};
  const std::vector<RowGroup> groups = groups_by_network(answers.table);
  Json networks = Json::array();
  for (std::size_t at = 0; at < answers.best.size(); ++at) {
    const BestUnder& best = answers.best[at];
    Json missed = Json::array();
    for (const MissedDemand& demand : best.missed)
      missed.push_back({{"demand", demand.text},
                        {"left", number_json(demand.left)},
                        {"right", number_json(demand.right)},
                        {"beyond", demand.beyond}});
    const Json point = best.row ? row_object(answers.table, *best.row) : Json();
    const bool is_met = best.satisfying > 0;
    networks.push_back({{"model", network_name(answers.table, groups[at].rows.front())},
                        {"points", best.points},
                        {"satisfying", best.satisfying},
                        {"out_of_memory", best.out_of_memory},
                        {"limit_alone", best.limit_alone},
                        {"best", is_met ? point : Json()},
                        {"nearest", is_met ? Json() : point},
                        {"missed", std::move(missed)}});
  }
  return {{"constraint", *answers.questions.best_under}, {"networks", std::move(networks)}};
}

Json reuse_json(const NetworkAnswers& network) {
  Json scopes = Json::array();
  for (const ScopeReuse& scope : network.reuse)
    scopes.push_back({{"scope", scope.scope},
                      {"offered_bytes", scope.offered_bytes},
                      {"capacity_50_bytes", scope.capacity_50_bytes},
                      {"capacity_90_bytes", scope.capacity_90_bytes},
                      {"capacity_100_bytes", scope.capacity_100_bytes}});
  return scopes;
}

Json sensitivity_json(const NetworkAnswers& network) {
  if (!network.sensitivity) return {};
  const SensitivityAnswer& answer = *network.sensitivity;
  const Hardware& hardware = answer.point.hardware;
  Json resources = Json::array();
  for (const Sensitivity& row : answer.resources) {
    const bool has_answer = row.error.empty();
    resources.push_back({{"resource", row.resource},
                         {"from", number_json(row.from)},
                         {"to", number_json(row.to)},
                         {"time_s", has_answer ? Json(row.speed.time_s) : Json()},
                         {"samples_per_s", has_answer ? Json(row.speed.samples_per_s) : Json()},
                         {"gained", has_answer ? Json(row.gained) : Json()},
                         {"returns", has_answer ? Json(row.returns) : Json()},
                         {"error", has_answer ? Json() : Json(row.error)}});
  }
  return {{"of", answer.is_expected ? "expected" : "limit"},
          {"capacity_bytes", hardware.capacity_bytes},
          {"bandwidth_bytes_per_s", hardware.bytes_per_s},
          {"throughput_flop_per_s", hardware.dense_flop_per_s},
          {"batch", answer.point.batch > 0 ? Json(answer.point.batch) : Json()},
          {"time_s", answer.speed.time_s},
          {"samples_per_s", answer.speed.samples_per_s},
          {"resources", std::move(resources)}};
}

}  // namespace

std::string to_json(const SweepAnswers& answers, std::span<const NetworkAnswers> networks,
                    const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", answers_schema_version);
  text.add("kind", "sweep_answers");
  text.add("columns", answers.questions.columns);
  text.add("where", answers.questions.where);
  text.add("points", {{"before_where", answers.rows_before}, {"asked", answers.table.row_count}});
  text.add("pareto", pareto_json(answers));
  text.add_list("knees", answers.knees,
                [&](const KneeAnswer& answer) { return knee_json(answers, answer); });
  text.add("best_under", best_json(answers));
  text.add_list("networks", networks, [](const NetworkAnswers& network) {
    return Json{{"model", network.network},
                {"reuse", reuse_json(network)},
                {"sensitivity", sensitivity_json(network)}};
  });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
