// SPDX-License-Identifier: Apache-2.0
#include "strata/report/plot_api.hpp"
#include "strata/report/roofline_picture.hpp"
#include "strata/reproduce/capture_shares.hpp"
#include "strata/reproduce/compared_frameworks.hpp"
#include "strata/reproduce/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace strata {
namespace {

/// What the report followed over the batch, a picture each. Its launches are of the backward part
/// alone.
struct FollowedShare {
  std::string_view name;  ///< of the file
  std::string_view title;
  std::string_view part;
  double (*share)(const CaptureCase& one);
};
constexpr FollowedShare followed_shares[] = {
    {"broadcasts", "Broadcasts, of kernel time", "iteration", share_of_collectives},
    {"winograd", "Winograd, of kernel time", "iteration", share_of_winograd},
    {"convolution", "Convolution, of kernel time", "iteration", share_of_convolutions},
    {"max-pool-backward", "Max-pool backward, of kernel time", "iteration", share_of_pool_backward},
    {"launches", "Launches, of API time in backward", "backward", share_of_launches},
    {"copies", "Copies, of device time", "iteration", share_of_copies},
    {"idle", "GPU without a kernel, of the step", "iteration", share_of_idle},
};

/// The batches as the report prints them, evenly spaced: each is twice the one before.
chart::Axis batch_axis() {
  chart::Axis axis{.title = "batch"};
  for (const std::int64_t batch : captured_batches)
    axis.categories.push_back(fmt::format("{}", batch));
  return axis;
}

/// Whole iterations in PyTorch; nothing where none of the networks was recorded.
std::optional<Figure> share_figure(const CaptureStudy& study, const FollowedShare& followed) {
  CsvRows rows("network,batch,share");
  Figure figure{.name = fmt::format("capture-{}", followed.name),
                .csv = {},
                .grid = {.title = fmt::format("{}, {}", followed.title, study.device),
                         .subtitle = "PyTorch, a training step, as recorded by strata capture",
                         .panels = {},
                         .columns = 3,
                         .width = 1000,
                         .plot_height = 240}};
  for (const std::string_view network : captured_networks) {
    chart::Chart panel{
        .title = std::string(network),
        .x = batch_axis(),
        .y = {.title = "share", .quantity = chart::Quantity::share, .most = 1, .from_zero = true}};
    chart::Series series{.name = std::string(study.device),
                         .points = {},
                         .color = 0,
                         .marker = chart::Marker::circle};
    for (std::size_t i = 0; i < captured_batches.size(); ++i) {
      const CaptureCase* const one =
          find_case(study, "pytorch", network, captured_batches[i], followed.part);
      if (one == nullptr) continue;
      const double value = followed.share(*one);
      series.points.push_back({static_cast<double>(i), value, ""});
      rows.add(network, captured_batches[i], value);
    }
    if (series.points.empty()) continue;
    panel.series.push_back(std::move(series));
    figure.grid.panels.push_back(std::move(panel));
  }
  if (figure.grid.panels.empty()) return std::nullopt;
  figure.csv = std::move(rows).take();
  return figure;
}

/// The report's donut: calls of a step at its largest batch, where the results have them by name.
std::optional<Figure> donut_figure(const CaptureStudy& study) {
  const std::int64_t batch = captured_batches.back();
  std::vector<RecordedCalls> programs;
  CsvRows rows("network,batch,call,time_s");
  for (const std::string_view network : captured_networks) {
    const CaptureCase* const one = find_case(study, "pytorch", network, batch, "iteration");
    if (one == nullptr || one->call_s.empty()) continue;
    RecordedCalls program{.label = fmt::format("{}, batch {}", network, batch), .tables = {}};
    for (const auto& [name, seconds] : one->call_s) {
      rows.add(network, batch, name, seconds);
      ApiRow row{.name = name, .kind = ApiKind::runtime, .time = {}};
      row.time.total_ns = std::llround(1e9 * seconds);
      program.tables.by_api.push_back(std::move(row));
    }
    programs.push_back(std::move(program));
  }
  if (programs.empty()) return std::nullopt;
  Figure figure{.name = "capture-api-donut",
                .csv = std::move(rows).take(),
                .grid = api_donut_figure(programs)};
  figure.grid.subtitle = fmt::format("A training step in PyTorch, {}", study.device);
  return figure;
}

/// FLOP of an iteration over the batch, counted from the layers.
Figure flop_figure() {
  CsvRows rows("network,batch,flop");
  chart::Chart panel{.title = "",
                     .x = batch_axis(),
                     .y = {.title = "FLOP of an iteration",
                           .quantity = chart::Quantity::flop,
                           .scale = chart::ScaleKind::logarithmic}};
  chart::Color color = 0;
  for (const std::string_view network : captured_networks) {
    chart::Series series{.name = std::string(network),
                         .points = {},
                         .color = color++,
                         .marker = chart::Marker::circle};
    for (std::size_t i = 0; i < captured_batches.size(); ++i) {
      const double flop = iteration_work(network, captured_batches[i]).flop;
      series.points.push_back({static_cast<double>(i), flop, ""});
      rows.add(network, captured_batches[i], flop);
    }
    panel.series.push_back(std::move(series));
  }
  return {.name = "capture-flop",
          .csv = std::move(rows).take(),
          .grid = {.title = "FLOP of a training iteration over the batch",
                   .subtitle = "Counted from the layers; a multiply-add is two",
                   .panels = {std::move(panel)},
                   .columns = 1,
                   .plot_height = 280}};
}

RooflineTrack drawn_track(const FrameworkTrack& track, const Roofs& roofs) {
  const auto at =
      std::find(compared_frameworks.begin(), compared_frameworks.end(), track.framework);
  const auto number = static_cast<std::size_t>(at - compared_frameworks.begin());
  constexpr chart::Marker markers[] = {chart::Marker::circle, chart::Marker::square,
                                       chart::Marker::triangle};
  RooflineTrack drawn{.name = track.framework,
                      .color = number,
                      .marker = markers[number],
                      .is_joined = true,
                      .points = {}};
  for (std::size_t i = 0; i < track.works.size(); ++i) {
    drawn.points.push_back({.work = track.works[i],
                            .point = place(track.works[i], roofs),
                            .label = fmt::format("{}", track.batches[i]),
                            .hint = fmt::format("{}, batch {}, {} launches", track.framework,
                                                track.batches[i], track.works[i].launches)});
  }
  return drawn;
}

/// The time plane of one pass in one data type; nothing where nothing was measured of it.
std::optional<chart::Chart> framework_panel(const std::vector<FrameworkTrack>& tracks,
                                            const Roofs& roofs, std::string_view kernel,
                                            std::string_view part, DType dtype) {
  RooflinePicture picture{.title = fmt::format("{}, {}", part, name_of(dtype)),
                          .subtitle = "",
                          .peaks = {peak_for(roofs, DType::fp16, /*is_matrix=*/true)},
                          .memory = {roofs.outer()},
                          .launch_latency_s = roofs.launch_latency_s,
                          .tracks = {}};
  for (const FrameworkTrack& track : tracks) {
    if (track.kernel == kernel && track.part == part && track.dtype == dtype)
      picture.tracks.push_back(drawn_track(track, roofs));
  }
  if (picture.tracks.empty()) return std::nullopt;
  chart::Chart panel = roofline_chart(picture, RooflineKind::time);
  panel.subtitle.clear();  // said once, above all of them
  return panel;
}

std::string framework_rows(const std::vector<FrameworkTrack>& tracks, const Roofs& roofs,
                           std::string_view kernel) {
  CsvRows rows(
      "kernel,pass,dtype,framework,batch,flop,bytes,complexity,launches,kernel_s,wall_s,bound");
  for (const FrameworkTrack& track : tracks) {
    if (track.kernel != kernel) continue;
    for (std::size_t i = 0; i < track.works.size(); ++i) {
      const Work& work = track.works[i];
      rows.add(kernel, track.part, name_of(track.dtype), track.framework, track.batches[i],
               work.flop, work.bytes, work.counts_bytes ? "counted" : "definition", work.launches,
               work.time_s, work.wall_s.value_or(0), name_of(place(work, roofs).bound));
    }
  }
  return std::move(rows).take();
}

Figure framework_figure(const std::vector<FrameworkTrack>& tracks, const RooflineStudy& own,
                        std::string_view kernel) {
  const Roofs roofs = roofs_of_study(own);
  Figure figure{
      .name = fmt::format("capture-frameworks-{}", kernel),
      .csv = framework_rows(tracks, roofs, kernel),
      .grid = {.title = fmt::format("{} in several frameworks, {}", kernel, own.title),
               .subtitle = "Time of the kernels, split by the roofs into compute and bandwidth "
                           "time; batches joined. Grey: starting the kernels takes longer.",
               .panels = {},
               .plot_height = 280}};
  for (const DType dtype : compared_types) {
    for (const std::string_view part : compared_parts) {
      if (auto panel = framework_panel(tracks, roofs, kernel, part, dtype))
        figure.grid.panels.push_back(std::move(*panel));
    }
  }
  return figure;
}

}  // namespace

std::vector<Figure> capture_figures(const CaptureStudy& study, const RooflineStudy* own) {
  std::vector<Figure> figures;
  for (const FollowedShare& followed : followed_shares) {
    if (auto figure = share_figure(study, followed)) figures.push_back(std::move(*figure));
  }
  if (auto figure = donut_figure(study)) figures.push_back(std::move(*figure));
  figures.push_back(flop_figure());
  if (own == nullptr) return figures;
  const std::vector<FrameworkTrack> tracks = framework_tracks(study, own);
  for (const std::string_view kernel : compared_kernels) {
    Figure figure = framework_figure(tracks, *own, kernel);
    if (!figure.grid.panels.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace strata
