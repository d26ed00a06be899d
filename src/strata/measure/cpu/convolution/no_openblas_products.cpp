// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/measure/cpu/convolution/blas.hpp"

namespace strata::cpu {

void multiply(const MatrixProduct&) { fail(ErrorKind::environment, "{}", *blas_refusal()); }

std::string blas_version() { return ""; }

std::optional<std::string> blas_refusal() {
  return "this strata was built without OpenBLAS (libopenblas-dev)";
}

}  // namespace strata::cpu
