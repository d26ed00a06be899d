// SPDX-License-Identifier: Apache-2.0
// What kernels for several kinds of vector unit share. Each reads it once per kind, as Highway has
// it: hence no #pragma once.
#if defined(STRATA_HIGHWAY_PIECES) == defined(HWY_TARGET_TOGGLE)
#ifdef STRATA_HIGHWAY_PIECES
#undef STRATA_HIGHWAY_PIECES
#else
#define STRATA_HIGHWAY_PIECES
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// What comes a page later: processors foresee only what lies in one.
HWY_INLINE void ask_for(const float* x) { __builtin_prefetch(x + 1024, 0, 2); }

/// The same for number i of a row, where NEON's vectors are parts of a line: once per line, and
/// further ahead, as ask_after does.
HWY_INLINE void ask_for_line(const float* x, [[maybe_unused]] std::int64_t i) {
#if HWY_TARGET == HWY_NEON
  if (i % 16 == 0) __builtin_prefetch(x + i + 4096, 0, 1);
#else
  ask_for(x + i);
#endif
}

/// Nothing behind `count` is touched: another thread may write there.
template <class Tag>
HWY_INLINE void store_first(hn::Vec<Tag> v, Tag d, float* to, std::int64_t count) {
  if (count >= static_cast<std::int64_t>(hn::Lanes(d))) return hn::StoreU(v, d, to);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
#else
  HWY_ALIGN float some[hn::MaxLanes(d)];
  hn::Store(v, d, some);
  __builtin_memcpy(to, some, static_cast<std::size_t>(count) * sizeof(float));
#endif
}

/// Calls many(i) for vectors from i on, the last of which takes what is left and some before it, or
/// one(i) for each of fewer.
template <class Tag, class Many, class One>
HWY_INLINE void each_vector(Tag d, std::int64_t count, const Many& many, const One& one) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) many(i);
  if (i > 0 && i < count) return many(count - lanes);
  for (; i < count; ++i) one(i);
}

/// Calls make(tag, i) in the same way, by shorter vectors where a row has not even one.
template <class Tag, class Make>
HWY_INLINE void each_vector_of_row(Tag whole, std::int64_t count, const Make& make) {
  const auto by = [&](auto d) HWY_ATTR {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) make(d, i);
    if (i < count) make(d, count - lanes);
  };
  if (count >= static_cast<std::int64_t>(hn::Lanes(whole))) return by(whole);
  if (count >= 4) return by(hn::CappedTag<float, 4>());
  by(hn::CappedTag<float, 1>());
}

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
