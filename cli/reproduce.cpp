// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "cli/studies.hpp"
#include "cli/study_report.hpp"
#include "strata/base/error.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/reproduce/printed_points.hpp"
#include "strata/reproduce/write_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr std::string_view all_studies = "all";
constexpr auto study_names = [] {
  std::array<std::string_view, std::size(studies) + 1> names{};
  for (std::size_t i = 0; i < std::size(studies); ++i) names[i] = studies[i].name;
  names.back() = all_studies;
  return names;
}();

constexpr Argument reproduce_arguments[] = {
    {.name = "STUDY",
     .help = "analytical|roofline|convolution|layerwise|capture|all",
     .choices = study_names,
     .offer = Offer::choices}};
constexpr Flag reproduce_json_flag{.name = "json",
                                   .value = "FILE",
                                   .help = "The findings as JSON; - is standard output.",
                                   .offer = Offer::output};
constexpr Flag reproduce_csv_flag{.name = "csv",
                                  .value = "FILE",
                                  .help = "A line per finding; - is standard output.",
                                  .offer = Offer::output};
constexpr Flag reproduce_out_flag{.name = "out",
                                  .value = "DIR",
                                  .help = "Also writes the figures there: SVG and CSV.",
                                  .offer = Offer::file};
constexpr Flag reproduce_png_flag{.name = "png", .help = "With --out, the figures as PNG, too."};
constexpr Flag reproduce_from_flag{.name = "from",
                                   .value = "FILE",
                                   .help = "What was measured; else what ships with the program.",
                                   .offer = Offer::file};
constexpr Flag reproduce_run_flag{.name = "run",
                                  .value = "FILE",
                                  .help = "Measures anew; roofline keeps it in FILE.",
                                  .offer = Offer::file,
                                  .implied = "roofline-sweeps.json"};
constexpr Flag reproduce_device_flag{
    .name = "device", .value = "DEVICE", .help = "With --run: cuda (default), cuda:N or cpu."};
constexpr Flag reproduce_on_flag{.name = "on",
                                 .value = "MACHINE",
                                 .help = "roofline: whose roofs the measured sweeps have.",
                                 .offer = Offer::machine};
constexpr Flag reproduce_flags[] = {reproduce_out_flag,  reproduce_png_flag,    reproduce_from_flag,
                                    reproduce_run_flag,  reproduce_device_flag, reproduce_on_flag,
                                    reproduce_json_flag, reproduce_csv_flag,    html_flag};

/// Writes the figures; says what is there now.
std::string written(const std::filesystem::path& folder, const std::vector<StudyReport>& all,
                    WantPng png) {
  std::vector<Figure> figures;
  for (const StudyReport& study : all) {
    if (study.result)
      figures.insert(figures.end(), study.result->figures.begin(), study.result->figures.end());
  }
  if (figures.empty()) return "\nno figures\n";
  write_figures(folder, figures, png);
  return fmt::format("\n{} figures in {}, as CSV{}: {} to {}\n", figures.size(), folder.string(),
                     png == WantPng::yes ? ", SVG and PNG" : " and SVG", figures.front().name,
                     figures.back().name);
}

/// Flags that do not go with the study, and pictures that cannot be drawn, are refused before
/// anything is computed.
void check_flags(const Arguments& given, std::span<const Study> chosen) {
  check_outputs(given, {&reproduce_json_flag, &reproduce_csv_flag, &html_flag});
  const Study& study = chosen.front();
  const bool is_one = chosen.size() == 1;
  if (given.has(reproduce_from_flag) && !(is_one && study.takes_results))
    fail(ErrorKind::usage, "--from does not go with {}, which computes", given.word(0));
  if (given.has(reproduce_run_flag) && !(is_one && study.measures))
    fail(ErrorKind::usage, "--run does not go with {}, which measures nothing", given.word(0));
  if (given.value(reproduce_run_flag).value_or(reproduce_run_flag.implied) !=
          reproduce_run_flag.implied &&
      study.name != "roofline")
    fail(ErrorKind::usage, "--run FILE goes with roofline; --out DIR keeps what {} measures",
         study.name);
  if (given.has(reproduce_run_flag) && given.has(reproduce_from_flag))
    fail(ErrorKind::usage, "--run measures, --from reads what was measured: give one of them");
  if (given.has(reproduce_device_flag) && !given.has(reproduce_run_flag))
    fail(ErrorKind::usage, "--device says where to measure and needs --run");
  if (given.has(reproduce_on_flag) && study.name != "roofline")
    fail(ErrorKind::usage, "--on goes with roofline, not with {}", given.word(0));
  if (given.has(reproduce_png_flag) && !given.has(reproduce_out_flag)) {
    fail(ErrorKind::usage, "--png needs --out DIR, where the pictures go");
  }
  if (given.has(reproduce_png_flag) && !has_png()) svg_to_png("");  // refuses
}

std::span<const Study> chosen_studies(std::string_view name) {
  const std::span<const Study> all(studies);
  if (name == all_studies) return all;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Study& study) { return study.name == name; });
  return all.subspan(static_cast<std::size_t>(found - all.begin()), 1);
}

std::optional<std::string> given_text(const Arguments& given, const Flag& flag) {
  const auto value = given.value(flag);
  return value ? std::optional(std::string(*value)) : std::nullopt;
}

std::vector<StudyReport> reproduced(const Arguments& given, const std::string& command,
                                    std::span<const Study> chosen) {
  std::vector<StudyReport> all;
  for (const Study& study : chosen) {
    const ProgressPart shown;
    StudyRequest request{
        .wants_figures = given.has(reproduce_out_flag) || given.has(html_flag),
        .from = given_text(given, reproduce_from_flag),
        .run = given_text(given, reproduce_run_flag),
        .device = given_text(given, reproduce_device_flag),
        .machine = given_text(given, reproduce_on_flag),
        .out = given_text(given, reproduce_out_flag),
        .command = command,
        .progress = [&](std::string_view what, double share) {
          show_progress(fmt::format("{}: {} {:3.0f} %", study.name, what, 100 * share));
        }};
    try {
      StudyResult result = study.run(request);
      draw_printed_points(result.findings, result.figures);
      all.push_back({study.name, std::move(result), {}});
    } catch (const Error& error) {  // one of many that lacks its data is a line with a reason
      if (chosen.size() == 1 || error.kind() != ErrorKind::environment) throw;
      all.push_back({study.name, std::nullopt, error.what()});
    }
  }
  return all;
}

int run_reproduce(const Request& request) {
  const Arguments& given = request.arguments;
  const std::span<const Study> chosen = chosen_studies(given.word(0));
  check_flags(given, chosen);
  const auto folder = given.value(reproduce_out_flag);
  if (folder) make_figure_folder(*folder);
  const std::vector<StudyReport> all = reproduced(given, request.command_line, chosen);
  const WantPng png = given.has(reproduce_png_flag) ? WantPng::yes : WantPng::no;
  const std::string files = folder ? written(*folder, all, png) : "";
  const Provenance provenance{.command = request.command_line};
  OutputFiles outputs(given);
  outputs.write(reproduce_json_flag, [&] { return to_json(all, provenance); });
  outputs.write(reproduce_csv_flag, [&] { return to_csv(all); });
  outputs.write(html_flag, [&] {
    const std::string title =
        all.size() == 1 ? all.front().result->heading() : "Published results, computed anew";
    return page_text(title, {page_section(all, provenance)});
  });
  if (!outputs.took_stdout()) print(to_text(all, request.style) + files);
  const bool is_interrupted = std::any_of(all.begin(), all.end(), [](const StudyReport& study) {
    return study.result && study.result->is_interrupted;
  });
  return is_interrupted ? exit_code::interrupted : exit_code::done;
}

}  // namespace

constexpr Command reproduce_command{.name = "reproduce",
                                    .summary = "The published figures of a study, computed anew",
                                    .arguments = reproduce_arguments,
                                    .flags = reproduce_flags,
                                    .run = run_reproduce};

}  // namespace strata
