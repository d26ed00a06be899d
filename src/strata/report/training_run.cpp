// SPDX-License-Identifier: Apache-2.0
#include "strata/report/training_run.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace strata {
namespace {

constexpr double a_million = 1e6, seconds_of_hour = 3600, hours_of_day = 24, joules_of_kwh = 3.6e6;

/// Of one iteration: tokens, or samples where the network has no sequences.
double items_of(const TrainingPace& pace) {
  return static_cast<double>(pace.tokens.value_or(pace.samples));
}

std::string_view items_name(const TrainingPace& pace) { return pace.tokens ? "tokens" : "samples"; }

std::string run_line(std::string_view name, const std::string& text) {
  return fmt::format("  {:<12} {}\n", name, text);
}

}  // namespace

std::optional<TrainingRun> training_run(const TrainingTerms& terms, const TrainingPace& pace) {
  if (!terms.tokens && !terms.samples) return std::nullopt;
  if (terms.tokens && !pace.tokens)
    fail(ErrorKind::usage, "--tokens: the network has no sequences; --samples counts what it sees");
  const double in_all = terms.tokens ? *terms.tokens : *terms.samples;
  const double in_one = static_cast<double>(terms.tokens ? *pace.tokens : pace.samples);
  TrainingRun run;
  run.iterations = std::ceil(in_all / in_one);
  run.time_s = run.iterations * pace.time_s;
  run.low_s = run.iterations * pace.low_s;
  run.high_s = run.iterations * pace.high_s;
  run.device_hours = run.time_s / seconds_of_hour * static_cast<double>(pace.devices);
  if (terms.price_per_hour) run.cost = *terms.price_per_hour * run.device_hours;
  if (terms.power_w)
    run.energy_kwh = *terms.power_w * run.device_hours * seconds_of_hour / joules_of_kwh;
  return run;
}

std::optional<double> cost_per_million(const TrainingTerms& terms, const TrainingPace& pace) {
  if (!terms.price_per_hour) return std::nullopt;
  return *terms.price_per_hour * static_cast<double>(pace.devices) * pace.time_s / seconds_of_hour /
         items_of(pace) * a_million;
}

std::string money_text(double amount, const std::string& currency) {
  const std::string number = amount >= 1000  ? format_count(amount)
                             : amount >= 0.1 ? fmt::format("{:.2f}", amount)
                                             : fmt::format("{:.2g}", amount);
  return currency == "USD"  ? "$" + number
         : currency.empty() ? number
                            : fmt::format("{} {}", number, printable(currency));
}

std::string energy_text(double kwh) {
  return kwh >= 1e6   ? fmt::format("{:.3g} GWh", kwh / 1e6)
         : kwh >= 1e3 ? fmt::format("{:.3g} MWh", kwh / 1e3)
                      : fmt::format("{:.3g} kWh", kwh);
}

std::string duration_text(double seconds) {
  const double hours = seconds / seconds_of_hour;
  if (hours >= 2 * hours_of_day) {
    const double days = hours / hours_of_day;
    return days < 100 ? fmt::format("{:.3g} days", days) : fmt::format("{:.0f} days", days);
  }
  return hours >= 2 ? fmt::format("{:.3g} hours", hours) : format_time(seconds);
}

std::string training_lines(const TrainingTerms& terms, const TrainingPace& pace) {
  std::string text;
  if (const auto cost = cost_per_million(terms, pace)) {
    text += run_line("cost", fmt::format("{} per million {}, at {} per device and hour",
                                         money_text(*cost, terms.currency), items_name(pace),
                                         money_text(*terms.price_per_hour, terms.currency)));
  }
  const auto run = training_run(terms, pace);
  if (!run) return text;
  const std::string length = terms.tokens ? fmt::format("{} tokens", format_count(*terms.tokens))
                                          : fmt::format("{} samples", format_count(*terms.samples));
  text += run_line("training run",
                   fmt::format("{} in {} iterations: {} ({} to {}), {} device hours", length,
                               format_count(run->iterations), duration_text(run->time_s),
                               duration_text(run->low_s), duration_text(run->high_s),
                               format_count(run->device_hours)));
  if (run->cost || run->energy_kwh) {
    std::string bill = run->cost ? money_text(*run->cost, terms.currency) : "";
    if (run->energy_kwh)
      bill += fmt::format("{}{} at {:g} W, the board's power limit, of the devices alone",
                          bill.empty() ? "" : ", ", energy_text(*run->energy_kwh), *terms.power_w);
    text += run_line("", bill);
  }
  return text;
}

nlohmann::ordered_json training_json(const TrainingTerms& terms, const TrainingPace& pace) {
  using RunJson = nlohmann::ordered_json;
  RunJson json = {{"price_per_device_hour", number_or_null(terms.price_per_hour)},
                  {"currency", terms.currency.empty() ? RunJson() : RunJson(terms.currency)},
                  {"power_w", number_or_null(terms.power_w)},
                  {"cost_per_million", number_or_null(cost_per_million(terms, pace))},
                  {"per_million", items_name(pace)},
                  {"run", nullptr}};
  const auto run = training_run(terms, pace);
  if (!run) return json;
  json["run"] = {
      {"tokens", count_json(terms.tokens)},        {"samples", count_json(terms.samples)},
      {"iterations", count_json(run->iterations)}, {"time_s", run->time_s},
      {"interval_s", {run->low_s, run->high_s}},   {"device_hours", run->device_hours},
      {"cost", number_or_null(run->cost)},         {"energy_kwh", number_or_null(run->energy_kwh)}};
  return json;
}

}  // namespace strata
