// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/kernel_table.hpp"

#include "strata/base/csv_cell.hpp"
#include "strata/base/dtype.hpp"
#include "strata/base/error.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

namespace strata {
namespace {

constexpr std::size_t most_rows = 100'000;
constexpr double microsecond = 1e-6;
constexpr double most_of_a_number = 1e15;
/// A table with dispatch in it says of shorter kernels what the host takes.
constexpr double shortest_with_dispatch_s = 100e-6;

/// Which class a row is a sample of; an empty name: of none.
struct TableRow {
  std::string kernel_class, precision;
  std::vector<double> dims;
};

class TableReader {
 public:
  explicit TableReader(std::string_view heading) : names_(csv_cells(heading)) {
    if (!has("time_us"))
      fail(ErrorKind::input, "line 1: expected a heading with a column time_us, got '{}'",
           heading.substr(0, 60));
    if (!is_products() && !is_attention() && !is_operators())
      fail(ErrorKind::input,
           "line 1: expected columns dtype,m,n,k (products), "
           "batch,queries,cached,heads,head_dim,window (attention) or operator,d0,d1,... "
           "(operators), got '{}'",
           heading.substr(0, 80));
  }

  void begin(std::string_view line, std::size_t number) {
    cells_ = csv_cells(line);
    number_ = number;
    if (cells_.size() != names_.size())
      fail(ErrorKind::input, "line {}: expected {} cells as in the heading, got {}", number_,
           names_.size(), cells_.size());
  }

  double time_s() const { return positive("time_us") * microsecond; }
  bool has_dispatch() const { return is_operators(); }

  TableRow row() const {
    if (is_products())
      return {"linear.forward_no_bias",
              type("dtype"),
              {1, positive("m"), positive("n"), positive("k")}};
    return is_attention() ? attention() : single_operator();
  }

 private:
  bool has(std::string_view name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  bool is_products() const { return has("m") && has("n") && has("k") && has("dtype"); }
  bool is_attention() const {
    return has("batch") && has("queries") && has("heads") && has("head_dim") && has("cached") &&
           has("window") && has("dtype");
  }
  bool is_operators() const { return has("operator") && has("d0") && has("d6"); }

  const std::string& text(std::string_view name) const {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end())
      fail(ErrorKind::input, "line 1: expected a column {}, and the heading has none", name);
    return cells_[static_cast<std::size_t>(found - names_.begin())];
  }

  double number(std::string_view name) const {
    const std::string& cell = text(name);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !(value >= 0) ||
        value > most_of_a_number)
      fail(ErrorKind::input, "line {}: {}: expected a number from 0 to 1e15, got '{}'", number_,
           name, cell.substr(0, 40));
    return value;
  }

  double positive(std::string_view name) const {
    const double value = number(name);
    if (value <= 0)
      fail(ErrorKind::input, "line {}: {}: expected a positive number, got {}", number_, name,
           value);
    return value;
  }

  /// The type that Strata calls so; empty: it has no kernels of that type.
  std::string type(std::string_view name) const {
    const std::string& written = text(name);
    if (written == "bfloat16") return "bf16";
    if (written == "float16" || written == "half") return "fp16";
    if (written == "float32" || written == "float") return "fp32";
    return written == "tf32" ? written : std::string();
  }

  TableRow attention() const {
    if (number("cached") != 0 || number("window") != 0) return {};
    if (has("kv_dtype") && text("kv_dtype") != text("dtype")) return {};
    const double queries = positive("queries");
    constexpr double causal = 2;
    return {"attention.forward",
            type("dtype"),
            {positive("batch"), positive("heads"), queries, queries, positive("head_dim"), causal}};
  }

  TableRow single_operator() const {
    const std::string& name = text("operator");
    if (name == "conv") return convolution();
    if (name == "linear")
      return {"linear.forward",
              "fp32",
              {1, positive("d0") * positive("d1"), positive("d2"), positive("d3")}};
    if (name == "bmm")
      return {
          "batched.nn", "fp32", {positive("d0"), positive("d1"), positive("d2"), positive("d3")}};
    static const std::map<std::string, std::string, std::less<>> of_rows = {
        {"softmax", "softmax.forward"}, {"layer_norm", "layer_norm.forward"}};
    if (const auto found = of_rows.find(name); found != of_rows.end())
      return {found->second, "fp32", {positive("d0"), positive("d1")}};
    static const std::map<std::string, std::string, std::less<>> of_elements = {
        {"elementwise add", "stream.add"},    {"elementwise mul", "stream.mul"},
        {"elementwise addu", "stream.scale"}, {"elementwise relu", "relu.forward"},
        {"elementwise gelu", "gelu.forward"}, {"elementwise tanh", "tanh.forward"}};
    if (const auto found = of_elements.find(name); found != of_elements.end())
      return {found->second, "fp32", {positive("d0") * positive("d1")}};
    return {};
  }

  /// batch, channels in and out, window, size, stride, padding.
  TableRow convolution() const {
    const double window = positive("d3"), size = positive("d4"), stride = positive("d5");
    const double out = std::floor((size + 2 * number("d6") - window) / stride) + 1;
    if (out < 1) fail(ErrorKind::input, "line {}: the window is larger than the image", number_);
    const double channels = positive("d1");
    constexpr double most_of_a_first = 4;
    return {channels <= most_of_a_first ? "first.forward" : "convolution.forward",
            "fp32",
            {positive("d0"), channels, positive("d2"), size * size, out * out, window * window, 1}};
  }

  std::vector<std::string> names_, cells_;
  std::size_t number_ = 0;
};

/// The next line without its end; nothing at the end of the text.
std::optional<std::string_view> next_line(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

TableSummary add_table(Calibration& calibration, std::string_view csv, std::string_view source) {
  const auto heading = next_line(csv);
  if (!heading) fail(ErrorKind::input, "line 1: expected a heading, got nothing");
  TableReader reader(*heading);
  // Rows that differ in what no class tells apart, as heads of keys, are one sample.
  std::map<std::pair<std::string, std::string>, std::map<std::vector<double>, std::vector<double>>>
      all;
  TableSummary summary;
  for (std::size_t number = 2; const auto line = next_line(csv); ++number) {
    if (line->empty()) continue;
    if (++summary.rows > most_rows)
      fail(ErrorKind::input, "line {}: more than {} rows", number, most_rows);
    reader.begin(*line, number);
    const double time_s = reader.time_s();
    TableRow row = reader.row();
    if (row.kernel_class.empty() || row.precision.empty()) continue;
    if (reader.has_dispatch() && time_s < shortest_with_dispatch_s) continue;
    ++summary.taken;
    all[{row.kernel_class, row.precision}][row.dims].push_back(time_s);
  }
  for (auto& [key, samples] : all) {
    for (auto& [dims, times] : samples) {
      const double time_s = median(times);
      put_sample(calibration, key.first, key.second,
                 {.dims = dims, .busy_s = time_s, .kernels_s = time_s, .kernels = 1});
    }
    for (CalibratedClass& one : calibration.classes) {
      if (one.kernel_class == key.first && one.precision == key.second) one.source = source;
    }
  }
  return summary;
}

}  // namespace strata
