// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/convolution/cpu/blas.hpp"

namespace strata::cpu {

void multiply(const Gemm<float>&) { fail(ErrorKind::environment, "{}", *blas_refusal()); }
void multiply(const Gemm<std::complex<float>>&) {
  fail(ErrorKind::environment, "{}", *blas_refusal());
}

std::string blas_version() { return ""; }

std::optional<std::string> blas_refusal() {
  return "this strata was built without OpenBLAS (libopenblas-dev)";
}

}  // namespace strata::cpu
