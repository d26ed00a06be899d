// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/nvprof_tables.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace strata {
namespace {

constexpr double farthest_sum_ns = 1e18;    // thirty years
constexpr double most_summed_calls = 1e12;  // most_sums of them add up to an int64
constexpr double farthest_value = 1e30;     // of a counter, whose mean stays finite
constexpr std::size_t most_sums = 1'000'000;
constexpr std::size_t most_gpus_of_nvprof = 1000;

/// "88.817ms", "0.80%", "16.202GB/s", "Low (2)": the number and what follows it.
struct NvprofValue {
  double number = 0;
  std::string_view unit;
};
std::optional<NvprofValue> nvprof_value(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !(std::fabs(value) <= farthest_value)) return std::nullopt;
  return NvprofValue{value, text.substr(static_cast<std::size_t>(end - copy.c_str()))};
}

std::optional<double> nvprof_time_ns(std::string_view text) {
  const auto value = nvprof_value(text);
  const auto factor = value ? nvprof_unit(value->unit) : std::nullopt;
  if (!factor || value->unit.ends_with('B')) return std::nullopt;
  return value->number * *factor;
}

/// The words of a line, and where each begins.
std::vector<std::pair<std::string_view, std::size_t>> words_of(std::string_view text) {
  std::vector<std::pair<std::string_view, std::size_t>> words;
  for (std::size_t at = text.find_first_not_of(" \t"); at != text.npos;
       at = text.find_first_not_of(" \t", at)) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.emplace_back(text.substr(at, end - at), at);
    at = end;
  }
  return words;
}

std::string joined_cells(const std::vector<std::string>& cells) {
  return fmt::format("{}", fmt::join(cells, ","));
}

std::optional<std::int64_t> count_of(std::string_view text) {
  const auto number = nvprof_number(text);
  if (!number || *number < 0 || *number > most_summed_calls) return std::nullopt;
  return std::llround(*number);
}

/// Throughputs are scaled in steps of 1000 and counted per second; all else stays as printed.
std::pair<double, std::string> base_value(const NvprofValue& value) {
  constexpr std::pair<std::string_view, double> rates[] = {
      {"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"KB/s", 1e3}, {"B/s", 1}};
  for (const auto& [unit, factor] : rates) {
    if (value.unit == unit) return {value.number * factor, "B/s"};
  }
  return {value.number, value.unit == "%" ? "%" : ""};
}

}  // namespace

std::optional<double> nvprof_unit(std::string_view unit) {
  constexpr std::pair<std::string_view, double> units[] = {
      {"ns", 1}, {"us", 1e3},    {"ms", 1e6},           {"s", 1e9},
      {"B", 1},  {"KB", 1024.0}, {"MB", 1024.0 * 1024}, {"GB", 1024.0 * 1024 * 1024}};
  for (const auto& [name, factor] : units) {
    if (unit == name) return factor;
  }
  return std::nullopt;
}

std::optional<double> nvprof_number(std::string_view cell) {
  const std::string text(trimmed(cell));
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

CopyKind nvprof_copy_kind(std::string_view name) {
  const auto ends = [&](std::string_view letters) {
    return name.size() > letters.size() && name.substr(0, name.size() - 1).ends_with(letters);
  };
  if (ends("HtoD") || ends("HtoA")) return CopyKind::host_to_device;
  if (ends("DtoH") || ends("AtoH")) return CopyKind::device_to_host;
  if (ends("DtoD") || ends("AtoA") || ends("AtoD") || ends("DtoA"))
    return CopyKind::device_to_device;
  if (ends("PtoP")) return CopyKind::peer_to_peer;
  if (ends("HtoH")) return CopyKind::host_to_host;
  return CopyKind::unknown;
}

std::uint32_t nvprof_device(std::string_view text, Recording& recording) {
  text = trimmed(text);
  const std::size_t open = text.rfind('(');
  if (open == text.npos || !text.ends_with(')')) return unknown_device;
  const auto number = nvprof_number(text.substr(open + 1, text.size() - open - 2));
  if (!number || *number < 0 || *number > 4e9) return unknown_device;
  const auto id = static_cast<std::uint32_t>(std::llround(*number));
  std::vector<RecordedDevice>& devices = recording.process.devices;
  const bool is_known = std::any_of(devices.begin(), devices.end(),
                                    [&](const RecordedDevice& one) { return one.id == id; });
  if (id != unknown_device && !is_known && devices.size() < most_gpus_of_nvprof)
    devices.push_back({.id = id, .name = printable(trimmed(text.substr(0, open)))});
  return id;
}

void NvprofTables::take_message(std::string_view message) {
  const bool is_api = message.find("API calls:") != message.npos;
  if (!is_api && message.find("result:") == message.npos) return;
  is_api_ = is_api;
  form_ = Form::none;
}

bool NvprofTables::take(const std::vector<std::string>& cells, std::size_t line) {
  const std::string joined = joined_cells(cells);
  if (joined.find('\t') != std::string::npos && cells.front().find('\t') != std::string::npos) {
    // A spreadsheet saved it with tabs for commas.
    std::vector<std::string> parts;
    for (const std::string_view part : split(joined, '\t')) {
      std::string_view text = trimmed(part);
      if (text.size() > 1 && text.starts_with('"') && text.ends_with('"'))
        text = text.substr(1, text.size() - 2);
      parts.emplace_back(text);
    }
    if (parts.size() > 1) return take(parts, line);
  }
  if (take_head(cells, joined)) return true;
  switch (form_) {
    case Form::none: return false;
    case Form::summary_text: return take_summary_text(joined);
    case Form::metrics_text: return take_metric_text(joined);
    case Form::summary_csv:
    case Form::metrics_csv: break;
  }
  if (cells.size() == 1) return false;  // an empty line, or what the program printed
  if (needs_units_) return take_units(cells, line);
  if (cells.size() != width_)
    fail(ErrorKind::input, "line {}: {} cells, the head has {}", line, cells.size(), width_);
  form_ == Form::summary_csv ? take_summary_cells(cells, line) : take_metric_cells(cells, line);
  return true;
}

bool NvprofTables::take_head(const std::vector<std::string>& cells, std::string_view text) {
  const std::string_view line = trimmed(text);
  const bool is_summary = cells.size() > 3 && cells[cells[0] == "Type" ? 1 : 0] == "Time(%)";
  const bool is_metrics = cells.size() > 5 && cells[0] == "Device" && cells[1] == "Kernel";
  const bool is_text = line.starts_with("Type  Time(%)") || line.starts_with("Time(%) ");
  const bool is_metric_text = line.starts_with("Invocations ");
  if (!is_summary && !is_metrics && !is_text && !is_metric_text) return false;
  form_ = is_summary   ? Form::summary_csv
          : is_metrics ? Form::metrics_csv
          : is_text    ? Form::summary_text
                       : Form::metrics_text;
  is_found_ = true;
  needs_units_ = is_summary;
  has_total_ = is_metric_text && line.ends_with("Total");
  columns_.clear();
  width_ = cells.size();
  for (std::size_t i = 0; i < cells.size(); ++i) columns_.emplace(cells[i], i);
  return true;
}

bool NvprofTables::take_units(const std::vector<std::string>& cells, std::size_t line) {
  needs_units_ = false;
  if (cells.size() != width_)
    fail(ErrorKind::input, "line {}: no row of units below the head", line);
  factors_.assign(width_, 1);
  for (std::size_t i = 0; i < width_; ++i) factors_[i] = nvprof_unit(trimmed(cells[i])).value_or(1);
  for (const char* name : {"Time", "Min", "Max"}) {
    const auto column = columns_.find(name);
    if (column == columns_.end() || !nvprof_unit(trimmed(cells[column->second])))
      fail(ErrorKind::input, "line {}: no unit of {}", line, name);
  }
  return true;
}

std::string_view NvprofTables::cell(const std::vector<std::string>& cells,
                                    const std::string& name) const {
  const auto column = columns_.find(name);
  return column == columns_.end() ? std::string_view() : trimmed(cells[column->second]);
}

void NvprofTables::take_summary_cells(const std::vector<std::string>& cells, std::size_t line) {
  const auto time_ns = [&](const std::string& name) -> std::int64_t {
    const auto value = nvprof_number(cell(cells, name));
    const double ns = value.value_or(-1) * factors_[columns_.at(name)];
    if (!(ns >= 0) || ns > farthest_sum_ns)
      fail(ErrorKind::input, "line {}: {} is no time", line, name);
    return std::llround(ns);
  };
  const auto calls = count_of(cell(cells, "Calls"));
  if (!calls) fail(ErrorKind::input, "line {}: Calls is no count", line);
  if (const std::string_view type = cell(cells, "Type"); !type.empty())
    is_api_ = type.starts_with("API");
  add_sum(cell(cells, "Name"), {.calls = *calls,
                                .total_ns = time_ns("Time"),
                                .least_ns = time_ns("Min"),
                                .most_ns = time_ns("Max")});
}

void NvprofTables::take_metric_cells(const std::vector<std::string>& cells, std::size_t line) {
  const auto launches = count_of(cell(cells, "Invocations"));
  if (!launches) fail(ErrorKind::input, "line {}: Invocations is no count", line);
  const std::string_view metric =
      columns_.contains("Metric Name") ? cell(cells, "Metric Name") : cell(cells, "Event Name");
  if (metric.empty()) fail(ErrorKind::input, "line {}: no name of a metric or an event", line);
  add_metric(cell(cells, "Kernel"), metric, nvprof_device(cell(cells, "Device"), recording_),
             *launches, {cell(cells, "Min"), cell(cells, "Max"), cell(cells, "Avg")});
}

/// " GPU activities:   39.66%  88.817ms      1002  88.639us  67.553us  112.64us  kernel(float*)"
bool NvprofTables::take_summary_text(std::string_view text) {
  for (const auto& [mark, is_api] : {std::pair(std::string_view("GPU activities:"), false),
                                     std::pair(std::string_view("API calls:"), true)}) {
    const std::string_view line = trimmed(text);
    if (!line.starts_with(mark)) continue;
    is_api_ = is_api;
    text = line.substr(mark.size());
  }
  const auto words = words_of(text);
  constexpr std::size_t numbers = 6;
  if (words.size() <= numbers || !words[0].first.ends_with('%')) return false;
  const auto total = nvprof_time_ns(words[1].first), least = nvprof_time_ns(words[4].first),
             most = nvprof_time_ns(words[5].first);
  const auto calls = count_of(words[2].first);
  if (!total || !least || !most || !calls || *total < 0 || *least < 0 || *most < 0 ||
      std::max({*total, *least, *most}) > farthest_sum_ns)
    return false;
  add_sum(trimmed(text.substr(words[numbers].second)), {.calls = *calls,
                                                        .total_ns = std::llround(*total),
                                                        .least_ns = std::llround(*least),
                                                        .most_ns = std::llround(*most)});
  return true;
}

/// A line with a device, one with a kernel, and one for each of its metrics: how often, name,
/// description, least, most, mean.
bool NvprofTables::take_metric_text(std::string_view text) {
  const std::string_view line = trimmed(text);
  constexpr std::string_view device = "Device \"", kernel = "Kernel: ";
  if (line.starts_with(device) && line.ends_with('"')) {
    device_ =
        nvprof_device(line.substr(device.size(), line.size() - device.size() - 1), recording_);
    return true;
  }
  if (line.starts_with(kernel)) {
    kernel_ = line.substr(kernel.size());
    return true;
  }
  const auto words = words_of(line);
  constexpr std::size_t fewest = 5;
  const auto launches = words.empty() ? std::nullopt : count_of(words[0].first);
  if (words.size() < fewest || !launches || kernel_.empty()) return false;
  std::vector<std::string_view> values;  // from the end; "Low (2)" is two words
  for (std::size_t i = words.size(); i-- > 2 && values.size() < (has_total_ ? 4U : 3U);) {
    values.insert(values.begin(), words[i].first);
    if (words[i].first.starts_with('(')) --i;
  }
  if (has_total_ && !values.empty()) values.pop_back();
  if (values.size() != 3) return false;
  add_metric(kernel_, words[1].first, device_, *launches, values);
  return true;
}

void NvprofTables::add_sum(std::string_view name, const RecordedSum& sum) {
  if (recording_.sums.size() >= most_sums) fail(ErrorKind::input, "the summary has too many rows");
  RecordedSum made = sum;
  made.kind = is_api_ ? SumKind::call : SumKind::kernel;
  if (name.starts_with('[')) {
    const std::string lower = lower_case(name);
    const bool is_copy = lower.find("memcpy") != std::string::npos;
    if (!is_copy && lower.find("memset") == std::string::npos) return;  // faults of managed memory
    made.kind = is_copy ? SumKind::copy : SumKind::fill;
    made.copy = is_copy ? nvprof_copy_kind(name) : CopyKind::unknown;
  }
  made.name = recording_.names.id_of(printable(name));
  recording_.sums.push_back(made);
}

void NvprofTables::add_metric(std::string_view kernel, std::string_view metric,
                              std::uint32_t device, std::int64_t launches,
                              const std::vector<std::string_view>& values) {
  if (recording_.metrics.size() >= most_sums)
    fail(ErrorKind::input, "the table of metrics has too many rows");
  const auto least = nvprof_value(values[0]), most = nvprof_value(values[1]),
             mean = nvprof_value(values[2]);
  if (!least || !most || !mean) return;  // "<OVERFLOW>"
  RecordedMetric made{.kernel = recording_.names.id_of(printable(kernel)),
                      .name = recording_.names.id_of(printable(metric)),
                      .device = device,
                      .launches = launches,
                      .least = base_value(*least).first,
                      .most = base_value(*most).first,
                      .mean = base_value(*mean).first};
  if (const std::string unit = base_value(*mean).second; !unit.empty())
    made.unit = recording_.names.id_of(unit);
  recording_.metrics.push_back(made);
  // Launches of a kernel, without times; a metric more is not a launch more.
  const auto [at, is_new] =
      counted_.emplace(std::pair(made.kernel, device), recording_.sums.size());
  if (is_new) recording_.sums.push_back({.name = made.kernel, .device = device});
  RecordedSum& sum = recording_.sums[at->second];
  sum.calls = std::max(sum.calls, launches);
}

}  // namespace strata
