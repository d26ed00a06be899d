// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"
#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/convolution.hpp"
#include "strata/reproduce/write_figures.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr std::string_view studies[] = {"analytical", "convolution"};

constexpr Argument arguments[] = {{.name = "STUDY",
                                   .help = "analytical or convolution.",
                                   .choices = studies,
                                   .offer = Offer::choices}};
constexpr Flag json_flag{.name = "json",
                         .value = "FILE",
                         .help = "The findings as JSON; - is standard output.",
                         .offer = Offer::file};
constexpr Flag out_flag{.name = "out",
                        .value = "DIR",
                        .help = "Also writes the figures there: SVG, and their tables as CSV.",
                        .offer = Offer::file};
constexpr Flag png_flag{.name = "png", .help = "With --out, the figures as PNG, too."};
constexpr Flag from_flag{.name = "from",
                         .value = "FILE",
                         .help = "convolution: results of strata conv other than those that ship.",
                         .offer = Offer::file};
constexpr Flag flags[] = {out_flag, png_flag, from_flag, json_flag};

/// What stands around the findings of a study.
struct StudyText {
  std::string title;
  std::string_view place;  ///< what the findings are of
  std::string_view rule;   ///< when one holds
};

StudyText analytical_text() {
  return {
      "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem (thesis, "
      "National Taiwan University, 2021)",
      "network",
      "within 3 percentage points or 0.05×, 5 points where the thesis says \"about\", or in the "
      "direction it claims"};
}

StudyText convolution_text(const ConvResults& results) {
  return {
      fmt::format("Performance Analysis of GPU-based Convolutional Neural Networks (2016, Tesla "
                  "K40c), beside the forward pass in {} on {}",
                  name_of(results.dtype), results.device),
      "where", "in the direction or within the range that the study saw"};
}

std::string to_text(const StudyText& study, const std::vector<Finding>& findings,
                    const TextStyle& style) {
  Table table({{.title = "no."},
               {.title = std::string(study.place), .least_width = 12},
               {.title = "what", .least_width = 24},
               {.title = "printed", .align = Align::right},
               {.title = "found", .align = Align::right},
               {.title = "holds"},
               {.title = "note", .least_width = 10, .leaves = 1}});
  for (const Finding& finding : findings) {
    table.add_row({finding.observation, finding.network, finding.what, finding.printed,
                   finding.found,
                   !finding.is_printed ? ""
                   : finding.holds     ? "yes"
                                       : "no",
                   finding.note});
  }
  const auto held = std::count_if(findings.begin(), findings.end(),
                                  [](const Finding& f) { return f.is_printed && f.holds; });
  const auto printed = std::count_if(findings.begin(), findings.end(),
                                     [](const Finding& f) { return f.is_printed; });
  return fmt::format("{}\n\n{}\n{} of {} hold: {}\n", study.title, table.to_text(style), held,
                     printed, study.rule);
}

std::string to_json(const std::vector<Finding>& findings, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "reproduction");
  text.add_list("findings", findings, [](const Finding& finding) {
    return nlohmann::ordered_json{{"observation", finding.observation},
                                  {"network", finding.network},
                                  {"what", finding.what},
                                  {"printed", finding.printed},
                                  {"found", finding.found},
                                  {"is_printed", finding.is_printed},
                                  {"holds", finding.holds},
                                  {"note", finding.note}};
  });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

/// "figures  42 %" on standard error while it works, on a terminal only; nothing is left of it.
class ProgressLine {
 public:
  explicit ProgressLine(std::string_view what) : what_(what) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(double share) {
    const int percent = static_cast<int>(100 * share);
    if (!is_terminal_ || percent == shown_) return;
    shown_ = percent;
    print_to_stderr(fmt::format("\r{} {:3} %", what_, percent));
  }

 private:
  void clear() const {
    if (shown_ >= 0) print_to_stderr("\r\x1b[K");
  }

  std::string_view what_;
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  int shown_ = -1;
};

/// Computes and writes the figures; says what is there now.
std::string figures_in(const std::filesystem::path& folder, WantPng png) {
  ProgressLine progress("figures");
  const std::vector<Figure> figures =
      analytical_figures(thesis_results({}, [&](double share) { progress.show(share); }));
  write_figures(folder, figures, png);
  return fmt::format("{} figures in {}, as CSV{}: {} to {}\n", figures.size(), folder.string(),
                     png == WantPng::yes ? ", SVG and PNG" : " and SVG", figures.front().name,
                     figures.back().name);
}

std::vector<Finding> findings_with_progress() {
  ProgressLine progress("observations");
  return reproduce_analytical([&](double share) { progress.show(share); });
}

/// Results that the file of --from holds, or that ship with the program.
ConvResults stored_convolutions(const Arguments& given) {
  if (const auto path = given.value(from_flag)) return load_conv_results(*path);
  for (const EmbeddedFile& file : embedded_conv_results()) {
    if (file.name == "paper") return read_conv_results(file.text);
  }
  fail(ErrorKind::environment,
       "no results of the suite ship with this program; make them with `strata conv --suite paper "
       "--device cuda --json paper.json` (or --suite cpu), and give --from paper.json");
}

int run_convolution(const Request& request) {
  const Arguments& given = request.arguments;
  if (given.has(out_flag) || given.has(png_flag))
    fail(ErrorKind::usage,
         "--out and --png do not go with convolution; `strata conv --from FILE --plot` draws it");
  const ConvResults results = stored_convolutions(given);
  const std::vector<Finding> findings = reproduce_convolution(results);
  const auto path = given.value(json_flag);
  if (path) write_output(*path, to_json(findings, {.command = request.command_line}));
  if (path != "-") print(to_text(convolution_text(results), findings, request.style));
  return exit_code::done;
}

int run_analytical(const Request& request) {
  if (request.arguments.has(from_flag))
    fail(ErrorKind::usage, "--from does not go with analytical, which computes");
  const auto folder = request.arguments.value(out_flag);
  const bool wants_png = request.arguments.has(png_flag);
  if (wants_png && !folder) fail(ErrorKind::usage, "--png needs --out DIR, where the pictures go");
  if (wants_png && !has_png()) svg_to_png("");  // refuses, before anything is computed
  if (folder) make_figure_folder(*folder);
  const std::vector<Finding> findings = findings_with_progress();
  const std::string written =
      folder ? "\n" + figures_in(*folder, wants_png ? WantPng::yes : WantPng::no) : "";
  const auto path = request.arguments.value(json_flag);
  if (path) write_output(*path, to_json(findings, {.command = request.command_line}));
  if (path != "-") print(to_text(analytical_text(), findings, request.style) + written);
  return exit_code::done;
}

int run(const Request& request) {
  return request.arguments.word(0) == "convolution" ? run_convolution(request)
                                                    : run_analytical(request);
}

}  // namespace

constexpr Command reproduce_command{.name = "reproduce",
                                    .summary = "The published figures of a study, computed anew",
                                    .arguments = arguments,
                                    .flags = flags,
                                    .run = run};

}  // namespace strata
