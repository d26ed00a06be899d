// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/reproduce_roofline.hpp"
#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"
#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/convolution.hpp"
#include "strata/reproduce/roofline_study.hpp"
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

constexpr std::string_view studies[] = {"analytical", "roofline", "convolution"};

constexpr Argument reproduce_arguments[] = {{.name = "STUDY",
                                             .help = "analytical, roofline or convolution.",
                                             .choices = studies,
                                             .offer = Offer::choices}};
constexpr Flag reproduce_json_flag{.name = "json",
                                   .value = "FILE",
                                   .help = "The findings as JSON; - is standard output.",
                                   .offer = Offer::file};
constexpr Flag reproduce_out_flag{
    .name = "out",
    .value = "DIR",
    .help = "Also writes the figures there: SVG, and their tables as CSV.",
    .offer = Offer::file};
constexpr Flag reproduce_png_flag{.name = "png", .help = "With --out, the figures as PNG, too."};
constexpr Flag reproduce_from_flag{
    .name = "from",
    .value = "FILE",
    .help = "Results of strata conv, or of --run; else those that ship.",
    .offer = Offer::file};
constexpr Flag reproduce_flags[] = {reproduce_out_flag, reproduce_png_flag, reproduce_from_flag,
                                    sweeps_run_flag,    sweeps_device_flag, sweeps_on_flag,
                                    reproduce_json_flag};

/// Who published what, and what "holds" means.
struct Study {
  std::string title;
  std::string_view place;  ///< what the findings are of
  std::string_view rule;
  std::string measured = {};  ///< on which device it was measured, too; empty: on none
};

Study analytical_study() {
  return {
      "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem (thesis, "
      "National Taiwan University, 2021)",
      "network",
      "within 3 percentage points or 0.05×, 5 points where the thesis says \"about\", or in the "
      "direction it claims"};
}

Study roofline_study(const std::string& device) {
  return {
      "Time-Based Roofline for Deep Learning Performance Analysis (2020), predicted on its V100",
      "network",
      "as printed, in the direction it claims, proportional and constant within 10 %, almost "
      "equal within 20 %; rows without a verdict claim nothing of it",
      device};
}

Study convolution_study(const ConvResults& results) {
  return {
      fmt::format("Performance Analysis of GPU-based Convolutional Neural Networks (2016, Tesla "
                  "K40c), beside the forward pass in {} on {}",
                  name_of(results.dtype), results.device),
      "where", "in the direction or within the range that the study saw"};
}

std::string verdict(const std::optional<bool>& holds) {
  return !holds ? "" : *holds ? "yes" : "no";
}

std::optional<bool> verdict_of(const Finding& finding) {
  return finding.is_printed ? std::optional(finding.holds) : std::nullopt;
}

std::string table_of(const Study& study, const std::vector<Finding>& findings,
                     const TextStyle& style) {
  const bool has_measured = !study.measured.empty();
  std::vector<Column> columns = {
      {.title = "no."},
      {.title = std::string(study.place), .least_width = 12},
      {.title = "what", .least_width = 24},
      {.title = "printed", .align = Align::right},
      {.title = has_measured ? "predicted" : "found", .align = Align::right},
      {.title = "holds"}};
  if (has_measured) {
    columns.push_back({.title = study.measured, .align = Align::right});
    columns.push_back({.title = "holds"});
  }
  columns.push_back({.title = "note", .least_width = 10, .leaves = 1});
  Table table(std::move(columns));
  for (const Finding& finding : findings) {
    std::vector<std::string> cells = {finding.observation, finding.network,
                                      finding.what,        finding.printed,
                                      finding.found,       verdict(verdict_of(finding))};
    if (has_measured) {
      const MeasuredAnswer seen = finding.measured.value_or(MeasuredAnswer{});
      cells.insert(cells.end(), {seen.found, verdict(seen.holds)});
    }
    cells.push_back(finding.note);
    table.add_row(std::move(cells));
  }
  return table.to_text(style);
}

/// "9 of 12" of the verdicts there are.
template <class Verdict>
std::string held_of(const std::vector<Finding>& findings, const Verdict& verdict_in) {
  std::size_t held = 0;
  std::size_t claims = 0;
  for (const Finding& finding : findings) {
    const std::optional<bool> holds = verdict_in(finding);
    claims += holds.has_value();
    held += holds.value_or(false);
  }
  return fmt::format("{} of {}", held, claims);
}

std::string to_text(const Study& study, const std::vector<Finding>& findings,
                    const TextStyle& style) {
  std::string held = held_of(findings, verdict_of) + " hold";
  if (!study.measured.empty()) {
    const std::string measured = held_of(findings, [](const Finding& finding) {
      return finding.measured ? finding.measured->holds : std::nullopt;
    });
    held = fmt::format("{} as predicted, {} as measured on {}", held, measured, study.measured);
  }
  return fmt::format("{}\n\n{}\n{}: {}\n", study.title, table_of(study, findings, style), held,
                     study.rule);
}

nlohmann::ordered_json finding_json(const Finding& finding) {
  nlohmann::ordered_json json = {{"observation", finding.observation},
                                 {"network", finding.network},
                                 {"what", finding.what},
                                 {"printed", finding.printed},
                                 {"found", finding.found},
                                 {"is_printed", finding.is_printed},
                                 {"holds", finding.holds},
                                 {"note", finding.note}};
  if (finding.measured) {
    const auto& holds = finding.measured->holds;
    json["measured"] = {{"found", finding.measured->found},
                        {"holds", holds ? nlohmann::ordered_json(*holds) : nullptr}};
  }
  return json;
}

std::string to_json(const std::vector<Finding>& findings, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "reproduction");
  text.add_list("findings", findings, finding_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

/// "figures  42 %" on standard error while it works, on a terminal only; nothing is left of it.
class ReproduceProgress {
 public:
  explicit ReproduceProgress(std::string_view what) : what_(what) {}
  ~ReproduceProgress() { clear(); }
  ReproduceProgress(const ReproduceProgress&) = delete;
  ReproduceProgress& operator=(const ReproduceProgress&) = delete;

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

/// Writes the figures; says what is there now.
std::string written(const std::filesystem::path& folder, const std::vector<Figure>& figures,
                    WantPng png) {
  write_figures(folder, figures, png);
  return fmt::format("\n{} figures in {}, as CSV{}: {} to {}\n", figures.size(), folder.string(),
                     png == WantPng::yes ? ", SVG and PNG" : " and SVG", figures.front().name,
                     figures.back().name);
}

struct Reproduced {
  Study study;
  std::vector<Finding> findings;
  std::vector<Figure> figures;  ///< none when nobody wants them
  std::string notes = {};       ///< lines under the table
  bool is_interrupted = false;
};

Reproduced analytical(bool wants_figures) {
  Reproduced result{analytical_study(), {}, {}};
  {
    ReproduceProgress progress("observations");
    result.findings = reproduce_analytical([&](double share) { progress.show(share); });
  }
  if (!wants_figures) return result;
  ReproduceProgress progress("figures");
  result.figures =
      analytical_figures(thesis_results({}, [&](double share) { progress.show(share); }));
  return result;
}

Reproduced roofline(const Request& request, bool wants_figures) {
  const auto from = request.arguments.value(reproduce_from_flag);
  MeasuredSide side;
  {
    ReproduceProgress progress("measuring");
    side = measured_side(request, from, [&](double share) { progress.show(share); });
  }
  ReproduceProgress progress("sweeps");
  const RooflineStudy study = predict_roofline_study([&](double share) { progress.show(share); });
  const RooflineStudy* measured = side.study ? &*side.study : nullptr;
  return {roofline_study(measured == nullptr ? "" : measured->title),
          roofline_findings(study, measured),
          wants_figures ? roofline_figures(study, measured) : std::vector<Figure>{},
          std::move(side.notes), side.is_interrupted};
}

/// Results that the file of --from holds, or that ship with the program.
ConvResults stored_convolutions(const Arguments& given) {
  if (const auto path = given.value(reproduce_from_flag)) return load_conv_results(*path);
  for (const EmbeddedFile& file : embedded_conv_results()) {
    if (file.name == "paper") return read_conv_results(file.text);
  }
  fail(ErrorKind::environment,
       "no results of the suite ship with this program; make them with `strata conv --suite paper "
       "--device cuda --json paper.json` (or --suite cpu), and give --from paper.json");
}

Reproduced convolution(const Arguments& given) {
  const ConvResults results = stored_convolutions(given);
  return {convolution_study(results), reproduce_convolution(results), {}};
}

/// Flags that do not go with the study, and pictures that cannot be drawn, are refused before
/// anything is computed.
void check_flags(const Arguments& given, std::string_view study) {
  if (study == "convolution" && (given.has(reproduce_out_flag) || given.has(reproduce_png_flag))) {
    fail(ErrorKind::usage,
         "--out and --png do not go with convolution; `strata conv --from FILE --plot` draws it");
  }
  if (study == "analytical" && given.has(reproduce_from_flag))
    fail(ErrorKind::usage, "--from does not go with analytical, which computes");
  for (const Flag* flag : {&sweeps_run_flag, &sweeps_device_flag, &sweeps_on_flag}) {
    if (study != "roofline" && given.has(*flag))
      fail(ErrorKind::usage, "--{} goes with roofline, not with {}", flag->name, study);
  }
  if (given.has(sweeps_run_flag) && given.has(reproduce_from_flag))
    fail(ErrorKind::usage, "--run measures, --from reads what was measured: give one of them");
  if (given.has(sweeps_device_flag) && !given.has(sweeps_run_flag))
    fail(ErrorKind::usage, "--device says where to measure and needs --run");
  if (given.has(reproduce_png_flag) && !given.has(reproduce_out_flag)) {
    fail(ErrorKind::usage, "--png needs --out DIR, where the pictures go");
  }
  if (given.has(reproduce_png_flag) && !has_png()) svg_to_png("");  // refuses
  check_outputs(given, {&sweeps_run_flag, &reproduce_json_flag});
}

int run_reproduce(const Request& request) {
  const Arguments& given = request.arguments;
  const std::string_view name = given.word(0);
  check_flags(given, name);
  const auto folder = given.value(reproduce_out_flag);
  if (folder) make_figure_folder(*folder);
  const Reproduced result = name == "convolution" ? convolution(given)
                            : name == "roofline"  ? roofline(request, folder.has_value())
                                                  : analytical(folder.has_value());
  const WantPng png = given.has(reproduce_png_flag) ? WantPng::yes : WantPng::no;
  const std::string files = folder ? written(*folder, result.figures, png) : "";
  const auto path = given.value(reproduce_json_flag);
  if (path) write_output(*path, to_json(result.findings, {.command = request.command_line}));
  if (path != "-")
    print(to_text(result.study, result.findings, request.style) + result.notes + files);
  return result.is_interrupted ? exit_code::interrupted : exit_code::done;
}

}  // namespace

constexpr Command reproduce_command{.name = "reproduce",
                                    .summary = "The published figures of a study, computed anew",
                                    .arguments = reproduce_arguments,
                                    .flags = reproduce_flags,
                                    .run = run_reproduce};

}  // namespace strata
