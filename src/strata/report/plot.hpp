// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/result.hpp"
#include "strata/predict/predict.hpp"
#include "strata/report/chart/chart.hpp"
#include "strata/report/measured_kernels.hpp"
#include "strata/report/plot_kinds.hpp"
#include "strata/report/roofline_summary.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Results as figures for papers: pure functions from data to charts; chart::to_svg makes the
/// bytes, the same every time.
namespace strata {

/// A profile in a figure, and the batch that it was made with, where its file says.
struct PlottedProfile {
  LabelledProfile labelled;
  std::optional<std::int64_t> batch;
};

// Errors (input) name the column that a figure needs and the profile lacks.
chart::ChartGrid layers_figure(const std::vector<PlottedProfile>& profiles);
chart::ChartGrid types_figure(const std::vector<PlottedProfile>& profiles);
/// Time, reached rates and intensity by layer.
chart::ChartGrid metric_panels_figure(const std::vector<PlottedProfile>& profiles);
/// Shares of operators over the batch; at least two profiles with different batches.
chart::ChartGrid batch_trends_figure(const std::vector<PlottedProfile>& profiles);

/// What a timeline is called.
struct TimelineTitle {
  std::string title;
  std::string subtitle;
};
/// Needs a prediction that has its transfers.
chart::ChartGrid timeline_figure(const Program& program, const Prediction& prediction,
                                 std::int64_t capacity_bytes, const TimelineTitle& title);
chart::ChartGrid memory_figure(const Program& program, const Prediction& prediction,
                               const TimelineTitle& title);
/// Of a measured iteration: when kernels of each pass ran, and when none did. Errors (input): no
/// kernel has a time.
chart::ChartGrid timeline_figure(const MeasuredKernels& measured, const TimelineTitle& title);
/// What lives, by the program, while its steps run when the kernels of their layers did.
chart::ChartGrid memory_figure(const Program& program, const MeasuredKernels& measured,
                               const TimelineTitle& title);

/// conv-sweep, conv-memory, conv-roles: one panel per series and pass.
chart::ChartGrid conv_figure(const ConvResults& results, PlotKind kind);
/// Registers, shared memory, reached rate and scratch memory by strategy.
chart::ChartGrid conv_metric_figure(const ConvResults& results);
/// Share of copies, a bar for each point of the series.
chart::ChartGrid transfer_figure(const ConvResults& results);

}  // namespace strata
