// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/huggingface/model_config.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace strata::huggingface {
namespace {

constexpr std::int64_t most_size = std::int64_t{1} << 22;
constexpr std::int64_t most_layers = 4096;

/// Ends of the names of classes, longer ones before those that they end in.
constexpr std::array<std::pair<std::string_view, Head>, 11> head_names = {{
    {"ForMaskedLM", Head::masked_language_model},
    {"ForPreTraining", Head::masked_language_model},
    {"ForCausalLM", Head::causal_language_model},
    {"LMHeadModel", Head::causal_language_model},
    {"ForSequenceClassification", Head::sequence_classification},
    {"ForImageClassification", Head::sequence_classification},
    {"ForTokenClassification", Head::token_classification},
    {"ForQuestionAnswering", Head::question_answering},
    {"ForConditionalGeneration", Head::conditional_generation},
    {"WithLMHeadModel", Head::conditional_generation},
    {"Model", Head::none},
}};

constexpr std::array<std::pair<std::string_view, UnaryKind>, 10> activation_names = {{
    {"relu", UnaryKind::relu},
    {"gelu", UnaryKind::gelu},
    {"gelu_python", UnaryKind::gelu},
    {"gelu_new", UnaryKind::gelu_tanh},
    {"gelu_pytorch_tanh", UnaryKind::gelu_tanh},
    {"gelu_fast", UnaryKind::gelu_tanh},
    {"silu", UnaryKind::silu},
    {"swish", UnaryKind::silu},
    {"tanh", UnaryKind::tanh},
    {"sigmoid", UnaryKind::sigmoid},
}};

std::string first_architecture(const keras::Config& keys) {
  const Json* list = keys.find({"architectures"});
  if (list == nullptr) return "";
  if (!list->is_array()) keras::fail_expected("a list of names", "architectures", *list);
  if (list->empty()) return "";
  return keras::word_in(list->front(), "architectures");
}

}  // namespace

ModelConfig::ModelConfig(const Json& object, Notes& notes)
    : keys_(object),
      notes_(&notes),
      type_(lower_case(keys_.word({"model_type"}, ""))),
      architecture_(first_architecture(keys_)) {}

Head ModelConfig::head(std::initializer_list<Head> known) const {
  const Head first = *known.begin();
  if (architecture_.empty()) {
    note(WarningCode::value_assumed,
         "the file names no class ('architectures'): the usual one of its kind is taken");
    return first;
  }
  const auto found = std::find_if(head_names.begin(), head_names.end(), [&](const auto& entry) {
    return architecture_.ends_with(entry.first);
  });
  if (found != head_names.end() &&
      std::find(known.begin(), known.end(), found->second) != known.end())
    return found->second;
  note(WarningCode::value_assumed,
       fmt::format("the class {} is not known: the usual one of its kind is taken",
                   printable(architecture_)));
  return first;
}

std::int64_t ModelConfig::within(std::int64_t value, const char* name, std::int64_t most) const {
  if (value < 1 || value > most)
    fail(ErrorKind::input, "expected a number from 1 to {} for '{}', got {}", most, name, value);
  return value;
}

std::int64_t ModelConfig::size(Names names) const {
  return within(keys_.whole(names), *names.begin(), most_size);
}

std::int64_t ModelConfig::size(Names names, std::int64_t otherwise) const {
  return within(keys_.whole(names, otherwise), *names.begin(), most_size);
}

std::int64_t ModelConfig::layers(Names names) const {
  return within(keys_.whole(names), *names.begin(), most_layers);
}

std::int64_t ModelConfig::labels() const {
  constexpr std::int64_t transformers_default = 2;
  if (const Json* names = keys_.find({"id2label"}); names != nullptr && names->is_object()) {
    return within(static_cast<std::int64_t>(names->size()), "id2label", most_size);
  }
  return size({"num_labels"}, transformers_default);
}

double ModelConfig::probability(Names names, double otherwise) const {
  const double value = keys_.number(names, otherwise);
  if (!(value >= 0 && value < 1))
    fail(ErrorKind::input, "expected a probability below 1 for '{}', got {}", *names.begin(),
         value);
  return value;
}

UnaryKind ModelConfig::activation(Names names, std::string_view otherwise) const {
  const std::string name = lower_case(keys_.word(names, otherwise));
  const auto found = std::find_if(activation_names.begin(), activation_names.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found != activation_names.end()) return found->second;
  fail(ErrorKind::unsupported, "the activation '{}' ('{}') is not known", printable(name),
       *names.begin());
}

void check_heads(std::int64_t heads, std::int64_t width) {
  if (width % heads != 0)
    fail(ErrorKind::input, "{} attention heads do not divide a width of {}", heads, width);
}

std::int64_t default_length(std::int64_t longest, std::int64_t usual) {
  return std::min(longest, usual);
}

}  // namespace strata::huggingface
