// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/convolution/strategies.hpp"

namespace strata::cpu {

std::optional<std::string> vector_refusal() { return std::nullopt; }

}  // namespace strata::cpu
