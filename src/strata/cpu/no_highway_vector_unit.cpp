// SPDX-License-Identifier: Apache-2.0
// Without Highway nothing chooses vector instructions at run time.
#include "strata/cpu/baseline_vectors.hpp"
#include "strata/cpu/vector_unit.hpp"

namespace strata::cpu {
namespace {

#if defined(__FMA__) || defined(__aarch64__)
constexpr bool baseline_has_fma = true;
#else
constexpr bool baseline_has_fma = false;
#endif

}  // namespace

VectorUnit vector_unit() {
  return {.name = "compiler's baseline",
          .bits = baseline_vector_bits,
          .has_fma = baseline_has_fma,
          .chosen_by = "compiled for the baseline only: this strata was built without Highway",
          .may_be_less = true};
}

}  // namespace strata::cpu
