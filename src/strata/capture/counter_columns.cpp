// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/counter_columns.hpp"

#include "strata/capture/trace_builder.hpp"
#include "strata/gpu/metrics.hpp"
#include "strata/profile/counted_arithmetic.hpp"

#include <cmath>
#include <map>
#include <string>
#include <unordered_map>

namespace strata {
namespace {

/// A share that NVIDIA's own metric states, where the counters of our column were not read.
struct ShareMetric {
  std::string_view key;
  std::string_view metric;
  double factor;
};
constexpr ShareMetric share_metrics[] = {
    {"gld_efficiency", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", 0.01},
    {"shared_efficiency", "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct", 0.01},
    {"warp_execution_efficiency", "smsp__average_thread_inst_executed_per_inst_executed.ratio",
     1.0 / 32},
    {"warp_execution_efficiency", "smsp__thread_inst_executed_per_inst_executed.ratio", 1.0 / 32}};

/// Of any chip; those of warp groups only Hopper has.
const MetricColumn* known_column(std::string_view key) {
  for (const char* chip : {"", "GH100"}) {
    if (const MetricColumn* const column = metrics_of_chip(chip).column(key)) return column;
  }
  return nullptr;
}

}  // namespace

CounterColumns::CounterColumns(const Recording& recording) : recording_(recording) {
  const RecordedCounters& counters = recording_.counters;
  for (std::size_t i = 0; i < counters.names.size(); ++i)
    at_.emplace(recording_.names.text(counters.names[i]), i);
}

std::optional<std::size_t> CounterColumns::counter_named(std::string_view name) const {
  const auto found = at_.find(name);
  return found == at_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> CounterColumns::counter(std::size_t kernel, std::string_view name) const {
  std::optional<std::size_t> at = counter_named(name);
  // Tools call the same counter by the multiprocessor or by its quarters.
  if (!at && name.starts_with("sm__sass_"))
    at = counter_named("smsp__" + std::string(name.substr(4)));
  if (!at) return std::nullopt;
  const std::size_t width = recording_.counters.names.size();
  const double value = recording_.counters.values[kernel * width + *at];
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

std::optional<double> CounterColumns::value(std::size_t kernel, std::string_view key) const {
  if (is_empty()) return std::nullopt;
  if (const auto own = counter(kernel, key)) return own;
  for (const ShareMetric& share : share_metrics) {
    if (share.key != key) continue;
    if (const auto found = counter(kernel, share.metric)) return *found * share.factor;
  }
  const MetricColumn* const column = known_column(key);
  if (column == nullptr) return std::nullopt;
  for (const MetricSum& alternative : column->alternatives) {
    double sum = 0;
    bool has_all = true;
    for (const MetricTerm& term : alternative) {
      const auto part = counter(kernel, term.metric);
      has_all = has_all && part.has_value();
      sum += term.factor * part.value_or(0);
    }
    if (!has_all) continue;
    if (column->over.empty()) return sum;
    const auto over = value(kernel, column->over);
    if (over && *over > 0) return sum / *over;
  }
  return std::nullopt;
}

bool CounterColumns::has(std::string_view key) const {
  for (std::size_t i = 0; i < recording_.kernels.size(); ++i) {
    if (value(i, key)) return true;
  }
  return false;
}

std::vector<TypedFlop> arithmetic_of(const CounterColumns& columns, std::size_t kernel) {
  return counted_arithmetic([&](std::string_view key) { return columns.value(kernel, key); }).parts;
}

bool has_arithmetic(const CounterColumns& columns) {
  const auto any = [&](std::string_view key) {
    return columns.has(key) ? std::optional<double>(0) : std::nullopt;
  };
  return counted_arithmetic(any).has_any;
}

void add_kernel_counters(const TraceInput& input, TraceTables& tables) {
  const CounterColumns columns(input.recording);
  if (columns.is_empty()) return;
  struct Mean {
    double weighted = 0;
    double weight = 0;
  };
  constexpr std::array<std::string_view, 3> keys = {"gld_efficiency", "shared_efficiency",
                                                    "warp_execution_efficiency"};
  std::unordered_map<std::string_view, std::array<Mean, keys.size()>> by_name;
  for (std::size_t i = 0; i < input.recording.kernels.size(); ++i) {
    const KernelRecord& kernel = input.recording.kernels[i];
    auto& means = by_name[input.recording.names.text(kernel.name)];
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const auto value = columns.value(i, keys[k]);
      if (!value) continue;
      const double weight = std::max(1.0, static_cast<double>(kernel.time.length_ns()));
      means[k].weighted += *value * weight;
      means[k].weight += weight;
    }
  }
  for (KernelRow& row : tables.by_kernel) {
    const auto& means = by_name[row.name];
    const auto mean = [&](std::size_t k) {
      return means[k].weight > 0 ? std::optional(means[k].weighted / means[k].weight)
                                 : std::nullopt;
    };
    row.counters = {mean(0), mean(1), mean(2)};
  }
}

}  // namespace strata
