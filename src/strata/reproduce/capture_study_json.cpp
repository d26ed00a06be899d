// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/capture/join_counters.hpp"
#include "strata/capture/log_reader.hpp"
#include "strata/report/json_text.hpp"
#include "strata/reproduce/capture_study.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace strata {
namespace {

using StudyJson = nlohmann::ordered_json;

/// Numbers of a case and their keys, in one place for reading and writing.
constexpr std::array<std::pair<const char*, double CaptureCase::*>, 10> case_numbers = {{
    {"wall_s", &CaptureCase::wall_s},
    {"launches", &CaptureCase::launches},
    {"kernel_s", &CaptureCase::kernel_s},
    {"busy_s", &CaptureCase::busy_s},
    {"concurrent_s", &CaptureCase::concurrent_s},
    {"copy_s", &CaptureCase::copy_s},
    {"copy_bytes", &CaptureCase::copy_bytes},
    {"pool_backward_s", &CaptureCase::pool_backward_s},
    {"api_s", &CaptureCase::api_s},
    {"launch_api_s", &CaptureCase::launch_api_s},
}};

StudyJson case_json(const CaptureCase& one) {
  StudyJson json = {{"framework", one.framework}, {"network", one.network}, {"batch", one.batch},
                    {"part", one.part},           {"dtype", one.dtype},     {"steps", one.steps}};
  for (const auto& [key, member] : case_numbers) json[key] = one.*member;
  json["class_s"] = one.class_s;
  if (!one.call_s.empty()) json["call_s"] = one.call_s;
  if (!one.counted.empty()) json["counted"] = one.counted;
  return json;
}

CaptureCase case_of_json(const StudyJson& json) {
  CaptureCase one;
  one.framework = json.at("framework").get<std::string>();
  one.network = json.at("network").get<std::string>();
  one.batch = json.at("batch").get<std::int64_t>();
  one.part = json.at("part").get<std::string>();
  one.dtype = json.at("dtype").get<std::string>();
  one.steps = json.at("steps").get<std::int64_t>();
  for (const auto& [key, member] : case_numbers) one.*member = json.at(key).get<double>();
  one.class_s = json.at("class_s").get<std::map<std::string, double>>();
  if (json.contains("call_s")) one.call_s = json["call_s"].get<std::map<std::string, double>>();
  if (json.contains("counted")) one.counted = json["counted"].get<std::map<std::string, double>>();
  return one;
}

CaptureOverhead overhead_of_json(std::string profiler, const StudyJson& json) {
  return {std::move(profiler), json.at("plain_ms").get<std::vector<double>>(),
          json.at("watched_ms").get<std::vector<double>>()};
}

/// JAX says when each case ran: "jax:alexnet:4[:part[:dtype]]".
void add_timed_cases(const StudyJson& answer, const std::function<Recording()>& read,
                     std::vector<CaptureCase>& cases) {
  if (!answer.is_object() || !answer.contains("cases")) return;
  for (const StudyJson& item : answer.at("cases")) {
    const std::string name = item.at("name").get<std::string>();
    const std::vector<std::string_view> words = split(name, ':');
    if (words.size() < 3) continue;
    const TimeSpan span{item.at("begin_ns").get<std::int64_t>(),
                        item.at("end_ns").get<std::int64_t>()};
    CaptureCase made =
        capture_case(read(), std::span(&span, 1), item.at("steps").get<std::int64_t>());
    made.framework = words[0];
    made.network = words[1];
    std::from_chars(words[2].data(), words[2].data() + words[2].size(), made.batch);
    made.part = words.size() > 3 ? std::string(words[3]) : "iteration";
    if (words.size() > 4) made.dtype = words[4];
    cases.push_back(std::move(made));
  }
}

constexpr std::string_view counted_stage = "-counted";

/// The logs of a stage that are in the folder.
std::vector<std::filesystem::path> logs_of(const StudyJson& stage,
                                           const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> logs;
  for (const auto& [log, summary] : stage.at("logs").items()) {
    if (std::filesystem::exists(folder / log)) logs.push_back(folder / log);
  }
  return logs;
}

/// The log of the stage that counted what this one timed; nothing where there is none.
std::optional<std::filesystem::path> counted_log_of(const std::string& stage,
                                                    const StudyJson& stages,
                                                    const std::filesystem::path& folder) {
  for (const StudyJson& other : stages) {
    if (other.at("name").get<std::string>() != stage + std::string(counted_stage)) continue;
    for (std::filesystem::path& log : logs_of(other, folder)) return std::move(log);
  }
  return std::nullopt;
}

/// Every log says on what it ran; those of the study hold cases.
void add_log(std::string_view stage, const StudyJson& answer, const std::filesystem::path& path,
             const std::optional<std::filesystem::path>& counted, CaptureStudy& study) {
  const CaptureLog log = read_capture_log(path);
  const std::vector<RecordedDevice>& devices = log.recording.process.devices;
  if (study.device.empty() && !devices.empty()) {
    study.device = devices.front().name;
    study.about =
        fmt::format("{}, driver for CUDA {}.{}, CUPTI {}", log.recording.process.date,
                    log.driver_version / 1000, log.driver_version % 1000 / 10, log.cupti_version);
  }
  if (!stage.starts_with("study") && !stage.starts_with("references") && !stage.starts_with("jax"))
    return;
  const auto read = [&] {
    Recording recording = read_capture_log(path).recording;
    if (counted) join_counters(recording, read_capture_log(*counted).recording);
    return recording;
  };
  std::vector<CaptureCase> cases = cases_of_ranges(read);
  std::move(cases.begin(), cases.end(), std::back_inserter(study.cases));
  add_timed_cases(answer, read, study.cases);
}

template <class Read>
auto as_input(const Read& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorKind::input, "not a study of strata capture: {}", error.what());
  }
}

}  // namespace

std::vector<CaptureCase> cases_of_times(std::string_view json_text,
                                        const std::function<Recording()>& read) {
  return as_input([&] {
    std::vector<CaptureCase> cases;
    add_timed_cases(StudyJson::parse(json_text), read, cases);
    return cases;
  });
}

CaptureStudy read_capture_study(std::string_view json_text) {
  return as_input([&] {
    const StudyJson json = StudyJson::parse(json_text);
    CaptureStudy study;
    study.device = json.at("device").get<std::string>();
    study.about = json.at("about").get<std::string>();
    for (const StudyJson& item : json.at("cases")) study.cases.push_back(case_of_json(item));
    for (const StudyJson& item : json.at("overheads"))
      study.overheads.push_back(overhead_of_json(item.at("profiler").get<std::string>(), item));
    return study;
  });
}

std::string to_json(const CaptureStudy& study) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "capture_study");
  text.add("device", study.device);
  text.add("about", study.about);
  text.add_list("overheads", study.overheads, [](const CaptureOverhead& one) {
    return StudyJson{
        {"profiler", one.profiler}, {"plain_ms", one.plain_ms}, {"watched_ms", one.watched_ms}};
  });
  text.add_list("cases", study.cases, case_json);
  return std::move(text).finish();
}

CaptureStudy read_study_folder(const std::filesystem::path& folder) {
  std::ifstream file(folder / "results.json", std::ios::binary);
  if (!file)
    fail(ErrorKind::input, "{}: no results.json of tests/device/capture_run is there",
         folder.string());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return as_input([&] {
    CaptureStudy study;
    const StudyJson results = StudyJson::parse(text);
    const StudyJson& stages = results.at("stages");
    for (const StudyJson& stage : stages) {
      const std::string name = stage.at("name").get<std::string>();
      if (name.ends_with(counted_stage)) continue;  // joined to the stage that it counts
      const StudyJson& answer = stage.at("answer");
      if (name.starts_with("overhead-") && answer.is_object())
        study.overheads.push_back(overhead_of_json(name.substr(9), answer));
      const auto counted = counted_log_of(name, stages, folder);
      for (const std::filesystem::path& log : logs_of(stage, folder))
        add_log(name, answer, log, counted, study);
    }
    return study;
  });
}

}  // namespace strata
