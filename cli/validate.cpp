// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/progress.hpp"
#include "cli/validate_parallel.hpp"
#include "strata/api/leave_one_out.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"
#include "strata/strata.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr Argument validate_arguments[] = {
    {.name = "SET",
     .help = "A set that ships, or a file; default: all that ship.",
     .is_required = false,
     .repeats = true}};
constexpr Flag validate_json_flag{.name = "json",
                                  .value = "FILE",
                                  .help = "Everything as JSON; - is standard output.",
                                  .offer = Offer::output};
constexpr Flag validate_runs_flag{.name = "runs", .help = "A line for every run."};
constexpr Flag validate_flags[] = {validate_runs_flag, validate_json_flag, html_flag};

struct ValidatedSet {
  TruthSet truth;
  std::vector<ValidatedRun> runs;
};

double kernel_ratio(const ValidatedRun& run) {
  return run.expected.kernels_s / run.measured.kernels_s;
}
double iteration_ratio(const ValidatedRun& run) {
  return run.expected.time_s / run.measured.iteration_s;
}
double launch_ratio(const ValidatedRun& run) {
  return static_cast<double>(run.expected.launches) / run.measured.launches;
}
double memory_ratio(const ValidatedRun& run) {
  return static_cast<double>(run.expected.memory_bytes) / run.measured.memory_bytes;
}
bool has_kernels(const ValidatedRun& run) { return run.measured.kernels_s > 0; }
bool has_launches(const ValidatedRun& run) { return run.measured.launches > 0; }
bool has_memory(const ValidatedRun& run) { return run.measured.memory_bytes > 0; }
bool is_gpu_bound(const ValidatedRun& run) { return run.is_gpu_bound(); }

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }
std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100 * share); }

template <class Wanted>
std::vector<double> ratios(const std::vector<ValidatedRun>& runs,
                           double (*ratio)(const ValidatedRun&), Wanted wanted) {
  std::vector<double> all;
  for (const ValidatedRun& run : runs) {
    if (run.left_out.empty() && wanted(run)) all.push_back(ratio(run));
  }
  return all;
}

void add_errors(Table& table, const std::string& what, const std::vector<double>& all) {
  if (all.empty()) return;
  const ErrorSummary errors = errors_of(all);
  table.add_row({what, fmt::format("{}", errors.runs), percent(errors.mean), percent(errors.median),
                 signed_percent(errors.bias)});
}

std::set<std::string> machines_of(const ValidatedSet& set) {
  std::set<std::string> machines;
  for (const ValidatedRun& run : set.runs) machines.insert(run.measured.machine);
  return machines;
}

/// "0.9", or "0.9 to 1.1".
std::string range_text(const std::vector<OthersFit>& fits, double OthersFit::*value) {
  const auto [least, most] = std::minmax_element(
      fits.begin(), fits.end(),
      [&](const OthersFit& a, const OthersFit& b) { return a.*value < b.*value; });
  const std::string low = fmt::format("{:.2f}", (*least).*value);
  const std::string high = fmt::format("{:.2f}", (*most).*value);
  return low == high ? low : fmt::format("{} to {}", low, high);
}

std::string left_out_text(const std::optional<LeftOutSummary>& left_out) {
  if (!left_out) return "";
  const ErrorSummary& errors = left_out->host_bound;
  return fmt::format(
      "leaving one network of {} out: {} of {} inside{}; host × {}, interval × {}\n",
      left_out->fits.size(), left_out->inside, left_out->runs,
      errors.runs == 0 ? ""
                       : fmt::format(", host-bound iterations off by {} (bias {})",
                                     percent(errors.mean), signed_percent(errors.bias)),
      range_text(left_out->fits, &OthersFit::host), range_text(left_out->fits, &OthersFit::width));
}

std::string summary_text(const ValidatedSet& set, const TextStyle& style) {
  Table table({{.title = "what", .least_width = 24},
               {.title = "runs", .align = Align::right},
               {.title = "mean error", .align = Align::right},
               {.title = "median", .align = Align::right},
               {.title = "bias", .align = Align::right}});
  add_errors(table, "kernel time", ratios(set.runs, kernel_ratio, has_kernels));
  for (const std::string precision : {"fp32", "tf32", "amp-bf16", "amp-fp16"})
    add_errors(table, "  " + precision,
               ratios(set.runs, kernel_ratio, [&](const ValidatedRun& run) {
                 return has_kernels(run) && run.measured.precision == precision;
               }));
  add_errors(table, "iteration, GPU-bound", ratios(set.runs, iteration_ratio, is_gpu_bound));
  const std::set<std::string> machines = machines_of(set);
  for (const std::string& machine : machines) {
    if (machines.size() == 1) break;
    add_errors(table, "  " + printable(machine),
               ratios(set.runs, iteration_ratio, [&](const ValidatedRun& run) {
                 return is_gpu_bound(run) && run.measured.machine == machine;
               }));
  }
  add_errors(table, "iteration, host-bound",
             ratios(set.runs, iteration_ratio,
                    [](const ValidatedRun& run) { return !is_gpu_bound(run); }));
  add_errors(table, "launches", ratios(set.runs, launch_ratio, has_launches));
  add_errors(table, "peak memory", ratios(set.runs, memory_ratio, has_memory));
  std::size_t predicted = 0, inside = 0;
  for (const ValidatedRun& run : set.runs) {
    if (!run.left_out.empty()) continue;
    ++predicted;
    inside += run.is_inside() ? 1 : 0;
  }
  return fmt::format("{}: {}\n{} on {}\n\n{}\n{} of {} iterations inside the 90 % interval\n{}",
                     printable(set.truth.name), printable(set.truth.what),
                     printable(set.truth.framework),
                     printable(fmt::format("{}", fmt::join(machines, ", "))), table.to_text(style),
                     inside, predicted, left_out_text(leave_one_network_out(set.runs)));
}

/// Of kernel time where it was measured, else of the iteration: in logarithms, both ways alike.
double error_of(const ValidatedRun& run) {
  return std::fabs(std::log(has_kernels(run) ? kernel_ratio(run) : iteration_ratio(run)));
}

std::string off_by(bool was_measured, double ratio) {
  return was_measured ? signed_percent(ratio - 1) : "";
}

std::string runs_text(const ValidatedSet& set, bool wants_all, const TextStyle& style) {
  std::vector<const ValidatedRun*> order;
  for (const ValidatedRun& run : set.runs) {
    if (run.left_out.empty()) order.push_back(&run);
  }
  if (!wants_all) {
    std::stable_sort(order.begin(), order.end(), [](const ValidatedRun* a, const ValidatedRun* b) {
      return error_of(*a) > error_of(*b);
    });
    order.resize(std::min<std::size_t>(order.size(), 5));
  }
  // On a CPU the host is the device, and takes no time of its own.
  const bool has_host = std::any_of(
      order.begin(), order.end(), [](const ValidatedRun* run) { return run->expected.host_s > 0; });
  Table table({{.title = wants_all ? "run" : "farthest off", .least_width = 16},
               {.title = "on"},
               {.title = "batch", .align = Align::right},
               {.title = "type"},
               {.title = "kernels", .align = Align::right},
               {.title = "off by", .align = Align::right},
               {.title = "iteration", .align = Align::right},
               {.title = "expected", .align = Align::right},
               {.title = "off by", .align = Align::right},
               {.title = "host", .align = Align::right, .is_shown = has_host},
               {.title = "launches", .align = Align::right},
               {.title = "memory", .align = Align::right}});
  for (const ValidatedRun* run : order) {
    const MeasuredRun& measured = run->measured;
    table.add_row(
        {printable(measured.model), printable(measured.machine), fmt::format("{}", measured.batch),
         measured.precision, has_kernels(*run) ? format_time(measured.kernels_s) : "",
         off_by(has_kernels(*run), kernel_ratio(*run)), format_time(measured.iteration_s),
         format_time(run->expected.time_s), signed_percent(iteration_ratio(*run) - 1),
         format_time(run->expected.host_s), off_by(has_launches(*run), launch_ratio(*run)),
         off_by(has_memory(*run), memory_ratio(*run))});
  }
  std::string text = "\n" + table.to_text(style);
  std::map<std::string, std::size_t> left_out;
  for (const ValidatedRun& run : set.runs) {
    if (!run.left_out.empty()) ++left_out[run.measured.model + ": " + run.left_out];
  }
  for (const auto& [reason, count] : left_out)
    text += fmt::format("left out {} of {}\n", count, printable(reason));
  return text;
}

Json errors_json(const ErrorSummary& errors) {
  return Json{{"runs", errors.runs},
              {"mean_error", errors.mean},
              {"median_error", errors.median},
              {"bias", errors.bias}};
}

Json left_out_json(const std::optional<LeftOutSummary>& left_out) {
  if (!left_out) return nullptr;
  Json fits = Json::array();
  for (const OthersFit& fit : left_out->fits)
    fits.push_back({{"network", fit.network}, {"host", fit.host}, {"interval", fit.width}});
  return {{"runs", left_out->runs},
          {"inside", left_out->inside},
          {"iteration_host_bound", errors_json(left_out->host_bound)},
          {"fits", std::move(fits)}};
}

Json set_json(const ValidatedSet& set) {
  Json json = {
      {"name", set.truth.name}, {"machines", machines_of(set)}, {"framework", set.truth.framework}};
  json["kernels"] = errors_json(errors_of(ratios(set.runs, kernel_ratio, has_kernels)));
  json["iteration_gpu_bound"] =
      errors_json(errors_of(ratios(set.runs, iteration_ratio, is_gpu_bound)));
  json["iteration_host_bound"] = errors_json(errors_of(ratios(
      set.runs, iteration_ratio, [](const ValidatedRun& run) { return !is_gpu_bound(run); })));
  json["launches"] = errors_json(errors_of(ratios(set.runs, launch_ratio, has_launches)));
  json["memory"] = errors_json(errors_of(ratios(set.runs, memory_ratio, has_memory)));
  json["leave_one_network_out"] = left_out_json(leave_one_network_out(set.runs));
  Json& runs = json["runs"] = Json::array();
  for (const ValidatedRun& run : set.runs) {
    Json one = {{"model", run.measured.model},
                {"machine", run.measured.machine},
                {"precision", run.measured.precision},
                {"batch", run.measured.batch}};
    if (!run.left_out.empty()) {
      one["left_out"] = run.left_out;
    } else {
      Json& measured = one["measured"] = {{"iteration_s", run.measured.iteration_s}};
      if (has_kernels(run)) measured["kernels_s"] = run.measured.kernels_s;
      if (has_launches(run)) measured["launches"] = run.measured.launches;
      if (has_memory(run)) measured["memory_bytes"] = run.measured.memory_bytes;
      one["expected"] = {{"time_s", run.expected.time_s},
                         {"interval_s", {run.expected.low_s, run.expected.high_s}},
                         {"kernels_s", run.expected.kernels_s},
                         {"busy_s", run.expected.busy_s},
                         {"host_s", run.expected.host_s},
                         {"launches", run.expected.launches},
                         {"memory_bytes", run.expected.memory_bytes}};
      one["is_inside"] = run.is_inside();
      for (const ClassTime& each : run.expected.classes)
        one["classes"].push_back({{"class", name_of(each.kernel_class)},
                                  {"busy_s", each.busy_s},
                                  {"launches", each.launches}});
    }
    runs.push_back(std::move(one));
  }
  return json;
}

std::string to_json(const std::vector<ValidatedSet>& sets, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "validation");
  text.add_list("sets", sets, set_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

int run_validate(const Request& request) {
  const Arguments& given = request.arguments;
  std::vector<std::string> names(given.words().begin(), given.words().end());
  if (names_parallel_sets(names)) return validate_parallel_sets(request, names);
  if (names.empty()) names = shipped_truth_names();
  std::vector<ValidatedSet> sets;
  for (const std::string& name : names) {
    TruthSet truth = load_truth(name);
    std::vector<ValidatedRun> runs = validate(truth, [](std::size_t done, std::size_t all) {
      show_progress(fmt::format("{} of {} runs", done, all));
    });
    sets.push_back({std::move(truth), std::move(runs)});
  }
  show_document(request, validate_json_flag,
                {.title = "Expected times beside measured ones",
                 .json = [&] { return to_json(sets, {.command = request.command_line}); },
                 .text =
                     [&] {
                       std::string text;
                       for (const ValidatedSet& set : sets) {
                         if (!text.empty()) text += "\n";
                         text += summary_text(set, request.style) +
                                 runs_text(set, given.has(validate_runs_flag), request.style);
                       }
                       return text;
                     }});
  return exit_code::done;
}

}  // namespace

constexpr Command validate_command{.name = "validate",
                                   .summary = "How far expected times are from measured iterations",
                                   .arguments = validate_arguments,
                                   .flags = validate_flags,
                                   .run = run_validate};

}  // namespace strata
