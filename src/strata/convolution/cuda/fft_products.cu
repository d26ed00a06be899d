// SPDX-License-Identifier: Apache-2.0
// Products of spectra where one side is thin: a matrix product would mostly multiply nothing.
#include "strata/convolution/cuda/fft.cuh"
#include "strata/convolution/cuda/fft_registers.cuh"
#include "strata/convolution/cuda/fft_tiles.cuh"

namespace strata::cuda {
namespace {

__device__ __forceinline__ void add_product(float2& sum, float2 a, float2 b) {
  sum.x = fmaf(a.x, b.x, fmaf(-a.y, b.y, sum.x));
  sum.y = fmaf(a.x, b.y, fmaf(a.y, b.x, sum.y));
}

constexpr int pair_threads = 256;

__global__ void pair_up(int n, int filters, int channels, const float2* __restrict__ spectra,
                        float2* __restrict__ pairs, int count) {
  const int i = static_cast<int>(blockIdx.x) * pair_threads + static_cast<int>(threadIdx.x);
  if (i >= count) return;
  const int v = i / n % n;
  const int u = v > n / 2 ? (n - i % n) % n : i % n;
  const int channel = i / (n * n) % channels, pair = i / (n * n) / channels;
  const bool is_mirrored = v > n / 2;
  const int numbers = n * (n / 2 + 1);
  const int number = is_mirrored ? (n - v) * n + (n - u) % n : v * n + u;
  const float2 one = spectra[(2 * pair * channels + channel) * numbers + number];
  const float2 two = 2 * pair + 1 < filters
                         ? spectra[((2 * pair + 1) * channels + channel) * numbers + number]
                         : make_float2(0, 0);
  pairs[i] = is_mirrored ? make_float2(one.x + two.y, two.x - one.y)
                         : make_float2(one.x - two.y, one.y + two.x);
}

constexpr int fused_warps = 4;
constexpr int fused_threads = fused_warps * 32;
constexpr int pairs_per_block = 16;
/// Tiles of a block: fewer share less, and leave more room; these were the fastest on an H200.
constexpr int fused_tiles(int n) { return n == 16 ? 4 : 1; }

/// Rows become columns, real and imaginary parts one after the other: half the memory.
template <int N>
__device__ __forceinline__ void exchange(float2 (&a)[N], float* place, int lane) {
#pragma unroll
  for (int x = 0; x < N; ++x) place[lane * (N + 1) + x] = a[x].x;
  __syncwarp();
#pragma unroll
  for (int u = 0; u < N; ++u) a[u].x = place[u * (N + 1) + lane];
  __syncwarp();
#pragma unroll
  for (int x = 0; x < N; ++x) place[lane * (N + 1) + x] = a[x].y;
  __syncwarp();
#pragma unroll
  for (int u = 0; u < N; ++u) a[u].y = place[u * (N + 1) + lane];
  __syncwarp();
}

// N lanes: one tile of one image and two filters. The spectra of TileSlots tiles lie in shared
// memory, and the block's slots share them. A spectrum's number (v, u) serves (−v, −u) too, as its
// conjugate; that product is for another lane, and is handed over when all channels are added.
template <int N, int TileSlots>
__global__ void __launch_bounds__(fused_threads, N == 32 ? 4 : 6)
    products_back(TileGrid in, int planes, const float2* __restrict__ spectra,
                  const float2* __restrict__ pairs, int pair_count, TileGrid out,
                  float* __restrict__ images) {
  constexpr int slots = fused_threads / N, pair_slots = slots / TileSlots;
  constexpr int numbers = N * (N / 2 + 1);
  extern __shared__ float2 tiles_of_block[];  // [plane][tile][number]
  __shared__ float place[slots * N * (N + 1)];
  const int lane = static_cast<int>(threadIdx.x) % N;
  const int slot = static_cast<int>(threadIdx.x) / N;
  const int tiles = in.tiles_y * in.tiles_x;
  const int per_channel = in.images * tiles;
  const int first = static_cast<int>(blockIdx.x) * TileSlots;
  for (int plane = 0; plane < planes; ++plane) {
    const float2* from =
        spectra + (static_cast<std::int64_t>(plane) * per_channel + first) * numbers;
    const int here = min(TileSlots, per_channel - first) * numbers;
    for (int i = static_cast<int>(threadIdx.x); i < TileSlots * numbers; i += fused_threads)
      tiles_of_block[plane * TileSlots * numbers + i] =
          i < here ? __ldg(from + i) : make_float2(0, 0);
  }
  __syncthreads();
  const int which = first + slot % TileSlots;
  const int image = which / tiles;
  const float2* spectrum = tiles_of_block + slot % TileSlots * numbers + lane;
  float* exchanged = place + slot * N * (N + 1);
  const int begin = static_cast<int>(blockIdx.y) * pairs_per_block;
  const int end = min(begin + pairs_per_block, pair_count);
  for (int pair = begin + slot / TileSlots; pair < end; pair += pair_slots) {
    float2 a[N];
#pragma unroll
    for (int v = 0; v < N; ++v) a[v] = make_float2(0, 0);
    for (int plane = 0; plane < planes; ++plane) {
      const float2* x = spectrum + plane * TileSlots * numbers;
      const float2* w = pairs + (static_cast<std::int64_t>(pair) * planes + plane) * N * N + lane;
#pragma unroll
      for (int v = 0; v <= N / 2; ++v) {
        const float2 number = x[v * N];
        add_product(a[v], number, __ldg(w + v * N));
        if (v > 0 && v < N / 2)
          add_product(a[N - v], make_float2(number.x, -number.y), __ldg(w + (N - v) * N));
      }
    }
#pragma unroll
    for (int v = N / 2 + 1; v < N; ++v) {
      a[v].x = __shfl_sync(0xffffffffU, a[v].x, (N - lane) % N, N);
      a[v].y = __shfl_sync(0xffffffffU, a[v].y, (N - lane) % N, N);
    }
    fourier<N, true>(a);
    exchange<N>(a, exchanged, lane);
    fourier<N, true>(a);
    if (which >= per_channel) continue;
    Tile tile = tile_at(out, 2 * pair, image, which - image * tiles, lane);
    store_column<N>(out, tile, images, [&](int row) { return a[row].x; });
    if (2 * pair + 1 >= out.channels) continue;
    tile.plane += static_cast<std::int64_t>(out.height) * out.width;
    store_column<N>(out, tile, images, [&](int row) { return a[row].y; });
  }
}

constexpr int row_threads = 128;

// One column per thread; the rows of a lie in shared memory.
__global__ void __launch_bounds__(row_threads)
    few_rows(int rows, int inner, int columns, const float2* __restrict__ a,
             const float2* __restrict__ b, float2* __restrict__ c) {
  extern __shared__ float2 factors[];
  const std::int64_t frequency = blockIdx.y;
  a += frequency * rows * inner;
  b += frequency * inner * columns;
  c += frequency * rows * columns;
  for (int i = static_cast<int>(threadIdx.x); i < few * inner; i += row_threads) {
    const int row = i % few;
    factors[i] = row < rows ? a[row * inner + i / few] : make_float2(0, 0);
  }
  __syncthreads();
  const int column = static_cast<int>(blockIdx.x) * row_threads + static_cast<int>(threadIdx.x);
  if (column >= columns) return;
  float2 sums[few] = {};
#pragma unroll 8
  for (int k = 0; k < inner; ++k) {
    const float2 value = __ldg(b + static_cast<std::int64_t>(k) * columns + column);
#pragma unroll
    for (int row = 0; row < few; ++row) add_product(sums[row], factors[k * few + row], value);
  }
#pragma unroll
  for (int row = 0; row < few; ++row)
    if (row < rows) c[static_cast<std::int64_t>(row) * columns + column] = sums[row];
}

constexpr int column_warps = 4;
constexpr int rows_per_warp = 4;

// A warp: some rows of a with all columns of b, lanes along the inner index.
__global__ void __launch_bounds__(column_warps * 32)
    few_columns(int rows, int inner, int columns, const float2* __restrict__ a,
                const float2* __restrict__ b, float2* __restrict__ c) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row0 =
      (static_cast<int>(blockIdx.x) * column_warps + static_cast<int>(threadIdx.x) / 32) *
      rows_per_warp;
  if (row0 >= rows) return;
  const std::int64_t frequency = blockIdx.y;
  a += frequency * rows * inner;
  b += frequency * columns * inner;
  c += frequency * rows * columns;
  float2 sums[rows_per_warp][few] = {};
#pragma unroll 2
  for (int k = lane; k < inner; k += 32) {
    float2 right[few], left[rows_per_warp];
#pragma unroll
    for (int j = 0; j < few; ++j)
      right[j] = __ldg(b + static_cast<std::int64_t>(min(j, columns - 1)) * inner + k);
#pragma unroll
    for (int i = 0; i < rows_per_warp; ++i)
      left[i] = __ldg(a + static_cast<std::int64_t>(min(row0 + i, rows - 1)) * inner + k);
#pragma unroll
    for (int i = 0; i < rows_per_warp; ++i)
#pragma unroll
      for (int j = 0; j < few; ++j) add_product(sums[i][j], left[i], right[j]);
  }
#pragma unroll
  for (int i = 0; i < rows_per_warp; ++i) {
#pragma unroll
    for (int j = 0; j < few; ++j) {
      float2 sum = sums[i][j];
#pragma unroll
      for (int step = 16; step > 0; step /= 2) {
        sum.x += __shfl_xor_sync(0xffffffffU, sum.x, step);
        sum.y += __shfl_xor_sync(0xffffffffU, sum.y, step);
      }
      if (lane == 0 && row0 + i < rows && j < columns) c[(row0 + i) * columns + j] = sum;
    }
  }
}

template <int N, int TileSlots>
void launch_products_back(const TileGrid& in, const float2* spectra, const float2* pairs,
                          const TileGrid& out, float* images, cudaStream_t stream) {
  const int tiles = in.images * in.tiles_y * in.tiles_x;
  const int pair_count = (out.channels + 1) / 2;
  const dim3 grid(static_cast<unsigned>((tiles + TileSlots - 1) / TileSlots),
                  static_cast<unsigned>((pair_count + pairs_per_block - 1) / pairs_per_block));
  const int bytes = in.planes() * TileSlots * spectrum_size(N) * static_cast<int>(sizeof(float2));
  const auto kernel = products_back<N, TileSlots>;
  STRATA_CUDA_CALL(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, fused_threads, bytes, stream>>>(in, in.planes(), spectra, pairs, pair_count, out,
                                                 images);
}

}  // namespace

void pair_filters(int n, int filters, int channels, const float2* spectra, float2* pairs,
                  cudaStream_t stream) {
  const int count = (filters + 1) / 2 * channels * n * n;
  const unsigned blocks = static_cast<unsigned>((count + pair_threads - 1) / pair_threads);
  pair_up<<<blocks, pair_threads, 0, stream>>>(n, filters, channels, spectra, pairs, count);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void multiply_back(int n, const TileGrid& in, const float2* spectra, const float2* pairs,
                   const TileGrid& out, float* images, cudaStream_t stream) {
  if (n == 16) {
    launch_products_back<16, fused_tiles(16)>(in, spectra, pairs, out, images, stream);
  } else {
    launch_products_back<32, fused_tiles(32)>(in, spectra, pairs, out, images, stream);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

void multiply_few_rows(int frequencies, int rows, int inner, int columns, const float2* a,
                       const float2* b, float2* c, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((columns + row_threads - 1) / row_threads),
                  static_cast<unsigned>(frequencies));
  const std::size_t shared = sizeof(float2) * few * static_cast<std::size_t>(inner);
  few_rows<<<grid, row_threads, shared, stream>>>(rows, inner, columns, a, b, c);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void multiply_few_columns(int frequencies, int rows, int inner, int columns, const float2* a,
                          const float2* b, float2* c, cudaStream_t stream) {
  const int per_block = column_warps * rows_per_warp;
  const dim3 grid(static_cast<unsigned>((rows + per_block - 1) / per_block),
                  static_cast<unsigned>(frequencies));
  few_columns<<<grid, column_warps * 32, 0, stream>>>(rows, inner, columns, a, b, c);
  STRATA_CUDA_CALL(cudaGetLastError());
}

TileKernel multiply_back_kernel(int n, int planes) {
  const int bytes = planes * fused_tiles(n) * spectrum_size(n) * static_cast<int>(sizeof(float2));
  if (n == 16) return {reinterpret_cast<const void*>(&products_back<16, fused_tiles(16)>), bytes};
  return {reinterpret_cast<const void*>(&products_back<32, fused_tiles(32)>), bytes};
}

}  // namespace strata::cuda
