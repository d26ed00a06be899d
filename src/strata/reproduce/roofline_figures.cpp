// SPDX-License-Identifier: Apache-2.0
#include "strata/report/roofline_picture.hpp"
#include "strata/reproduce/compared_frameworks.hpp"
#include "strata/reproduce/csv_rows.hpp"
#include "strata/reproduce/roofline_study.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace strata {
namespace {

constexpr std::string_view study_passes[] = {"forward", "backward"};
constexpr std::int64_t bar_filters = 256;

/// Predicted, and measured where somebody did.
using SidesOfStudy = std::vector<const RooflineStudy*>;

std::string kernel_title(std::string_view kernel) { return kernel == "conv2d" ? "Conv2D" : "LSTM"; }

std::string parameter_title(const KernelSweep& sweep) {
  if (sweep.parameter == "batch") return "batch size";
  if (sweep.parameter == "filters") return "the number of filters";
  if (sweep.parameter == "features") return "the number of features";
  if (sweep.parameter == "kernel") return "kernel size";
  if (sweep.parameter == "sequence") return "sequence length";
  if (sweep.parameter == "hidden") return "hidden size";
  return std::string(sweep.parameter);
}

RooflineTrack track_of(const RooflineStudy& study, const SweepResult& result, const Roofs& roofs,
                       DType dtype, std::string_view pass) {
  RooflineTrack track{
      .name = fmt::format("{}", name_of(dtype)),
      .color = dtype == DType::fp16 ? 0U : 1U,
      .marker = dtype == DType::fp16 ? chart::Marker::circle : chart::Marker::square,
      .is_joined = true,
      .points = {}};
  const bool is_labelled = dtype == DType::fp16;  // fp32 runs beside it, in the same order
  for (const KernelPoint* point : result.track(dtype, pass)) {
    PlacedPoint at = placed(study, roofs, *point);
    track.points.push_back({.work = std::move(at.work),
                            .point = std::move(at.point),
                            .label = is_labelled ? fmt::format("{}", point->value) : "",
                            .hint = fmt::format("{} {}", result.sweep.parameter, point->value)});
  }
  return track;
}

std::string number_or_nothing(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "";
}

void add_rows(CsvRows& rows, const RooflineStudy& study, const SweepResult& result) {
  const Roofs roofs = roofs_of_study(study);
  for (const KernelPoint& point : result.points) {
    const auto [work, at] = placed(study, roofs, point);
    rows.add(result.sweep.kernel, result.sweep.parameter, point.value, name_of(point.dtype),
             point.pass, point.work.flop, point.work.bytes, point.work.launches, work.time_s,
             at.intensity.value_or(0), at.compute_time_s, at.bandwidth_time_s, at.overhead_s,
             at.flop_per_s, name_of(at.complexity_bound), name_of(at.bound), at.distance,
             name_of(study.evidence), study.machine.name, number_or_nothing(point.work.wall_s),
             number_or_nothing(point.counted_bytes()), number_or_nothing(point.counted_flop()));
  }
}

/// Forward and backward side by side.
void add_panels(Figure& figure, const RooflineStudy& study, const SweepResult& result,
                RooflineKind kind) {
  const Roofs roofs = roofs_of_study(study);
  for (const std::string_view pass : study_passes) {
    RooflinePicture picture{
        .title = fmt::format("{}: {}, {}", pass, study.title, name_of(study.evidence)),
        .subtitle = "",
        .peaks = {peak_for(roofs, DType::fp16, /*is_matrix=*/true)},
        .memory = {roofs.outer()},
        .launch_latency_s = roofs.launch_latency_s,
        .tracks = {}};
    std::size_t points = 0;
    for (const DType dtype : {DType::fp16, DType::fp32}) {
      picture.tracks.push_back(track_of(study, result, roofs, dtype, pass));
      points += picture.tracks.back().points.size();
    }
    if (points == 0) continue;
    figure.grid.panels.push_back(roofline_chart(picture, kind));
    figure.grid.panels.back().subtitle.clear();  // said once, above all of them
  }
}

/// The table and the panels of a sweep in one of the planes.
void fill_figure(Figure& figure, const SidesOfStudy& sides, const KernelSweep& sweep,
                 RooflineKind kind) {
  CsvRows rows(
      "kernel,parameter,value,dtype,pass,flop,bytes,launches,time_s,flop_per_byte,"
      "compute_time_s,bandwidth_time_s,overhead_s,flop_per_s,complexity_bound,bound,"
      "distance_from_roof,evidence,machine,wall_s,counted_bytes,counted_flop");
  for (const RooflineStudy* study : sides) {
    const SweepResult& result = study->sweep(sweep.kernel, sweep.parameter);
    add_rows(rows, *study, result);
    add_panels(figure, *study, result, kind);
  }
  figure.csv = std::move(rows).take();
}

/// The paper's figure of a sweep: "Figure 9: "; it has none of features and hidden size.
std::string figure_of(const KernelSweep& sweep) {
  struct NumberedSweep {
    std::string_view kernel;
    std::string_view parameter;
    int figure;
  };
  constexpr NumberedSweep numbered[] = {{"conv2d", "batch", 3},  {"conv2d", "filters", 4},
                                        {"conv2d", "kernel", 5}, {"conv2d", "stride", 7},
                                        {"lstm", "batch", 9},    {"lstm", "sequence", 10}};
  for (const NumberedSweep& one : numbered) {
    if (one.kernel == sweep.kernel && one.parameter == sweep.parameter)
      return fmt::format("Figure {}: ", one.figure);
  }
  return "";
}

Figure sweep_figure(const SidesOfStudy& sides, const KernelSweep& sweep) {
  Figure figure{.name = fmt::format("roofline-{}-{}", sweep.kernel, sweep.parameter),
                .csv = {},
                .grid = {.title = fmt::format("{}{} over {}", figure_of(sweep),
                                              kernel_title(sweep.kernel), parameter_title(sweep)),
                         .subtitle = "Closed: FLOP and bytes, as counted where "
                                     "a device did. Open: the run time × tensor peak "
                                     "and × bandwidth; apart by the distance from the roof. Grey: "
                                     "starting the kernels takes longer.",
                         .panels = {},
                         .plot_height = 300}};
  fill_figure(figure, sides, sweep, RooflineKind::combined);
  return figure;
}

/// The sweeps that the paper draws as classic rooflines.
struct ClassicSweep {
  int figure;
  std::string_view parameter;
};
constexpr ClassicSweep classic_sweeps[] = {{6, "kernel"}, {8, "stride"}};

Figure classic_figure(const SidesOfStudy& sides, const ClassicSweep& classic) {
  const KernelSweep& sweep = sides.front()->sweep("conv2d", classic.parameter).sweep;
  Figure figure{
      .name = fmt::format("roofline-figure-{}-conv2d-{}", classic.figure, classic.parameter),
      .csv = {},
      .grid = {.title = fmt::format("Figure {}: Conv2D over {}, classic roofline", classic.figure,
                                    parameter_title(sweep)),
               .subtitle = "FLOP per second over FLOP per byte, as counted where a device did, "
                           "under tensor peak and bandwidth.",
               .panels = {},
               .plot_height = 300}};
  fill_figure(figure, sides, sweep, RooflineKind::classic);
  return figure;
}

/// Bars of run time, and of what it is made of at the roofs.
class BarsPanel {
 public:
  explicit BarsPanel(std::string title)
      : chart_{.title = std::move(title),
               .y = {.title = "time", .quantity = chart::Quantity::seconds}} {
    chart_.bars = {{.name = "run time of the kernels", .values = {}, .color = 0},
                   {.name = "FLOP / peak", .values = {}, .color = 1},
                   {.name = "bytes / bandwidth", .values = {}, .color = 2},
                   {.name = "launches × latency", .values = {}, .color = 3}};
  }

  void add(std::string name, double time_s, const RooflinePoint& at) {
    chart_.x.categories.push_back(std::move(name));
    const double values[] = {time_s, at.compute_roof_s, at.memory_roof_s, at.overhead_s};
    for (std::size_t i = 0; i < chart_.bars.size(); ++i) chart_.bars[i].values.push_back(values[i]);
  }
  bool is_empty() const { return chart_.x.categories.empty(); }
  chart::Chart take() && { return std::move(chart_); }

 private:
  chart::Chart chart_;
};

/// Frameworks at the kernel's own filters, where they were captured: the paper's are at 256.
std::optional<chart::Chart> frameworks_panel(const RooflineStudy& own,
                                             const CaptureStudy& frameworks, CsvRows& rows) {
  constexpr std::int64_t captured_filters = 64, captured_batch = 16;
  const Roofs roofs = roofs_of_study(own);
  BarsPanel panel(fmt::format("{}, frameworks at {} filters, batch {}", own.title, captured_filters,
                              captured_batch));
  for (const FrameworkTrack& track : framework_tracks(frameworks, &own)) {
    if (track.kernel != "conv2d" || track.dtype != DType::fp16) continue;
    for (std::size_t i = 0; i < track.batches.size(); ++i) {
      if (track.batches[i] != captured_batch) continue;
      const RooflinePoint at = place(track.works[i], roofs);
      panel.add(fmt::format("{}, {}", track.part, track.framework), track.works[i].time_s, at);
      rows.add(track.part, captured_filters, name_of(track.dtype), track.works[i].time_s,
               at.compute_roof_s, at.memory_roof_s, at.overhead_s, name_of(own.evidence),
               own.machine.name, track.framework);
    }
  }
  if (panel.is_empty()) return std::nullopt;
  return std::move(panel).take();
}

/// Run time at 256 filters in fp16.
Figure bars_figure(const SidesOfStudy& sides, const CaptureStudy* frameworks) {
  CsvRows rows(
      "pass,filters,dtype,time_s,compute_roof_time_s,memory_roof_time_s,overhead_s,evidence,"
      "machine,framework");
  BarsPanel panel("256 filters");
  std::string who;
  for (const RooflineStudy* study : sides) {
    const SweepResult& result = study->sweep("conv2d", "filters");
    const Roofs roofs = roofs_of_study(*study);
    who += fmt::format("{}{}, {}", who.empty() ? "" : "; ", study->title, name_of(study->evidence));
    for (const std::string_view pass : study_passes) {
      for (const KernelPoint* point : result.track(DType::fp16, pass)) {
        if (point->value != bar_filters) continue;
        const auto [work, at] = placed(*study, roofs, *point);
        const bool is_measured = study->evidence == Evidence::measured;
        panel.add(fmt::format("{}, {}{}", pass, study->title, is_measured ? ", Strata" : ""),
                  work.time_s, at);
        rows.add(pass, point->value, name_of(point->dtype), work.time_s, at.compute_roof_s,
                 at.memory_roof_s, at.overhead_s, name_of(study->evidence), study->machine.name,
                 is_measured ? "strata" : "");
      }
    }
  }
  std::vector<chart::Chart> panels;
  panels.push_back(std::move(panel).take());
  if (frameworks != nullptr && sides.size() > 1) {
    if (auto captured = frameworks_panel(*sides.back(), *frameworks, rows))
      panels.push_back(std::move(*captured));
  }
  return {.name = "roofline-figure-1-conv2d-256-filters",
          .csv = std::move(rows).take(),
          .grid = {.title = "Figure 1: Conv2D with 256 filters, fp16",
                   .subtitle = fmt::format(
                       "{}. The paper's bars are of PyTorch and TensorFlow, measured; those of a "
                       "prediction are the limit that peak and bandwidth set.",
                       who),
                   .panels = std::move(panels),
                   .columns = 1,
                   .plot_height = 260}};
}

}  // namespace

std::vector<Figure> roofline_figures(const RooflineStudy& predicted, const RooflineStudy* measured,
                                     const CaptureStudy* frameworks) {
  SidesOfStudy sides = {&predicted};
  if (measured != nullptr) sides.push_back(measured);
  std::vector<Figure> figures = {bars_figure(sides, frameworks)};
  for (const SweepResult& result : predicted.sweeps)
    figures.push_back(sweep_figure(sides, result.sweep));
  for (const ClassicSweep& classic : classic_sweeps)
    figures.push_back(classic_figure(sides, classic));
  return figures;
}

}  // namespace strata
