// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/run_capture_study.hpp"
#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"
#include "strata/report/write_file.hpp"
#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/capture_study.hpp"
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

constexpr std::string_view studies[] = {"analytical", "roofline", "convolution", "capture"};

constexpr Argument reproduce_arguments[] = {
    {.name = "STUDY",
     .help = "analytical, roofline, convolution or capture.",
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
constexpr Flag reproduce_from_flag{.name = "from",
                                   .value = "FILE",
                                   .help = "convolution, capture: results; else those that ship.",
                                   .offer = Offer::file};
constexpr Flag reproduce_run_flag{.name = "run",
                                  .help = "capture: runs PyTorch and JAX on this GPU."};
constexpr Flag reproduce_flags[] = {reproduce_out_flag, reproduce_png_flag, reproduce_from_flag,
                                    reproduce_run_flag, reproduce_json_flag};

/// Who published what, and what "holds" means.
struct Study {
  std::string title;
  std::string_view place;  ///< what the findings are of
  std::string_view rule;
};

Study analytical_study() {
  return {
      "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem (thesis, "
      "National Taiwan University, 2021)",
      "network",
      "within 3 percentage points or 0.05×, 5 points where the thesis says \"about\", or in the "
      "direction it claims"};
}

Study roofline_study() {
  return {
      "Time-Based Roofline for Deep Learning Performance Analysis (2020), predicted on its V100",
      "network",
      "as printed, in the direction it claims, proportional and constant within 10 %, almost "
      "equal within 20 %; rows without a verdict need a device"};
}

Study convolution_study(const ConvResults& results) {
  return {
      fmt::format("Performance Analysis of GPU-based Convolutional Neural Networks (2016, Tesla "
                  "K40c), beside the forward pass in {} on {}",
                  name_of(results.dtype), results.device),
      "where", "in the direction or within the range that the study saw"};
}

Study capture_study_of(const CaptureStudy& results) {
  return {fmt::format("Performance Analysis of various Deep Learning Models on High Performance "
                      "Computing Systems (nvprof on PyTorch, K80 and P40), beside {}: {}",
                      results.device.empty() ? "no device" : results.device, results.about),
          "network", "in the direction that the report saw"};
}

std::string table_of(const Study& study, const std::vector<Finding>& findings,
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
  return table.to_text(style);
}

std::string to_text(const Study& study, const std::vector<Finding>& findings,
                    const TextStyle& style) {
  const auto held = std::count_if(findings.begin(), findings.end(),
                                  [](const Finding& f) { return f.is_printed && f.holds; });
  const auto printed = std::count_if(findings.begin(), findings.end(),
                                     [](const Finding& f) { return f.is_printed; });
  return fmt::format("{}\n\n{}\n{} of {} hold: {}\n", study.title, table_of(study, findings, style),
                     held, printed, study.rule);
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

Reproduced roofline(bool wants_figures) {
  ReproduceProgress progress("sweeps");
  const RooflineStudy study = predict_roofline_study([&](double share) { progress.show(share); });
  return {roofline_study(), roofline_findings(study),
          wants_figures ? roofline_figures(study) : std::vector<Figure>{}};
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

/// Of --run, of --from (a study, or a folder of tests/device/capture_run), or as it ships.
CaptureStudy stored_captures(const Arguments& given) {
  if (given.has(reproduce_run_flag)) return run_capture_study();
  if (const auto path = given.value(reproduce_from_flag)) {
    if (std::filesystem::is_directory(*path)) return read_study_folder(*path);
    return read_capture_study(text_of_file(std::string(*path)));
  }
  for (const EmbeddedFile& file : embedded_capture_studies()) {
    if (file.name == "study") return read_capture_study(file.text);
  }
  fail(ErrorKind::environment,
       "no results of the study ship with this program; make them on a computer with a GPU and "
       "PyTorch by `strata reproduce capture --run`");
}

Reproduced captures(const Arguments& given) {
  const CaptureStudy results = stored_captures(given);
  if (const auto folder = given.value(reproduce_out_flag)) {
    std::filesystem::create_directories(*folder);
    write_file(std::filesystem::path(*folder) / "study.json", to_json(results));
  }
  return {capture_study_of(results), reproduce_capture(results), {}};
}

/// Flags that do not go with the study, and pictures that cannot be drawn, are refused before
/// anything is computed.
void check_reproduce_flags(const Arguments& given) {
  const bool is_convolution = given.word(0) == "convolution";
  const bool is_capture = given.word(0) == "capture";
  if (given.has(reproduce_run_flag) && (!is_capture || given.has(reproduce_from_flag)))
    fail(ErrorKind::usage, "--run goes with capture alone, and not with --from");
  if (is_convolution && (given.has(reproduce_out_flag) || given.has(reproduce_png_flag))) {
    fail(ErrorKind::usage,
         "--out and --png do not go with convolution; `strata conv --from FILE --plot` draws it");
  }
  if (!is_convolution && !is_capture && given.has(reproduce_from_flag)) {
    fail(ErrorKind::usage, "--from does not go with {}, which computes", given.word(0));
  }
  if (given.has(reproduce_png_flag) && !given.has(reproduce_out_flag)) {
    fail(ErrorKind::usage, "--png needs --out DIR, where the pictures go");
  }
  if (given.has(reproduce_png_flag) && !has_png()) svg_to_png("");  // refuses
}

int run_reproduce(const Request& request) {
  const Arguments& given = request.arguments;
  const std::string_view name = given.word(0);
  check_reproduce_flags(given);
  const auto folder = given.value(reproduce_out_flag);
  if (folder && name != "capture") make_figure_folder(*folder);
  const Reproduced result = name == "convolution" ? convolution(given)
                            : name == "capture"   ? captures(given)
                            : name == "roofline"  ? roofline(folder.has_value())
                                                  : analytical(folder.has_value());
  const WantPng png = given.has(reproduce_png_flag) ? WantPng::yes : WantPng::no;
  std::string files;
  if (folder && !result.figures.empty()) files = written(*folder, result.figures, png);
  if (folder && name == "capture")
    files = fmt::format("\nthe study is in {}/study.json\n", *folder);
  const auto path = given.value(reproduce_json_flag);
  if (path) write_output(*path, to_json(result.findings, {.command = request.command_line}));
  if (path != "-") print(to_text(result.study, result.findings, request.style) + files);
  return exit_code::done;
}

}  // namespace

constexpr Command reproduce_command{.name = "reproduce",
                                    .summary = "The published figures of a study, computed anew",
                                    .arguments = reproduce_arguments,
                                    .flags = reproduce_flags,
                                    .run = run_reproduce};

}  // namespace strata
