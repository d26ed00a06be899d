// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/huggingface/model_config.hpp"

/// One function per family of models: from its sizes to its network.
namespace strata::huggingface {

Graph build_bert(const ModelConfig& config);  ///< and RoBERTa
Graph build_distilbert(const ModelConfig& config);
Graph build_gpt2(const ModelConfig& config);
Graph build_opt(const ModelConfig& config);
Graph build_llama(const ModelConfig& config);  ///< Mistral, Qwen2, Gemma, and Mixtral with experts
Graph build_t5(const ModelConfig& config);
Graph build_vit(const ModelConfig& config);

}  // namespace strata::huggingface
