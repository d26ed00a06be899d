// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_devices.hpp"
#include "cli/predict_flags.hpp"
#include "cli/predict_machines.hpp"
#include "cli/predict_parallel.hpp"
#include "cli/progress.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/strata.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

namespace strata {
namespace {

constexpr std::string_view predict_groupings[] = {"type", "layer", "block", "pass", "class"};

constexpr Flag predict_by_flag{.name = "by",
                               .value = "WHAT",
                               .help = "Time by type, layer, block, pass or class.",
                               .choices = predict_groupings,
                               .offer = Offer::choices};
constexpr Flag predict_layers_flag{.name = "top",
                                   .value = "N",
                                   .help = "The N slowest layers below, or all of them: all.",
                                   .also = "layers"};
constexpr Flag predict_json_flag{.name = "json",
                                 .value = "FILE",
                                 .help = "Everything as JSON; - is standard output.",
                                 .offer = Offer::output};
constexpr Flag predict_csv_flag{.name = "csv",
                                .value = "FILE",
                                .help = "A line per layer and pass; - is standard output.",
                                .offer = Offer::output};
constexpr Flag predict_trace_flag{.name = "trace",
                                  .value = "FILE",
                                  .help = "A timeline for Perfetto; - is standard output.",
                                  .offer = Offer::output};

constexpr Argument predict_arguments[] = {model_argument};
constexpr auto predict_flags =
    joined_flags(machine_flags, hardware_flags, size_flags, import_flags, training_flags,
                 schedule_flags, framework_flags, scaling_flags,
                 std::array<Flag, 9>{parallel_flag, require_fit_flag, price_flag, predict_by_flag,
                                     predict_layers_flag, predict_json_flag, predict_csv_flag,
                                     predict_trace_flag, html_flag});

PredictView predict_view(const Arguments& given) {
  PredictView view;
  if (const auto by = given.value(predict_by_flag)) {
    const auto* const at =
        std::find(std::begin(predict_groupings), std::end(predict_groupings), *by);
    view.by = static_cast<PredictBy>(at - std::begin(predict_groupings));
  }
  if (const auto layers = given.value(predict_layers_flag)) {
    view.layers = *layers == "all"
                      ? all_layers
                      : static_cast<std::size_t>(parse_whole_number(*layers, "--top (or all)", 0));
  }
  return view;
}

int run_predict(const Request& request) {
  const Arguments& given = request.arguments;
  if (asks_for_cluster(given) || given.has(devices_flag)) return predict_on_cluster(request);
  if (const auto machines = machine_names(given); machines.size() > 1)
    return predict_on_machines(request, machines);
  if (given.has(price_flag))
    fail(ErrorKind::usage,
         "--price goes with several machines, --on h200,a100-80gb, or with many devices, "
         "--parallel");
  for (const Flag& flag : scaling_flags) {
    if (given.has(flag))
      fail(ErrorKind::usage, "--{} is of many devices: name a cluster, --on 8xh100-sxm", flag.name);
  }
  const PredictView view = predict_view(given);
  check_outputs(given, {&predict_json_flag, &predict_csv_flag, &predict_trace_flag, &html_flag});
  PredictRequest wanted = predict_request(given, true);
  wanted.wants_transfers = given.has(predict_trace_flag) || given.has(html_flag);
  const Machine machine = machine_of(given);
  const Graph graph = load_model(given.word(0), import_options(given));
  const PredictedIteration iteration = predict_model(graph, machine, wanted);
  const bool holds_request = given.has(predict_json_flag) || given.has(html_flag);
  const Provenance provenance{.command = request.command_line,
                              .request = holds_request ? request_json(given, given.word(0)) : ""};

  warn(iteration.summary.warnings);
  OutputFiles outputs(given);
  outputs.write(predict_json_flag, [&] { return to_json(iteration.summary, provenance); });
  outputs.write(predict_csv_flag, [&] { return to_csv(iteration.summary); });
  outputs.write(predict_trace_flag,
                [&] { return to_trace(iteration.program, iteration.prediction); });
  outputs.write(html_flag, [&] {
    const Explanation explanation = explain_iteration(
        graph, machine, wanted, iteration, [&](std::size_t done, std::size_t all) {
          show_progress("predicting with changes", done, all);
        });
    show_progress("writing the page");
    const PageSection part =
        page_section(iteration, with_overrides(machine, wanted.hardware), explanation, provenance);
    return page_text(part.name, {part});
  });
  if (!outputs.took_stdout()) print(to_text(iteration.summary, view, request.style));
  const bool is_refused = given.has(require_fit_flag) && !iteration.summary.fits_device();
  return is_refused ? exit_code::answer_is_no : exit_code::done;
}

}  // namespace

constexpr Command predict_command{
    .name = "predict",
    .summary = "What one training iteration takes on a machine, and why",
    .arguments = predict_arguments,
    .flags = predict_flags,
    .run = run_predict};

}  // namespace strata
