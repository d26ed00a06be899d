// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/sequence/sequence_networks.hpp"

#include "strata/zoo/sequence/families.hpp"

#include <array>

namespace strata {

std::span<const Network> sequence_networks() {
  static const std::array list{
      lstm_network,
      lstm_stack_network,
      gnmt_network,
      gnmt_thesis_network,
      transformer_base_network,
      transformer_big_network,
      transformer_thesis_network,
      bert_base_network,
      gpt2_network,
      opt_network,
      llama_network,
      vit_b_16_network,
  };
  return list;
}

}  // namespace strata
