// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/machine/machine.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

/// The kernels behind the ceilings, as functions that enqueue them. Sizes are checked: a kernel
/// has no remainder loop, because what is measured is the steady state.
namespace strata::cuda {

// --- bandwidth -----------------------------------------------------------------------------------

/// Arrays of 16-byte items. read reads `a`; write writes `out`; copy is out = a; triad is
/// out = a + 3 b in fp32.
struct Arrays {
  void* out = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  std::uint32_t* checksums = nullptr;  ///< one per warp, written by read
};

/// Bytes that go through memory for `bytes` of each array.
double moved_bytes(AccessMix mix, double bytes);

/// `bytes` of an array are a multiple of these.
inline constexpr std::int64_t stream_block_bytes = 32 << 10;
inline constexpr std::int64_t loop_tile_bytes = 16 << 10;
/// Bytes behind one checksum of stream_once.
inline constexpr std::int64_t stream_warp_bytes = 4 << 10;

/// Every byte once: the grid is as large as the arrays.
void stream_once(AccessMix mix, const Arrays& arrays, std::int64_t bytes, std::uint32_t seed,
                 cudaStream_t stream);

/// Where loads may hit: every cache, or the one that all SMs share.
enum class Caching { all_levels, shared_level };

/// A grid that stays and loops over the arrays tile by tile, `passes` tiles per block. In pass r,
/// block b is at tile (b + r × step) mod tiles; step comes from tile_step.
struct TileLoop {
  std::int64_t tiles = 0;
  std::int64_t step = 0;
  std::int64_t passes = 0;
  int blocks = 0;
};
void loop_over_tiles(AccessMix mix, Caching caching, const Arrays& arrays, const TileLoop& loop,
                     std::uint32_t seed, cudaStream_t stream);
inline constexpr int loop_blocks_per_sm = 4;
inline constexpr int loop_warps_per_block = 8;

/// Reads `passes` × 16 KiB of shared memory per block; `checksums` gets one word per thread.
void read_shared(std::uint32_t* checksums, int blocks, std::int64_t passes, std::uint32_t seed,
                 cudaStream_t stream);
inline constexpr int shared_threads_per_block = 256;
inline constexpr std::int64_t shared_tile_bytes = 16 << 10;

/// Random floats between 1 and 2, as every kernel here takes for granted.
void fill_pattern(void* out, std::int64_t bytes, std::uint32_t seed, cudaStream_t stream);
/// Word `index` of the pattern, on the host.
std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed);

/// Adds to `mismatches` how many items of the result are not what `mix` should have left there.
void count_mismatches(AccessMix mix, const Arrays& arrays, std::int64_t bytes, std::uint32_t seed,
                      unsigned long long* mismatches, cudaStream_t stream);

// --- arithmetic ----------------------------------------------------------------------------------

/// Chains x ← a x + b that live in registers. fp16 and bf16 are packed in pairs.
inline constexpr int fma_chains = 8;
inline constexpr int fma_unroll = 32;
inline constexpr int fma_threads_per_block = 256;
struct FmaRun {
  DType dtype = DType::fp32;
  int blocks = 0;
  int rounds = 0;  ///< each is fma_unroll steps of every chain
  float a = -1;
  float b = 7;
};
/// Elements in each of the two arrays: threads × chains, twice as many where they are packed.
std::int64_t fma_elements(const FmaRun& run);
double fma_flop(const FmaRun& run);
/// `start` and `out` hold fma_elements in the data type.
void run_fma(const FmaRun& run, const void* start, void* out, cudaStream_t stream);
/// Whole numbers between -16 and 15 in the data type.
void fill_small_integers(void* out, std::int64_t count, DType dtype, std::uint32_t seed,
                         cudaStream_t stream);
std::int64_t small_integer(std::uint64_t index, std::uint32_t seed);

// --- matrices ------------------------------------------------------------------------------------

/// Uniform between -1 and 1; int8 over all its values but -128.
void fill_uniform(void* out, std::int64_t count, DType dtype, std::uint32_t seed,
                  cudaStream_t stream);

/// What a product D = Aᵀ B is made of, all column by column: A is k × m, B is k × n, D is m × n.
struct Product {
  DType dtype = DType::bf16;
  DType out = DType::bf16;  ///< int32 of int8; bf16 of fp8; else the type itself
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* d = nullptr;
};
/// Byte with which D is poisoned: no product of random numbers looks like it.
inline constexpr int product_poison = 0x7F;
struct ProductCheck {
  unsigned long long unwritten = 0;  ///< elements that are still poison
  float worst = 0;                   ///< of some elements: |d - reference| / Σ|a||b|
};
/// Computes `samples` elements anew in fp64 and looks at every one for poison; `result` is on the
/// device and zero.
void check_product(const Product& product, int samples, std::uint32_t seed, ProductCheck* result,
                   cudaStream_t stream);

// --- launches ------------------------------------------------------------------------------------

/// Bytes of arguments that an empty kernel may have.
inline constexpr int argument_bytes[] = {0, 64, 1024, 4000};
void launch_empty(int grid, int block, int bytes_of_arguments, cudaStream_t stream);
/// Keeps one thread busy for so many clocks.
void spin(std::int64_t clocks, cudaStream_t stream);

}  // namespace strata::cuda
