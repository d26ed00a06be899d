// SPDX-License-Identifier: Apache-2.0
#include "strata/base/dtype.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <array>
#include <string>
#include <utility>

namespace strata {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  std::int64_t bytes;
  bool floating;
};

constexpr std::array<DTypeFacts, 10> facts = {{
    {DType::fp64, "fp64", 8, true},
    {DType::fp32, "fp32", 4, true},
    {DType::tf32, "tf32", 4, true},
    {DType::bf16, "bf16", 2, true},
    {DType::fp16, "fp16", 2, true},
    {DType::fp8, "fp8", 1, true},
    {DType::int8, "int8", 1, false},
    {DType::int32, "int32", 4, false},
    {DType::int64, "int64", 8, false},
    {DType::boolean, "bool", 1, false},
}};

const DTypeFacts& facts_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  STRATA_CHECK(index < facts.size() && facts[index].dtype == dtype, "data type out of range");
  return facts[index];
}

}  // namespace

std::int64_t bytes_per_element(DType dtype) { return facts_of(dtype).bytes; }
bool is_floating(DType dtype) { return facts_of(dtype).floating; }
std::string_view name_of(DType dtype) { return facts_of(dtype).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeFacts& entry : facts) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_meant(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, DType>, 12> others = {
      {{"float64", DType::fp64},
       {"double", DType::fp64},
       {"float32", DType::fp32},
       {"float", DType::fp32},
       {"single", DType::fp32},
       {"tensorfloat32", DType::tf32},
       {"bfloat16", DType::bf16},
       {"float16", DType::fp16},
       {"half", DType::fp16},
       {"float8", DType::fp8},
       {"boolean", DType::boolean},
       {"long", DType::int64}}};
  const std::string lower = lower_case(name);
  if (const auto dtype = dtype_named(lower)) return dtype;
  for (const auto& [word, dtype] : others) {
    if (word == lower) return dtype;
  }
  return std::nullopt;
}

std::span<const DType> all_dtypes() {
  static constexpr std::array<DType, 10> all = {
      DType::fp64, DType::fp32, DType::tf32,  DType::bf16,  DType::fp16,
      DType::fp8,  DType::int8, DType::int32, DType::int64, DType::boolean};
  return all;
}

}  // namespace strata
