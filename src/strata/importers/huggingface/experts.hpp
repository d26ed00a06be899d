// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/sequence_builder.hpp"
#include "strata/importers/huggingface/model_config.hpp"

#include <cstdint>

namespace strata::huggingface {

/// The feed-forward layer of a mixture of experts: each word goes to some of them.
struct Experts {
  std::int64_t count = 0;  ///< 0: there are none
  std::int64_t per_word = 0;
  std::int64_t width = 0;  ///< of the model
  std::int64_t inner = 0;
  UnaryKind activation = UnaryKind::silu;
};

/// Errors (input) when the file's numbers contradict each other or the nodes would be too many.
Experts experts_of(const ModelConfig& config, std::int64_t layers, std::int64_t width,
                   std::int64_t inner);

/// Mixtral's block_sparse_moe on [batch, seq, width]. Which word goes where is known only when it
/// runs: here every expert gets the same number of words, as a balanced router gives them.
TensorId add_experts(SequenceBuilder& b, const Experts& experts, TensorId x);

}  // namespace strata::huggingface
