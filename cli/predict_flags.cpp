// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_flags.hpp"

#include "cli/machine_at_hand.hpp"
#include "strata/base/error.hpp"

namespace strata {
namespace {

// The values of flags that set_option knows by the same name.
template <std::size_t count>
void set_given(PredictRequest& request, const Arguments& given,
               const std::array<Flag, count>& flags) {
  for (const Flag& flag : flags) {
    if (!given.has(flag)) continue;
    const bool is_switch = flag.value.empty();
    set_option(request, flag.name, is_switch ? "true" : *given.value(flag));
  }
}

}  // namespace

Machine machine_of(const Arguments& given) {
  const auto name = given.value(on_flag);
  Machine machine = name ? load_machine(*name) : default_machine();
  for (const std::string& assignment : given.values(set_flag)) set_field(machine, assignment);
  return machine;
}

PredictRequest predict_request(const Arguments& given) {
  PredictRequest request = request_of_preset(given.value(preset_flag).value_or(""));
  request.sizes = model_sizes(given);
  request.training.inference = given.has(inference_flag);
  set_given(request, given, hardware_flags);
  set_given(request, given, training_flags);
  set_given(request, given, schedule_flags);
  if (!request.training.inference) return request;
  for (const Flag& flag : training_flags) {
    if (given.has(flag))
      fail(ErrorKind::usage, "--{} is about training and does not go with --inference", flag.name);
  }
  return request;
}

}  // namespace strata
