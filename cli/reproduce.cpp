// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/reproduce_layerwise.hpp"
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

constexpr std::string_view studies[] = {"analytical", "roofline", "convolution", "layerwise"};

constexpr Argument reproduce_arguments[] = {
    {.name = "STUDY",
     .help = "analytical, roofline, convolution, layerwise.",
     .choices = studies,
     .offer = Offer::choices}};
constexpr Flag reproduce_json_flag{.name = "json",
                                   .value = "FILE",
                                   .help = "The findings as JSON; - is standard output.",
                                   .offer = Offer::file};
constexpr Flag reproduce_out_flag{.name = "out",
                                  .value = "DIR",
                                  .help = "Also writes the figures there, as SVG and CSV.",
                                  .offer = Offer::file};
constexpr Flag reproduce_png_flag{.name = "png", .help = "With --out, the figures as PNG, too."};
constexpr Flag reproduce_from_flag{
    .name = "from",
    .value = "FILE",
    .help = "Results of strata conv, or a folder of strata measure's.",
    .offer = Offer::file};
constexpr Flag reproduce_run_flag{.name = "run",
                                  .help = "layerwise: measure anew instead of what ships."};
constexpr Flag reproduce_device_flag{
    .name = "device", .value = "DEVICE", .help = "With --run: cuda (default), cuda:N or cpu."};
constexpr Flag reproduce_flags[] = {reproduce_out_flag, reproduce_png_flag,    reproduce_from_flag,
                                    reproduce_run_flag, reproduce_device_flag, reproduce_json_flag};

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

Study layerwise_study(const LayerwiseStudy& study) {
  return {
      fmt::format("Layer-wise Performance Bottleneck Analysis of Deep Neural Networks (GTX 1080 "
                  "Ti, Caffe), beside training iterations on {}",
                  study.device()),
      "network",
      "in the direction the study claims, or as the note says; rows without a verdict need "
      "counters (strata measure --metrics paper)"};
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

Reproduced layerwise(const Arguments& given, const std::string& command) {
  const auto folder = given.value(reproduce_from_flag);
  const auto out = given.value(reproduce_out_flag);
  const LayerwiseStudy study =
      given.has(reproduce_run_flag)
          ? measured_layerwise_study(given.value(reproduce_device_flag).value_or("cuda"),
                                     out ? std::string(*out) : std::string(), command)
      : folder ? layerwise_study_of(std::string(*folder))
               : shipped_layerwise_study();
  return {layerwise_study(study), layerwise_findings(study),
          out ? layerwise_figures(study) : std::vector<Figure>{}};
}

/// Flags that do not go with the study, and pictures that cannot be drawn, are refused before
/// anything is computed.
void check_flags(const Arguments& given, std::string_view study) {
  const bool is_convolution = study == "convolution", is_layerwise = study == "layerwise";
  if (is_convolution && (given.has(reproduce_out_flag) || given.has(reproduce_png_flag))) {
    fail(ErrorKind::usage,
         "--out and --png do not go with convolution; `strata conv --from FILE --plot` draws it");
  }
  for (const Flag* flag : {&reproduce_run_flag, &reproduce_device_flag}) {
    if (given.has(*flag) && !is_layerwise)
      fail(ErrorKind::usage, "--{} goes with layerwise, not with {}", flag->name, study);
  }
  if (given.has(reproduce_device_flag) && !given.has(reproduce_run_flag))
    fail(ErrorKind::usage, "--device needs --run, which measures");
  if (given.has(reproduce_run_flag) && given.has(reproduce_from_flag))
    fail(ErrorKind::usage, "--run measures and --from reads: one of them");
  if (!is_convolution && !is_layerwise && given.has(reproduce_from_flag)) {
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
  check_flags(given, name);
  const auto folder = given.value(reproduce_out_flag);
  if (folder) make_figure_folder(*folder);
  const Reproduced result = name == "convolution" ? convolution(given)
                            : name == "layerwise" ? layerwise(given, request.command_line)
                            : name == "roofline"  ? roofline(folder.has_value())
                                                  : analytical(folder.has_value());
  const WantPng png = given.has(reproduce_png_flag) ? WantPng::yes : WantPng::no;
  const std::string files = folder ? written(*folder, result.figures, png) : "";
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
