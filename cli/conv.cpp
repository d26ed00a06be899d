// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/conv_flags.hpp"
#include "cli/conv_measure.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/convolution/lab/network_points.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/write_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr std::string_view conv_actions[] = {"advise"};
constexpr Argument conv_arguments[] = {
    {.name = "ACTION",
     .help = "advise: every convolution of a network.",
     .choices = conv_actions,
     .offer = Offer::choices,
     .is_required = false},
    {.name = "MODEL",
     .help = "A built-in network (strata list networks) or a file.",
     .offer = Offer::model,
     .is_required = false}};

constexpr Flag conv_json_flag{.name = "json",
                              .value = "FILE",
                              .help = "Results and advice as JSON; - is standard output.",
                              .offer = Offer::output};
constexpr Flag conv_csv_flag{
    .name = "csv", .value = "FILE", .help = "A line per result.", .offer = Offer::output};
constexpr Flag conv_jsonl_flag{.name = "jsonl",
                               .value = "FILE",
                               .help = "A JSON line per result as it comes.",
                               .offer = Offer::output};
constexpr Flag conv_resume_flag{.name = "resume",
                                .help = "Go on with the --jsonl file of this run."};
constexpr Flag conv_force_flag{.name = "force", .help = "Replace a --jsonl file that is there."};
constexpr Flag conv_plot_flag{.name = "plot",
                              .value = "PREFIX",
                              .help = "Pictures as SVG: PREFIX-k-forward-time.svg and so on.",
                              .offer = Offer::output};
constexpr Flag details_flag{.name = "details", .help = "Rates, roles, kernels of every point."};
constexpr Flag conv_from_flag{.name = "from",
                              .value = "FILE",
                              .help = "Show stored results (JSON, lines), run nothing.",
                              .offer = Offer::file};
constexpr Flag conv_dry_run_flag{.name = "dry-run", .help = "Only what would be measured."};

constexpr auto conv_flags =
    joined_flags(conv_measure_flags, conv_narrow_flags,
                 std::array<Flag, 10>{conv_json_flag, conv_csv_flag, conv_jsonl_flag,
                                      conv_resume_flag, conv_force_flag, conv_plot_flag, html_flag,
                                      details_flag, conv_from_flag, conv_dry_run_flag},
                 std::array<Flag, 1>{batch_flag}, import_flags);

bool is_advise(const Arguments& given) { return given.word(0) == "advise"; }

void refuse_together(const Arguments& given, std::span<const Flag> unwanted,
                     std::string_view with) {
  for (const Flag& flag : unwanted) {
    if (given.has(flag)) fail(ErrorKind::usage, "--{} does not go with {}", flag.name, with);
  }
}

void check_flags(const Arguments& given) {
  check_outputs(given, {&conv_json_flag, &conv_csv_flag, &conv_jsonl_flag, &html_flag});
  if (given.value(conv_jsonl_flag) == "-")
    fail(ErrorKind::usage, "--jsonl writes a file that can be continued; give it a name");
  if (given.has(conv_resume_flag) && given.has(conv_force_flag))
    fail(ErrorKind::usage, "--resume and --force exclude each other");
  if ((given.has(conv_resume_flag) || given.has(conv_force_flag)) && !given.has(conv_jsonl_flag))
    fail(ErrorKind::usage, "--resume and --force are for the file of --jsonl");
  if (given.has(conv_from_flag)) {
    refuse_together(given, conv_measure_flags, "--from");
    const Flag run_flags[] = {conv_jsonl_flag, conv_dry_run_flag, batch_flag};
    refuse_together(given, run_flags, "--from");
    if (!given.word(1).empty()) fail(ErrorKind::usage, "--from goes with no network");
    return;
  }
  if (is_advise(given)) {
    if (given.word(1).empty()) fail(ErrorKind::usage, "advise expects a MODEL");
    const Flag points[] = {conv_base_flag,  conv_channels_flag, conv_sweep_flag,
                           conv_layer_flag, conv_suite_flag,    conv_shape_flag};
    refuse_together(given, points, "advise");
    return;
  }
  refuse_together(given, import_flags, "shapes; it is for advise");
  const Flag model_only[] = {batch_flag};
  refuse_together(given, model_only, "shapes; the batch is part of them");
}

ConvSeries series_of_model(const Arguments& given) {
  const Graph graph = load_model(given.word(1), import_options(given));
  warn(graph.warnings);
  ModelSizes sizes;
  if (const auto batch = given.value(batch_flag))
    sizes.batch = parse_whole_number(*batch, "--batch");
  const BoundGraph bound = bind_model(graph, sizes);
  NetworkConvolutions found = network_convolutions(bound);
  for (const ConvLayerLeftOut& layer : found.left_out)
    print_to_stderr(fmt::format("left out: {}: {}\n", layer.layer, layer.reason));
  if (found.series.points.empty())
    fail(ErrorKind::input, "{} has no convolution that can be measured", given.word(1));
  return std::move(found.series);
}

void write_pictures(std::string_view prefix, const ConvResults& results) {
  const auto pictures = conv_pictures(results);
  for (const ConvPicture& picture : pictures)
    write_file(fmt::format("{}-{}.svg", prefix, picture.name), to_svg(picture.grid));
  print_to_stderr(fmt::format("{} pictures: {}-*.svg\n", pictures.size(), prefix));
}

void show(const Request& request, const ConvResults& results) {
  const Arguments& given = request.arguments;
  const ConvView view{.wants_details = given.has(details_flag),
                      .budgets_bytes = conv_budgets(given)};
  OutputFiles files(given);
  files.write(conv_json_flag,
              [&] { return to_json(results, view, {.command = request.command_line}); });
  files.write(conv_csv_flag, [&] { return to_csv(results); });
  files.write(html_flag, [&] {
    const PageSection part = page_section(results, view, {.command = request.command_line});
    return page_text("Convolutions on " + part.name, {part});
  });
  if (const auto prefix = given.value(conv_plot_flag)) write_pictures(*prefix, results);
  if (files.took_stdout()) return;
  print(is_advise(given) ? network_advice_text(results, view, request.style)
                         : to_text(results, view, request.style));
}

std::string resume_line(const Request& request) {
  std::string line = request.command_line;
  if (const std::size_t at = line.find(" --force"); at != std::string::npos) line.erase(at, 8);
  return request.arguments.has(conv_resume_flag) ? line : line + " --resume";
}

int end_of(const Request& request, const ConvRunOutcome& outcome) {
  const auto& cells = outcome.results.cells;
  if (outcome.is_interrupted) {
    print_to_stderr(fmt::format(
        "interrupted: {} of {} results are there\n{}\n", cells.size(), outcome.total,
        request.arguments.has(conv_jsonl_flag) ? "go on with: " + resume_line(request)
                                               : "with --jsonl FILE it could be resumed"));
    return exit_code::interrupted;
  }
  const bool has_any = std::any_of(cells.begin(), cells.end(),
                                   [](const ConvCell& cell) { return cell.is_measured(); });
  if (!has_any) {
    std::string why = cells.empty() ? "" : cells.front().reason;
    for (const ConvSeries& series : outcome.results.series) {
      for (const ConvPoint& point : series.points) {
        if (why.empty()) why = refusal_of(point.shape).value_or("");
      }
    }
    fail(ErrorKind::input, "nothing could be measured; the first reason: {}", why);
  }
  return exit_code::done;
}

int run_conv(const Request& request) {
  const Arguments& given = request.arguments;
  check_flags(given);
  if (const auto path = given.value(conv_from_flag)) {
    show(request, restricted(load_conv_results(*path), conv_restriction(given)));
    return exit_code::done;
  }
  std::vector<ConvPass> passes = {ConvPass::forward};
  if (is_advise(given)) passes.assign(all_conv_passes.begin(), all_conv_passes.end());
  std::vector<ConvSeries> series =
      is_advise(given) ? std::vector{series_of_model(given)} : conv_series(given);
  if (given.has(conv_dry_run_flag)) {
    print(conv_dry_run_text(given, std::move(series), std::move(passes)));
    return exit_code::done;
  }
  std::optional<ConvLinesFile> lines;
  if (const auto path = given.value(conv_jsonl_flag)) {
    lines = ConvLinesFile{std::string(*path), given.has(conv_resume_flag)  ? IfPresent::resume
                                              : given.has(conv_force_flag) ? IfPresent::replace
                                                                           : IfPresent::refuse};
  }
  const ConvRunOutcome outcome =
      measure_convolutions(given, std::move(series), std::move(passes), lines);
  show(request, outcome.results);
  return end_of(request, outcome);
}

}  // namespace

constexpr Command conv_command{.name = "conv",
                               .summary = "Strategies of convolution, measured and compared",
                               .arguments = conv_arguments,
                               .flags = conv_flags,
                               .run = run_conv,
                               .shows_waiting = false};

}  // namespace strata
