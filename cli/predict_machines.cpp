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
#include "strata/report/profile_json.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/table.hpp"
#include "strata/report/training_run.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <tuple>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr double million = 1e6, seconds_per_hour = 3600, joule_per_kwh = 3.6e6;
constexpr Flag machines_json_flag{.name = "json",
                                  .value = "FILE",
                                  .help = "Everything as JSON; - is standard output.",
                                  .offer = Offer::output};

struct MachineAnswer {
  std::string machine, title;
  PredictionSummary summary = {};
  std::optional<double> price_per_hour = {}, power_w = {};
  std::string currency = {};
  std::string refusal = {};  ///< why it has no answer; empty: it has

  bool has_answer() const { return refusal.empty(); }
  bool is_choice() const { return has_answer() && summary.fits_device(); }
  double time_s() const {
    return summary.expected ? summary.expected->time_s : summary.totals.time_s;
  }
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
  return cost ? money_text(*cost, one.currency) : "";
}

/// The fastest first: those with an expected time, of them those that have the memory; then those
/// of which only the limit is known, then those that cannot run it.
void sort_by_time(std::vector<MachineAnswer>& answers) {
  const auto rank = [](const MachineAnswer& one) {
    return std::tuple(!one.has_answer(), !one.summary.expected, !one.summary.fits_device(),
                      one.has_answer() ? one.time_s() : 0.0);
  };
  std::stable_sort(
      answers.begin(), answers.end(),
      [&](const MachineAnswer& a, const MachineAnswer& b) { return rank(a) < rank(b); });
}

/// Of sorted answers; null: none has the memory.
const MachineAnswer* fastest_of(std::span<const MachineAnswer> answers) {
  const auto at = std::find_if(answers.begin(), answers.end(),
                               [](const MachineAnswer& one) { return one.is_choice(); });
  return at == answers.end() ? nullptr : &*at;
}

/// Null: no price is known, or prices are in several currencies.
const MachineAnswer* cheapest_of(std::span<const MachineAnswer> answers) {
  const MachineAnswer* cheapest = nullptr;
  for (const MachineAnswer& one : answers) {
    if (!one.is_choice() || !one.cost()) continue;
    if (cheapest != nullptr && one.currency != cheapest->currency) return nullptr;
    if (cheapest == nullptr || *one.cost() < *cheapest->cost()) cheapest = &one;
  }
  return cheapest;
}

/// What a reader has to know of the winner.
std::string_view caveat_of(const MachineAnswer& one) {
  if (!one.summary.expected) return " (the limit)";
  return one.summary.expected->checked.runs == 0 ? " (unchecked)" : "";
}

/// "checked", where somebody has held expected times of the machine against runs.
std::string_view checked_text(const ExpectedTime& expected) {
  return expected.checked.runs > 0 ? "checked" : "unchecked";
}

std::string best_text(std::span<const MachineAnswer> answers) {
  const MachineAnswer* fastest = fastest_of(answers);
  if (fastest == nullptr) return "no machine has the memory for it\n";
  std::string text = fmt::format("fastest: {}, {}{}", printable(fastest->machine),
                                 format_time(fastest->time_s()), caveat_of(*fastest));
  if (const MachineAnswer* cheapest = cheapest_of(answers)) {
    text += fmt::format("   cheapest: {}, {} per million samples{}", printable(cheapest->machine),
                        cost_text(*cheapest), caveat_of(*cheapest));
  }
  return text + '\n';
}

/// What all answers have in common is that of the first that has one; null: there is none.
const PredictionSummary* summary_of(std::span<const MachineAnswer> answers) {
  const auto at = std::find_if(answers.begin(), answers.end(),
                               [](const MachineAnswer& one) { return one.has_answer(); });
  return at == answers.end() ? nullptr : &at->summary;
}

std::string answers_table(const std::vector<MachineAnswer>& answers, const TextStyle& style,
                          bool has_power) {
  const bool has_price = std::any_of(answers.begin(), answers.end(), [](const MachineAnswer& one) {
    return one.price_per_hour.has_value();
  });
  Table table(
      {{.title = "machine", .least_width = 12},
       {.title = "expected", .align = Align::right},
       {.title = "90 % interval", .align = Align::right, .leaves = 2},
       {.title = "samples/s", .align = Align::right},
       {.title = "limit", .align = Align::right, .leaves = 1},
       {.title = "memory", .align = Align::right},
       {.title = "fits"},
       {.title = "cost per million", .align = Align::right, .is_shown = has_price},
       {.title = "kWh per million", .align = Align::right, .leaves = 3, .is_shown = has_power},
       {.title = "from", .least_width = 12}});
  for (const MachineAnswer& one : answers) {
    if (!one.has_answer()) {
      table.add_row(
          {printable(one.machine), "", "", "", "", "", "", "", "", printable(one.refusal)});
      continue;
    }
    const auto& expected = one.summary.expected;
    const auto energy = one.energy_kwh();
    table.add_row(
        {printable(one.machine), expected ? format_time(expected->time_s) : "",
         expected
             ? fmt::format("{} to {}", format_time(expected->low_s), format_time(expected->high_s))
             : "",
         expected ? format_count(one.samples_per_s()) : "", format_time(one.summary.totals.time_s),
         format_capacity(static_cast<double>(one.summary.needed_memory_bytes())),
         one.summary.fits_device() ? "yes" : "no", cost_text(one),
         energy ? small_text(*energy) : "",
         expected ? fmt::format("{}, {}", name_of(expected->calibration), checked_text(*expected))
                  : printable(one.summary.no_expected_reason)});
  }
  return table.to_text(style);
}

std::string answers_text(const std::vector<MachineAnswer>& answers, const std::string& network,
                         const TextStyle& style) {
  const bool has_power = std::any_of(answers.begin(), answers.end(), [](const MachineAnswer& one) {
    return one.power_w.has_value();
  });
  std::string text = printable(network);
  if (const PredictionSummary* of = summary_of(answers)) {
    text += fmt::format(", one {}, {} sample{}, {}, {}",
                        of->training.inference ? "inference pass" : "training iteration",
                        of->totals.samples, of->totals.samples == 1 ? "" : "s",
                        printable(of->profile.subject.setup_or_dtype()),
                        of->expected ? of->expected->framework : "limits only");
  }
  return fmt::format(
      "{}\n\n{}\n{}{}", text, answers_table(answers, style, has_power), best_text(answers),
      has_power ? "kWh assumes the board's power limit throughout: an upper bound\n" : "");
}

Json answer_json(const MachineAnswer& one) {
  if (!one.has_answer()) return {{"machine", one.machine}, {"refusal", one.refusal}};
  Json json = {
      {"machine", one.machine}, {"title", one.title}, {"limit_s", one.summary.totals.time_s}};
  if (const auto& expected = one.summary.expected) {
    json["expected"] = {{"time_s", expected->time_s},
                        {"interval_s", {expected->low_s, expected->high_s}},
                        {"calibration", name_of(expected->calibration)},
                        {"evidence", evidence_json(expected->checked)},
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

Json name_or_null(const MachineAnswer* one) { return one != nullptr ? Json(one->machine) : Json(); }

/// Of a network that no machine runs nothing but its name is known.
Json model_json(const std::vector<MachineAnswer>& answers, const Graph& graph) {
  if (const PredictionSummary* of = summary_of(answers))
    return profile_model_json({.network = of->network,
                               .title = of->title,
                               .dims = of->dims,
                               .dtype = of->dtype,
                               .is_inference = of->training.inference,
                               .setup = of->profile.subject.setup});
  return {{"name", graph.name}, {"title", graph.title}};
}

std::string answers_json(const std::vector<MachineAnswer>& answers, const Graph& graph,
                         const Provenance& provenance) {
  const PredictionSummary* of = summary_of(answers);
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "machine_choice");
  text.add("model", model_json(answers, graph));
  text.add("framework", of != nullptr && of->expected ? Json(of->expected->framework) : Json());
  text.add("samples", of != nullptr ? Json(of->totals.samples) : Json());
  text.add("fastest", name_or_null(fastest_of(answers)));
  text.add("cheapest", name_or_null(cheapest_of(answers)));
  text.add_list("machines", answers, answer_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

/// A row twice says nothing more.
void refuse_twice(const std::vector<std::string>& machines) {
  for (std::size_t i = 0; i < machines.size(); ++i) {
    for (std::size_t before = 0; before < i; ++before) {
      if (same_name(machines[i], machines[before]))
        fail(ErrorKind::usage, "--on names {} twice; name each machine once", machines[i]);
    }
  }
}

}  // namespace

std::vector<std::string> machine_names(const Arguments& given) {
  const auto on = given.value(on_flag);
  return on ? parts_of(*on) : std::vector<std::string>{};
}

int predict_on_machines(const Request& request, const std::vector<std::string>& machines) {
  const Arguments& given = request.arguments;
  refuse_twice(machines);
  const std::vector<double> price = prices(given, machines.size());
  PredictRequest wanted = predict_request(given, true);
  wanted.wants_alternatives = false;
  wanted.bounds = WantBounds::not_at_all;
  const Graph graph = load_model(given.word(0), import_options(given));
  std::vector<MachineAnswer> answers;
  bool fits_all = true;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const Machine machine = load_machine(machines[i]);
    MachineAnswer answer{.machine = machine.name, .title = machine.title};
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
      answer.currency = "USD";
    }
    if (machine.power_w) answer.power_w = machine.power_w->value;
    fits_all &= answer.summary.fits_device();
    answers.push_back(std::move(answer));
  }
  sort_by_time(answers);
  const std::string network = graph.title.empty() ? graph.name : graph.title;
  const std::string title = fmt::format("{} on {} machines", network, answers.size());
  show_document(
      request, machines_json_flag,
      {.title = title,
       .json = [&] { return answers_json(answers, graph, {.command = request.command_line}); },
       .text = [&] { return answers_text(answers, network, request.style); }});
  return fits_all || !given.has(require_fit_flag) ? exit_code::done : exit_code::answer_is_no;
}

}  // namespace strata
