// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace strata::cpu {

/// Two-dimensional Fourier transforms of one size, complex, not scaled. Memory is aligned as
/// Scratch is; from and to do not overlap, and `from` may be overwritten.
class Fourier {
 public:
  virtual ~Fourier() = default;
  virtual void forward(std::complex<float>* from, std::complex<float>* to) const = 0;
  virtual void backward(std::complex<float>* from, std::complex<float>* to) const = 0;
};

/// By FFTW, which tries several algorithms when it is made.
std::unique_ptr<Fourier> make_fourier(std::int64_t height, std::int64_t width);

/// "3.3.10"; empty: there is none.
std::string fourier_version();

/// Why there are none; nothing when there are.
std::optional<std::string> fourier_refusal();

}  // namespace strata::cpu
