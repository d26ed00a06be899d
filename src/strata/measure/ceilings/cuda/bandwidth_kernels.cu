// SPDX-License-Identifier: Apache-2.0
// Kernels of pure data movement. What reaches the most on Hopper: 16 bytes per thread and access,
// several loads in flight, and a grid as large as the array instead of a loop in each thread.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/ceilings/cuda/kernels.cuh"
#include "strata/measure/ceilings/cuda/pattern.cuh"

namespace strata::cuda {
namespace {

constexpr int stream_threads = 256;
constexpr int stream_loads = 8;
constexpr int loop_threads = 32 * loop_warps_per_block;
constexpr int loop_loads = 4;
static_assert(stream_block_bytes == stream_threads * stream_loads * 16);
static_assert(stream_warp_bytes == 32 * stream_loads * 16);
static_assert(loop_tile_bytes == loop_threads * loop_loads * 16);
constexpr float triad_factor = 3;

__device__ uint4 triad_item(uint4 a, uint4 b) {
  const auto word = [](unsigned x, unsigned y) {
    return __float_as_uint(__fmaf_rn(triad_factor, __uint_as_float(y), __uint_as_float(x)));
  };
  return {word(a.x, b.x), word(a.y, b.y), word(a.z, b.z), word(a.w, b.w)};
}

__device__ unsigned folded(uint4 item) { return item.x ^ item.y ^ item.z ^ item.w; }

__device__ unsigned folded_over_warp(unsigned word) {
  for (int distance = 16; distance > 0; distance /= 2)
    word ^= __shfl_xor_sync(0xFFFFFFFFu, word, distance);
  return word;
}

__global__ void __launch_bounds__(stream_threads)
    read_once(const uint4* __restrict__ a, std::uint32_t* __restrict__ checksums) {
  const std::int64_t warp = std::int64_t{blockIdx.x} * (stream_threads / 32) + threadIdx.x / 32;
  const uint4* from = a + warp * (32 * stream_loads) + threadIdx.x % 32;
  uint4 items[stream_loads];
#pragma unroll
  for (int i = 0; i < stream_loads; ++i) items[i] = __ldcs(from + i * 32);
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < stream_loads; ++i) word ^= folded(items[i]);
  word = folded_over_warp(word);
  if (threadIdx.x % 32 == 0) checksums[warp] = word;
}

__global__ void __launch_bounds__(stream_threads) write_once(uint4* out, std::uint32_t seed) {
  const std::int64_t i = std::int64_t{blockIdx.x} * stream_threads + threadIdx.x;
  out[i] = pattern_item(static_cast<std::uint64_t>(i), seed);
}

__global__ void __launch_bounds__(stream_threads)
    copy_once(uint4* __restrict__ out, const uint4* __restrict__ a) {
  const std::int64_t i = std::int64_t{blockIdx.x} * stream_threads + threadIdx.x;
  out[i] = a[i];
}

__global__ void __launch_bounds__(stream_threads)
    triad_once(uint4* __restrict__ out, const uint4* __restrict__ a, const uint4* __restrict__ b) {
  const std::int64_t i = std::int64_t{blockIdx.x} * stream_threads + threadIdx.x;
  out[i] = triad_item(a[i], b[i]);
}

template <Caching caching>
__device__ uint4 load(const uint4* from) {
  if constexpr (caching == Caching::shared_level) return __ldcg(from);
  return __ldca(from);
}

template <AccessMix mix, Caching caching>
__global__ void __launch_bounds__(loop_threads, loop_blocks_per_sm)
    tile_loop_kernel(uint4* out, const uint4* a, const uint4* b, std::uint32_t* checksums,
                     TileLoop plan, std::uint32_t seed) {
  std::int64_t tile = blockIdx.x % plan.tiles;
  unsigned word = 0;
  for (std::int64_t pass = 0; pass < plan.passes; ++pass) {
    const std::int64_t first = tile * (loop_threads * loop_loads) + threadIdx.x;
    uint4 items[loop_loads];
#pragma unroll
    for (int i = 0; i < loop_loads; ++i) {
      const std::int64_t at = first + i * loop_threads;
      if constexpr (mix == AccessMix::write) {
        items[i] = pattern_item(static_cast<std::uint64_t>(at), seed);
      } else if constexpr (mix == AccessMix::triad) {
        items[i] = triad_item(load<caching>(a + at), load<caching>(b + at));
      } else {
        items[i] = load<caching>(a + at);
      }
    }
#pragma unroll
    for (int i = 0; i < loop_loads; ++i) {
      if constexpr (mix == AccessMix::read) {
        word ^= folded(items[i]);
      } else {
        out[first + i * loop_threads] = items[i];
      }
    }
    tile += plan.step;
    if (tile >= plan.tiles) tile -= plan.tiles;
  }
  if constexpr (mix == AccessMix::read) {
    word = folded_over_warp(word);
    if (threadIdx.x % 32 == 0)
      checksums[blockIdx.x * loop_warps_per_block + threadIdx.x / 32] = word;
  }
}

template <AccessMix mix>
void tile_loop_with(Caching caching, const Arrays& arrays, const TileLoop& plan, std::uint32_t seed,
                    cudaStream_t stream) {
  auto* out = static_cast<uint4*>(arrays.out);
  const auto* a = static_cast<const uint4*>(arrays.a);
  const auto* b = static_cast<const uint4*>(arrays.b);
  if (caching == Caching::all_levels) {
    tile_loop_kernel<mix, Caching::all_levels>
        <<<plan.blocks, loop_threads, 0, stream>>>(out, a, b, arrays.checksums, plan, seed);
  } else {
    tile_loop_kernel<mix, Caching::shared_level>
        <<<plan.blocks, loop_threads, 0, stream>>>(out, a, b, arrays.checksums, plan, seed);
  }
}

/// A read that is done: over several passes the compiler knows what it has, and left out 3 of 16;
/// without `volatile` in the instruction itself the assembler does so again.
__device__ uint4 read_of_shared(const uint4* item) {
  uint4 read;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(read.x), "=r"(read.y), "=r"(read.z), "=r"(read.w)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(item)))
               : "memory");
  return read;
}

// Every thread reads a column of its own, so no two threads of a warp ask the same bank twice.
__global__ void __launch_bounds__(shared_threads_per_block)
    read_shared_kernel(std::uint32_t* checksums, std::int64_t passes, std::uint32_t seed) {
  constexpr int items = shared_tile_bytes / 16;
  constexpr int loads = items / shared_threads_per_block;
  __shared__ uint4 tile[items];
  for (int i = threadIdx.x; i < items; i += shared_threads_per_block)
    tile[i] = pattern_item(static_cast<std::uint64_t>(i), seed);
  __syncthreads();
  unsigned words[loads] = {};
  int offset = threadIdx.x;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      words[i] ^= folded(read_of_shared(tile + (offset + i * shared_threads_per_block) % items));
    }
    offset = (offset + shared_threads_per_block) % items;
  }
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < loads; ++i) word ^= words[i];
  checksums[blockIdx.x * shared_threads_per_block + threadIdx.x] = word;
}

__global__ void fill_kernel(uint4* out, std::int64_t items, std::uint32_t seed) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < items; i += stride)
    out[i] = pattern_item(static_cast<std::uint64_t>(i), seed);
}

__device__ bool equal(uint4 a, uint4 b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

__global__ void mismatch_kernel(AccessMix mix, Arrays arrays, std::int64_t items,
                                std::uint32_t seed, unsigned long long* mismatches) {
  const auto* out = static_cast<const uint4*>(arrays.out);
  const auto* a = static_cast<const uint4*>(arrays.a);
  const auto* b = static_cast<const uint4*>(arrays.b);
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  unsigned long long wrong = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < items;
       i += stride) {
    switch (mix) {
      case AccessMix::write:
        wrong += !equal(out[i], pattern_item(static_cast<std::uint64_t>(i), seed));
        break;
      case AccessMix::copy: wrong += !equal(out[i], a[i]); break;
      case AccessMix::triad: wrong += !equal(out[i], triad_item(a[i], b[i])); break;
      case AccessMix::read: {  // i counts checksums
        constexpr int items_per_warp = stream_warp_bytes / 16;
        unsigned word = 0;
        for (int k = 0; k < items_per_warp; ++k) word ^= folded(a[i * items_per_warp + k]);
        wrong += word != arrays.checksums[i];
        break;
      }
    }
  }
  if (wrong != 0) atomicAdd(mismatches, wrong);
}

}  // namespace

void stream_once(AccessMix mix, const Arrays& arrays, std::int64_t bytes, std::uint32_t seed,
                 cudaStream_t stream) {
  const std::int64_t blocks =
      mix == AccessMix::read ? bytes / stream_block_bytes : bytes / (16 * stream_threads);
  const auto grid = static_cast<unsigned>(blocks);
  auto* out = static_cast<uint4*>(arrays.out);
  const auto* a = static_cast<const uint4*>(arrays.a);
  const auto* b = static_cast<const uint4*>(arrays.b);
  switch (mix) {
    case AccessMix::read:
      read_once<<<grid, stream_threads, 0, stream>>>(a, arrays.checksums);
      break;
    case AccessMix::write: write_once<<<grid, stream_threads, 0, stream>>>(out, seed); break;
    case AccessMix::copy: copy_once<<<grid, stream_threads, 0, stream>>>(out, a); break;
    case AccessMix::triad: triad_once<<<grid, stream_threads, 0, stream>>>(out, a, b); break;
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

void loop_over_tiles(AccessMix mix, Caching caching, const Arrays& arrays, const TileLoop& plan,
                     std::uint32_t seed, cudaStream_t stream) {
  switch (mix) {
    case AccessMix::read:
      tile_loop_with<AccessMix::read>(caching, arrays, plan, seed, stream);
      break;
    case AccessMix::write:
      tile_loop_with<AccessMix::write>(caching, arrays, plan, seed, stream);
      break;
    case AccessMix::copy:
      tile_loop_with<AccessMix::copy>(caching, arrays, plan, seed, stream);
      break;
    case AccessMix::triad:
      tile_loop_with<AccessMix::triad>(caching, arrays, plan, seed, stream);
      break;
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

void read_shared(std::uint32_t* checksums, int blocks, std::int64_t passes, std::uint32_t seed,
                 cudaStream_t stream) {
  read_shared_kernel<<<blocks, shared_threads_per_block, 0, stream>>>(checksums, passes, seed);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void fill_pattern(void* out, std::int64_t bytes, std::uint32_t seed, cudaStream_t stream) {
  fill_kernel<<<2048, 256, 0, stream>>>(static_cast<uint4*>(out), bytes / 16, seed);
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::uint32_t pattern_word(std::uint64_t index, std::uint32_t seed) {
  const uint4 item = pattern_item(index / 4, seed);
  const std::uint32_t words[] = {item.x, item.y, item.z, item.w};
  return words[index % 4];
}

void count_mismatches(AccessMix mix, const Arrays& arrays, std::int64_t bytes, std::uint32_t seed,
                      unsigned long long* mismatches, cudaStream_t stream) {
  const std::int64_t items = bytes / (mix == AccessMix::read ? stream_warp_bytes : 16);
  mismatch_kernel<<<2048, 256, 0, stream>>>(mix, arrays, items, seed, mismatches);
  STRATA_CUDA_CALL(cudaGetLastError());
}

double moved_bytes(AccessMix mix, double bytes) {
  switch (mix) {
    case AccessMix::copy: return 2 * bytes;
    case AccessMix::triad: return 3 * bytes;
    default: return bytes;
  }
}

}  // namespace strata::cuda
