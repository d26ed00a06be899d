// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/read_expected.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

using ExpectedJson = ObjectReader::Json;

constexpr std::size_t most_causes = 64;
constexpr std::size_t most_classes = 1000;
constexpr double most_expected = 1e12;  // so that no sum is infinite

double expected_number(const ExpectedJson& json, const std::string& place) {
  const double number = not_negative_number(json, place);
  if (number > most_expected)
    fail(ErrorKind::input, "{}: {} is too much for a profile", place, number);
  return number;
}

double number_of(ObjectReader& object, const char* key) {
  return expected_number(object.required(key), object.place_of(key));
}

/// Documents of earlier versions have fractions of launches.
std::int64_t launches_of(ObjectReader& object) {
  return std::llround(number_of(object, "launches"));
}

std::string expected_text(ObjectReader& object, const char* key) {
  return printable(object.text(key));
}

/// Predictions of earlier versions do not say.
DispatchHost host_from(const ExpectedJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {expected_text(object, "calibration"), expected_text(object, "title"),
          object.positive("slower")};
}

CheckedRuns checked_from(const ExpectedJson& json, const std::string& place) {
  ObjectReader object(json, place);
  CheckedRuns checked;
  constexpr double most_runs = 1e12;
  const auto count = [&](const char* key) {
    return static_cast<std::int64_t>(
        std::min(object.maybe_not_negative(key).value_or(0), most_runs));
  };
  checked.runs = count("runs");
  checked.networks = count("networks");
  checked.median_error = object.maybe_not_negative("median_error").value_or(0);
  checked.inside = object.maybe_not_negative("inside").value_or(0);
  if (object.find("source") != nullptr) checked.source = expected_text(object, "source");
  return checked;
}

void read_interval(ObjectReader& object, ExpectedIteration& expected) {
  const std::vector<double> ends = object.list("interval_s", 2, expected_number);
  if (ends.size() != 2 || ends[0] > expected.time_s || ends[1] < expected.time_s)
    fail(ErrorKind::input, "{}: expected two times around time_s", object.place_of("interval_s"));
  expected.low_s = ends[0];
  expected.high_s = ends[1];
}

}  // namespace

ExpectedIteration read_expected_iteration(const ExpectedJson& json, const std::string& place) {
  ObjectReader object(json, place);
  ExpectedIteration expected;
  expected.framework = expected_text(object, "framework");
  expected.calibration = expected_text(object, "calibration");
  expected.calibrated_on = expected_text(object, "calibrated_on");
  if (const ExpectedJson* host = object.find("host"))
    expected.host = host_from(*host, object.place_of("host"));
  if (const ExpectedJson* evidence = object.find("evidence"))
    expected.checked = checked_from(*evidence, object.place_of("evidence"));
  expected.time_s = object.positive("time_s");
  read_interval(object, expected);
  expected.busy_s = number_of(object, "busy_s");
  expected.host_s = number_of(object, "host_s");
  expected.arithmetic_s = number_of(object, "arithmetic_s");
  expected.samples_per_s = number_of(object, "samples_per_s");
  expected.launches = launches_of(object);
  expected.lost_to =
      object.list("lost_to", most_causes, [](const ExpectedJson& one, const std::string& at) {
        ObjectReader lost(one, at);
        return LostShare{expected_text(lost, "to"), number_of(lost, "time_s")};
      });
  for (const double share :
       object.list("uncovered", most_classes, [](const ExpectedJson&one, const std::string&at) {
         ObjectReader uncovered(one, at);
         return number_of(uncovered, "share");
       }))
    expected.uncovered_share += share;
  return expected;
}

ExpectedRow read_expected_row(const ExpectedJson& json, const std::string& place) {
  ObjectReader object(json, place);
  return {number_of(object, "busy_s"), number_of(object, "kernels_s"), number_of(object, "host_s"),
          launches_of(object)};
}

}  // namespace strata
