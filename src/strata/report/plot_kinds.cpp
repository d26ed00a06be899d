// SPDX-License-Identifier: Apache-2.0
#include "strata/report/plot_kinds.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <vector>

namespace strata {
namespace {

using enum PlotKind;

// Papers by what they are called in the docs: the layer-wise paper ("Layer-wise Performance
// Bottleneck Analysis of Deep Neural Networks"), the thesis ("A Performance Analytical Model for
// DNN Training with Focus on Memory Subsystem", 2021), the roofline paper ("Time-Based Roofline for
// Deep Learning Performance Analysis", 2020), the convolution paper ("Performance Analysis of
// GPU-based Convolutional Neural Networks", 2016), the capture report ("Performance Analysis of
// various Deep Learning Models on High Performance Computing Systems").
constexpr PlotKindFacts all_plot_kinds[] = {
    {layers, "layers", PlotInput::profile, "time by layer, forward and backward",
     "layer-wise paper: time of each layer and pass"},
    {types, "types", PlotInput::profile, "time by operator; shares when there are several profiles",
     "thesis, figure 5.5; convolution paper: share of layer types in training"},
    {timeline, "timeline", PlotInput::prediction,
     "how busy arithmetic and channel are over an iteration, what waits, what is on chip",
     "thesis, chapter 4: what prefetch and offload do over time"},
    {memory, "memory", PlotInput::prediction,
     "memory that lives over an iteration, by kind of data",
     "thesis, observation 6: what forward keeps for backward"},
    {roofline_classic, "roofline-classic", PlotInput::profile, "FLOP/s over FLOP per byte",
     "roofline paper: classic roofline with launch ceiling"},
    {roofline_complexity, "roofline-complexity", PlotInput::profile, "FLOP over bytes",
     "roofline paper: complexity plane"},
    {roofline_time, "roofline-time", PlotInput::profile, "compute time over bandwidth time",
     "roofline paper: time plane"},
    {roofline_combined, "roofline-combined", PlotInput::profile, "complexity and time in one plane",
     "roofline paper: combined plane"},
    {sweep_line, "sweep-line", PlotInput::sweep, "a result over one axis, a line per other axes",
     "thesis, figures 5.2, 5.3 and 5.4: traffic, time, bandwidth over capacity"},
    {sweep_heat, "sweep-heat", PlotInput::sweep, "a result over two axes, as colour",
     "thesis, figure 5.3 over a plane: time over capacity and rate"},
    {pareto, "pareto", PlotInput::sweep, "all points and those that nothing betters in both goals",
     "thesis, observation 8: what on-chip memory buys"},
    {conv_sweep, "conv-sweep", PlotInput::convolution,
     "time of convolution strategies over a sweep",
     "convolution paper: run time over batch, input, filters, kernel, stride"},
    {conv_memory, "conv-memory", PlotInput::convolution, "memory of convolution strategies",
     "convolution paper: peak memory over the same sweeps"},
    {conv_roles, "conv-roles", PlotInput::convolution,
     "time of a convolution by role of its kernels", "convolution paper: break-down into kernels"},
    {metric_panels, "metric-panels", PlotInput::profile_or_convolution,
     "several metrics side by side: of layers, or of the main kernels of strategies",
     "layer-wise paper: metrics by layer; convolution paper: metrics of main kernels"},
    {transfer_bars, "transfer-bars", PlotInput::convolution,
     "share of time in copies from the host, pageable and pinned",
     "convolution paper: share of transfers between host and device"},
    {api_donut, "api-donut", PlotInput::capture,
     "shares of the calls of the CUDA API in the time of all calls, a ring per program",
     "capture report: API calls of the backward region"},
    {batch_trends, "batch-trends", PlotInput::profile_or_sweep,
     "shares of operators, or samples/s, over the batch size",
     "capture report: shares over batch 4 to 64; thesis, figure 5.6"},
};
static_assert(std::size(all_plot_kinds) == static_cast<std::size_t>(batch_trends) + 1);

constexpr std::array<std::string_view, 7> input_texts = {
    "a profile (strata predict --json), or a model to predict",
    "a model to predict, or the profile of a prediction that can be made again",
    "the results of a sweep (strata sweep --csv, --jsonl or --db)",
    "results of the convolution lab (strata conv --json)",
    "a profile, or results of the convolution lab (strata conv --json)",
    "profiles of several batches, or a sweep over batch",
    "a recorded program with its API calls (strata capture, or a trace that strata trace reads)"};

}  // namespace

std::span<const PlotKindFacts> plot_kinds() { return all_plot_kinds; }

const PlotKindFacts& facts_of(PlotKind kind) {
  const PlotKindFacts& facts = all_plot_kinds[static_cast<std::size_t>(kind)];
  STRATA_CHECK(facts.kind == kind, "the table of figures is in the order of their kinds");
  return facts;
}

const PlotKindFacts& plot_kind_named(std::string_view name) {
  std::vector<std::string> names;
  for (const PlotKindFacts& facts : all_plot_kinds) {
    if (facts.name == name) return facts;
    names.emplace_back(facts.name);
  }
  fail(ErrorKind::usage, "no figure '{}'{}; kinds are: {} (--kind help says more)", name,
       did_you_mean(name, names), fmt::join(names, ", "));
}

std::string_view text_of(PlotInput input) { return input_texts[static_cast<std::size_t>(input)]; }

std::string plot_kinds_text() {
  std::string text;
  for (const PlotKindFacts& facts : all_plot_kinds) {
    text += fmt::format("{}\n    {}\n    needs {}\n    as in {}\n", facts.name, facts.shows,
                        text_of(facts.input), facts.published);
  }
  return text;
}

}  // namespace strata
