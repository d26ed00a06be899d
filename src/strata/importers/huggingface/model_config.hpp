// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operator_kinds.hpp"
#include "strata/importers/keras/config.hpp"
#include "strata/importers/notes.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// The keys of a config.json, by type and within bounds. Errors (input) name the key, what was
/// expected and what came.
namespace strata::huggingface {

using keras::Json;
using keras::Names;

/// What a model computes from its last hidden states, by the end of its class's name.
enum class Head : std::uint8_t {
  none,                     ///< BertModel
  masked_language_model,    ///< BertForMaskedLM
  causal_language_model,    ///< LlamaForCausalLM, GPT2LMHeadModel
  sequence_classification,  ///< BertForSequenceClassification, ViTForImageClassification
  token_classification,
  question_answering,
  conditional_generation,  ///< T5ForConditionalGeneration
};

class ModelConfig {
 public:
  /// `notes` collects what is assumed.
  ModelConfig(const Json& object, Notes& notes);

  const std::string& type() const { return type_; }                  ///< "bert"
  const std::string& architecture() const { return architecture_; }  ///< "BertForMaskedLM"

  /// The head that the class asks for, of those that the family has; the first of them, with a
  /// note, where the file names no class or one that is not known here.
  Head head(std::initializer_list<Head> known) const;

  /// A size of the model: at least 1, and small enough that no product of a few overflows.
  std::int64_t size(Names names) const;
  std::int64_t size(Names names, std::int64_t otherwise) const;
  /// Layers, of which each becomes nodes.
  std::int64_t layers(Names names) const;
  std::int64_t labels() const;  ///< classes of a classifier
  double probability(Names names, double otherwise) const;
  bool truth(Names names, bool otherwise) const { return keys_.truth(names, otherwise); }
  std::string word(Names names, std::string_view otherwise) const {
    return keys_.word(names, otherwise);
  }
  UnaryKind activation(Names names, std::string_view otherwise) const;
  bool has(Names names) const { return keys_.find(names) != nullptr; }

  /// Something that the file asks for and the network leaves out or chooses.
  void note(WarningCode code, std::string_view what) const { notes_->add(code, type_, what); }

 private:
  std::int64_t within(std::int64_t value, const char* name, std::int64_t most) const;

  keras::Config keys_;
  Notes* notes_;
  std::string type_;
  std::string architecture_;
};

/// An error (input) where heads do not divide the width.
void check_heads(std::int64_t heads, std::int64_t width);

/// The length that a graph has until it is bound to another: the longest, but no more than usual.
std::int64_t default_length(std::int64_t longest, std::int64_t usual);

}  // namespace strata::huggingface
