// SPDX-License-Identifier: Apache-2.0
#include "strata/api/request.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <cmath>

namespace strata {
namespace {

constexpr double same_time = 1e-9;  // relative: another machine may round its sums differently

MaybeRequest no(std::string reason) { return {nullptr, std::move(reason)}; }

std::string changed_text(double now_s, double then_s) {
  return fmt::format(
      "what was asked now gives {}, the file says {}: the model, the machine or Strata changed",
      format_time(now_s, 6), format_time(then_s, 6));
}

bool is_same(double now_s, double then_s) {
  return std::fabs(now_s - then_s) <= same_time * then_s;
}

MaybeRequest made_again(const RecordedPrediction& recorded, const RecordedTimes& times) {
  RequestText words = read_request(recorded.request);
  if (words.model_file) words.model = found_again(words.model, *words.model_file);
  if (words.machine_file) words.machine = found_again(words.machine, *words.machine_file);
  auto found = std::make_unique<RecordedRequest>(RecordedRequest{
      load_model(words.model, words.import), machine_of(words), request_of(words), {}});
  const BoundGraph bound = bind_model(found->graph, limit_request(found->request).sizes);
  found->hardware = hardware_for(found->machine, main_dtype(bound), found->request);
  const double now_s = predicted_time_s(found->graph, found->machine, found->request);
  if (!is_same(now_s, times.limit_s)) return no(changed_text(now_s, times.limit_s));
  if (times.expected_s) {
    const auto wanted = expected_request(found->machine, found->request);
    if (!wanted) return no("its framework is none, and the file has an expected time");
    const double expected_s =
        ExpectedTimes(with_overrides(found->machine, found->request.hardware), *wanted)
            .of(bind_request(found->graph, found->request), found->request.training)
            .time_s;
    if (!is_same(expected_s, *times.expected_s))
      return no(changed_text(expected_s, *times.expected_s));
  }
  return {std::move(found), {}};
}

}  // namespace

void remember_files(RequestText& words) {
  words.model_file = file_identity(words.model);
  words.machine_file = file_identity(words.machine);
}

PredictRequest request_of(const RequestText& words) {
  PredictRequest request = request_of_preset(words.preset);
  request.sizes = words.sizes;
  for (const auto& [name, value] : words.options) set_option(request, name, value);
  return request;
}

Machine machine_of(const RequestText& words) {
  Machine machine = load_recorded_machine(words.machine);
  for (const std::string& assignment : words.settings) set_field(machine, assignment);
  return machine;
}

MaybeRequest recorded_request(const RecordedPrediction& recorded, const RecordedTimes& times) {
  if (recorded.request.empty())
    return no("it does not say what was asked of it, as predictions of earlier versions do not");
  try {
    return made_again(recorded, times);
  } catch (const Error& error) {
    const std::string_view message = error.what();
    return no(fmt::format("what was asked cannot be asked again: {}",
                          message.substr(0, message.find('\n'))));
  }
}

}  // namespace strata
