// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/low_precision.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>
#endif

namespace strata::cpu {

#if defined(__x86_64__)
namespace {

constexpr std::string_view intel_manual =
    "Intel 64 and IA-32 Architectures Optimization Reference Manual, Intel AMX";

/// Eight registers, twice: enough for units of 4 to 6 clocks that start two in each.
constexpr int chains = 16;

#if defined(__clang__) && __clang_major__ < 16
constexpr bool has_fp16_compiler = false;  // knows the instructions only when all code may use them
bool run_fp16(std::int64_t) { return false; }
#else
constexpr bool has_fp16_compiler = true;
__attribute__((target("avx512f,avx512bw,avx512fp16"))) bool run_fp16(std::int64_t rounds) {
  __m512h x[chains];
  for (__m512h& each : x) each = _mm512_set1_ph(2);
  _Float16 factor = -1, constant = 7;
  asm volatile("" : "+m"(factor), "+m"(constant));  // not known to the compiler
  const __m512h a = _mm512_set1_ph(factor), b = _mm512_set1_ph(constant);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (__m512h& each : x) each = _mm512_fmadd_ph(each, a, b);
    for (__m512h& each : x) each = _mm512_fmadd_ph(each, a, b);
  }
  for (const __m512h& each : x) {
    if (_mm512_cmp_ph_mask(each, _mm512_set1_ph(2), _CMP_NEQ_OQ) != 0) return false;
  }
  return true;
}
#endif

/// Each sum takes a · b, then a · -b.
__attribute__((target("avx512f,avx512bf16"))) bool run_bf16(std::int64_t rounds) {
  __m512 sums[chains];
  for (__m512& each : sums) each = _mm512_set1_ps(5);
  float one = 1;
  asm volatile("" : "+m"(one));  // not known to the compiler
  const __m512bh a = _mm512_cvtne2ps_pbh(_mm512_set1_ps(one), _mm512_set1_ps(one));
  const __m512bh b = _mm512_cvtne2ps_pbh(_mm512_set1_ps(-one), _mm512_set1_ps(-one));
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (__m512& each : sums) each = _mm512_dpbf16_ps(each, a, a);
    for (__m512& each : sums) each = _mm512_dpbf16_ps(each, a, b);
  }
  for (const __m512& each : sums) {
    if (_mm512_cmp_ps_mask(each, _mm512_set1_ps(5), _CMP_NEQ_OQ) != 0) return false;
  }
  return true;
}

/// 8 tiles of 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

struct alignas(64) TileData {
  std::array<std::uint8_t, 1024> bytes;
};

/// One value of 16 or 8 bits everywhere.
template <class T>
TileData tile_of(T value) {
  TileData tile;
  for (std::size_t at = 0; at < tile.bytes.size(); at += sizeof(T))
    std::memcpy(tile.bytes.data() + at, &value, sizeof(T));
  return tile;
}

// Four sums at once, each a · b and then a · -b: a product of tiles takes some 52 clocks and one
// begins every 16. The numbers of tiles are part of the instructions.
#define STRATA_TILE_LOOP(multiply)                        \
  for (std::int64_t round = 0; round < rounds; ++round) { \
    multiply(0, 4, 6);                                    \
    multiply(1, 5, 6);                                    \
    multiply(2, 4, 6);                                    \
    multiply(3, 5, 6);                                    \
    multiply(0, 4, 7);                                    \
    multiply(1, 5, 7);                                    \
    multiply(2, 4, 7);                                    \
    multiply(3, 5, 7);                                    \
  }

#define STRATA_TILE_KERNEL(name, features, multiply)                                            \
  __attribute__((target(features))) bool name(std::int64_t rounds, const TileData& sum,         \
                                              const TileData& one, const TileData& minus_one) { \
    const TileShapes shapes;                                                                    \
    _tile_loadconfig(&shapes);                                                                  \
    _tile_loadd(0, sum.bytes.data(), 64);                                                       \
    _tile_loadd(1, sum.bytes.data(), 64);                                                       \
    _tile_loadd(2, sum.bytes.data(), 64);                                                       \
    _tile_loadd(3, sum.bytes.data(), 64);                                                       \
    _tile_loadd(4, one.bytes.data(), 64);                                                       \
    _tile_loadd(5, one.bytes.data(), 64);                                                       \
    _tile_loadd(6, one.bytes.data(), 64);                                                       \
    _tile_loadd(7, minus_one.bytes.data(), 64);                                                 \
    STRATA_TILE_LOOP(multiply)                                                                  \
    TileData out[4];                                                                            \
    _tile_stored(0, out[0].bytes.data(), 64);                                                   \
    _tile_stored(1, out[1].bytes.data(), 64);                                                   \
    _tile_stored(2, out[2].bytes.data(), 64);                                                   \
    _tile_stored(3, out[3].bytes.data(), 64);                                                   \
    _tile_release();                                                                            \
    return std::all_of(out, out + 4,                                                            \
                       [&](const TileData& each) { return each.bytes == sum.bytes; });          \
  }

STRATA_TILE_KERNEL(multiply_bf16_tiles, "amx-tile,amx-bf16", _tile_dpbf16ps)
STRATA_TILE_KERNEL(multiply_int8_tiles, "amx-tile,amx-int8", _tile_dpbssd)

bool run_amx_bf16(std::int64_t rounds) {
  const std::uint16_t one = 0x3f80, minus_one = 0xbf80;  // the upper half of an fp32
  return multiply_bf16_tiles(rounds, tile_of(5.0F), tile_of(one), tile_of(minus_one));
}

bool run_amx_int8(std::int64_t rounds) {
  return multiply_int8_tiles(rounds, tile_of(std::int32_t{5}), tile_of(std::int8_t{1}),
                             tile_of(std::int8_t{-1}));
}

struct Features {
  bool has_fp16 = false, has_bf16 = false, has_amx_bf16 = false, has_amx_int8 = false;
};

std::uint64_t state_that_the_system_saves() {
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

bool bit(unsigned word, int number) { return (word >> number & 1U) != 0; }

/// Linux gives tiles to those who ask for them.
bool may_use_tiles() {
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

Features features_here() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  Features found;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !bit(c, 27)) return found;  // no xgetbv
  const std::uint64_t state = state_that_the_system_saves();
  constexpr std::uint64_t avx512_state = 0xe6, tile_state = 0x60000;
  const bool has_vectors = (state & avx512_state) == avx512_state;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  const bool has_avx512 = has_vectors && bit(b, 16) && bit(b, 30);
  const bool has_tiles = (state & tile_state) == tile_state && bit(d, 24) && may_use_tiles();
  found.has_fp16 = has_fp16_compiler && has_avx512 && bit(d, 23);
  found.has_amx_bf16 = has_tiles && bit(d, 22);
  found.has_amx_int8 = has_tiles && bit(d, 25);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) found.has_bf16 = has_avx512 && bit(a, 5);
  return found;
}

std::vector<LowPrecisionLoop> loops_here() {
  const Features has = features_here();
  std::vector<LowPrecisionLoop> loops;
  constexpr std::int64_t lanes_fp16 = 32, sums_bf16 = 16, tile = 16 * 16;
  if (has.has_fp16)
    loops.push_back({DType::fp16, ComputeUnit::vector, "AVX512-FP16", 2 * 2 * chains * lanes_fp16,
                     std::nullopt, "", run_fp16});
  if (has.has_bf16)
    loops.push_back({DType::bf16, ComputeUnit::vector, "AVX512-BF16, sums in fp32",
                     2 * 2 * chains * sums_bf16 * 2, std::nullopt, "", run_bf16});
  if (has.has_amx_bf16)
    loops.push_back({DType::bf16, ComputeUnit::matrix, "AMX-BF16, sums in fp32", 8 * 2 * tile * 32,
                     1024, intel_manual, run_amx_bf16});
  if (has.has_amx_int8)
    loops.push_back({DType::int8, ComputeUnit::matrix, "AMX-INT8, sums in int32", 8 * 2 * tile * 64,
                     2048, intel_manual, run_amx_int8});
  return loops;
}

}  // namespace

std::span<const LowPrecisionLoop> low_precision_loops() {
  static const std::vector<LowPrecisionLoop> loops = loops_here();
  return loops;
}

#else

std::span<const LowPrecisionLoop> low_precision_loops() { return {}; }

#endif

}  // namespace strata::cpu
