// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/metrics.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/base/text.hpp"

#include <algorithm>
#include <set>

namespace strata {
namespace {

using Json = nlohmann::json;

constexpr std::string_view preset_names[] = {"time",   "roofline", "efficiency",
                                             "stalls", "paper",    "full"};
constexpr std::string_view counted_units[] = {"bytes", "flop", "instructions"};
constexpr std::string_view other_units[] = {"fraction", "instructions per cycle", "warps"};
constexpr std::size_t most_items = 1000;
constexpr int newest_schema = 1;

template <class Items>
auto* named(Items& items, std::string_view name,
            std::string std::decay_t<Items>::value_type::*key) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.*key == name; });
  return found == items.end() ? nullptr : &*found;
}

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_key(std::string_view key, std::string_view place) {
  const bool is_plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_plain)
    fail(ErrorKind::input, "{}: expects a word of a-z, 0-9 and _, got '{}'", place, key);
}

MetricSum read_sum(const Json& json, const std::string& place) {
  if (!json.is_object() || json.empty() || json.size() > most_items)
    fail(ErrorKind::input, "{}: expects an object of metrics and their factors", place);
  MetricSum sum;
  for (const auto& [metric, factor] : json.items()) {
    if (metric.find("__") == std::string::npos || metric.find('.') == std::string::npos) {
      fail(ErrorKind::input, "{}: '{}' is not a metric's name (unit__name.rollup)", place, metric);
    }
    sum.push_back({metric, positive_number(factor, place + "." + metric)});
  }
  return sum;
}

MetricColumn read_column(const Json& json, const std::string& place) {
  ObjectReader reader(json, place);
  MetricColumn column;
  column.key = reader.text("key");
  check_key(column.key, reader.place_of("key"));
  column.unit = reader.text("unit");
  if (!is_among(counted_units, column.unit) && !is_among(other_units, column.unit)) {
    fail(ErrorKind::input, "{}: expects {}, or {}, got '{}'", reader.place_of("unit"),
         alternatives(counted_units), alternatives(other_units), column.unit);
  }
  column.about = reader.text("about");
  column.alternatives.push_back(read_sum(reader.required("terms"), reader.place_of("terms")));
  for (MetricSum& alternative : reader.list("otherwise", most_items, read_sum))
    column.alternatives.push_back(std::move(alternative));
  column.over = reader.maybe("over", plain_text).value_or("");
  reader.finish();
  return column;
}

MetricSession read_session(const Json& json, const std::string& place) {
  ObjectReader reader(json, place);
  MetricSession session;
  session.name = reader.text("name");
  check_key(session.name, reader.place_of("name"));
  session.about = reader.text("about");
  if (const auto passes = reader.maybe_count("passes")) {
    constexpr std::int64_t most_passes = 1000;
    if (*passes < 1 || *passes > most_passes) {
      fail(ErrorKind::input, "{}: expects 1 to {}, got {}", reader.place_of("passes"), most_passes,
           *passes);
    }
    session.passes = static_cast<int>(*passes);
  }
  session.columns = reader.list("columns", most_items, plain_text);
  if (session.columns.empty())
    fail(ErrorKind::input, "{}: expects the keys of columns", reader.place_of("columns"));
  reader.finish();
  return session;
}

MetricPreset read_preset(const Json& json, const std::string& place) {
  ObjectReader reader(json, place);
  MetricPreset preset;
  preset.name = reader.text("name");
  preset.about = reader.text("about");
  preset.sessions = reader.list("sessions", most_items, plain_text);
  reader.finish();
  return preset;
}

template <class Items>
void check_distinct(const Items& items, std::string std::decay_t<Items>::value_type::*key,
                    std::string_view place) {
  std::set<std::string_view> seen;
  for (const auto& item : items) {
    if (!seen.insert(item.*key).second)
      fail(ErrorKind::input, "{}: '{}' is there twice", place, item.*key);
  }
}

void check_columns(const ChipMetrics& metrics) {
  for (const MetricColumn& column : metrics.columns) {
    if (column.over.empty()) continue;
    const MetricColumn* over = metrics.column(column.over);
    if (over == nullptr) {
      fail(ErrorKind::input, "metrics.columns: '{}' is divided by '{}', which is not a column",
           column.key, column.over);
    }
    if (!over->over.empty()) {
      fail(ErrorKind::input, "metrics.columns: '{}' is divided by '{}', which is a share itself",
           column.key, column.over);
    }
  }
}

/// A session is of one kind: patched kernels would spoil what is counted beside.
void check_kind(const ChipMetrics& metrics, const MetricSession& session) {
  std::optional<bool> is_sass;
  for (const std::string& key : session.columns) {
    const MetricColumn* column = metrics.column(key);
    if (column == nullptr)
      fail(ErrorKind::input, "metrics.sessions: '{}' has no column '{}'", session.name, key);
    std::vector<MetricSum> sums = column->alternatives;
    if (!column->over.empty()) {
      const std::vector<MetricSum>& over = metrics.column(column->over)->alternatives;
      sums.insert(sums.end(), over.begin(), over.end());
    }
    for (const MetricSum& sum : sums) {
      for (const MetricTerm& term : sum) {
        if (is_sass.value_or(is_sass_metric(term.metric)) != is_sass_metric(term.metric)) {
          fail(ErrorKind::input,
               "metrics.sessions: '{}' mixes metrics that patch kernels (_sass_) with others: {}",
               session.name, term.metric);
        }
        is_sass = is_sass_metric(term.metric);
      }
    }
  }
}

void check_sessions(const ChipMetrics& metrics) {
  std::set<std::string_view> used;
  for (const MetricSession& session : metrics.sessions) {
    check_kind(metrics, session);
    for (const std::string& key : session.columns) {
      if (!used.insert(key).second)
        fail(ErrorKind::input, "metrics.sessions: '{}' is in two sessions", key);
    }
  }
  for (const MetricColumn& column : metrics.columns) {
    if (!used.contains(column.key))
      fail(ErrorKind::input, "metrics.columns: '{}' is in no session", column.key);
  }
}

void check_presets(const ChipMetrics& metrics) {
  for (const std::string_view name : preset_names) {
    if (named(metrics.presets, name, &MetricPreset::name) == nullptr)
      fail(ErrorKind::input, "metrics.presets: '{}' is missing", name);
  }
  for (const MetricPreset& preset : metrics.presets) {
    if (!is_among(preset_names, preset.name)) {
      fail(ErrorKind::input, "metrics.presets: expects {}, got '{}'", alternatives(preset_names),
           preset.name);
    }
    for (const std::string& session : preset.sessions) {
      if (metrics.session(session) == nullptr)
        fail(ErrorKind::input, "metrics.presets: '{}' has no session '{}'", preset.name, session);
    }
  }
}

std::vector<ChipMetrics> load_all() {
  std::vector<ChipMetrics> all;
  for (const EmbeddedFile& file : embedded_metrics()) all.push_back(read_metrics(file.text));
  return all;
}

}  // namespace

const MetricColumn* ChipMetrics::column(std::string_view key) const {
  return named(columns, key, &MetricColumn::key);
}

const MetricSession* ChipMetrics::session(std::string_view name) const {
  return named(sessions, name, &MetricSession::name);
}

std::span<const std::string_view> metric_preset_names() { return preset_names; }

bool is_sass_metric(std::string_view metric) {
  return metric.find("__sass_") != std::string_view::npos;
}

ChipMetrics read_metrics(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::input, "metrics: not JSON");
  ObjectReader reader(json, "metrics");
  const auto schema = reader.maybe_count("schema_version");
  if (schema != newest_schema)
    fail(ErrorKind::input, "metrics.schema_version: expects {}", newest_schema);
  ChipMetrics metrics;
  metrics.chips = reader.list("chips", most_items, plain_text);
  metrics.title = reader.text("title");
  metrics.source = reader.text("source");
  metrics.columns = reader.list("columns", most_items, read_column);
  metrics.sessions = reader.list("sessions", most_items, read_session);
  metrics.presets = reader.list("presets", most_items, read_preset);
  reader.finish();
  check_distinct(metrics.columns, &MetricColumn::key, "metrics.columns");
  check_distinct(metrics.sessions, &MetricSession::name, "metrics.sessions");
  check_distinct(metrics.presets, &MetricPreset::name, "metrics.presets");
  check_columns(metrics);
  check_sessions(metrics);
  check_presets(metrics);
  return metrics;
}

const ChipMetrics& metrics_of_chip(std::string_view chip) {
  static const std::vector<ChipMetrics> all = load_all();
  const ChipMetrics* for_any = nullptr;
  for (const ChipMetrics& metrics : all) {
    if (metrics.chips.empty()) for_any = &metrics;
    for (const std::string& name : metrics.chips) {
      if (lower_case(name) == lower_case(chip)) return metrics;
    }
  }
  STRATA_CHECK(for_any != nullptr, "a file without chips ships");
  return *for_any;
}

}  // namespace strata
