// SPDX-License-Identifier: Apache-2.0
#include "strata/report/plot.hpp"

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/plot_inputs.hpp"
#include "cli/predict_flags.hpp"
#include "cli/profile_argument.hpp"
#include "strata/base/error.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/figure_size.hpp"
#include "strata/report/plot_api.hpp"
#include "strata/report/sweep_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace strata {
namespace {

constexpr Argument plot_arguments[] = {{.name = "INPUT",
                                        .help = "Profiles, models, or results of sweep or conv.",
                                        .offer = Offer::model,
                                        .is_required = false,
                                        .repeats = true}};
constexpr Flag plot_kind_flag{.name = "kind",
                              .letter = 'k',
                              .value = "KIND",
                              .help = "Which figure; help: all of them, with what they need."};
constexpr Flag plot_output_flag{.name = "out",
                                .letter = 'o',
                                .value = "FILE",
                                .help = "As .svg, .png or .pdf; - is SVG on standard output.",
                                .offer = Offer::output,
                                .also = "output"};
constexpr Flag plot_roof_flag{.name = "roof",
                              .value = "ROOF",
                              .help = "Rooflines: auto, tensor, fp32, bf16-matrix and so on."};
constexpr std::string_view plot_groupings[] = {"kernel", "layer", "type", "pass", "all"};
constexpr Flag plot_by_flag{.name = "by",
                            .value = "WHAT",
                            .help = "Rooflines: rows by kernel, layer, type, pass or all.",
                            .choices = plot_groupings,
                            .offer = Offer::choices};
constexpr Flag x_flag{.name = "x", .value = "COLUMN", .help = "Sweeps: the axis to the right."};
constexpr Flag y_flag{
    .name = "y", .value = "COLUMN", .help = "Sweeps: the result, or the second axis of a map."};
constexpr Flag z_flag{.name = "z", .value = "COLUMN", .help = "Maps: the result, as colour."};

constexpr Flag series_flag{
    .name = "series", .value = "NAME", .help = "Convolutions: only that series, as k or layers."};
constexpr std::string_view plot_pass_choices[] = {"forward", "backward_input", "backward_weight"};
constexpr Flag plot_pass_flag{.name = "pass",
                              .value = "PASS",
                              .help = "Convolutions: only that pass.",
                              .choices = plot_pass_choices,
                              .offer = Offer::choices};

constexpr Flag plot_width_flag{
    .name = "width", .value = "W", .help = "Of the picture: 3.3in, 85mm, 240pt, 900px."};
constexpr Flag font_size_flag{
    .name = "font-size", .value = "PT", .help = "Of its words, in points; with --width. Else 8."};
constexpr Flag plot_title_flag{
    .name = "title", .value = "TEXT", .help = "What stands on top; none: nothing does."};

constexpr auto plot_flags =
    joined_flags(std::array<Flag, 4>{plot_kind_flag, plot_output_flag, plot_label_flag, on_flag},
                 std::array<Flag, 1>{set_flag}, prediction_flags,
                 std::array<Flag, 7>{plot_roof_flag, plot_by_flag, x_flag, y_flag, z_flag,
                                     series_flag, plot_pass_flag},
                 std::array<Flag, 3>{plot_width_flag, font_size_flag, plot_title_flag});

/// The figure as a grid, or the error that its input does not go with it.
class FigureMaker {
 public:
  FigureMaker(const Arguments& given, const PlotKindFacts& facts) : given_(given), facts_(facts) {}

  chart::ChartGrid run() const {
    switch (facts_.input) {
      case PlotInput::profile: return of_profiles();
      case PlotInput::prediction: return of_prediction();
      case PlotInput::sweep: return of_sweep(only_sweep());
      case PlotInput::convolution: return of_convolutions();
      case PlotInput::profile_or_convolution:
        return all_are(PlotFile::convolutions) ? of_convolutions() : of_profiles();
      case PlotInput::profile_or_sweep:
        return all_are(PlotFile::sweep) ? of_sweep(only_sweep()) : of_profiles();
      case PlotInput::capture: break;
    }
    return of_recordings();
  }

 private:
  bool all_are(PlotFile kind) const {
    return std::all_of(given_.words().begin(), given_.words().end(),
                       [&](const std::string& word) { return sniffed(word) == kind; });
  }

  [[noreturn]] void refuse(const std::string& word, PlotFile is) const {
    fail(ErrorKind::usage, "{} needs {}; {} is {}", facts_.name, text_of(facts_.input), word,
         text_of(is));
  }

  void check_inputs(std::initializer_list<PlotFile> wanted) const {
    for (const std::string& word : given_.words()) {
      const PlotFile is = sniffed(word);
      if (std::find(wanted.begin(), wanted.end(), is) == wanted.end()) refuse(word, is);
    }
  }

  /// What only a prediction can follow is not passed over where there is none to make.
  void refuse_unheard() const {
    if (!all_are(PlotFile::profile)) return;
    refuse_flags_for_profile(
        given_, plot_flags,
        {&plot_kind_flag, &plot_output_flag, &plot_label_flag, &on_flag, &set_flag, &plot_roof_flag,
         &plot_by_flag, &x_flag, &y_flag, &z_flag, &series_flag, &plot_pass_flag, &plot_width_flag,
         &font_size_flag, &plot_title_flag});
  }

  std::string only_word() const {
    if (given_.words().size() == 1) return given_.words().front();
    fail(ErrorKind::usage, "{} is drawn of one input, got {}", facts_.name, given_.words().size());
  }

  SweepTable only_sweep() const {
    check_inputs({PlotFile::sweep});
    return read_sweep_table(only_word());
  }

  chart::ChartGrid of_profiles() const {
    check_inputs({PlotFile::profile, PlotFile::model});
    refuse_unheard();
    const std::vector<PlottedProfile> profiles = plotted_profiles(given_);
    switch (facts_.kind) {
      case PlotKind::types: return types_figure(profiles);
      case PlotKind::metric_panels: return metric_panels_figure(profiles);
      case PlotKind::batch_trends: return batch_trends_figure(profiles);
      case PlotKind::layers: return layers_figure(profiles);
      default: return of_roofline(profiles);
    }
  }

  /// A ring for each process that was recorded.
  chart::ChartGrid of_recordings() const {
    const std::vector<std::string> labels = labels_of_plot(given_);
    std::vector<RecordedCalls> programs;
    for (std::size_t i = 0; i < given_.words().size(); ++i) {
      const std::string& word = given_.words()[i];
      if (!is_recording(word)) refuse(word, sniffed(word));
      const std::vector<Recording> recordings = read_recordings(word);
      for (const Recording& recording : recordings) {
        const std::string process =
            recordings.size() == 1 ? "" : fmt::format(", process {}", recording.process.pid);
        programs.push_back({labels[i] + process, make_trace_tables(recording)});
      }
    }
    return api_donut_figure(programs);
  }

  chart::ChartGrid of_roofline(const std::vector<PlottedProfile>& profiles) const {
    std::vector<LabelledProfile> labelled;
    labelled.reserve(profiles.size());
    for (const PlottedProfile& plotted : profiles) labelled.push_back(plotted.labelled);
    const Machine machine = machine_of_plot(given_, profiles);
    const auto by = given_.value(plot_by_flag);
    const auto* const at = by ? std::find(std::begin(plot_groupings), std::end(plot_groupings), *by)
                              : std::begin(plot_groupings);
    const RooflineSummary summary = summarize_roofline(
        labelled, machine, parse_roof(given_.value(plot_roof_flag).value_or("auto")),
        static_cast<RooflineBy>(at - std::begin(plot_groupings)), given_.has(plot_label_flag));
    const auto kind = static_cast<RooflineKind>(static_cast<int>(facts_.kind) -
                                                static_cast<int>(PlotKind::roofline_classic));
    chart::Chart chart = roofline_chart(summary, kind);
    chart::ChartGrid grid{.title = chart.title,
                          .subtitle = chart.subtitle,
                          .panels = {},
                          .columns = 1,
                          .plot_height = 420};
    chart.title.clear();
    grid.panels.push_back(std::move(chart));
    return grid;
  }

  /// A measured iteration, of which the file has the kernels; nothing where it is another input.
  std::optional<chart::ChartGrid> of_measurement() const {
    const std::optional<StoredProfile> stored = stored_profile(only_word());
    if (!stored || stored->profile.evidence != Evidence::measured || is_recording(only_word()))
      return std::nullopt;
    const MeasuredKernels measured = measured_kernels_in(stored->text);
    if (measured.kernels.empty())
      fail(ErrorKind::input,
           "{}: when kernels ran is not in the file (strata measure --device cuda traces them)",
           only_word());
    const ProfileSubject& subject = stored->profile.subject;
    const auto subtitle =
        fmt::format("{}, {}, {}, measured: {}", subject.title, subject.setup_or_dtype(),
                    subject.machine_title, time_text(measured.end_s()));
    if (facts_.kind == PlotKind::timeline)
      return timeline_figure(measured, {"One measured iteration over time", subtitle});
    if (!names_network(measured.network))
      fail(ErrorKind::input,
           "{}: what lives in memory follows from the network, and '{}' is not built in",
           only_word(), measured.network);
    const Graph graph = load_model(measured.network);
    const BoundGraph bound =
        bind_model(graph, {.dims = measured.dims, .dtype = dtype_named(measured.dtype)});
    TrainingOptions options;
    options.inference = measured.is_inference;
    options.optimizer = optimizer_named(measured.optimizer).value_or(Optimizer::momentum);
    options.unroll_recurrent = false;
    return memory_figure(make_program(bound, options), measured,
                         {"Memory over one measured iteration", subtitle});
  }

  chart::ChartGrid of_prediction() const {
    check_inputs({PlotFile::profile, PlotFile::model});
    refuse_unheard();
    if (std::optional<chart::ChartGrid> measured = of_measurement()) return std::move(*measured);
    const PlottedPrediction made = plotted_prediction(given_, only_word());
    const PredictionSummary& summary = made.iteration.summary;
    const bool is_timeline = facts_.kind == PlotKind::timeline;
    const TimelineTitle title{is_timeline ? "One iteration over time" : "Memory over one iteration",
                              fmt::format("{}, {}, {}, predicted: {}", summary.title, summary.dtype,
                                          summary.machine_title, time_text(summary.totals.time_s))};
    return is_timeline ? timeline_figure(made.iteration.program, made.iteration.prediction,
                                         summary.hardware.capacity_bytes, title)
                       : memory_figure(made.iteration.program, made.iteration.prediction, title);
  }

  chart::ChartGrid of_sweep(const SweepTable& table) const {
    const auto named = [&](const Flag& flag) {
      const auto value = given_.value(flag);
      return value ? std::optional<std::string>(*value) : std::nullopt;
    };
    const SweepFigureChoice choice{named(x_flag), named(y_flag), named(z_flag)};
    switch (facts_.kind) {
      case PlotKind::sweep_heat: return sweep_heat_figure(table, choice);
      case PlotKind::pareto: return sweep_pareto_figure(table, choice);
      case PlotKind::batch_trends: return sweep_batch_figure(table);
      default: break;
    }
    chart::Chart chart = sweep_line_figure(table, choice);
    chart::ChartGrid grid{.title = std::exchange(chart.title, {}),
                          .subtitle = chart.subtitle,
                          .panels = {},
                          .columns = 1,
                          .plot_height = 320};
    grid.panels.push_back(std::move(chart));
    return grid;
  }

  chart::ChartGrid of_convolutions() const {
    check_inputs({PlotFile::convolutions});
    const ConvResults results = chosen(load_conv_results(only_word()));
    switch (facts_.kind) {
      case PlotKind::metric_panels: return conv_metric_figure(results);
      case PlotKind::transfer_bars: return transfer_figure(results);
      default: return conv_figure(results, facts_.kind);
    }
  }

  /// The series and the pass that were asked for. Roles are shown of layers by themselves where
  /// there are any, as the paper does: of a sweep they are a panel for each strategy and series.
  ConvResults chosen(ConvResults results) const {
    if (const auto pass = given_.value(plot_pass_flag)) {
      const auto* const at =
          std::find(std::begin(plot_pass_choices), std::end(plot_pass_choices), *pass);
      results = restricted(std::move(results),
                           {.passes = {static_cast<ConvPass>(at - std::begin(plot_pass_choices))},
                            .strategies = {},
                            .memory_limit_bytes = {}});
    }
    const auto wanted = given_.value(series_flag);
    const bool has_layers = std::any_of(results.series.begin(), results.series.end(),
                                        [](const ConvSeries& series) { return !series.is_sweep; });
    std::vector<std::string> names;
    for (const ConvSeries& series : results.series) names.push_back(series.name);
    std::erase_if(results.series, [&](const ConvSeries& series) {
      if (wanted) return series.name != *wanted;
      return facts_.kind == PlotKind::conv_roles && has_layers && series.is_sweep;
    });
    if (results.series.empty())
      fail(ErrorKind::usage, "no series '{}' in these results; there are: {}", *wanted,
           fmt::join(names, ", "));
    return results;
  }

  const Arguments& given_;
  const PlotKindFacts& facts_;
};

enum class PictureForm { svg, png, pdf };

PictureForm form_of(std::string_view path) {
  if (path == "-" || path.ends_with(".svg")) return PictureForm::svg;
  if (path.ends_with(".png")) return PictureForm::png;
  if (path.ends_with(".pdf")) return PictureForm::pdf;
  fail(ErrorKind::usage, "-o {}: a figure ends in .svg, .png or .pdf", path);
}

std::string picture_of(const chart::ChartGrid& grid, PictureForm form) {
  std::string svg = chart::to_svg(grid);
  switch (form) {
    case PictureForm::png: return svg_to_png(svg);
    case PictureForm::pdf: return svg_to_pdf(svg);
    case PictureForm::svg: break;
  }
  return svg;
}

/// What is asked of the figure as such.
void shape(chart::ChartGrid& grid, const Arguments& given, const std::optional<FigureSize>& size) {
  if (const auto title = given.value(plot_title_flag)) {
    grid.title = *title == "none" ? "" : std::string(*title);
    if (*title == "none") grid.subtitle.clear();
  }
  if (size) fit(grid, *size);
}

std::optional<FigureSize> figure_size(const Arguments& given) {
  const auto width = given.value(plot_width_flag);
  if (!width && given.has(font_size_flag))
    fail(ErrorKind::usage, "--font-size is about a figure of some --width: give it, too");
  return width ? std::optional(parse_figure_size(*width, given.value(font_size_flag)))
               : std::nullopt;
}

int run_plot(const Request& request) {
  const Arguments& given = request.arguments;
  const auto kind = given.value(plot_kind_flag);
  if (!kind) fail(ErrorKind::usage, "which figure? give --kind KIND (--kind help lists them)");
  if (*kind == "help") {
    print(plot_kinds_text());
    return exit_code::done;
  }
  const PlotKindFacts& facts = plot_kind_named(*kind);
  const auto output = given.value(plot_output_flag);
  if (!output) fail(ErrorKind::usage, "where to? give -o FILE.svg, .png or .pdf, or -o -");
  const PictureForm form = form_of(*output);
  if (form != PictureForm::svg && !has_png()) svg_to_png("");  // refuses before anything is done
  if (given.words().empty())
    fail(ErrorKind::usage, "{} needs {}", facts.name, text_of(facts.input));
  const std::optional<FigureSize> size = figure_size(given);
  chart::ChartGrid grid = FigureMaker(given, facts).run();
  shape(grid, given, size);
  write_output(*output, picture_of(grid, form));
  return exit_code::done;
}

}  // namespace

constexpr Command plot_command{.name = "plot",
                               .summary = "Results as figures for papers: SVG, PNG or PDF",
                               .arguments = plot_arguments,
                               .flags = plot_flags,
                               .run = run_plot};

}  // namespace strata
