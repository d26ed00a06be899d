// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/capture_options.hpp"

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

bool set_setting(std::string_view key, std::string_view value, CaptureOptions& options) {
  if (key == "log") options.log = value;
  if (key == "range") options.range = value;
  if (key == "metrics") options.metrics = words_of(value);
  if (key == "duration_s") return read_setting(value, options.duration_s);
  if (key == "ends_program") return read_setting(value, options.ends_program);
  if (key == "waits_for_profiler") return read_setting(value, options.waits_for_profiler);
  if (key == "skip") return read_setting(value, options.skip);
  if (key == "steps") return read_setting(value, options.steps);
  if (key == "most_waiting_bytes") return read_setting(value, options.most_waiting_bytes);
  if (key == "traces_calls") return read_setting(value, options.traces_calls);
  if (key == "may_drop_calls") return read_setting(value, options.may_drop_calls);
  if (key == "traces_memory") return read_setting(value, options.traces_memory);
  return true;
}

}  // namespace

std::string to_variable(const CaptureOptions& options) {
  std::string text;
  const auto add = [&](std::string_view key, std::string_view value) {
    text.append(key).append("=").append(one_line(std::string(value))).append("\n");
  };
  std::string duration(32, '\0');
  const auto end =
      std::to_chars(duration.data(), duration.data() + duration.size(), options.duration_s).ptr;
  duration.resize(static_cast<std::size_t>(end - duration.data()));
  add("log", options.log);
  add("duration_s", duration);
  add("ends_program", options.ends_program ? "1" : "0");
  add("waits_for_profiler", options.waits_for_profiler ? "1" : "0");
  add("range", options.range);
  add("skip", std::to_string(options.skip));
  add("steps", std::to_string(options.steps));
  add("most_waiting_bytes", std::to_string(options.most_waiting_bytes));
  add("traces_calls", options.traces_calls ? "1" : "0");
  add("may_drop_calls", options.may_drop_calls ? "1" : "0");
  add("traces_memory", options.traces_memory ? "1" : "0");
  std::string metrics;
  for (const std::string& metric : options.metrics) metrics.append(metric).append(" ");
  add("metrics", metrics);
  return text;
}

bool read_variable(std::string_view text, CaptureOptions& options) {
  options = {};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos &&
        !set_setting(line.substr(0, equals), line.substr(equals + 1), options))
      return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return !options.log.empty();
}

}  // namespace strata
