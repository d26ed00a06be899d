// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_parallel.hpp"

#include "cli/cluster_request.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_devices.hpp"
#include "cli/predict_flags.hpp"
#include "cli/progress.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"

namespace strata {
namespace {

constexpr Flag cluster_json_flag{
    .name = "json", .value = "FILE", .help = "Everything as JSON.", .offer = Offer::output};
constexpr Flag cluster_trace_flag{
    .name = "trace", .value = "FILE", .help = "A timeline of all ranks.", .offer = Offer::output};
constexpr Flag cluster_top_flag{
    .name = "top", .value = "N", .help = "So many strategies.", .also = "layers"};
constexpr std::int64_t most_devices_for_trace = 4096;
constexpr std::int64_t strategies_shown = 10;

void refuse_flags(const Arguments& given) {
  for (const std::string_view name : {"csv", "by"}) {
    if (given.has(Flag{.name = name}))
      fail(ErrorKind::usage, "--{} does not go with many devices; --json, --html and --trace do",
           name);
  }
}

int answer(const Arguments& given, bool fits) {
  return given.has(require_fit_flag) && !fits ? exit_code::answer_is_no : exit_code::done;
}

/// What pages and documents show over time.
WantEvents wants_events(const Arguments& given) {
  const bool wants =
      given.has(cluster_trace_flag) || given.has(cluster_json_flag) || given.has(html_flag);
  return wants ? WantEvents::yes : WantEvents::no;
}

int choose_strategy(const Request& request, ClusterRequest& asked, const TrainingTerms& terms) {
  const Arguments& given = request.arguments;
  if (given.has(cluster_trace_flag))
    fail(ErrorKind::usage, "--trace shows one strategy: name it instead of auto");
  ParallelChoice choice = asked.choose(wants_events(given));
  if (choice.best) choice.best->context.terms = terms;
  OutputFiles outputs(given);
  outputs.write(cluster_json_flag,
                [&] { return to_json(choice, {.command = request.command_line}); });
  outputs.write(html_flag, [&] {
    std::optional<Explanation> explanation;
    if (choice.best) explanation = asked.explain(*choice.best, &choice);
    const PageSection part = page_section(choice, explanation ? &*explanation : nullptr,
                                          {.command = request.command_line});
    return page_text(part.name, {part});
  });
  const std::int64_t top = given.has(cluster_top_flag)
                               ? parse_whole_number(*given.value(cluster_top_flag), "--top", 0)
                               : strategies_shown;
  if (!outputs.took_stdout()) print(to_text(choice, static_cast<std::size_t>(top), request.style));
  return answer(given, choice.best.has_value());
}

}  // namespace

bool asks_for_cluster(const Arguments& given) {
  const auto on = given.value(on_flag);
  return given.has(parallel_flag) || (on && names_cluster(*on));
}

int predict_on_cluster(const Request& request) {
  const Arguments& given = request.arguments;
  refuse_flags(given);
  check_outputs(given, {&cluster_json_flag, &cluster_trace_flag, &html_flag});
  ClusterRequest asked(given);
  if (given.has(devices_flag))
    return predict_over_devices(request, asked.graph, asked.cluster, asked.wanted);
  if (given.has(batch_per_device_flag))
    fail(ErrorKind::usage, "--batch-per-device goes with --devices");
  const TrainingTerms terms = training_terms(given, asked.cluster.machine);
  const std::string_view split = given.value(parallel_flag).value_or("auto");
  if (same_name(split, "auto")) return choose_strategy(request, asked, terms);
  const Strategy strategy = parse_strategy(split);
  if (given.has(cluster_trace_flag) && strategy.pipeline > most_devices_for_trace)
    fail(ErrorKind::usage, "--trace shows up to {} stages", most_devices_for_trace);
  ParallelSummary summary = asked.model.predict(strategy, wants_events(given));
  summary.context.terms = terms;
  OutputFiles outputs(given);
  outputs.write(cluster_json_flag,
                [&] { return to_json(summary, {.command = request.command_line}); });
  outputs.write(cluster_trace_flag, [&] { return to_trace(summary); });
  outputs.write(html_flag, [&] {
    const Explanation explanation = asked.explain(summary, nullptr);
    const PageSection part = page_section(summary, &explanation, {.command = request.command_line});
    return page_text(part.name, {part});
  });
  if (!outputs.took_stdout()) print(to_text(summary, request.style));
  return answer(given, summary.fits());
}

}  // namespace strata
