// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/kernel_arithmetic.hpp"

#include "strata/base/text.hpp"

#include <array>
#include <string>

namespace strata {
namespace {

struct NamedArithmetic {
  std::string_view word;
  DType dtype;
  bool is_matrix;
};

/// In this order: the types of inputs stand before that of the sum. Words of cuDNN, cuBLAS and
/// CUTLASS as real names have them (tests/kernels/names.tsv, and recordings of an H200).
constexpr std::array named_arithmetic = {
    NamedArithmetic{"f8f8", DType::fp8, true},
    NamedArithmetic{"e4m3", DType::fp8, true},
    NamedArithmetic{"e5m2", DType::fp8, true},
    NamedArithmetic{"tf32", DType::tf32, true},
    NamedArithmetic{"tfloat32", DType::tf32, true},
    NamedArithmetic{"bf16", DType::bf16, true},
    NamedArithmetic{"bfloat16", DType::bf16, true},
    NamedArithmetic{"f16f16", DType::fp16, true},
    NamedArithmetic{"fp16_s1688", DType::fp16, true},
    NamedArithmetic{"fp16_s884", DType::fp16, true},
    NamedArithmetic{"h16816", DType::fp16, true},
    NamedArithmetic{"h1688", DType::fp16, true},
    NamedArithmetic{"h884", DType::fp16, true},
    NamedArithmetic{"z884", DType::fp64, true},
    NamedArithmetic{"d884", DType::fp64, true},
    NamedArithmetic{"tensorop_s1688", DType::tf32, true},
    NamedArithmetic{"ffma", DType::fp32, false},
    NamedArithmetic{"scudnn", DType::fp32, false},
    NamedArithmetic{"_sgemm", DType::fp32, false},
    NamedArithmetic{"_dgemm", DType::fp64, false},
};

}  // namespace

std::optional<TypedFlop> arithmetic_in_name(std::string_view kernel_name) {
  const std::string lower = lower_case(kernel_name);
  for (const NamedArithmetic& named : named_arithmetic) {
    if (lower.find(named.word) == lower.npos) continue;
    // "maxwell_fp16_sgemm_fp16": half numbers go in, who multiplies them is not said.
    if (!named.is_matrix && lower.find("fp16") != lower.npos) return std::nullopt;
    return TypedFlop{named.dtype, named.is_matrix, 0};
  }
  return std::nullopt;
}

}  // namespace strata
