// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_parallel.hpp"

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_flags.hpp"
#include "cli/progress.hpp"
#include "strata/api/parallel.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

namespace strata {
namespace {

constexpr Flag cluster_json_flag{
    .name = "json", .value = "FILE", .help = "Everything as JSON.", .offer = Offer::file};
constexpr Flag cluster_trace_flag{
    .name = "trace", .value = "FILE", .help = "A timeline of all ranks.", .offer = Offer::file};
constexpr Flag cluster_top_flag{
    .name = "top", .value = "N", .help = "So many strategies.", .also = "layers"};
constexpr std::int64_t most_devices_for_trace = 4096;
constexpr std::int64_t strategies_shown = 10;

Cluster cluster_of(const Arguments& given) {
  const auto name = given.value(on_flag);
  Cluster cluster = name ? load_cluster(*name) : make_cluster(machine_of(given), 1, 1);
  for (const std::string& assignment : given.values(set_flag))
    set_field(cluster.machine, assignment);
  return cluster;
}

void refuse_flags(const Arguments& given) {
  for (const std::string_view name : {"csv", "html", "by", "price"}) {
    if (given.has(Flag{.name = name}))
      fail(ErrorKind::usage, "--{} does not go with many devices; --json and --trace do", name);
  }
}

int answer(const Arguments& given, bool fits) {
  return given.has(require_fit_flag) && !fits ? exit_code::answer_is_no : exit_code::done;
}

int choose_strategy(const Request& request, ParallelModel& model) {
  const Arguments& given = request.arguments;
  if (given.has(cluster_trace_flag))
    fail(ErrorKind::usage, "--trace shows one strategy: name it instead of auto");
  const ParallelChoice choice = model.choose(
      {}, [](std::size_t done, std::size_t all) { show_progress("trying strategies", done, all); });
  OutputFiles outputs(given);
  outputs.write(cluster_json_flag,
                [&] { return to_json(choice, {.command = request.command_line}); });
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
  check_outputs(given, {&cluster_json_flag, &cluster_trace_flag});
  const Cluster cluster = cluster_of(given);
  const PredictRequest wanted = predict_request(given, true);
  const Graph graph = load_model(given.word(0), import_options(given));
  ParallelModel model(graph, cluster, wanted);
  const std::string_view split = given.value(parallel_flag).value_or("auto");
  if (same_name(split, "auto")) return choose_strategy(request, model);
  const Strategy strategy = parse_strategy(split);
  if (given.has(cluster_trace_flag) && strategy.pipeline > most_devices_for_trace)
    fail(ErrorKind::usage, "--trace shows up to {} stages", most_devices_for_trace);
  const ParallelSummary summary =
      model.predict(strategy, given.has(cluster_trace_flag) ? WantEvents::yes : WantEvents::no);
  OutputFiles outputs(given);
  outputs.write(cluster_json_flag,
                [&] { return to_json(summary, {.command = request.command_line}); });
  outputs.write(cluster_trace_flag, [&] { return to_trace(summary); });
  if (!outputs.took_stdout()) print(to_text(summary, request.style));
  return answer(given, summary.fits());
}

}  // namespace strata
