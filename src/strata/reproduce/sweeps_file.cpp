// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/base/printable.hpp"
#include "strata/machine/sourced.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/provenance.hpp"
#include "strata/reproduce/measured_sweeps.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <utility>

namespace strata {
namespace {

using Read = ObjectReader::Json;
using Written = nlohmann::ordered_json;

constexpr std::size_t most_file_bytes = std::size_t{64} << 20;
constexpr std::size_t most_file_points = 10'000;
constexpr std::size_t most_samples = 100'000;
constexpr std::size_t most_counters = 1000;
constexpr std::size_t most_texts = 100;
constexpr std::int64_t most_count = std::int64_t{1} << 60;  // the sum of two still fits
constexpr std::string_view sweeps_kind = "roofline_sweeps";
constexpr std::string_view point_passes[] = {"forward", "backward"};

double mean_of(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

/// Mean, as the paper has it, and median, which one slow round does not move.
void add_times(Written& json, const std::string& what, const std::vector<double>& samples) {
  const bool is_known = !samples.empty();
  json[what + "_s"] = is_known ? Written(mean_of(samples)) : Written(nullptr);
  json[what + "_median_s"] = is_known ? Written(median_of(samples)) : Written(nullptr);
  json[what + "_samples_s"] = samples;
}

Written point_json(const MeasuredPoint& point) {
  Written json = {{"kernel", point.kernel},
                  {"parameter", point.parameter},
                  {"value", point.value},
                  {"dtype", name_of(point.dtype)},
                  {"pass", point.pass}};
  if (!point.not_run.empty()) {
    json["not_run"] = point.not_run;
    return json;
  }
  add_times(json, "kernel", point.kernel_samples_s);
  add_times(json, "wall", point.wall_samples_s);
  json["launches"] = point.launches;
  json["zero_flop_launches"] = point.zero_flop_launches;
  json["zero_flop_s"] = point.zero_flop_s;
  json["flop"] = point.flop;
  json["bytes"] = point.bytes;
  json["implementation"] = point.implementation;
  if (point.counters.empty()) {
    json["no_counters"] = point.no_counters;
    return json;
  }
  Written counters = Written::object();
  for (const SweepCounter& counter : point.counters) counters[counter.key] = counter.value;
  json["counters"] = std::move(counters);
  return json;
}

std::int64_t count_from(const Read& json, const std::string& place) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX))
    fail(ErrorKind::input, "{}: expected a whole number, got {}", place, json.dump().substr(0, 40));
  const auto count = json.get<std::int64_t>();
  if (count < 0 || count > most_count)
    fail(ErrorKind::input, "{}: expected 0 to {}, got {}", place, most_count, count);
  return count;
}

std::string text_from(const Read& json, const std::string& place) {
  return printable(plain_text(json, place));
}

std::int64_t required_count(ObjectReader& object, const char* key) {
  return count_from(object.required(key), object.place_of(key));
}
std::string required_text(ObjectReader& object, const char* key) {
  return text_from(object.required(key), object.place_of(key));
}

std::vector<SweepCounter> counters_from(const Read& json, const std::string& place) {
  if (!json.is_object()) fail(ErrorKind::input, "{}: expected an object", place);
  if (json.size() > most_counters)
    fail(ErrorKind::input, "{}: expected at most {} entries", place, most_counters);
  std::vector<SweepCounter> counters;
  for (const auto& entry : json.items()) {
    counters.push_back(
        {printable(entry.key()),
         not_negative_number(entry.value(), fmt::format("{}.{}", place, printable(entry.key())))});
  }
  return counters;
}

/// A kernel and a parameter that the study has; what else is there would be lost without a word.
void check_sweep(const MeasuredPoint& point, const std::string& place) {
  for (const KernelSweep& sweep : kernel_sweeps()) {
    if (sweep.kernel == point.kernel && sweep.parameter == point.parameter) return;
  }
  fail(ErrorKind::input, "{}: the study has no sweep of '{}' over '{}'", place, point.kernel,
       point.parameter);
}

void read_measured(ObjectReader& object, MeasuredPoint& point, const std::string& place) {
  for (const char* derived : {"kernel_s", "kernel_median_s", "wall_s", "wall_median_s"})
    object.find(derived);  // they follow from the samples
  point.kernel_samples_s = object.list("kernel_samples_s", most_samples, not_negative_number);
  point.wall_samples_s = object.list("wall_samples_s", most_samples, positive_number);
  if (point.wall_samples_s.empty())
    fail(ErrorKind::input, "{}.wall_samples_s: expected at least one time", place);
  point.launches = required_count(object, "launches");
  point.zero_flop_launches = required_count(object, "zero_flop_launches");
  point.zero_flop_s = object.maybe_not_negative("zero_flop_s").value_or(0);
  point.flop = required_count(object, "flop");
  point.bytes = required_count(object, "bytes");
  point.implementation = object.maybe("implementation", text_from).value_or("");
  point.counters = object.maybe("counters", counters_from).value_or(std::vector<SweepCounter>{});
  point.no_counters = object.maybe("no_counters", text_from).value_or("");
}

MeasuredPoint point_from(const Read& json, const std::string& place) {
  ObjectReader object(json, place);
  MeasuredPoint point;
  point.kernel = required_text(object, "kernel");
  point.parameter = required_text(object, "parameter");
  check_sweep(point, place);
  point.value = required_count(object, "value");
  const std::string dtype = required_text(object, "dtype");
  const auto known = dtype_named(dtype);
  if (!known) fail(ErrorKind::input, "{}.dtype: no data type '{}'", place, dtype);
  point.dtype = *known;
  point.pass = point_passes[object.choice("pass", point_passes)];
  point.not_run = object.maybe("not_run", text_from).value_or("");
  if (point.not_run.empty()) read_measured(object, point, place);
  object.finish();
  return point;
}

std::size_t rounds_from(ObjectReader& object, const char* key) {
  return static_cast<std::size_t>(required_count(object, key));
}

}  // namespace

std::string to_json(const MeasuredSweeps& sweeps, std::string_view command) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", sweeps_kind);
  text.add("device", sweeps.device);
  text.add("protocol", {{"warm_up", sweeps.warm_up}, {"iterations", sweeps.iterations}});
  text.add_list("points", sweeps.points, point_json);
  Written origin = to_json(Provenance{.command = std::string(command)});
  origin["host"] = sweeps.host;
  origin["date"] = sweeps.date;
  origin["versions"] = sweeps.versions;
  origin["least_clock_hz"] = number_or_null(sweeps.least_clock_hz);
  origin["most_clock_hz"] = number_or_null(sweeps.most_clock_hz);
  origin["notes"] = sweeps.notes;
  text.add("provenance", origin);
  return std::move(text).finish();
}

bool looks_like_measured_sweeps(std::string_view text) {
  constexpr std::size_t head = 1000;  // the kind stands before the points
  return text.substr(0, head).find(fmt::format("\"{}\"", sweeps_kind)) != text.npos;
}

MeasuredSweeps read_measured_sweeps(std::string_view text) {
  const Read json = Read::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(ErrorKind::input, "measured sweeps: no JSON");
  ObjectReader object(json, "sweeps");
  if (required_text(object, "kind") != sweeps_kind)
    fail(ErrorKind::input, "sweeps.kind: expected '{}'", sweeps_kind);
  if (const auto version = required_count(object, "schema_version"); version != 1)
    fail(ErrorKind::input, "sweeps.schema_version: expected 1, got {}", version);
  MeasuredSweeps sweeps;
  sweeps.device = required_text(object, "device");
  ObjectReader protocol(object.required("protocol"), object.place_of("protocol"));
  sweeps.warm_up = rounds_from(protocol, "warm_up");
  sweeps.iterations = rounds_from(protocol, "iterations");
  protocol.finish();
  sweeps.points = object.list("points", most_file_points, point_from);
  ObjectReader origin(object.required("provenance"), object.place_of("provenance"));
  sweeps.host = origin.maybe("host", text_from).value_or("");
  sweeps.date = origin.maybe("date", text_from).value_or("");
  sweeps.versions = origin.list("versions", most_texts, text_from);
  object.finish();
  return sweeps;
}

MeasuredSweeps load_measured_sweeps(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorKind::input, "{}: cannot be read", path);
  std::string text(most_file_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most_file_bytes)
    fail(ErrorKind::input, "{}: larger than {} MiB", path, most_file_bytes >> 20);
  try {
    return read_measured_sweeps(text);
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", path, error.what());
  }
}

RooflineStudy study_of(const MeasuredSweeps& sweeps, Machine machine) {
  RooflineStudy study{std::move(machine), Evidence::measured, sweeps.device, {}};
  for (const KernelSweep& sweep : kernel_sweeps()) {
    SweepResult result{sweep, {}};
    for (const MeasuredPoint& point : sweeps.points) {
      if (point.kernel != sweep.kernel || point.parameter != sweep.parameter) continue;
      if (!point.not_run.empty()) continue;
      const double wall_s = mean_of(point.wall_samples_s);
      const bool is_traced = !point.kernel_samples_s.empty();
      result.points.push_back({point.value, point.dtype,
                               point_passes[point.pass == point_passes[0] ? 0 : 1],
                               Work{.flop = point.flop,
                                    .bytes = point.bytes,
                                    .launches = point.launches,
                                    .time_s = is_traced ? mean_of(point.kernel_samples_s) : wall_s,
                                    .zero_flop_launches = point.zero_flop_launches,
                                    .zero_flop_s = point.zero_flop_s,
                                    .wall_s = wall_s},
                               point.counters, point.implementation});
    }
    std::stable_sort(result.points.begin(), result.points.end(),
                     [](const auto& a, const auto& b) { return a.value < b.value; });
    study.sweeps.push_back(std::move(result));
  }
  return study;
}

}  // namespace strata
