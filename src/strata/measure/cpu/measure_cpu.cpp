// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/measure/ceilings.hpp"

namespace strata {

Machine measure_cpu(const CeilingOptions&, const CeilingProgress&) {
  fail(ErrorKind::environment,
       "this strata does not measure CPUs yet; NVIDIA GPUs are measured with --device cuda");
}

}  // namespace strata
