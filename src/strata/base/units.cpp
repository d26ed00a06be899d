// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <span>

namespace strata {
namespace {

struct Unit {
  std::string_view name;
  double size;
};

constexpr double kilo = 1e3;
constexpr double kibi = 1024;

// Ascending. The first is what a bare number means.
constexpr Unit capacities[] = {{"B", 1},
                               {"KB", kibi},
                               {"MB", kibi* kibi},
                               {"GB", kibi* kibi* kibi},
                               {"TB", kibi* kibi* kibi* kibi},
                               {"PB", kibi* kibi* kibi* kibi* kibi},
                               {"EB", kibi* kibi* kibi* kibi* kibi* kibi}};
constexpr Unit thousands[] = {{"", 1},     {"K", 1e3},  {"M", 1e6}, {"G", 1e9},
                              {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};
constexpr Unit times[] = {{"ns", 1e-9}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}};

// A number below `step` in the largest unit that fits, rounded first: 999.96 K is 1.00 M, not "1000
// K".
std::string format_in(std::span<const Unit> units, double step, double value, int digits,
                      std::string_view suffix) {
  if (!std::isfinite(value)) return std::isnan(value) ? "?" : value < 0 ? "-∞" : "∞";
  for (std::size_t index = 0; index < units.size(); ++index) {
    const double scaled = value / units[index].size;
    const double magnitude = std::fabs(scaled);
    const int before_point =
        magnitude < 1 ? 1 : static_cast<int>(std::floor(std::log10(magnitude))) + 1;
    const bool is_whole_base_unit =
        units[index].size == 1 && std::floor(scaled) == scaled && magnitude < step;
    const int decimals = is_whole_base_unit ? 0 : std::max(0, digits - before_point);
    const double rounding = std::pow(10.0, decimals);
    const double rounded = std::round(magnitude * rounding) / rounding;
    if (rounded >= step && index + 1 < units.size()) continue;
    // Rounding up may have made one more digit before the point: 9.999 is 10.0, not 10.00.
    const bool grew = rounded >= std::pow(10.0, before_point) && decimals > 0 && magnitude >= 1;
    const std::string number = fmt::format("{:.{}f}", scaled, grew ? decimals - 1 : decimals);
    const bool has_unit = !units[index].name.empty() || !suffix.empty();
    return fmt::format("{}{}{}{}", number, has_unit ? " " : "", units[index].name, suffix);
  }
  return {};
}

ScaledUnit unit_in(std::span<const Unit> units, double value, std::string_view suffix) {
  const Unit* chosen = &units.front();
  for (const Unit& unit : units) {
    if (unit.size <= std::fabs(value)) chosen = &unit;
  }
  return {fmt::format("{}{}", chosen->name, suffix), chosen->size};
}

struct NumberAndUnit {
  double number;
  std::string unit;  // lower case, "" when there is none
};

[[noreturn]] void fail_to_read(std::string_view text, std::string_view what,
                               std::string_view expected) {
  fail(ErrorKind::usage, "{} expects {}, got '{}'", what, expected, text);
}

NumberAndUnit read_number_and_unit(std::string_view text, std::string_view what,
                                   std::string_view expected) {
  const std::string_view body = trimmed(text);
  double number = 0;
  const auto [rest, status] = std::from_chars(body.data(), body.data() + body.size(), number);
  const bool is_number = status == std::errc() && std::isfinite(number) && !std::signbit(number);
  if (!is_number) fail_to_read(text, what, expected);
  return {number, lower_case(trimmed(body.substr(static_cast<std::size_t>(rest - body.data()))))};
}

// "gb" and "gib" and "g" are GB; a bare number is in the first unit.
std::optional<double> capacity_named(std::string_view unit) {
  for (const Unit& known : capacities) {
    const std::string name = lower_case(known.name);
    if (unit == name) return known.size;
    if (name.size() == 2 && (unit == name.substr(0, 1) || unit == fmt::format("{}ib", name[0])))
      return known.size;
  }
  return unit.empty() ? std::optional<double>(1) : std::nullopt;
}

std::optional<double> thousands_named(std::string_view unit) {
  for (const Unit& known : thousands) {
    if (unit == lower_case(known.name)) return known.size;
  }
  return std::nullopt;
}

// Takes one of the endings off when it is there: "gb/s" → "g".
std::string_view without_ending(std::string_view text,
                                std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (text.ends_with(ending)) return text.substr(0, text.size() - ending.size());
  }
  return text;
}

// Rounded, because 0.1 GB is a sensible thing to ask for and is no whole number of bytes.
std::int64_t whole(double value, std::string_view text, std::string_view what) {
  constexpr double limit = 9.2e18;  // just below 2^63
  if (value > limit) fail(ErrorKind::usage, "{}: '{}' is too large for 64 bits", what, text);
  return std::llround(value);
}

}  // namespace

std::string format_bytes(double bytes, int digits) {
  return format_in(capacities, kibi, bytes, digits, "");
}

std::string format_bytes_per_s(double bytes_per_s, int digits) {
  return format_in(thousands, kilo, bytes_per_s, digits, "B/s");
}

std::string format_count(double count, int digits) {
  return format_in(thousands, kilo, count, digits, "");
}

std::string format_flop(double flop, int digits) {
  return format_in(thousands, kilo, flop, digits, "FLOP");
}

std::string format_flop_per_s(double flop_per_s, int digits) {
  return format_in(thousands, kilo, flop_per_s, digits, "FLOP/s");
}

std::string format_time(double seconds, int digits) {
  if (seconds == 0) return "0 s";
  return format_in(times, kilo, seconds, digits, "");
}

std::string format_exact(std::int64_t number) {
  std::string text = fmt::format("{}", number);
  const std::size_t first_digit = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first_digit + 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

ScaledUnit bytes_unit(double bytes) { return unit_in(capacities, bytes, ""); }
ScaledUnit count_unit(double count, std::string_view suffix) {
  return unit_in(thousands, count, suffix);
}
ScaledUnit time_unit(double seconds) { return unit_in(times, seconds, ""); }

std::int64_t parse_bytes(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a size like 128MB, 1.5GB or 4096 (bytes)";
  const auto [number, unit] = read_number_and_unit(text, what, expected);
  const auto size = capacity_named(unit);
  if (!size) fail_to_read(text, what, expected);
  return whole(number * *size, text, what);
}

double parse_bytes_per_s(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a rate like 616GB/s, 3.35TB/s or 9e11 (bytes per second)";
  const auto [number, unit] = read_number_and_unit(text, what, expected);
  const std::string_view bare = without_ending(unit, {"/s"});
  // GiB/s says powers of 1024 in so many words; GB/s is a rate and so in powers of 1000.
  const auto size =
      bare.ends_with("ib") ? capacity_named(bare) : thousands_named(without_ending(bare, {"b"}));
  if (!size) fail_to_read(text, what, expected);
  return number * *size;
}

double parse_flop_per_s(std::string_view text, std::string_view what) {
  constexpr std::string_view expected =
      "a rate like 13.45T, 13.45TFLOP/s or 1.345e13 (FLOP per second)";
  const auto [number, unit] = read_number_and_unit(text, what, expected);
  const auto size = thousands_named(without_ending(unit, {"flop/s", "flops", "flop", "/s"}));
  if (!size) fail_to_read(text, what, expected);
  return number * *size;
}

std::int64_t parse_count(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a count like 32, 1.5K or 2M";
  const auto [number, unit] = read_number_and_unit(text, what, expected);
  const auto size = thousands_named(unit);
  if (!size) fail_to_read(text, what, expected);
  const double count = number * *size;
  // 4.07 K is 4070.0000000000005 in binary: what is lost to the last digits of a double is no
  // fraction.
  if (std::fabs(count - std::nearbyint(count)) > 1e-12 * count) fail_to_read(text, what, expected);
  return whole(count, text, what);
}

double parse_time(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a time like 2.1us, 10ms or 3s";
  const auto [number, unit] = read_number_and_unit(text, what, expected);
  if (unit.empty()) return number;
  for (const Unit& known : times) {
    if (unit == known.name) return number * known.size;
  }
  if (unit == "us" || unit == "μs")
    return number * 1e-6;  // plain letters, and the Greek mu beside the micro sign
  fail_to_read(text, what, expected);
}

std::int64_t parse_whole_number(std::string_view text, std::string_view what, std::int64_t least,
                                std::int64_t most) {
  const std::string_view body = trimmed(text);
  std::int64_t number = 0;
  const auto [rest, status] = std::from_chars(body.data(), body.data() + body.size(), number);
  const bool is_all_read = rest == body.data() + body.size();
  if (status == std::errc::result_out_of_range && is_all_read) {
    fail(ErrorKind::usage, "{}: '{}' does not fit in 64 bits", what, text);
  }
  if (status != std::errc() || !is_all_read || number < least || number > most) {
    const std::string range = most == INT64_MAX ? fmt::format("of at least {}", least)
                                                : fmt::format("between {} and {}", least, most);
    fail_to_read(text, what, fmt::format("a whole number {}", range));
  }
  return number;
}

}  // namespace strata
