// SPDX-License-Identifier: Apache-2.0
// Without Highway nothing chooses vector instructions at run time.
#include "strata/cpu/vector_unit.hpp"

namespace strata::cpu {
namespace {

#if defined(__FMA__) || defined(__aarch64__)
constexpr bool baseline_has_fma = true;
#else
constexpr bool baseline_has_fma = false;
#endif

#if defined(__AVX512F__)
constexpr int baseline_bits = 512;
#elif defined(__AVX__)
constexpr int baseline_bits = 256;
#elif defined(__SSE2__) || defined(__aarch64__)
constexpr int baseline_bits = 128;
#else
constexpr int baseline_bits = 64;
#endif

}  // namespace

VectorUnit vector_unit() {
  return {.name = "compiler's baseline",
          .bits = baseline_bits,
          .has_fma = baseline_has_fma,
          .chosen_by = "compiled for the baseline only: this strata was built without Highway",
          .may_be_less = true};
}

}  // namespace strata::cpu
