// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/axis.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace strata {
namespace {

// A range ends where its author meant it to, although 0.1 is no binary fraction.
constexpr double slack = 1e-9;        // of the last value
constexpr double step_slack = 1e-12;  // of the number of steps: below a whole one for any number

bool has_unit(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalpha(c) != 0 && c != 'e' && c != 'E'; });
}

// Sizes and rates are refused without a unit by their parsers. "--x 4:10:2" of times would sweep
// over seconds, which nobody means; a field of a machine file has its unit in its name.
bool needs_unit(std::string_view axis, AxisKind kind) {
  return kind == AxisKind::seconds && !axis.starts_with("machine.");
}

std::string_view symbol_of(AxisKind kind) {
  switch (kind) {
    case AxisKind::bytes: return "B";
    case AxisKind::bytes_per_s: return "B/s";
    case AxisKind::flop_per_s: return "FLOP/s";
    case AxisKind::seconds: return "s";
    case AxisKind::count:
    case AxisKind::level:
    case AxisKind::text: break;
  }
  return "";
}

// "24:1000:2MB" has a unit at its last value only. It could mean all three; it has to say so.
void expect_unit_of_each(const std::vector<std::string_view>& range, AxisKind kind,
                         std::string_view item, std::string_view what) {
  const bool has_units =
      kind != AxisKind::count && kind != AxisKind::level && kind != AxisKind::text;
  if (!has_units || has_unit(range[0]) || !(has_unit(range[1]) || has_unit(range[2]))) return;
  const std::string_view last = has_unit(range[1]) ? range[1] : range[2];
  const std::string_view unit = last.substr(last.find_last_of("0123456789. ") + 1);
  fail(ErrorKind::usage, "{}: each value of '{}' needs a unit: write {}{}:{}", what, item, range[0],
       unit,
       has_unit(range[1]) ? fmt::format("{}:{}", range[1], range[2])
                          : fmt::format("{}{}:{}", range[1], unit, range[2]));
}

std::string_view unit_of(AxisKind kind) {
  switch (kind) {
    case AxisKind::bytes: return "bytes";
    case AxisKind::bytes_per_s: return "bytes_per_s";
    case AxisKind::flop_per_s: return "flop_per_s";
    case AxisKind::seconds: return "s";
    case AxisKind::count:
    case AxisKind::level:
    case AxisKind::text: break;
  }
  return "";
}

}  // namespace

Axis::Axis(std::string name, AxisKind kind, std::string_view text, std::string_view what)
    : name_(std::move(name)), kind_(kind) {
  if (text.size() > longest_axis_text) fail(ErrorKind::usage, "{}: the list is too long", what);
  for (const std::string_view item : split(text, ',')) add_item(trimmed(item), what);
  count_values(what);
}

Axis::Axis(std::string name, const std::vector<std::string>& texts, std::string_view what)
    : name_(std::move(name)), kind_(AxisKind::text) {
  if (texts.empty()) fail(ErrorKind::usage, "{}: a value is missing", what);
  for (const std::string& text : texts) add_item(text, what);
  count_values(what);
}

void Axis::count_values(std::string_view what) {
  for (const Run& run : runs_) {
    first_of_.push_back(size_);
    size_ += run.count;
    if (size_ > most_values_of_axis)
      fail(ErrorKind::usage, "{} has more than {} values", what, format_exact(most_values_of_axis));
  }
  expect_no_value_twice(what);
}

void Axis::add_item(std::string_view item, std::string_view what) {
  if (item.empty()) fail(ErrorKind::usage, "{}: a value is missing", what);
  if (static_cast<std::int64_t>(runs_.size()) >= most_listed_values)
    fail(ErrorKind::usage, "{}: more than {} values in a list", what,
         format_exact(most_listed_values));
  if (kind_ == AxisKind::text) {
    runs_.push_back({.text = std::string(item)});
    return;
  }
  const std::vector<std::string_view> parts = split(item, ':');
  if (parts.size() == 1) return add_number(number_of(item, what));
  if (parts.size() != 3)
    fail(ErrorKind::usage, "{}: a range is FROM:TO:STEP or FROM:TO:xFACTOR, got '{}'", what, item);
  std::vector<std::string_view> trim;
  for (const std::string_view part : parts) trim.push_back(trimmed(part));
  if (std::any_of(trim.begin(), trim.end(), [](std::string_view part) { return part.empty(); }))
    fail(ErrorKind::usage, "{}: a range is FROM:TO:STEP or FROM:TO:xFACTOR, got '{}'", what, item);
  expect_unit_of_each(trim, kind_, item, what);
  const bool is_geometric = trim[2].front() == 'x' || trim[2].front() == '*';
  const double first = number_of(trim[0], what);
  const double last = number_of(trim[1], what);
  if (is_geometric && first == 0)
    fail(ErrorKind::usage, "{}: '{}' multiplies from 0; begin with 1", what, item);
  if (first > last)
    fail(ErrorKind::usage, "{}: the range '{}' runs backwards; write {}:{}:{}", what, item, trim[1],
         trim[0], trim[2]);
  if (is_geometric) {
    const std::string step_name = fmt::format("{}: the factor of '{}'", what, item);
    // A factor is a plain number, such as 2 or 1.25.
    add_geometric(first, last, parse_number(trim[2].substr(1), step_name), item, what);
  } else {
    add_linear(first, last, number_of(trim[2], what), item, what);
  }
}

double Axis::number_of(std::string_view text, std::string_view what) const {
  if (needs_unit(name_, kind_) && !has_unit(text))
    fail(ErrorKind::usage, "{}: '{}' has no unit: write {}us or {}s", what, text, text, text);
  double number = 0;
  switch (kind_) {
    case AxisKind::bytes: number = static_cast<double>(parse_bytes(text, what)); break;
    case AxisKind::bytes_per_s: number = parse_bytes_per_s(text, what); break;
    case AxisKind::flop_per_s: number = parse_flop_per_s(text, what); break;
    case AxisKind::seconds: number = parse_time(text, what); break;
    case AxisKind::count: number = static_cast<double>(parse_whole_number(text, what)); break;
    case AxisKind::level: return static_cast<double>(parse_whole_number(text, what, 0, 1 << 20));
    case AxisKind::text: break;
  }
  constexpr double most_whole = 9.0e15;  // every whole number below is a double
  if (is_whole(kind_) && number > most_whole)
    fail(ErrorKind::usage, "{}: '{}' is too large", what, text);
  if (!(number > 0)) fail(ErrorKind::usage, "{} must be positive, got '{}'", what, text);
  return number;
}

void Axis::add_number(double number) {
  runs_.push_back({.first = number, .first_whole = is_whole(kind_) ? std::llround(number) : 0});
}

void Axis::add_linear(double first, double last, double step, std::string_view item,
                      std::string_view what) {
  if (!(step > 0)) fail(ErrorKind::usage, "{}: the step of '{}' must be above 0", what, item);
  const double steps = std::floor((last - first) / step * (1 + step_slack) + slack);
  if (steps >= static_cast<double>(most_values_of_axis))
    fail(ErrorKind::usage, "{}: the range '{}' has {} values; at most {} are possible", what, item,
         format_count(steps + 1), format_exact(most_values_of_axis));
  runs_.push_back({.count = static_cast<std::int64_t>(steps) + 1,
                   .first = first,
                   .step = step,
                   .first_whole = is_whole(kind_) ? std::llround(first) : 0,
                   .step_whole = is_whole(kind_) ? std::llround(step) : 0});
}

void Axis::add_geometric(double first, double last, double factor, std::string_view item,
                         std::string_view what) {
  if (!(factor > 1)) fail(ErrorKind::usage, "{}: the factor of '{}' must be above 1", what, item);
  if (std::log(last / first) / std::log(factor) > static_cast<double>(most_listed_values))
    fail(ErrorKind::usage, "{}: the range '{}' has more than {} values", what, item,
         format_exact(most_listed_values));
  double previous = 0;
  for (double value = first; value <= last * (1 + slack); value *= factor) {
    const double shown = is_whole(kind_) ? std::round(value) : value;
    if (shown != previous) add_number(std::min(shown, last));  // 1, 1.1, 1.21 … are all 1
    previous = shown;
  }
}

void Axis::expect_no_value_twice(std::string_view what) const {
  if (runs_.size() < 2 || size_ > most_listed_values) return;
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < size_; ++i) values.push_back(at(i).text);
  std::sort(values.begin(), values.end());
  const auto twice = std::adjacent_find(values.begin(), values.end());
  if (twice != values.end()) fail(ErrorKind::usage, "{}: the value {} comes twice", what, *twice);
}

AxisValue Axis::at(std::int64_t index) const {
  const auto after = std::upper_bound(first_of_.begin(), first_of_.end(), index);
  const auto place = static_cast<std::size_t>(after - first_of_.begin()) - 1;
  const Run& run = runs_[place];
  const std::int64_t offset = index - first_of_[place];
  if (kind_ == AxisKind::text) return {.text = run.text};
  if (is_whole(kind_)) {
    const std::int64_t whole = run.first_whole + offset * run.step_whole;
    return {
        .text = fmt::format("{}", whole), .number = static_cast<double>(whole), .integer = whole};
  }
  const double number = run.first + static_cast<double>(offset) * run.step;
  return {.text = fmt::format("{}", number), .number = number};
}

std::string Axis::setting(const AxisValue& value) const {
  return value.text + std::string(symbol_of(kind_));
}

std::string Axis::canonical() const {
  std::string text = name_ + "=";
  for (const Run& run : runs_) {
    text += kind_ == AxisKind::text ? fmt::format("{},", run.text)
                                    : fmt::format("{}+{}*{},", run.first, run.step, run.count);
  }
  return text;
}

std::string Axis::column() const {
  std::string column = name_;
  std::replace_if(
      column.begin(), column.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  const std::string_view unit = unit_of(kind_);
  return unit.empty() || column.ends_with(unit) ? column : fmt::format("{}_{}", column, unit);
}

}  // namespace strata
