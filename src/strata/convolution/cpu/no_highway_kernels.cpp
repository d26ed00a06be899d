// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/strategies.hpp"
#include "strata/convolution/cpu/winograd_kernels.hpp"

namespace strata::cpu {
namespace {

[[noreturn]] void refuse_vectors() { fail(ErrorKind::environment, "{}", *vector_refusal()); }

}  // namespace

std::optional<std::string> vector_refusal() {
  return "this strata was built without Highway (libhwy-dev)";
}

void add_block(const BlockSums&) { refuse_vectors(); }
std::int64_t channel_block() { return 1; }

void transform_tiles(int, TileTransform, const TileBatch&) { refuse_vectors(); }

}  // namespace strata::cpu
