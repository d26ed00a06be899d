// SPDX-License-Identifier: Apache-2.0
#include "cli/validate_parallel.hpp"

#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/progress.hpp"
#include "strata/api/validate.hpp"
#include "strata/api/validate_parallel.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace strata {
namespace {

using ParallelSetsJson = nlohmann::ordered_json;

constexpr Flag parallel_sets_json_flag{
    .name = "json", .value = "FILE", .help = "Everything as JSON.", .offer = Offer::output};
constexpr Flag parallel_sets_runs_flag{.name = "runs", .help = "A line for every run."};

struct ParallelSet {
  ParallelTruth truth;
  std::vector<ValidatedParallelRun> runs;
};

template <class Wanted>
ErrorSummary errors_where(const ParallelSet& set, Wanted wanted) {
  std::vector<double> ratios;
  for (const ValidatedParallelRun& run : set.runs) {
    if (run.left_out.empty() && wanted(run)) ratios.push_back(run.ratio());
  }
  return errors_of(ratios);
}

void add_row(Table& table, const std::string& what, const ErrorSummary& errors) {
  if (errors.runs == 0) return;
  table.add_row({what, fmt::format("{}", errors.runs), fmt::format("{:.1f} %", 100 * errors.mean),
                 fmt::format("{:.1f} %", 100 * errors.median),
                 fmt::format("{:+.1f} %", 100 * errors.bias)});
}

std::string errors_table(const ParallelSet& set, const TextStyle& style) {
  Table table({{.title = "iteration", .least_width = 24},
               {.title = "runs", .align = Align::right},
               {.title = "mean error", .align = Align::right},
               {.title = "median", .align = Align::right},
               {.title = "bias", .align = Align::right}});
  using Run = ValidatedParallelRun;
  add_row(table, "all but fitted",
          errors_where(set, [](const Run& r) { return !r.measured.is_fitted; }));
  add_row(table, "fitted, no check",
          errors_where(set, [](const Run& r) { return r.measured.is_fitted; }));
  std::set<std::string> clusters;
  for (const Run& run : set.runs) clusters.insert(run.measured.on);
  for (const std::string& on : clusters)
    add_row(table, "  " + printable(on),
            errors_where(set, [&](const Run& run) { return run.measured.on == on; }));
  const auto uses = [&](const std::string& what, std::int64_t Strategy::*part) {
    add_row(table, what,
            errors_where(set, [&](const Run& run) { return run.expected.strategy.*part > 1; }));
  };
  uses("  data parallel", &Strategy::data);
  uses("  tensor parallel", &Strategy::tensor);
  uses("  pipeline", &Strategy::pipeline);
  return table.to_text(style);
}

std::string runs_table(const ParallelSet& set, bool wants_all, const TextStyle& style) {
  std::vector<const ValidatedParallelRun*> order;
  for (const ValidatedParallelRun& run : set.runs) {
    if (run.left_out.empty()) order.push_back(&run);
  }
  if (!wants_all) {
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return std::fabs(std::log(a->ratio())) > std::fabs(std::log(b->ratio()));
    });
    order.resize(std::min<std::size_t>(order.size(), 5));
  }
  Table table({{.title = wants_all ? "run" : "farthest off", .least_width = 16},
               {.title = "on"},
               {.title = "batch", .align = Align::right},
               {.title = "strategy"},
               {.title = "measured", .align = Align::right},
               {.title = "expected", .align = Align::right},
               {.title = "off by", .align = Align::right}});
  for (const ValidatedParallelRun* run : order)
    table.add_row({printable(run->measured.model), printable(run->measured.on),
                   fmt::format("{}", run->measured.batch), printable(run->measured.strategy),
                   format_time(run->measured.time_s), format_time(run->expected.time_s),
                   fmt::format("{:+.1f} %", 100 * (run->ratio() - 1))});
  std::string text = table.to_text(style);
  std::set<std::string> reasons;
  for (const ValidatedParallelRun& run : set.runs) {
    if (!run.left_out.empty()) reasons.insert(run.measured.strategy + ": " + run.left_out);
  }
  for (const std::string& reason : reasons) text += fmt::format("left out {}\n", printable(reason));
  return text;
}

std::string set_text(const ParallelSet& set, bool wants_all, const TextStyle& style) {
  std::size_t inside = 0, predicted = 0;
  for (const ValidatedParallelRun& run : set.runs) {
    predicted += run.left_out.empty() ? 1 : 0;
    inside += run.left_out.empty() && run.is_inside() ? 1 : 0;
  }
  const RankingSummary ranking = ranking_of(set.runs);
  std::string text = fmt::format(
      "{}: {}\n{}{}\n\n{}\n{} of {} iterations inside the 90 % interval\n",
      printable(set.truth.name), printable(set.truth.what), printable(set.truth.framework),
      set.truth.fitted_on.empty() ? ""
                                  : fmt::format(", fitted on {}", printable(set.truth.fitted_on)),
      errors_table(set, style), inside, predicted);
  if (ranking.cases > 0)
    text += fmt::format(
        "the strategy called best is within 5 % of the fastest measured in {} of {} cases; it "
        "takes {:.1f} % longer on average, {:.1f} % at most\n",
        ranking.within, ranking.cases, 100 * ranking.mean_regret, 100 * ranking.most_regret);
  return text + "\n" + runs_table(set, wants_all, style);
}

ParallelSetsJson run_json(const ValidatedParallelRun& run) {
  ParallelSetsJson json = {{"model", run.measured.model},       {"on", run.measured.on},
                           {"batch", run.measured.batch},       {"strategy", run.measured.strategy},
                           {"measured_s", run.measured.time_s}, {"fitted", run.measured.is_fitted}};
  if (!run.left_out.empty()) {
    json["left_out"] = run.left_out;
    return json;
  }
  json["expected_s"] = run.expected.time_s;
  json["interval_s"] = {run.expected.low_s, run.expected.high_s};
  const RankTime mean = run.expected.iteration.mean();
  for (std::size_t i = 0; i < rank_time_parts.size(); ++i)
    json["parts"][std::string(rank_time_names[i])] = mean.*rank_time_parts[i];
  return json;
}

ParallelSetsJson parallel_set_json(const ParallelSet& set) {
  ParallelSetsJson json = {{"name", set.truth.name}, {"what", set.truth.what}};
  const RankingSummary ranking = ranking_of(set.runs);
  json["ranking"] = {{"cases", ranking.cases},
                     {"within_5_percent", ranking.within},
                     {"mean_regret", ranking.mean_regret},
                     {"most_regret", ranking.most_regret}};
  for (const ValidatedParallelRun& run : set.runs) json["runs"].push_back(run_json(run));
  return json;
}

std::string parallel_sets_json(const std::vector<ParallelSet>& sets, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "parallel_validation");
  text.add_list("sets", sets, parallel_set_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace

bool names_parallel_sets(const std::vector<std::string>& names) {
  const std::vector<std::string> known = shipped_parallel_truth_names();
  const auto is_parallel = [&](const std::string& name) {
    return name == "parallel" || is_parallel_truth_file(name) ||
           std::find(known.begin(), known.end(), name) != known.end();
  };
  const bool has_any = std::any_of(names.begin(), names.end(), is_parallel);
  if (has_any && !std::all_of(names.begin(), names.end(), is_parallel))
    fail(ErrorKind::usage, "sets of one device and of many are shown by themselves");
  return has_any;
}

int validate_parallel_sets(const Request& request, const std::vector<std::string>& names) {
  const Arguments& given = request.arguments;
  std::vector<std::string> wanted;
  for (const std::string& name : names) {
    if (name == "parallel")
      wanted = shipped_parallel_truth_names();
    else
      wanted.push_back(name);
  }
  std::vector<ParallelSet> sets;
  for (const std::string& name : wanted) {
    ParallelTruth truth = load_parallel_truth(name);
    auto runs = validate(truth, [](std::size_t done, std::size_t all) {
      show_progress(fmt::format("{} of {} runs", done, all));
    });
    sets.push_back({std::move(truth), std::move(runs)});
  }
  show_document(
      request, parallel_sets_json_flag,
      {.title = "Expected times beside measured ones, on many devices",
       .json = [&] { return parallel_sets_json(sets, {.command = request.command_line}); },
       .text =
           [&] {
             std::string text;
             for (const ParallelSet& set : sets)
               text += (text.empty() ? "" : "\n") +
                       set_text(set, given.has(parallel_sets_runs_flag), request.style);
             return text;
           }});
  return exit_code::done;
}

}  // namespace strata
