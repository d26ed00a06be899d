// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// Matrix products by OpenBLAS, each on the thread that asks for it. Threads of our own take a
/// share of the panels each, so that the unrolling runs on all of them too.
namespace strata::cpu {

/// result[m×n] = a[m×k] · b[k×n] (+ result where `adds`), row after row; step: from one row to the
/// next. A turned factor is stored as k×m or n×k.
struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  std::int64_t a_step = 0;
  bool a_is_turned = false;
  const float* b = nullptr;
  std::int64_t b_step = 0;
  bool b_is_turned = false;
  float* result = nullptr;
  std::int64_t result_step = 0;
  bool adds = false;
};
void multiply(const MatrixProduct& product);

/// "0.3.21"; empty: there is none.
std::string blas_version();

/// Why there are no matrix products; nothing when there are.
std::optional<std::string> blas_refusal();

}  // namespace strata::cpu
