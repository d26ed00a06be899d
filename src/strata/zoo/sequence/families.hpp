// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/zoo/zoo.hpp"

/// One constant per network, each defined in the source file of its family; sequence_networks.cpp
/// lists them.
namespace strata {

extern const Network lstm_network;
extern const Network lstm_stack_network;
extern const Network gnmt_network;
extern const Network gnmt_thesis_network;
extern const Network transformer_base_network;
extern const Network transformer_big_network;
extern const Network transformer_thesis_network;
extern const Network bert_base_network;
extern const Network gpt2_network;
extern const Network opt_network;
extern const Network llama_network;
extern const Network vit_b_16_network;

}  // namespace strata
