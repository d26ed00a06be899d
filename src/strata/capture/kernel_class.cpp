// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/kernel_class.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/object_reader.hpp"
#include "strata/base/text.hpp"

#include <algorithm>
#include <array>

namespace strata {
namespace {

using RuleJson = ObjectReader::Json;

constexpr std::size_t most_rules = 1000;
constexpr std::size_t most_words = 200;
constexpr std::array<std::string_view, 16> class_names = {
    "convolution", "gemm",      "pooling", "normalisation", "element_wise", "reduction",
    "softmax",     "attention", "loss",    "embedding",     "copy",         "sort",
    "collective",  "optimizer", "rnn",     "other"};
constexpr std::array<std::string_view, 6> algorithm_names = {
    "", "winograd", "fft", "implicit_gemm", "direct", "unrolled"};
constexpr std::array<std::string_view, 5> rule_passes = {"", "forward", "backward",
                                                         "backward_input", "backward_weight"};

std::string word(const RuleJson& json, const std::string& place) {
  std::string text = plain_text(json, place);
  if (text.empty() || text != lower_case(text))
    fail(ErrorKind::input, "{}: expects a word in lower case, got '{}'", place, text);
  return text;
}

bool yes_or_no(const RuleJson& json, const std::string& place) {
  if (!json.is_boolean()) fail(ErrorKind::input, "{}: expects true or false", place);
  return json.get<bool>();
}

bool fits(const KernelRule& rule, std::string_view lower_name) {
  const auto is_there = [&](const std::string& part) {
    return lower_name.find(part) != lower_name.npos;
  };
  return (rule.any.empty() || std::any_of(rule.any.begin(), rule.any.end(), is_there)) &&
         std::all_of(rule.all.begin(), rule.all.end(), is_there) &&
         std::none_of(rule.none.begin(), rule.none.end(), is_there);
}

void read_words(ObjectReader& reader, KernelRule& rule) {
  rule.any = reader.list("any", most_words, word);
  rule.all = reader.list("all", most_words, word);
  rule.none = reader.list("none", most_words, word);
  if (rule.any.empty() && rule.all.empty())
    fail(ErrorKind::input, "{}: a rule without words fits everything", reader.place_of("any"));
}

KernelRule read_rule(const RuleJson& json, const std::string& place) {
  ObjectReader reader(json, place);
  KernelRule rule;
  rule.gives.name = class_names[reader.choice("class", class_names)];
  if (reader.find("algorithm") != nullptr)
    rule.gives.algorithm = algorithm_names[reader.choice("algorithm", algorithm_names)];
  rule.says_pass = reader.find("pass") != nullptr;
  if (rule.says_pass) rule.gives.pass = rule_passes[reader.choice("pass", rule_passes)];
  rule.is_zero_flop = reader.maybe("zero_flop", yes_or_no).value_or(false);
  rule.zero_flop_unless = reader.list("zero_flop_unless", most_words, word);
  read_words(reader, rule);
  rule.example = reader.text("example");
  reader.finish();
  return rule;
}

KernelRule read_pass(const RuleJson& json, const std::string& place) {
  ObjectReader reader(json, place);
  KernelRule rule;
  rule.gives.pass = rule_passes[reader.choice("pass", rule_passes)];
  read_words(reader, rule);
  reader.finish();
  return rule;
}

/// As strata conv names them (convolution/lab/strategy.hpp).
constexpr std::array<std::string_view, 10> role_names = {
    "direct",    "gemm",      "im2col", "col2im", "transform", "inverse_transform",
    "pointwise", "transpose", "copy",   "other"};

KernelRoleRule read_role(const RuleJson& json, const std::string& place) {
  ObjectReader reader(json, place);
  KernelRoleRule rule;
  rule.role = role_names[reader.choice("role", role_names)];
  read_words(reader, rule.when);
  rule.when.example = reader.text("example");
  reader.finish();
  return rule;
}

const KernelRoleRule* first_role(std::span<const KernelRoleRule> rules,
                                 std::string_view lower_name) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const KernelRoleRule& rule) {
    return fits(rule.when, lower_name);
  });
  return found == rules.end() ? nullptr : &*found;
}

const KernelRule* first_fit(std::span<const KernelRule> rules, std::string_view lower_name) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const KernelRule& rule) { return fits(rule, lower_name); });
  return found == rules.end() ? nullptr : &*found;
}

}  // namespace

std::span<const std::string_view> kernel_class_names() { return class_names; }

KernelRules read_kernel_rules(std::string_view json_text) {
  const RuleJson json = RuleJson::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) fail(ErrorKind::input, "kernels: not JSON");
  ObjectReader reader(json, "kernels");
  if (reader.maybe_count("schema_version") != 1)
    fail(ErrorKind::input, "kernels.schema_version: expects 1");
  KernelRules rules;
  rules.rules = reader.list("rules", most_rules, read_rule);
  rules.passes = reader.list("passes", most_rules, read_pass);
  rules.roles = reader.list("roles", most_rules, read_role);
  reader.finish();
  for (std::size_t i = 0; i < rules.roles.size(); ++i) {
    const KernelRoleRule& rule = rules.roles[i];
    if (first_role(rules.roles, lower_case(rule.when.example)) == &rule) continue;
    fail(ErrorKind::input, "kernels.roles[{}].example: its rule does not take it", i);
  }
  for (std::size_t i = 0; i < rules.rules.size(); ++i) {
    const KernelRule& rule = rules.rules[i];
    const KernelRule* found = first_fit(rules.rules, lower_case(rule.example));
    if (found == &rule) continue;
    fail(ErrorKind::input, "kernels.rules[{}].example: {}", i,
         found == nullptr ? "its rule does not fit it" : "another rule takes it");
  }
  return rules;
}

const KernelRules& kernel_rules() {
  static const KernelRules rules = [] {
    STRATA_CHECK(embedded_kernel_rules().size() == 1, "one file of rules ships");
    return read_kernel_rules(embedded_kernel_rules().front().text);
  }();
  return rules;
}

KernelClass class_of_kernel(std::string_view name, const KernelRules& rules) {
  const std::string lower = lower_case(name);
  const KernelRule* rule = first_fit(rules.rules, lower);
  KernelClass found = rule == nullptr ? KernelClass{} : rule->gives;
  if (rule != nullptr && rule->says_pass) return found;
  if (const KernelRule* pass = first_fit(rules.passes, lower)) found.pass = pass->gives.pass;
  return found;
}

bool is_zero_flop_kernel(std::string_view name, const KernelRules& rules) {
  const std::string lower = lower_case(name);
  const KernelRule* rule = first_fit(rules.rules, lower);
  return rule != nullptr && rule->is_zero_flop &&
         std::none_of(rule->zero_flop_unless.begin(), rule->zero_flop_unless.end(),
                      [&](const std::string& part) { return lower.find(part) != lower.npos; });
}

std::string_view role_of_kernel(std::string_view name, const KernelRules& rules) {
  const KernelRoleRule* rule = first_role(rules.roles, lower_case(name));
  return rule == nullptr ? role_names.back() : std::string_view(rule->role);
}

}  // namespace strata
