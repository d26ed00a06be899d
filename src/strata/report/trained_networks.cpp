// SPDX-License-Identifier: Apache-2.0
#include "strata/report/trained_networks.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace strata {
namespace {

using TrainedJson = nlohmann::ordered_json;

constexpr int trained_networks_schema_version = 1;

std::optional<double> loss_in(const TrainedJson& json) {
  if (json.is_null()) return std::nullopt;
  return json.get<double>();
}

std::string sizes_text(const TrainedJson& dims) {
  std::string text;
  for (const auto& [name, size] : dims.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, size.get<std::int64_t>());
  return text;
}

TrainedNetwork trained_network(const TrainedJson& json) {
  TrainedNetwork one;
  one.name = json.at("name").get<std::string>();
  if (!json.at("reason").is_null()) {
    one.reason = json.at("reason").get<std::string>();
    return one;
  }
  one.device = json.at("device").get<std::string>();
  one.dtype = json.at("model").at("dtype").get<std::string>();
  one.sizes = sizes_text(json.at("model").at("dims"));
  one.date = json.at("date").get<std::string>();
  const TrainedJson& totals = json.at("totals");
  one.time_s = totals.at("time_s").get<double>();
  one.loss_before = loss_in(totals.at("loss_before"));
  one.loss_after = loss_in(totals.at("loss_after"));
  one.steps = totals.at("iterations_run").get<std::int64_t>();
  one.layers = json.at("rows").get<std::int64_t>();
  one.layers_not_run = totals.at("rows_not_run").get<std::int64_t>();
  return one;
}

std::string trained_loss(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.4g}", *loss) : "–";
}

}  // namespace

std::vector<TrainedNetwork> read_trained_networks(std::string_view json_text) {
  try {
    std::vector<TrainedNetwork> networks;
    const TrainedJson document = TrainedJson::parse(json_text);
    for (const TrainedJson& item : document.at("networks"))
      networks.push_back(trained_network(item));
    // What did not run on the device of a file did not run on the device of its neighbours.
    const auto known = std::find_if(networks.begin(), networks.end(),
                                    [](const TrainedNetwork& one) { return !one.device.empty(); });
    for (TrainedNetwork& one : networks)
      if (one.device.empty() && known != networks.end()) one.device = known->device;
    return networks;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::input, "not a table of networks by strata measure --json: {}", error.what());
  }
}

std::vector<TrainedNetwork> shipped_trained_networks() {
  std::vector<TrainedNetwork> all;
  for (const EmbeddedFile& file : embedded_network_tables()) {
    std::vector<TrainedNetwork> some = read_trained_networks(file.text);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

std::string to_text(std::span<const TrainedNetwork> networks, const TextStyle& style) {
  Table table({{.title = "network", .least_width = 12},
               {.title = "device"},
               {.title = "sizes", .leaves = 1},
               {.title = "type", .leaves = 2},
               {.title = "iteration", .align = Align::right},
               {.title = "first loss", .align = Align::right},
               {.title = "last", .align = Align::right},
               {.title = "steps", .align = Align::right},
               {.title = "layers not run", .align = Align::right}});
  std::string reasons;
  for (const TrainedNetwork& one : networks) {
    if (!one.reason.empty()) {
      reasons += fmt::format("  {} on {}: {}\n", printable(one.name), printable(one.device),
                             printable(one.reason));
      continue;
    }
    table.add_row({printable(one.name), printable(one.device), printable(one.sizes),
                   printable(one.dtype), format_time(one.time_s), trained_loss(one.loss_before),
                   trained_loss(one.loss_after), fmt::format("{}", one.steps),
                   fmt::format("{} of {}", one.layers_not_run, one.layers)});
  }
  std::string text = table.to_text(style);
  if (!reasons.empty()) text += "\n  not trained\n" + reasons;
  return style.has_unicode ? text : to_ascii(text);
}

std::string to_json(std::span<const TrainedNetwork> networks, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", trained_networks_schema_version);
  text.add("kind", "trained_networks");
  text.add_list("networks", networks, [](const TrainedNetwork& one) {
    const bool has_run = one.reason.empty();
    return TrainedJson{{"network", one.name},
                       {"device", one.device},
                       {"dtype", one.dtype},
                       {"sizes", one.sizes},
                       {"date", one.date},
                       {"time_s", has_run ? number_or_null(one.time_s) : nullptr},
                       {"loss_before", number_or_null(one.loss_before)},
                       {"loss_after", number_or_null(one.loss_after)},
                       {"steps", one.steps},
                       {"layers", one.layers},
                       {"layers_not_run", one.layers_not_run},
                       {"reason", one.reason}};
  });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
