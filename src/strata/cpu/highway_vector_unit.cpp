// SPDX-License-Identifier: Apache-2.0
// What each kind of vector unit is; foreach_target.h reads this file once for each. The targets are
// those of the ceilings' kernels.
#include "strata/cpu/per_target.hpp"
#include "strata/cpu/vector_unit.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/cpu/highway_vector_unit.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#ifndef STRATA_TARGET_UNIT
#define STRATA_TARGET_UNIT
namespace strata::cpu {
namespace {

struct TargetUnit {
  const char* name = "";  ///< Highway's: "AVX3"
  int (*bits)() = nullptr;
  bool has_fma = false;
};

}  // namespace
}  // namespace strata::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace strata::cpu::HWY_NAMESPACE {
namespace {

int bits_here() {
  return static_cast<int>(hwy::HWY_NAMESPACE::Lanes(hwy::HWY_NAMESPACE::ScalableTag<double>())) *
         64;
}

[[maybe_unused]] const bool is_listed = compiled_kernels<TargetUnit>().add(
    HWY_TARGET,
    {.name = hwy::TargetName(HWY_TARGET), .bits = bits_here, .has_fma = HWY_NATIVE_FMA != 0});

}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::cpu {

std::int64_t targets_of_this_cpu() { return hwy::SupportedTargets() | HWY_STATIC_TARGET; }

VectorUnit vector_unit() {
  const TargetUnit unit = compiled_kernels<TargetUnit>().usable().front();
  const std::string name = unit.name;
  return {.name = name == "AVX3" ? "AVX-512" : name,
          .bits = unit.bits(),
          .has_fma = unit.has_fma,
          .chosen_by = "chosen at run time by Highway " + std::to_string(HWY_MAJOR) + '.' +
                       std::to_string(HWY_MINOR) + '.' + std::to_string(HWY_PATCH)};
}

}  // namespace strata::cpu
#endif
