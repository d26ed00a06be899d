// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>

namespace strata::cpu {

/// result[m×n] = a[m×k] · b[k×n] (+ result where `adds`), row-major; step: from one row to the
/// next. A transposed factor is stored as k×m or n×k, and means the conjugate transpose of complex
/// numbers.
template <class T>
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::int64_t a_step = 0;
  bool a_is_transposed = false;
  const T* b = nullptr;
  std::int64_t b_step = 0;
  bool b_is_transposed = false;
  T* result = nullptr;
  std::int64_t result_step = 0;
  bool adds = false;
};

/// By OpenBLAS, on the calling thread.
void multiply(const Gemm<float>& gemm);
void multiply(const Gemm<std::complex<float>>& gemm);

/// "0.3.21"; empty: there is none.
std::string blas_version();

/// Why there is no OpenBLAS; nothing when there is.
std::optional<std::string> blas_refusal();

}  // namespace strata::cpu
