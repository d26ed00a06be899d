// SPDX-License-Identifier: Apache-2.0
#include "strata/report/roofline_picture.hpp"
#include "strata/reproduce/capture_shares.hpp"
#include "strata/reproduce/compared_frameworks.hpp"
#include "strata/reproduce/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

/// What the report followed over the batch, as shares of one step. Its launches are of the backward
/// part alone.
struct FollowedShare {
  const char* name;
  std::string_view part;
  double (*share)(const CaptureCase& one);
};
constexpr FollowedShare followed_shares[] = {
    {"convolution, of kernel time", "iteration", share_of_convolutions},
    {"Winograd, of kernel time", "iteration", share_of_winograd},
    {"max-pool backward, of kernel time", "iteration", share_of_pool_backward},
    {"copies, of device time", "iteration", share_of_copies},
    {"launches, of API time in backward", "backward", share_of_launches},
    {"GPU without a kernel, of the step", "iteration", share_of_idle},
};

/// Whole iterations in PyTorch, by network, batches rising.
std::vector<std::vector<const CaptureCase*>> iterations_by_network(const CaptureStudy& study) {
  std::vector<std::vector<const CaptureCase*>> networks;
  for (const CaptureCase& one : study.cases) {
    if (one.framework != "pytorch" || one.part != "iteration") continue;
    const auto same = std::find_if(networks.begin(), networks.end(), [&](const auto& cases) {
      return cases.front()->network == one.network;
    });
    if (same == networks.end()) {
      networks.push_back({&one});
    } else {
      same->push_back(&one);
    }
  }
  for (auto& cases : networks) {
    std::sort(cases.begin(), cases.end(),
              [](const CaptureCase* a, const CaptureCase* b) { return a->batch < b->batch; });
  }
  return networks;
}

Figure shares_figure(const CaptureStudy& study,
                     const std::vector<std::vector<const CaptureCase*>>& networks) {
  CsvRows rows("network,batch,share,value");
  Figure figure{.name = "capture-shares",
                .csv = {},
                .grid = {.title = fmt::format("Where a training step goes as the batch grows, {}",
                                              study.device),
                         .subtitle = "PyTorch, as recorded by strata capture",
                         .panels = {},
                         .columns = 3,
                         .width = 1000,
                         .plot_height = 240}};
  for (const std::vector<const CaptureCase*>& cases : networks) {
    chart::Chart panel{
        .title = cases.front()->network,
        .x = {.title = "batch", .scale = chart::ScaleKind::logarithmic},
        .y = {.title = "share", .quantity = chart::Quantity::share, .most = 1, .from_zero = true}};
    chart::Color color = 0;
    for (const FollowedShare& followed : followed_shares) {
      chart::Series series{
          .name = followed.name, .points = {}, .color = color++, .marker = chart::Marker::circle};
      for (const CaptureCase* one : cases) {
        const CaptureCase* const part =
            find_case(study, one->framework, one->network, one->batch, followed.part);
        if (part == nullptr) continue;
        const double value = followed.share(*part);
        series.points.push_back({static_cast<double>(one->batch), value, ""});
        rows.add(one->network, one->batch, followed.name, value);
      }
      if (!series.points.empty()) panel.series.push_back(std::move(series));
    }
    figure.grid.panels.push_back(std::move(panel));
  }
  figure.csv = std::move(rows).take();
  return figure;
}

/// FLOP of an iteration over the batch, counted from the layers.
Figure flop_figure() {
  CsvRows rows("network,batch,flop");
  chart::Chart panel{.title = "",
                     .x = {.title = "batch", .scale = chart::ScaleKind::logarithmic},
                     .y = {.title = "FLOP of an iteration",
                           .quantity = chart::Quantity::flop,
                           .scale = chart::ScaleKind::logarithmic}};
  chart::Color color = 0;
  for (const std::string_view network : captured_networks) {
    chart::Series series{.name = std::string(network),
                         .points = {},
                         .color = color++,
                         .marker = chart::Marker::circle};
    for (const std::int64_t batch : captured_batches) {
      const double flop = iteration_work(network, batch).flop;
      series.points.push_back({static_cast<double>(batch), flop, ""});
      rows.add(network, batch, flop);
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
  const auto networks = iterations_by_network(study);
  if (!networks.empty()) figures.push_back(shares_figure(study, networks));
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
