// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/model.hpp"

#include "strata/base/error.hpp"

namespace strata::onnx {

std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

// Strata has no narrower types than these: what has 2 or 4 bits is taken for 8, 16-bit whole
// numbers for 32.
std::optional<DType> dtype_of(std::int32_t type) {
  switch (type) {
    case 1: return DType::fp32;
    case 2:   // uint8
    case 3:   // int8
    case 21:  // uint4
    case 22:  // int4
    case 25:  // uint2
    case 26: return DType::int8;
    case 4:  // uint16
    case 5:  // int16
    case 6:  // int32
    case 12: return DType::int32;
    case 7:  // int64
    case 13: return DType::int64;
    case 9: return DType::boolean;
    case 10: return DType::fp16;
    case 11: return DType::fp64;
    case 16: return DType::bf16;
    case 17:  // e4m3fn
    case 18:  // e4m3fnuz
    case 19:  // e5m2
    case 20:  // e5m2fnuz
    case 23:  // float4 e2m1
    case 24: return DType::fp8;
    default: return std::nullopt;
  }
}

DType known_dtype(std::int32_t type) {
  if (const std::optional<DType> dtype = dtype_of(type)) return *dtype;
  switch (type) {
    case 0: fail(ErrorKind::input, "a tensor without a data type");
    case 8: fail(ErrorKind::unsupported, "a tensor of texts");
    case 14:
    case 15: fail(ErrorKind::unsupported, "a tensor of complex numbers");
    default: fail(ErrorKind::unsupported, "a tensor of ONNX's data type {}", type);
  }
}

}  // namespace strata::onnx
