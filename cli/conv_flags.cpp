// SPDX-License-Identifier: Apache-2.0
#include "cli/conv_flags.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"

namespace strata {
namespace {

constexpr std::int64_t most_channels = std::int64_t{1} << 40;

ConvShape base_of(const Arguments& given) {
  std::int64_t channels = 3;
  if (const auto text = given.value(conv_channels_flag))
    channels = parse_whole_number(*text, "--channels", INT64_MIN, most_channels);
  // The study's base point; a CPU takes 1/32 of its batch, as the suite `cpu` does.
  const bool is_gpu = chosen_device(given.value(conv_device_flag)).is_gpu;
  return conv_base(
      given.value(conv_base_flag).value_or(is_gpu ? "64,128,64,11,1" : "2,128,64,11,1"), channels);
}

}  // namespace

std::vector<ConvSeries> conv_series(const Arguments& given) {
  std::vector<ConvSeries> series;
  if (const auto suite = given.value(conv_suite_flag)) series = conv_suite(*suite);
  const ConvShape base = base_of(given);
  for (const std::string& text : given.values(conv_sweep_flag))
    series.push_back(conv_sweep(base, text));
  ConvSeries layers{"layers", false, {}};
  for (const std::string& text : given.values(conv_layer_flag)) {
    for (const std::string_view name : split(text, ','))
      layers.points.push_back(conv_layer(trimmed(name)));
  }
  if (!layers.points.empty()) series.push_back(std::move(layers));
  ConvSeries shapes{"shapes", false, {}};
  for (const std::string& text : given.values(conv_shape_flag))
    shapes.points.push_back(conv_point(text));
  if (given.has(conv_base_flag) && !given.has(conv_sweep_flag))
    shapes.points.push_back({to_text(base), std::nullopt, base});
  if (!shapes.points.empty()) series.push_back(std::move(shapes));
  if (series.empty()) {
    fail(
        ErrorKind::usage,
        "say which convolutions: --sweep k=2:13, --layer conv1, --shape b64,c3,i128,f64,k3, --base "
        "64,128,64,11,1, --suite cpu, or `strata conv advise MODEL`");
  }
  return series;
}

ConvRestriction conv_restriction(const Arguments& given) {
  ConvRestriction restriction;
  if (const auto pass = given.value(conv_pass_flag)) {
    if (*pass == "all") {
      restriction.passes.assign(all_conv_passes.begin(), all_conv_passes.end());
    } else {
      restriction.passes = {*conv_pass_named(*pass)};
    }
  }
  if (const auto names = given.value(conv_strategies_flag)) {
    for (const std::string_view name : split(*names, ','))
      restriction.strategies.emplace_back(trimmed(name));
  }
  if (const auto limit = given.value(conv_memory_limit_flag))
    restriction.memory_limit_bytes = parse_bytes(*limit, "--memory-limit");
  return restriction;
}

std::vector<std::int64_t> conv_budgets(const Arguments& given) {
  std::vector<std::int64_t> budgets;
  for (const std::string& text : given.values(conv_budget_flag))
    budgets.push_back(parse_bytes(text, "--budget"));
  return budgets;
}

}  // namespace strata
