// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/nvprof_csv.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/capture/csv_lines.hpp"
#include "strata/capture/nvprof_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>

namespace strata {
namespace {

constexpr double farthest_nvprof_ns = 1e18;  // thirty years
constexpr double most_nvprof_bytes = 1e18;

/// What only a table or a message of nvprof has.
constexpr std::string_view nvprof_marks[] = {"\"Start\",\"Duration\"",
                                             "\"Time(%)\",\"Time\",\"Calls\"",
                                             "\"Device\",\"Kernel\",\"Invocations\"",
                                             "Time(%)      Time     Calls",
                                             "NVPROF is profiling process",
                                             "== Metric result:",
                                             "== Profiling result:"};

std::uint32_t nvprof_count(const std::optional<double>& number, std::uint32_t otherwise) {
  if (!number || *number < 0 || *number > 4e9) return otherwise;
  return static_cast<std::uint32_t>(std::llround(*number));
}

MemoryKind nvprof_memory(std::string_view cell) {
  if (cell == "Pageable") return MemoryKind::pageable;
  if (cell == "Pinned") return MemoryKind::pinned;
  if (cell == "Device") return MemoryKind::device;
  if (cell == "Managed") return MemoryKind::managed;
  if (cell == "Array") return MemoryKind::array;
  return MemoryKind::unknown;
}

class NvprofCsv {
 public:
  explicit NvprofCsv(ByteSource& source) : lines_(source) {
    recording_.process.source_format = "nvprof CSV";
  }

  Recording read() {
    while (lines_.next(cells_)) {
      if (cells_.front().starts_with("==")) {
        take_message();
      } else if (cells_.size() > 1 && cells_[0] == "Start" && cells_[1] == "Duration") {
        take_head();
      } else if (!tables_.take(cells_, lines_.line()) && !head_.empty() && cells_.size() > 1) {
        take_row();
      }
    }
    if (head_.empty() && !tables_.has_any()) refuse();
    if (recording_.kernels.empty() && recording_.copies.empty() && recording_.calls.empty() &&
        recording_.sums.empty())
      fail(ErrorKind::input, "there is no kernel, copy or call in the table");
    if (!recording_.sums.empty()) say_what_sums_lack();
    if (left_out_ > 0) {
      recording_.notes.push_back(fmt::format(
          "{} rows that are neither kernels, copies, memsets nor calls are left out", left_out_));
    }
    check_recording(recording_);
    sort_by_start(recording_);
    return std::move(recording_);
  }

 private:
  [[noreturn]] void refuse() const {
    if (!problem_.empty()) fail(ErrorKind::input, "nvprof wrote no table: {}", problem_);
    fail(ErrorKind::input,
         "no table of nvprof: neither a trace (--print-gpu-trace), nor a summary, nor metrics");
  }

  /// Sums have no times; with a trace in the same file, that has them.
  void say_what_sums_lack() {
    if (recording_.kernels.empty() && recording_.calls.empty())
      recording_.process.has_times = false;
    recording_.notes.push_back(
        recording_.metrics.empty()
            ? "a summary of nvprof: sums by name, no single kernels; nvprof --print-gpu-trace "
              "--print-api-trace, or -o FILE, records them"
            : "metrics of nvprof: counters of a launch, no times; kernels ran one by one");
    if (!recording_.metrics.empty()) recording_.process.kernels_were_serialised = true;
  }

  /// "==123== NVPROF is profiling process 123, command: ./train"
  void take_message() {
    const std::string_view message = cells_.front();
    tables_.take_message(message);
    if (message.find("rror") != message.npos) problem_ = printable(trimmed(message));
    constexpr std::string_view mark = "NVPROF is profiling process ";
    const std::size_t at = cells_.front().find(mark);
    if (at == std::string::npos || recording_.process.pid != 0) return;
    const std::string_view digits = std::string_view(cells_.front()).substr(at + mark.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), recording_.process.pid);
    std::string command;
    for (std::size_t i = 1; i < cells_.size(); ++i)
      command += fmt::format("{}{}", i == 1 ? "" : ",", cells_[i]);
    constexpr std::string_view before = "command:";
    std::string_view text = trimmed(command);
    if (text.starts_with(before)) text = trimmed(text.substr(before.size()));
    recording_.process.command = printable(text);
  }

  void take_head() {
    head_ = cells_;
    columns_.clear();
    for (std::size_t i = 0; i < head_.size(); ++i) columns_.emplace(head_[i], i);
    if (!columns_.contains("Name"))
      fail(ErrorKind::input, "line {}: no column 'Name'", lines_.line());
    if (!lines_.next(cells_)) fail(ErrorKind::input, "the table has no row of units");
    expect_width();
    factors_.assign(head_.size(), std::nullopt);
    for (std::size_t i = 0; i < head_.size(); ++i) factors_[i] = nvprof_unit(trimmed(cells_[i]));
    if (!factors_[0] || !factors_[1])
      fail(ErrorKind::input, "line {}: no unit of Start and Duration", lines_.line());
  }

  void expect_width() const {
    if (cells_.size() == head_.size()) return;
    fail(ErrorKind::input, "line {}: {} cells, the head has {}", lines_.line(), cells_.size(),
         head_.size());
  }

  std::string_view cell(const std::string& name) const {
    const auto column = columns_.find(name);
    return column == columns_.end() ? std::string_view() : std::string_view(cells_[column->second]);
  }

  /// In base units, where the column has one.
  std::optional<double> number(const std::string& name) const {
    const auto column = columns_.find(name);
    if (column == columns_.end()) return std::nullopt;
    const auto value = nvprof_number(cells_[column->second]);
    if (!value) return std::nullopt;
    return *value * factors_[column->second].value_or(1);
  }

  std::uint32_t count(const std::string& name, std::uint32_t otherwise) const {
    return nvprof_count(number(name), otherwise);
  }

  TimeSpan time() const {
    const auto start = number("Start"), length = number("Duration");
    if (!start || !length || std::abs(*start) > farthest_nvprof_ns || *length < 0 ||
        *length > farthest_nvprof_ns)
      fail(ErrorKind::input, "line {}: Start or Duration is no time", lines_.line());
    const std::int64_t at_ns = std::llround(*start);
    return {at_ns, at_ns + std::llround(*length)};
  }

  std::int64_t bytes() const {
    const auto size = number("Size");
    if (!size || *size < 0 || *size > most_nvprof_bytes) return unknown_bytes;
    return std::llround(*size);
  }

  std::uint32_t device() { return nvprof_device(cell("Device"), recording_); }

  /// The number after a kernel's name, "scale(float*) [112]", is its correlation.
  std::uint64_t take_correlation(std::string_view& name) const {
    std::uint64_t correlation = 0;
    const std::size_t open = name.rfind(" [");
    if (open != name.npos && name.ends_with(']')) {
      const std::string_view digits = name.substr(open + 2, name.size() - open - 3);
      const auto [end, problem] =
          std::from_chars(digits.data(), digits.data() + digits.size(), correlation);
      if (problem == std::errc{} && end == digits.data() + digits.size())
        name = name.substr(0, open);
      else
        correlation = 0;
    }
    const std::string_view column = trimmed(cell("Correlation_ID"));
    std::uint64_t stated = 0;
    std::from_chars(column.data(), column.data() + column.size(), stated);
    return stated != 0 ? stated : correlation;
  }

  void take_row() {
    expect_width();
    std::string_view name = trimmed(cell("Name"));
    const std::uint64_t correlation = take_correlation(name);
    if (name.starts_with("[")) {
      take_transfer(name, correlation);
    } else if (!cell("Grid X").empty()) {
      recording_.kernels.push_back(
          {.time = time(),
           .correlation = correlation,
           .name = recording_.names.id_of(name),
           .device = device(),
           .stream = count("Stream", 0),
           .grid = {count("Grid X", 0), count("Grid Y", 0), count("Grid Z", 0)},
           .block = {count("Block X", 0), count("Block Y", 0), count("Block Z", 0)},
           .registers = count("Registers Per Thread", unknown_count),
           .static_shared_bytes = count("Static SMem", unknown_count),
           .dynamic_shared_bytes = count("Dynamic SMem", unknown_count)});
    } else if (name.starts_with("cu")) {
      name = name.substr(0, name.find(' '));  // "cudaLaunchKernel (scale(float*) [112])"
      recording_.calls.push_back(
          {.time = time(),
           .correlation = correlation,
           .name = recording_.names.id_of(name),
           .kind = name.starts_with("cuda") ? ApiKind::runtime : ApiKind::driver});
    } else {
      ++left_out_;
    }
  }

  void take_transfer(std::string_view name, std::uint64_t correlation) {
    const std::string lower = lower_case(name);
    if (lower.find("memset") != std::string::npos) {
      recording_.fills.push_back({.time = time(),
                                  .bytes = bytes(),
                                  .correlation = correlation,
                                  .device = device(),
                                  .stream = count("Stream", 0)});
    } else if (lower.find("memcpy") != std::string::npos) {
      recording_.copies.push_back({.time = time(),
                                   .bytes = bytes(),
                                   .correlation = correlation,
                                   .device = device(),
                                   .stream = count("Stream", 0),
                                   .kind = nvprof_copy_kind(name),
                                   .source = nvprof_memory(cell("SrcMemType")),
                                   .destination = nvprof_memory(cell("DstMemType"))});
    } else {
      ++left_out_;  // page faults of managed memory
    }
  }

  Recording recording_;
  NvprofTables tables_{recording_};
  CsvLines lines_;
  std::string problem_;  ///< what nvprof said of an error
  std::vector<std::string> head_;
  std::vector<std::string> cells_;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::optional<double>> factors_;  ///< by column; nothing: it has no unit
  std::size_t left_out_ = 0;
};

}  // namespace

Recording read_nvprof_csv(ByteSource& source) { return NvprofCsv(source).read(); }

bool looks_like_nvprof_csv(std::string_view beginning) {
  return std::any_of(std::begin(nvprof_marks), std::end(nvprof_marks),
                     [&](std::string_view mark) { return beginning.find(mark) != beginning.npos; });
}

}  // namespace strata
