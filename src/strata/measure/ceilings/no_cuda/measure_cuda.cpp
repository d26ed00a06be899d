// SPDX-License-Identifier: Apache-2.0
// Stands for measure/ceilings/cuda/ in a build without CUDA.
#include "strata/measure/ceilings/ceilings.hpp"

namespace strata {

Machine measure_cuda(const CeilingOptions&, const CeilingProgress&) {
  cuda_devices();  // says why there is none
  return {};
}

}  // namespace strata
