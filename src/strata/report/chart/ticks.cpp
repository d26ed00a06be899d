// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/ticks.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata::chart {
namespace {

constexpr double rounding = 1e-9;  // of a step: what is that near to a tick is on it

ScaledUnit unit_for(Quantity quantity, double largest) {
  const double half = largest / 2;  // 0 … 1500 GB/s reads better than 0.0 … 1.5 TB/s
  switch (quantity) {
    case Quantity::bytes: return bytes_unit(half);
    case Quantity::capacity: return capacity_unit(largest);
    case Quantity::bytes_per_s: return count_unit(half, "B/s");
    case Quantity::flop: return count_unit(half, "FLOP");
    case Quantity::flop_per_s: return count_unit(half, "FLOP/s");
    case Quantity::seconds: return time_unit(half);
    case Quantity::share: return {"%", 0.01};
    case Quantity::number: break;
  }
  constexpr double plain = 1e5;  // up to here digits are read as easily as "20 K"
  return largest < plain ? ScaledUnit{} : count_unit(largest);
}

std::string_view base_unit(Quantity quantity) {
  switch (quantity) {
    case Quantity::bytes:
    case Quantity::capacity: return " B";
    case Quantity::bytes_per_s: return " B/s";
    case Quantity::flop: return " FLOP";
    case Quantity::flop_per_s: return " FLOP/s";
    case Quantity::seconds: return " s";
    default: return "";
  }
}

struct LinearSteps {
  ScaledUnit unit;
  double step = 1;  // in that unit
};

LinearSteps linear_steps(Range range, std::size_t most_ticks, Quantity quantity) {
  LinearSteps steps{
      .unit = unit_for(quantity, std::max(std::fabs(range.least), std::fabs(range.most)))};
  steps.step = nice_step((range.most - range.least) / steps.unit.size /
                         static_cast<double>(std::max<std::size_t>(most_ticks, 1)));
  return steps;
}

/// The exponents between two ticks of a logarithmic axis, in powers of its base; 0: too short.
struct LogSteps {
  double base = 10;
  int exponents = 1;
  bool has_fractions = false;  // 2 and 5 times a power as well
};

LogSteps log_steps(Range range, std::size_t most_ticks, Quantity quantity) {
  LogSteps steps{.base = quantity == Quantity::capacity ? 2.0 : 10.0};
  const double powers = std::log(range.most / range.least) / std::log(steps.base);
  const double most = static_cast<double>(std::max<std::size_t>(most_ticks, 2));
  if (quantity == Quantity::capacity) {
    for (const int exponents : {1, 2, 3, 5, 10, 20, 30, 60}) {
      steps.exponents = exponents;
      if (powers / exponents <= most) break;
    }
    if (powers < 2) steps.exponents = 0;
    return steps;
  }
  if (powers < 0.7) return {.base = 10, .exponents = 0};
  constexpr double few = 2.2;  // powers: with more of them the powers alone are easier to read
  steps.has_fractions = powers <= few && 3 * powers + 1 <= most;
  steps.exponents = std::max(1, static_cast<int>(std::ceil(powers / most)));
  return steps;
}

double power(double base, int exponent) { return std::pow(base, exponent); }

}  // namespace

double nice_step(double at_least) {
  const double ten = std::pow(10.0, std::floor(std::log10(at_least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * ten >= at_least * (1 - rounding)) return factor * ten;
  }
  return 10 * ten;
}

std::string label_of(double value, Quantity quantity, int digits) {
  const double size = std::fabs(value);
  if (quantity == Quantity::share) return fmt::format("{:.{}g} %", 100 * value, digits + 1);
  if (value == 0) return fmt::format("0{}", base_unit(quantity));
  if (quantity == Quantity::seconds && size < 1e-9)  // as the page writes it
    return size < 1e-12 ? fmt::format("{:.{}g} fs", 1e15 * value, std::max(digits, 3))
                        : fmt::format("{:.{}g} ps", 1e12 * value, std::max(digits, 3));
  const double smallest = quantity == Quantity::seconds ? 0 : 1;
  if (size < smallest) return fmt::format("{:.{}g}{}", value, digits, base_unit(quantity));
  switch (quantity) {
    case Quantity::bytes: return format_bytes(value, digits);
    case Quantity::capacity: return format_capacity(value, digits);
    case Quantity::bytes_per_s: return format_bytes_per_s(value, digits);
    case Quantity::flop: return format_flop(value, digits);
    case Quantity::flop_per_s: return format_flop_per_s(value, digits);
    case Quantity::seconds: return format_time(value, digits);
    default: break;
  }
  return size < 1e4 ? fmt::format("{:.{}g}", value, std::max(digits, 4))
                    : format_count(value, digits);
}

Ticks linear_ticks(Range range, std::size_t most_ticks, Quantity quantity) {
  const auto [unit, step] = linear_steps(range, most_ticks, quantity);
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + rounding)));
  Ticks ticks{.unit = unit.name};
  const double first = std::ceil(range.least / unit.size / step - rounding);
  const double last = std::floor(range.most / unit.size / step + rounding);
  for (double index = first; index <= last; ++index) {
    const double number = index == 0 ? 0 : index * step;  // no −0
    ticks.values.push_back(number * unit.size);
    const bool is_long = decimals == 0 && std::fabs(number) >= 1e4;
    std::string label =
        is_long ? format_exact(std::llround(number)) : fmt::format("{:.{}f}", number, decimals);
    if (label.front() == '-') label.replace(0, 1, "−");
    ticks.labels.push_back(std::move(label));
  }
  return ticks;
}

Ticks log_ticks(Range range, std::size_t most_ticks, Quantity quantity) {
  const LogSteps steps = log_steps(range, most_ticks, quantity);
  if (steps.exponents == 0) return linear_ticks(range, most_ticks, quantity);
  Ticks ticks;
  const double low = range.least * (1 - rounding);
  const double high = range.most * (1 + rounding);
  const auto add = [&](double value, bool is_labelled) {
    if (value < low || value > high) return;
    if (!is_labelled) {
      ticks.minor.push_back(value);
      return;
    }
    ticks.values.push_back(value);
    ticks.labels.push_back(label_of(value, quantity));
  };
  const auto exponent_of = [&](double value) {
    return static_cast<int>(std::floor(std::log(value) / std::log(steps.base) + rounding));
  };
  for (int exponent = exponent_of(range.least); exponent <= exponent_of(range.most); ++exponent) {
    const double one = power(steps.base, exponent);
    add(one, exponent % steps.exponents == 0);
    if (steps.base == 2 || steps.exponents > 1) continue;
    for (int digit = 2; digit <= 9; ++digit) {
      add(digit * one, steps.has_fractions && (digit == 2 || digit == 5));
    }
  }
  return ticks;
}

Range rounded_out(Range data, const Axis& axis, std::size_t most_ticks) {
  Range range = data;
  if (axis.scale == ScaleKind::linear) {
    // A range that grew may want larger steps, between which its ends would lie: rounds again.
    for (int round = 0; round < 4; ++round) {
      const auto [unit, step] = linear_steps(range, most_ticks, axis.quantity);
      const double size = unit.size * step;
      const Range wider{size * std::floor(data.least / size + rounding),
                        size * std::ceil(data.most / size - rounding)};
      if (wider.least == range.least && wider.most == range.most) break;
      range = wider;
    }
  } else {
    const LogSteps steps = log_steps(data, most_ticks, axis.quantity);
    // From power to power when there are many, else to the nearest 1, 2 or 5.
    const bool by_power = steps.base == 2 || std::log10(data.most / data.least) > 3;
    const auto below = [&](double value) {
      const double one =
          power(steps.base,
                static_cast<int>(std::floor(std::log(value) / std::log(steps.base) + rounding)));
      for (const double factor : {5.0, 2.0}) {
        if (!by_power && factor * one <= value * (1 + rounding)) return factor * one;
      }
      return one;
    };
    range.least = below(data.least);
    range.most = below(data.most);
    if (range.most < data.most * (1 - rounding)) {
      range.most = by_power ? range.most * steps.base : nice_step(data.most);
    }
  }
  if (axis.least) range.least = *axis.least;
  if (axis.most) range.most = *axis.most;
  return range;
}

}  // namespace strata::chart
