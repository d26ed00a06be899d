// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// Matrix products, each on the thread that asks for it: threads of our own take a share each.
namespace strata::cpu {

/// result[m×n] = alpha · a[m×k] · b[k×n] (+ result where `adds`), row after row; step: from one row
/// to the next. A turned factor is stored as k×m or n×k.
template <class T>
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::int64_t a_step = 0;
  bool a_is_turned = false;
  const T* b = nullptr;
  std::int64_t b_step = 0;
  bool b_is_turned = false;
  T* result = nullptr;
  std::int64_t result_step = 0;
  bool adds = false;
  T alpha = 1;
  /// The result is part of one that no cache keeps: it may be written around them.
  bool goes_around_caches = false;
};

/// By the fastest way there is for its size.
void multiply(const Product<float>& product);
void multiply(const Product<double>& product);

/// For people: "OpenBLAS sgemm".
std::string product_name(bool is_fp64);

/// By OpenBLAS, which people compare with, or by plain loops in a build without it.
void multiply_by_blas(const Product<float>& product);
void multiply_by_blas(const Product<double>& product);

/// "0.3.21"; empty: there is none.
std::string blas_version();

/// Why there is no OpenBLAS; nothing when there is.
std::optional<std::string> blas_refusal();

}  // namespace strata::cpu
