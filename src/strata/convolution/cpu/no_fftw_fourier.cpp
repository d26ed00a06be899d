// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/convolution/cpu/fourier.hpp"

namespace strata::cpu {

std::unique_ptr<Fourier> make_fourier(std::int64_t, std::int64_t) {
  fail(ErrorKind::environment, "{}", *fourier_refusal());
}

std::string fourier_version() { return ""; }

std::optional<std::string> fourier_refusal() {
  return "this strata was built without FFTW (libfftw3-dev)";
}

}  // namespace strata::cpu
