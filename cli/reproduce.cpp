// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "strata/base/error.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"
#include "strata/reproduce/analytical.hpp"
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

constexpr std::string_view studies[] = {"analytical"};

constexpr Argument arguments[] = {{.name = "STUDY",
                                   .help = "analytical: the model of a training iteration.",
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
constexpr Flag flags[] = {out_flag, png_flag, json_flag};

std::string to_text(const std::vector<Finding>& findings, const TextStyle& style) {
  Table table({{.title = "no."},
               {.title = "network", .least_width = 12},
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
  return fmt::format(
      "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem (thesis, "
      "National Taiwan University, 2021)\n\n{}\n{} of {} hold: within 3 percentage points or "
      "0.05×, "
      "5 points where the thesis says \"about\", or in the direction it claims\n",
      table.to_text(style), held, printed);
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

int run(const Request& request) {
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
  if (path != "-") print(to_text(findings, request.style) + written);
  return exit_code::done;
}

}  // namespace

constexpr Command reproduce_command{.name = "reproduce",
                                    .summary = "The published figures of a study, computed anew",
                                    .arguments = arguments,
                                    .flags = flags,
                                    .run = run};

}  // namespace strata
