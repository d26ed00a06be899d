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

// Ascending.
constexpr Unit capacities[] = {{"B", 1},
                               {"KiB", kibi},
                               {"MiB", kibi* kibi},
                               {"GiB", kibi* kibi* kibi},
                               {"TiB", kibi* kibi* kibi* kibi},
                               {"PiB", kibi* kibi* kibi* kibi* kibi},
                               {"EiB", kibi* kibi* kibi* kibi* kibi* kibi}};
constexpr Unit prefixes[] = {{"", 1},     {"k", 1e3},  {"M", 1e6}, {"G", 1e9},
                             {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};  // of units, as SI writes them
constexpr Unit thousands[] = {{"", 1},     {"K", 1e3},  {"M", 1e6}, {"G", 1e9},
                              {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};  // of counts
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

// "128Gb" and "400Gb/s" are bits to whoever writes them so; "128gb" is a way to type GB.
void refuse_bits(std::string_view text, std::string_view unit, double number,
                 std::string_view what) {
  const std::string_view size = unit.substr(0, unit.find('/'));
  if (size.size() < 2 || size.back() != 'b') return;
  const std::string_view prefix = size.substr(0, size.size() - 1);
  if (prefix.front() < 'A' || prefix.front() > 'Z' || prefix.size() > 2) return;
  fail(ErrorKind::usage, "{}: '{}' is in bits: write {:g}{}B{}", what, text, number / 8, prefix,
       unit.substr(size.size()));
}

NumberAndUnit read_number_and_unit(std::string_view text, std::string_view what,
                                   std::string_view expected) {
  const std::string_view body = trimmed(text);
  double number = 0;
  const auto [rest, status] = std::from_chars(body.data(), body.data() + body.size(), number);
  const bool is_number = status == std::errc() && std::isfinite(number) && !std::signbit(number);
  if (!is_number) fail_to_read(text, what, expected);
  const std::string_view unit = trimmed(body.substr(static_cast<std::size_t>(rest - body.data())));
  refuse_bits(text, unit, number, what);
  return {number, lower_case(unit)};
}

std::optional<double> thousands_named(std::string_view unit) {
  for (const Unit& known : thousands) {
    if (unit == lower_case(known.name)) return known.size;
  }
  return std::nullopt;
}

std::optional<double> capacity_named(std::string_view unit) {
  for (const Unit& known : capacities) {
    if (unit == lower_case(known.name)) return known.size;
  }
  return std::nullopt;
}

// What stands before one of the endings: "gb/s" → "g". Nothing when there is none of them.
std::optional<std::string_view> before_ending(std::string_view text,
                                              std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings) {
    if (text.ends_with(ending)) return text.substr(0, text.size() - ending.size());
  }
  return std::nullopt;
}

// "kb" is 1000 and "kib" 1024. Nothing when it is no unit of bytes.
std::optional<double> bytes_named(std::string_view unit) {
  if (const auto size = capacity_named(unit)) return size;
  const auto prefix = before_ending(unit, {"b"});
  return prefix ? thousands_named(*prefix) : std::nullopt;
}

// The ways to write `number` with a unit, for one who left it out: "128MB (10^6 bytes) or 128MiB
// (2^20 bytes)". Of a bare number in the millions the bytes themselves are meant.
std::string size_advice(std::string_view number, double value, std::string_view prefix) {
  if (prefix.empty() && value >= 1e6) return fmt::format("{}B", number);
  const char letter = prefix.empty() ? 'm' : prefix.front();
  for (int power = 1; power < static_cast<int>(std::size(prefixes)); ++power) {
    const std::string_view name = prefixes[power].name;
    if (lower_case(name).front() != letter) continue;
    return fmt::format("{0}{1}B (10^{3} bytes) or {0}{2}B (2^{4} bytes)", number, name,
                       capacities[power].name.substr(0, 2), 3 * power, 10 * power);
  }
  return {};
}

// A number whose unit is missing, or only a letter. The advice completes "write …".
[[noreturn]] void fail_without_unit(std::string_view text, std::string_view what,
                                    std::string_view advice) {
  fail(ErrorKind::usage, "{}: '{}' has no unit: write {}", what, text, advice);
}

std::string_view digits_of(std::string_view text, std::string_view unit) {
  return trimmed(trimmed(text).substr(0, trimmed(text).size() - unit.size()));
}

// Rounded, because 0.1 GB is a sensible thing to ask for and is no whole number of bytes.
std::int64_t whole(double value, std::string_view text, std::string_view what) {
  constexpr double limit = 9.2e18;  // just below 2^63
  if (value > limit) fail(ErrorKind::usage, "{}: '{}' is too large for 64 bits", what, text);
  return std::llround(value);
}

}  // namespace

std::string format_bytes(double bytes, int digits) {
  return format_in(prefixes, kilo, bytes, digits, "B");
}

std::string format_capacity(double bytes, int digits) {
  return format_in(capacities, kibi, bytes, digits, "");
}

std::string format_bytes_per_s(double bytes_per_s, int digits) {
  return format_in(prefixes, kilo, bytes_per_s, digits, "B/s");
}

std::string format_count(double count, int digits) {
  return format_in(thousands, kilo, count, digits, "");
}

std::string format_flop(double flop, int digits) {
  return format_in(prefixes, kilo, flop, digits, "FLOP");
}

std::string format_flop_per_s(double flop_per_s, int digits) {
  return format_in(prefixes, kilo, flop_per_s, digits, "FLOP/s");
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

ScaledUnit bytes_unit(double bytes) { return unit_in(prefixes, bytes, "B"); }
ScaledUnit capacity_unit(double bytes) { return unit_in(capacities, bytes, ""); }
ScaledUnit count_unit(double count, std::string_view suffix) {
  return suffix.empty() ? unit_in(thousands, count, suffix) : unit_in(prefixes, count, suffix);
}
ScaledUnit time_unit(double seconds) { return unit_in(times, seconds, ""); }

bool is_capacity_name(std::string_view name) {
  for (const std::string_view part :
       {"capacity", "footprint", "memory", "occupied", "scratch", "granularity"}) {
    if (name.find(part) != std::string_view::npos) return !name.ends_with("_per_s");
  }
  return false;
}

std::int64_t parse_bytes(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a size like 128MB (10^6 bytes) or 128MiB (2^20 bytes)";
  const auto [number, unit] = read_number_and_unit(text, what, expected);
  if (number == 0 && unit.empty()) return 0;
  const auto size = bytes_named(unit);
  if (!size && thousands_named(unit))
    fail_without_unit(text, what, size_advice(digits_of(text, unit), number, unit));
  if (!size) fail_to_read(text, what, expected);
  return whole(number * *size, text, what);
}

double parse_bytes_per_s(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a rate like 616GB/s or 3.35TB/s";
  const auto [number, unit] = read_number_and_unit(text, what, expected);
  if (number == 0 && unit.empty()) return 0;
  const auto bytes = before_ending(unit, {"/s"});
  const auto size = bytes ? bytes_named(*bytes) : std::nullopt;
  if (!size && thousands_named(unit))
    fail_without_unit(
        text, what,
        fmt::format("{}{}", trimmed(text), unit.empty() && number < 1e6 ? "GB/s" : "B/s"));
  if (!size && bytes_named(unit))
    fail(ErrorKind::usage, "{}: '{}' is a size: write {}/s", what, text, trimmed(text));
  if (!size) fail_to_read(text, what, expected);
  return number * *size;
}

double parse_flop_per_s(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a rate like 13.45TFLOP/s or 900GFLOP/s";
  const auto [number, unit] = read_number_and_unit(text, what, expected);
  if (number == 0 && unit.empty()) return 0;
  const auto prefix = before_ending(unit, {"flop/s", "flops"});
  const auto size = prefix ? thousands_named(*prefix) : std::nullopt;
  if (!size && thousands_named(unit))
    fail_without_unit(
        text, what,
        fmt::format("{}{}", trimmed(text), unit.empty() && number < 1e6 ? "TFLOP/s" : "FLOP/s"));
  if (!size) fail_to_read(text, what, expected);
  return number * *size;
}

double parse_number(std::string_view text, std::string_view what) {
  constexpr std::string_view expected = "a number like 2, 1.25 or 13.45T";
  const auto [number, unit] = read_number_and_unit(text, what, expected);
  const auto size = thousands_named(unit);
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
