// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_machines.hpp"

#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/predict_flags.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/report/json_host.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr double million = 1e6, seconds_per_hour = 3600, joule_per_kwh = 3.6e6;
constexpr Flag machines_json_flag{.name = "json",
                                  .value = "FILE",
                                  .help = "Everything as JSON; - is standard output.",
                                  .offer = Offer::output};

struct MachineAnswer {
  std::string machine;
  PredictionSummary summary = {};
  std::optional<double> price_per_hour = {}, power_w = {};
  std::string currency = {};
  std::string refusal = {};  ///< why it has no answer; empty: it has

  double samples_per_s() const {
    return static_cast<double>(summary.totals.samples) / summary.expected->time_s;
  }
  /// Nobody pays for a limit: without an expected time there is none.
  std::optional<double> cost() const {
    if (!price_per_hour || !summary.expected) return std::nullopt;
    return *price_per_hour / seconds_per_hour / samples_per_s() * million;
  }
  /// At the power limit, which a card does not always draw.
  std::optional<double> energy_kwh() const {
    if (!power_w || !summary.expected) return std::nullopt;
    return *power_w / samples_per_s() * million / joule_per_kwh;
  }
};

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// "2.5,3.1": per hour, in the order of the machines.
std::vector<double> prices(const Arguments& given, std::size_t machines) {
  const auto text = given.value(price_flag);
  if (!text) return {};
  std::vector<double> all;
  for (const std::string& part : parts_of(*text)) {
    double price = 0;
    const auto [end, problem] = std::from_chars(part.data(), part.data() + part.size(), price);
    if (problem != std::errc() || end != part.data() + part.size() || !(price > 0))
      fail(ErrorKind::usage, "--price expects prices per hour, as 2.5,3.1, got '{}'", *text);
    all.push_back(price);
  }
  if (all.size() != machines)
    fail(ErrorKind::usage, "--price has {} prices for {} machines", all.size(), machines);
  return all;
}

/// Two places; of what is less than a tenth two digits.
std::string small_text(double number) {
  return number < 0.1 ? fmt::format("{:.2g}", number) : fmt::format("{:.2f}", number);
}

std::string cost_text(const MachineAnswer& one) {
  const auto cost = one.cost();
  if (!cost) return "";
  return fmt::format("{}{}{}", small_text(*cost), one.currency.empty() ? "" : " ",
                     printable(one.currency));
}

std::string answers_text(const std::vector<MachineAnswer>& answers, const TextStyle& style) {
  bool has_price = false, has_power = false;
  for (const MachineAnswer& one : answers) {
    has_price |= one.price_per_hour.has_value();
    has_power |= one.power_w.has_value();
  }
  Table table(
      {{.title = "machine", .least_width = 12},
       {.title = "expected", .align = Align::right},
       {.title = "nine of ten between", .align = Align::right, .leaves = 2},
       {.title = "samples/s", .align = Align::right},
       {.title = "limit", .align = Align::right, .leaves = 1},
       {.title = "memory", .align = Align::right},
       {.title = "fits"},
       {.title = "cost per million", .align = Align::right, .is_shown = has_price},
       {.title = "kWh per million", .align = Align::right, .leaves = 3, .is_shown = has_power},
       {.title = "from", .least_width = 12}});
  for (const MachineAnswer& one : answers) {
    if (!one.refusal.empty()) {
      table.add_row(
          {printable(one.machine), "", "", "", "", "", "", "", "", printable(one.refusal)});
      continue;
    }
    const auto& expected = one.summary.expected;
    const auto energy = one.energy_kwh();
    table.add_row(
        {printable(one.machine), expected ? format_time(expected->time_s) : "",
         expected
             ? fmt::format("{} and {}", format_time(expected->low_s), format_time(expected->high_s))
             : "",
         expected ? format_count(one.samples_per_s()) : "", format_time(one.summary.totals.time_s),
         format_capacity(static_cast<double>(one.summary.needed_memory_bytes())),
         one.summary.fits_device() ? "yes" : "no", cost_text(one),
         energy ? small_text(*energy) : "",
         expected ? fmt::format("{}", name_of(expected->calibration))
                  : printable(one.summary.no_expected_reason)});
  }
  auto answered = std::find_if(answers.begin(), answers.end(), [](const MachineAnswer& one) {
    return one.summary.expected.has_value();
  });
  if (answered == answers.end())
    answered = std::find_if(answers.begin(), answers.end(),
                            [](const MachineAnswer& one) { return one.refusal.empty(); });
  const PredictionSummary& first =
      (answered == answers.end() ? answers.front() : *answered).summary;
  return fmt::format(
      "{}, one training iteration, {} samples, {}, {}\n\n{}{}", printable(first.title),
      first.totals.samples, first.dtype, first.expected ? first.expected->framework : "limits only",
      table.to_text(style),
      has_power ? "\nkWh: at the board's power limit all the time, more than it draws\n" : "");
}

Json answer_json(const MachineAnswer& one) {
  if (!one.refusal.empty()) return {{"machine", one.machine}, {"refusal", one.refusal}};
  Json json = {{"machine", one.machine}, {"limit_s", one.summary.totals.time_s}};
  if (const auto& expected = one.summary.expected) {
    json["expected"] = {{"time_s", expected->time_s},
                        {"interval_s", {expected->low_s, expected->high_s}},
                        {"calibration", name_of(expected->calibration)},
                        {"host", dispatch_host_json(expected->host)}};
    json["samples_per_s"] = one.samples_per_s();
  }
  json["memory_bytes"] = one.summary.needed_memory_bytes();
  json["fits"] = one.summary.fits_device();
  json["price_per_hour"] = one.price_per_hour ? Json(*one.price_per_hour) : Json();
  json["currency"] = one.currency.empty() ? Json() : Json(one.currency);
  json["cost_per_million_samples"] = one.cost() ? Json(*one.cost()) : Json();
  json["power_w"] = one.power_w ? Json(*one.power_w) : Json();
  json["kwh_per_million_samples"] = one.energy_kwh() ? Json(*one.energy_kwh()) : Json();
  return json;
}

std::string answers_json(const std::vector<MachineAnswer>& answers, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "machine_choice");
  text.add_list("machines", answers, answer_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace

std::vector<std::string> machine_names(const Arguments& given) {
  const auto on = given.value(on_flag);
  return on ? parts_of(*on) : std::vector<std::string>{};
}

int predict_on_machines(const Request& request, const std::vector<std::string>& machines) {
  const Arguments& given = request.arguments;
  const std::vector<double> price = prices(given, machines.size());
  PredictRequest wanted = predict_request(given, true);
  wanted.wants_alternatives = false;
  wanted.bounds = WantBounds::not_at_all;
  const Graph graph = load_model(given.word(0), import_options(given));
  std::vector<MachineAnswer> answers;
  bool fits_all = true;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const Machine machine = load_machine(machines[i]);
    MachineAnswer answer{.machine = machine.name};
    try {
      answer.summary = predict_model(graph, machine, wanted).summary;
    } catch (const Error& error) {  // a data type that it lacks: the others still have an answer
      answer.refusal = error.what();
    }
    if (machine.price) {
      answer.price_per_hour = machine.price->per_hour.value;
      answer.currency = machine.price->currency;
    }
    if (!price.empty()) {
      answer.price_per_hour = price[i];
      answer.currency.clear();
    }
    if (machine.power_w) answer.power_w = machine.power_w->value;
    fits_all &= answer.summary.fits_device();
    answers.push_back(std::move(answer));
  }
  show_document(request, machines_json_flag,
                {.title = "One network on several machines",
                 .json = [&] { return answers_json(answers, {.command = request.command_line}); },
                 .text = [&] { return answers_text(answers, request.style); }});
  return fits_all || !given.has(require_fit_flag) ? exit_code::done : exit_code::answer_is_no;
}

}  // namespace strata
