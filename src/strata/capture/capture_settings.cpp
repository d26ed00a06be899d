// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/capture_settings.hpp"

#include <algorithm>
#include <charconv>

namespace strata {
namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

template <class Number>
bool read_setting(std::string_view text, Number& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size();
}

bool read_setting(std::string_view text, bool& is_on) {
  is_on = text == "1";
  return is_on || text == "0";
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool set_setting(std::string_view key, std::string_view value, CaptureSettings& settings) {
  if (key == "log") settings.log = value;
  if (key == "range") settings.range = value;
  if (key == "metrics") settings.metrics = words_of(value);
  if (key == "duration_s") return read_setting(value, settings.duration_s);
  if (key == "ends_program") return read_setting(value, settings.ends_program);
  if (key == "waits_for_profiler") return read_setting(value, settings.waits_for_profiler);
  if (key == "skip") return read_setting(value, settings.skip);
  if (key == "steps") return read_setting(value, settings.steps);
  if (key == "most_waiting_bytes") return read_setting(value, settings.most_waiting_bytes);
  if (key == "traces_calls") return read_setting(value, settings.traces_calls);
  if (key == "traces_memory") return read_setting(value, settings.traces_memory);
  return true;
}

}  // namespace

std::string to_variable(const CaptureSettings& settings) {
  std::string text;
  const auto add = [&](std::string_view key, std::string_view value) {
    text.append(key).append("=").append(one_line(std::string(value))).append("\n");
  };
  std::string duration(32, '\0');
  const auto end =
      std::to_chars(duration.data(), duration.data() + duration.size(), settings.duration_s).ptr;
  duration.resize(static_cast<std::size_t>(end - duration.data()));
  add("log", settings.log);
  add("duration_s", duration);
  add("ends_program", settings.ends_program ? "1" : "0");
  add("waits_for_profiler", settings.waits_for_profiler ? "1" : "0");
  add("range", settings.range);
  add("skip", std::to_string(settings.skip));
  add("steps", std::to_string(settings.steps));
  add("most_waiting_bytes", std::to_string(settings.most_waiting_bytes));
  add("traces_calls", settings.traces_calls ? "1" : "0");
  add("traces_memory", settings.traces_memory ? "1" : "0");
  std::string metrics;
  for (const std::string& metric : settings.metrics) metrics.append(metric).append(" ");
  add("metrics", metrics);
  return text;
}

bool read_variable(std::string_view text, CaptureSettings& settings) {
  settings = {};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos &&
        !set_setting(line.substr(0, equals), line.substr(equals + 1), settings))
      return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return !settings.log.empty();
}

}  // namespace strata
