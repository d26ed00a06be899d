// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/framework.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/base/text.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <sstream>

namespace strata {
namespace {

using RulesJson = ObjectReader::Json;

constexpr std::size_t most_rules = 64;
constexpr std::size_t most_classes = 256;

constexpr std::string_view tensor_words[] = {"output", "input", "scores",
                                             "packed", "one",   "weight"};
constexpr std::string_view condition_words[] = {
    "always",          "bias",  "no_bias", "broadcast", "no_broadcast", "broadcast_rows",
    "broadcast_other", "whole", "spread",  "number",    "in_16_bits",   "in_32_bits",
    "relayout"};

/// The position of a word among those that are known.
std::size_t known_word(std::span<const std::string_view> words, const std::string& word,
                       const std::string& place) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end())
    fail(ErrorKind::input, "{}: expected one of {}, got '{}'", place, fmt::join(words, ", "), word);
  return static_cast<std::size_t>(found - words.begin());
}

OperationClass class_of_kernels(const std::string& name, const std::string& place) {
  const auto found = operation_class_named(name);
  if (!found) fail(ErrorKind::input, "{}: there is no class of kernels '{}'", place, name);
  return *found;
}

OperationClass kernel_class_in(const RulesJson& json, const std::string& place) {
  return class_of_kernels(plain_text(json, place), place);
}

/// A part of a time: "0.4".
double share_in(const std::string& text, const std::string& place) {
  double share = 0;
  std::istringstream number(text);
  if (!(number >> share) || !number.eof() || !(share > 0) || share > 1)
    fail(ErrorKind::input, "{}: expected a share above 0 and at most 1, got '{}'", place, text);
  return share;
}

/// "channels.add_bias of output when bias"
LaunchRule kernel_rule(const RulesJson& json, const std::string& place) {
  const std::string text = plain_text(json, place);
  std::istringstream words(text);
  std::string word, value;
  words >> word;
  LaunchRule rule{.kernel_class = class_of_kernels(word, place)};
  while (words >> word) {
    const bool is_known = word == "of" || word == "when" || word == "times";
    if (!is_known || !(words >> value))
      fail(ErrorKind::input, "{}: expected 'CLASS of TENSOR when CONDITION times SHARE', got '{}'",
           place, text);
    if (word == "of")
      rule.of = static_cast<RuleTensor>(known_word(tensor_words, value, place));
    else if (word == "when")
      rule.when = static_cast<RuleCondition>(known_word(condition_words, value, place));
    else
      rule.share = share_in(value, place);
  }
  return rule;
}

/// "1 of output", "8 bytes of output"
SavedTensor saved_tensor(const RulesJson& json, const std::string& place) {
  const std::string text = plain_text(json, place);
  std::istringstream words(text);
  double number = 0;
  std::string word, tensor;
  SavedTensor saved;
  words >> number >> word;
  const bool is_bytes = word == "bytes";
  if (is_bytes) words >> word;
  if (!(words >> tensor) || word != "of" || number <= 0)
    fail(ErrorKind::input, "{}: expected 'N of TENSOR' or 'N bytes of TENSOR', got '{}'", place,
         text);
  (is_bytes ? saved.bytes : saved.numbers) = number;
  saved.of = static_cast<RuleTensor>(known_word(tensor_words, tensor, place));
  return saved;
}

OperatorRule operator_rule(const RulesJson& json, const std::string& place) {
  ObjectReader object(json, place);
  OperatorRule rule;
  rule.forward = object.list("forward", most_rules, kernel_rule);
  rule.backward = object.list("backward", most_rules, kernel_rule);
  rule.backward_input = object.list("backward_input", most_rules, kernel_rule);
  rule.backward_weight = object.list("backward_weight", most_rules, kernel_rule);
  if (object.find("inference") != nullptr)
    rule.inference = object.list("inference", most_rules, kernel_rule);
  if (const RulesJson* host = object.find("host")) rule.host = plain_text(*host, place + ".host");
  rule.calls = object.maybe_count("calls").value_or(0);
  if (object.find("stacks") != nullptr) rule.stacks = object.truth("stacks");
  rule.views = object.maybe_count("views").value_or(0);
  rule.saves = object.list("saves", most_rules, saved_tensor);
  object.finish();
  return rule;
}

FusionRules fusion_rules(const RulesJson& json, const std::string& place) {
  ObjectReader object(json, place);
  FusionRules rules;
  rules.kinds.resize(operation_class_names().size(), FusionKind::stays);
  const auto add = [&](const char* key, FusionKind kind) {
    for (const OperationClass one : object.list(key, most_classes, kernel_class_in)) {
      FusionKind& known = rules.kinds[static_cast<std::size_t>(one)];
      if (known != FusionKind::stays)
        fail(ErrorKind::input, "{}.{}: {} is in two lists", place, key, name_of(one));
      known = kind;
    }
  };
  add("pointwise", FusionKind::pointwise);
  add("reductions", FusionKind::reduction);
  add("copies", FusionKind::copy);
  rules.pointwise_kernel =
      class_of_kernels(object.text("pointwise_kernel"), place + ".pointwise_kernel");
  rules.reduction_kernel =
      class_of_kernels(object.text("reduction_kernel"), place + ".reduction_kernel");
  for (const OperationClass one : {rules.pointwise_kernel, rules.reduction_kernel}) {
    if (form_of(one) != KernelForm::elements)
      fail(ErrorKind::input, "{}: {} does not depend on elements alone", place, name_of(one));
  }
  rules.random = object.list("random", most_classes, kernel_class_in);
  rules.random_bytes = object.maybe_positive("random_bytes").value_or(0);
  rules.kernel_calls = object.positive("kernel_calls");
  if (object.find("channels_last") != nullptr)
    rules.lays_channels_last = object.truth("channels_last");
  if (object.find("pad_products") != nullptr) rules.pads_products = object.truth("pad_products");
  object.finish();
  return rules;
}

/// The framework that a file is based on, or an empty one.
Framework base_of(ObjectReader& object) {
  const RulesJson* based_on = object.find("based_on");
  if (based_on == nullptr) return {};
  const std::string name = plain_text(*based_on, "framework.based_on");
  for (const EmbeddedFile& file : embedded_frameworks()) {
    if (file.name != name) continue;
    const RulesJson json = RulesJson::parse(file.text, nullptr, false);
    if (json.contains("based_on"))
      fail(ErrorKind::input, "framework.based_on: {} is itself based on another", name);
    return read_framework(file.text);
  }
  fail(ErrorKind::input, "framework.based_on: there is no framework '{}'", name);
}

/// Kernels that update all weights with Adam: a few for each list of tensors, or one fused.
OperationClass adam_from(ObjectReader& object) {
  const std::string name = object.find("adam") == nullptr ? "update.adam" : object.text("adam");
  const auto found = operation_class_named(name);
  if (!found || !name.starts_with("update."))
    fail(ErrorKind::input, "{}: expected a class of updates, got '{}'", object.place_of("adam"),
         name);
  return *found;
}

}  // namespace

const OperatorRule* Framework::find(std::string_view op) const {
  const auto found = operators.find(op);
  return found == operators.end() ? nullptr : &found->second;
}

Framework read_framework(std::string_view json_text) {
  const RulesJson json = RulesJson::parse(json_text, nullptr, false);
  if (json.is_discarded()) fail(ErrorKind::input, "not JSON");
  ObjectReader object(json, "framework");
  object.required("strata_framework");
  Framework framework = base_of(object);
  framework.name = object.text("name");
  framework.title = object.text("title");
  framework.calibration = framework.name;
  if (object.find("calibration") != nullptr) framework.calibration = object.text("calibration");
  framework.sigma = object.maybe_positive("sigma").value_or(0);
  if (const RulesJson* notes = object.find("notes")) framework.notes = plain_text(*notes, "notes");
  const RulesJson& operators = object.required("operators");
  if (!operators.is_object()) fail(ErrorKind::input, "framework.operators: expected an object");
  for (const auto& [name, rule] : operators.items()) {
    if (rule.is_null())
      framework.operators.erase(name);
    else
      framework.operators[name] = operator_rule(rule, "framework.operators." + name);
  }
  framework.iteration_calls =
      object.maybe_count("iteration_calls").value_or(framework.iteration_calls);
  framework.host_factor = object.maybe_positive("host_factor").value_or(framework.host_factor);
  if (object.find("waits_at_steps") != nullptr)
    framework.waits_at_steps = object.truth("waits_at_steps");
  if (object.find("foreach_updates") != nullptr)
    framework.foreach_updates = object.truth("foreach_updates");
  framework.adam = adam_from(object);
  if (object.find("fp16_as_fp32") != nullptr)
    framework.fp16_as_fp32 = object.list("fp16_as_fp32", most_classes, kernel_class_in);
  object.maybe("autocast", [&](const RulesJson& inner, const std::string& place) {
    ObjectReader autocast(inner, place);
    framework.autocast.lower = autocast.list("lower", most_rules, plain_text);
    framework.autocast.fp32 = autocast.list("fp32", most_rules, plain_text);
    autocast.finish();
    return true;
  });
  object.maybe("fusion", [&](const RulesJson& inner, const std::string& place) {
    framework.fusion = fusion_rules(inner, place);
    return true;
  });
  object.finish();
  return framework;
}

const std::vector<Framework>& shipped_frameworks() {
  static const std::vector<Framework> all = [] {
    std::vector<Framework> read;
    for (const EmbeddedFile& file : embedded_frameworks())
      read.push_back(read_framework(file.text));
    return read;
  }();
  return all;
}

const Framework& framework_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Framework& one : shipped_frameworks()) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  fail(ErrorKind::usage, "there is no framework '{}'; there are {}", name, fmt::join(names, ", "));
}

}  // namespace strata
