// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// The figures that `strata plot` draws. Each has the content of a published one.
namespace strata {

enum class PlotKind : std::uint8_t {
  layers,
  types,
  timeline,
  memory,
  roofline_classic,
  roofline_complexity,
  roofline_time,
  roofline_combined,
  sweep_line,
  sweep_heat,
  pareto,
  conv_sweep,
  conv_memory,
  conv_roles,
  metric_panels,
  transfer_bars,
  api_donut,
  batch_trends,
};

/// What a figure is drawn from.
enum class PlotInput : std::uint8_t {
  profile,      ///< profiles, or models to be predicted
  prediction,   ///< a model, or a profile whose prediction can be made again
  sweep,        ///< what `strata sweep` wrote
  convolution,  ///< what `strata conv --json` wrote
  profile_or_convolution,
  profile_or_sweep,
  capture,  ///< a recording of a program, which nothing of this version makes
};

struct PlotKindFacts {
  PlotKind kind;
  std::string_view name;  ///< "roofline-classic"
  PlotInput input;
  std::string_view shows;      ///< what is to be seen
  std::string_view published;  ///< which published figure has that content
};

std::span<const PlotKindFacts> plot_kinds();
const PlotKindFacts& facts_of(PlotKind kind);
/// Errors (usage) suggest the nearest names.
const PlotKindFacts& plot_kind_named(std::string_view name);
/// "a profile, or a model to predict": what a kind needs, for messages.
std::string_view text_of(PlotInput input);
/// What `strata plot --kind help` prints: all kinds, with what they need.
std::string plot_kinds_text();

}  // namespace strata
