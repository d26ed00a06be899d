// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/ncu_csv.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/capture/csv_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>

namespace strata {
namespace {

constexpr std::size_t most_metrics = 10'000;
constexpr std::size_t most_values = std::size_t{1} << 28;
constexpr std::string_view duration_metric = "gpu__time_duration.sum";
constexpr double longest_kernel_ns = 1e15;  // eleven days

/// What ncu scaled for people, unscaled: Kbyte is 1000 bytes, usecond 1000 ns.
struct BaseUnit {
  double factor = 1;
  std::string name;
};

BaseUnit base_unit(std::string_view unit) {
  constexpr std::pair<std::string_view, double> times[] = {
      {"nsecond", 1}, {"usecond", 1e3}, {"msecond", 1e6}, {"second", 1e9},
      {"ns", 1},      {"us", 1e3},      {"ms", 1e6},      {"s", 1e9}};
  for (const auto& [name, factor] : times) {
    if (unit == name) return {factor, "ns"};
  }
  if (unit.size() > 1) {  // Kbyte, Gbyte/second, Mhz; "inst" and "block" have no prefix
    constexpr std::pair<char, double> prefixes[] = {
        {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}, {'P', 1e15}};
    const std::string_view rest = unit.substr(1);
    for (const auto& [letter, factor] : prefixes) {
      if (unit[0] == letter && (rest.starts_with("byte") || rest.starts_with("hz")))
        return {factor, std::string(rest)};
    }
  }
  return {1, std::string(unit)};
}

/// "1,234.5", "12%", "nan"; nothing when it is no number.
std::optional<double> number_in(std::string_view cell) {
  std::string plain;
  for (const char c : trimmed(cell)) {
    if (c != ',') plain += c;
  }
  if (plain.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(plain.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// "(128, 1, 1)" or "128,1,1".
std::array<std::uint32_t, 3> extents_in(std::string_view cell) {
  std::array<std::uint32_t, 3> extents = {};
  std::size_t at = 0;
  for (std::uint32_t& extent : extents) {
    at = cell.find_first_of("0123456789", at);
    if (at == cell.npos) return {};
    const auto [end, problem] =
        std::from_chars(cell.data() + at, cell.data() + cell.size(), extent);
    if (problem != std::errc{}) return {};
    at = static_cast<std::size_t>(end - cell.data());
  }
  return extents;
}

std::uint32_t count_in(std::string_view cell, std::uint32_t otherwise) {
  const auto number = number_in(cell);
  if (!number || *number < 0 || *number > 4e9) return otherwise;
  return static_cast<std::uint32_t>(*number);
}

class NcuReader {
 public:
  explicit NcuReader(ByteSource& source) : lines_(source) {
    recording_.process.source_format = "Nsight Compute CSV";
    recording_.process.has_times = false;
    recording_.process.kernels_were_serialised = true;
  }

  Recording read() {
    find_head();
    if (column_of("Metric Name")) {
      read_details();
    } else {
      read_raw();
    }
    if (recording_.kernels.empty()) fail(ErrorKind::input, "there is no kernel in the table");
    lay_out();
    check_recording(recording_);
    return std::move(recording_);
  }

 private:
  void find_head() {
    while (lines_.next(cells_)) {
      if (cells_.size() < 3 || cells_[0] != "ID") continue;
      head_ = cells_;
      for (std::size_t i = 0; i < head_.size(); ++i) columns_.emplace(head_[i], i);
      if (!column_of("Kernel Name"))
        fail(ErrorKind::input, "line {}: no column 'Kernel Name'", lines_.line());
      return;
    }
    fail(ErrorKind::input, "no table: no line begins with \"ID\"");
  }

  std::optional<std::size_t> column_of(const std::string& name) const {
    const auto found = columns_.find(name);
    return found == columns_.end() ? std::nullopt : std::optional(found->second);
  }

  std::string_view cell(const std::string& name) const {
    const auto column = column_of(name);
    return column ? std::string_view(cells_[*column]) : std::string_view();
  }

  void expect_width() const {
    if (cells_.size() == head_.size()) return;
    fail(ErrorKind::input, "line {}: {} cells, the head has {}", lines_.line(), cells_.size(),
         head_.size());
  }

  std::size_t add_metric(std::string_view name, std::string_view unit) {
    RecordedCounters& counters = recording_.counters;
    const auto [known, is_new] = metrics_.emplace(std::string(name), counters.names.size());
    if (is_new) {
      if (metrics_.size() > most_metrics)
        fail(ErrorKind::input, "line {}: too many metrics", lines_.line());
      const BaseUnit base = base_unit(unit);
      counters.names.push_back(recording_.names.id_of(printable(name)));
      counters.units.push_back(recording_.names.id_of(printable(base.name)));
      factors_.push_back(base.factor);
    }
    return known->second;
  }

  void add_kernel() {
    if (rows_.size() * std::max<std::size_t>(1, metrics_.size()) > most_values)
      fail(ErrorKind::input, "line {}: too many values", lines_.line());
    recording_.kernels.push_back(
        {.name = recording_.names.id_of(cell("Kernel Name")),
         .device = count_in(cell("Device"), unknown_device),
         .stream = count_in(cell("Stream"), 0),
         .grid =
             extents_in(cell("Grid Size").empty() ? cell("launch__grid_size") : cell("Grid Size")),
         .block = extents_in(cell("Block Size").empty() ? cell("launch__block_size")
                                                        : cell("Block Size"))});
    rows_.emplace_back();
    constexpr double most_pid = 1e15;  // a process beyond is not one
    if (const auto pid = number_in(cell("Process ID"));
        recording_.process.pid == 0 && pid && *pid > 0 && *pid < most_pid)
      recording_.process.pid = static_cast<std::int64_t>(*pid);
    if (recording_.process.command.empty())
      recording_.process.command = printable(cell("Process Name"));
    if (recording_.process.host.empty()) recording_.process.host = printable(cell("Host Name"));
  }

  void read_raw() {
    if (!lines_.next(cells_)) fail(ErrorKind::input, "the table has no row of units");
    expect_width();
    std::vector<std::optional<std::size_t>> metric_of(head_.size());
    for (std::size_t i = 0; i < head_.size(); ++i) {
      if (head_[i].find("__") != std::string::npos) metric_of[i] = add_metric(head_[i], cells_[i]);
    }
    while (lines_.next(cells_)) {
      if (cells_.size() == 1) continue;  // an empty line, or a message after the table
      expect_width();
      add_kernel();
      for (std::size_t i = 0; i < cells_.size(); ++i) {
        if (!metric_of[i]) continue;
        if (const auto value = number_in(cells_[i]))
          rows_.back().emplace_back(*metric_of[i], *value * factors_[*metric_of[i]]);
      }
    }
  }

  void read_details() {
    std::string last;
    while (lines_.next(cells_)) {
      if (cells_.size() == 1) continue;
      expect_width();
      if (rows_.empty() || cell("ID") != last) add_kernel();
      last = cell("ID");
      const auto value = number_in(cell("Metric Value"));
      if (!value || cell("Metric Name").empty()) continue;
      // Its unit may change from kernel to kernel; the base unit does not.
      const std::size_t metric = add_metric(cell("Metric Name"), cell("Metric Unit"));
      rows_.back().emplace_back(metric, *value * base_unit(cell("Metric Unit")).factor);
    }
  }

  /// One after the other: how long each ran is known, when is not.
  void lay_out() {
    RecordedCounters& counters = recording_.counters;
    const std::size_t width = counters.names.size();
    counters.values.assign(rows_.size() * width, std::numeric_limits<double>::quiet_NaN());
    std::int64_t at_ns = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      double duration_ns = 0;
      for (const auto& [metric, value] : rows_[i]) {
        counters.values[i * width + metric] = value;
        const std::string_view name = recording_.names.text(counters.names[metric]);
        if (name == duration_metric || name == "Duration") duration_ns = value;
        take_launch_fact(recording_.kernels[i], name, value);
      }
      if (!(duration_ns >= 0) || duration_ns > longest_kernel_ns)
        fail(ErrorKind::input, "kernel {}: its duration is no time", i);
      recording_.kernels[i].time = {at_ns, at_ns + std::llround(duration_ns)};
      at_ns = recording_.kernels[i].time.end_ns;
    }
    if (at_ns == 0) {
      recording_.notes.push_back(
          fmt::format("no durations: the table has no column {}", duration_metric));
    }
  }

  static void take_launch_fact(KernelRecord& kernel, std::string_view name, double value) {
    if (value < 0 || value > 4e9) return;
    const auto count = static_cast<std::uint32_t>(value);
    if (name == "launch__registers_per_thread" || name == "Registers Per Thread")
      kernel.registers = count;
    if (name == "launch__shared_mem_per_block_static" || name == "Static Shared Memory Per Block")
      kernel.static_shared_bytes = count;
    if (name == "launch__shared_mem_per_block_dynamic" || name == "Dynamic Shared Memory Per Block")
      kernel.dynamic_shared_bytes = count;
  }

  Recording recording_;
  CsvLines lines_;
  std::vector<std::string> head_;
  std::vector<std::string> cells_;
  std::map<std::string, std::size_t> columns_;
  std::map<std::string, std::size_t> metrics_;
  std::vector<double> factors_;
  std::vector<std::vector<std::pair<std::size_t, double>>> rows_;  ///< per kernel
};

}  // namespace

Recording read_ncu_csv(ByteSource& source) { return NcuReader(source).read(); }

bool looks_like_ncu_csv(std::string_view beginning) {
  return beginning.find("\"ID\",") != beginning.npos &&
         beginning.find("\"Kernel Name\"") != beginning.npos;
}

}  // namespace strata
