// SPDX-License-Identifier: Apache-2.0
#include "strata/api/host.hpp"

#include "strata/api/kept_files.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>

namespace strata {
namespace {

constexpr double most_slower = 1e6;

/// "1.5x"; nothing: it is no factor.
std::optional<double> factor_in(std::string_view text) {
  if (!text.ends_with('x')) return std::nullopt;
  const std::string_view number = text.substr(0, text.size() - 1);
  double factor = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), factor);
  if (number.empty() || problem != std::errc() || end != number.data() + number.size())
    return std::nullopt;
  if (!(factor > 0) || !(factor <= most_slower))
    fail(ErrorKind::usage, "--host: expected a positive factor as 1.5x, got '{}'", text);
  return factor;
}

/// The file of a kept calibration, or one that the text is the path of.
std::optional<std::filesystem::path> calibration_path(std::string_view text) {
  std::error_code ignored;
  if (const auto folder = kept_folder("calibrations")) {
    const auto kept = *folder / file_name_of(fmt::format("{}.json", text));
    if (std::filesystem::is_regular_file(kept, ignored)) return kept;
  }
  if (std::filesystem::is_regular_file(text, ignored)) return std::filesystem::path(text);
  return std::nullopt;
}

std::shared_ptr<const Calibration> calibration_called(std::string_view text) {
  std::vector<std::string> names;
  for (const Calibration& one : shipped_calibrations()) {
    if (one.name == text) return {std::shared_ptr<const Calibration>(), &one};
    names.push_back(one.name);
  }
  if (const auto path = calibration_path(text))
    return std::make_shared<const Calibration>(load_calibration(*path));
  fail(ErrorKind::usage,
       "--host: expected a factor as 1.5x, a calibration ({}) or the file of one, got '{}'{}",
       fmt::join(names, ", "), text, did_you_mean(text, names));
}

}  // namespace

HostChoice host_named(std::string_view text) {
  HostChoice host{.name = std::string(text), .of = nullptr};
  if (const auto factor = factor_in(text)) {
    host.slower = *factor;
  } else {
    host.of = calibration_called(text);
  }
  return host;
}

Calibration with_host(const Calibration& calibration, const HostChoice& host) {
  const Calibration& from = host.of ? *host.of : calibration;
  if (from.framework != calibration.framework)
    fail(ErrorKind::usage, "--host {}: its times are of {}, and those of {} are needed", host.name,
         from.framework, calibration.framework);
  if (host.is_given() && from.host_times.empty())
    fail(ErrorKind::usage, "--host {}: {} has no host times, as a calibration of a CPU has none",
         host.name, from.name);
  Calibration numbers;
  numbers.name = from.name;
  numbers.machine = calibration.machine;
  numbers.framework = calibration.framework;
  numbers.host = from.host;
  numbers.host_times = from.host_times;
  numbers.host_factor = from.host_factor * host.slower;
  numbers.host_sigma = from.host_sigma;
  numbers.gap_s = calibration.gap_s;
  numbers.class_sigma = calibration.class_sigma;
  numbers.interval_factor = calibration.interval_factor;
  return numbers;
}

}  // namespace strata
