// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The tables in which nvprof adds up: its summary (nvprof without --print-…-trace) and its
/// counters (--metrics, --events), as CSV or as text for people.
namespace strata {

/// nvprof counts time in s to ns, and sizes in powers of 1024. Nothing: no unit of these.
std::optional<double> nvprof_unit(std::string_view unit);
/// Nothing: it is no finite number.
std::optional<double> nvprof_number(std::string_view cell);
/// "[CUDA memcpy HtoD]", "[Unified Memory Memcpy DtoH]": the letters at the end.
CopyKind nvprof_copy_kind(std::string_view name);
/// "Tesla K80 (0)" is remembered with its name; the number of the device.
std::uint32_t nvprof_device(std::string_view text, Recording& recording);

class NvprofTables {
 public:
  explicit NvprofTables(Recording& recording) : recording_(recording) {}

  /// A line of nvprof's own, "==123== Metric result:", which may begin a table.
  void take_message(std::string_view message);
  /// The cells of any other line: whether it belongs to such a table. Errors (input) name the line.
  bool take(const std::vector<std::string>& cells, std::size_t line);
  bool has_any() const { return is_found_; }

 private:
  enum class Form : std::uint8_t { none, summary_csv, metrics_csv, summary_text, metrics_text };

  bool take_head(const std::vector<std::string>& cells, std::string_view text);
  bool take_units(const std::vector<std::string>& cells, std::size_t line);
  void take_summary_cells(const std::vector<std::string>& cells, std::size_t line);
  void take_metric_cells(const std::vector<std::string>& cells, std::size_t line);
  bool take_summary_text(std::string_view text);
  bool take_metric_text(std::string_view text);
  void add_sum(std::string_view name, const RecordedSum& sum);
  void add_metric(std::string_view kernel, std::string_view metric, std::uint32_t device,
                  std::int64_t launches, const std::vector<std::string_view>& values);
  std::string_view cell(const std::vector<std::string>& cells, const std::string& name) const;

  Recording& recording_;
  Form form_ = Form::none;
  bool is_found_ = false;
  bool is_api_ = false;       ///< of rows that do not say so themselves
  bool needs_units_ = false;  ///< the next line of a summary in CSV
  bool has_total_ = false;    ///< a column behind the average, as events have it
  std::size_t width_ = 0;     ///< of a CSV table
  std::map<std::string, std::size_t> columns_;
  std::vector<double> factors_;
  std::uint32_t device_ = unknown_device;  ///< of the text, as its lines said last
  std::string kernel_;
  std::map<std::pair<NameId, std::uint32_t>, std::size_t> counted_;  ///< sums of counted kernels
};

}  // namespace strata
