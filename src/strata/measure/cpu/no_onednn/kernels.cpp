// SPDX-License-Identifier: Apache-2.0
// Stands in for oneDNN in a build without it.
#include "strata/measure/cpu/operators.hpp"

namespace strata::cpu_training::onednn {

std::optional<KernelPair> kernels_of(const NodeContext&) { return std::nullopt; }
std::string version() { return {}; }

}  // namespace strata::cpu_training::onednn
