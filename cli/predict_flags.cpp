// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_flags.hpp"

#include "cli/machine_at_hand.hpp"
#include "strata/base/error.hpp"

namespace strata {
namespace {

/// As load_machine takes it.
std::string machine_word(const Arguments& given) {
  if (const auto name = given.value(on_flag)) return std::string(*name);
  const auto at_hand = machine_at_hand();
  return at_hand ? at_hand->string() : std::string("h100-sxm");
}

}  // namespace

void add_given(RequestText& words, const Arguments& given, std::span<const Flag> flags) {
  for (const Flag& flag : flags) {
    if (!given.has(flag)) continue;
    const bool is_switch = flag.value.empty();
    words.options.emplace_back(flag.name, is_switch ? "true" : *given.value(flag));
  }
}

Machine machine_of(const Arguments& given) {
  const auto name = given.value(on_flag);
  Machine machine = name ? load_machine(*name) : default_machine();
  for (const std::string& assignment : given.values(set_flag)) set_field(machine, assignment);
  return machine;
}

RequestText request_words(const Arguments& given, bool has_framework) {
  RequestText words{.model = std::string(given.word(0)),
                    .import = import_options(given),
                    .machine = machine_word(given),
                    .settings = given.values(set_flag),
                    .preset = std::string(given.value(preset_flag).value_or("")),
                    .sizes = model_sizes(given),
                    .options = {}};
  if (given.has(inference_flag)) words.options.emplace_back(inference_flag.name, "true");
  add_given(words, given, hardware_flags);
  add_given(words, given, training_flags);
  add_given(words, given, schedule_flags);
  if (has_framework) add_given(words, given, framework_flags);
  return words;
}

std::string request_json(const Arguments& given, std::string_view model) {
  RequestText words = request_words(given, true);
  words.model = model;
  remember_files(words);
  return to_json(words);
}

PredictRequest predict_request(const Arguments& given, bool has_framework) {
  PredictRequest request = request_of(request_words(given, has_framework));
  if (!request.training.inference) return request;
  for (const Flag& flag : training_flags) {
    if (given.has(flag))
      fail(ErrorKind::usage, "--{} is about training and does not go with --inference", flag.name);
  }
  return request;
}

PredictRequest quick_request(const Arguments& given) {
  PredictRequest request = predict_request(given, true);
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  return request;
}

}  // namespace strata
