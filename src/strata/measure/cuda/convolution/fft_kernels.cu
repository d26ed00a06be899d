// SPDX-License-Identifier: Apache-2.0
// N lanes of a warp hold two tiles, one as real and one as imaginary part: first a column each,
// then a row each.
#include "strata/measure/cuda/convolution/fft.cuh"
#include "strata/measure/cuda/convolution/fft_registers.cuh"
#include "strata/measure/cuda/convolution/fft_tiles.cuh"

namespace strata::cuda {
namespace {

constexpr int fft_warps = 4;
constexpr int fft_threads = fft_warps * 32;

template <int N>
struct Block {
  static constexpr int pairs = fft_warps * (32 / N);
  static constexpr int tiles = 2 * pairs;
  static constexpr int numbers = spectrum_size(N);
  // Lanes that read the same number of 8 or 16 spectra hit different banks.
  static constexpr int pitch = N == 32 ? numbers + 2 : numbers + 1;
  static_assert(2 * pitch >= N * (N + 1), "a pair's place also serves to exchange its halves");
};

template <int N>
__global__ void __launch_bounds__(fft_threads)
    transform(TileGrid grid, const float* __restrict__ images, std::int64_t count, bool by_tile,
              float factor, bool conjugate, float2* __restrict__ spectra) {
  using B = Block<N>;
  __shared__ float2 place[B::tiles * B::pitch];
  const int lane = static_cast<int>(threadIdx.x) % N;
  const int pair = static_cast<int>(threadIdx.x) / N;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * B::tiles;
  float2 a[N];
  {
    const Tile one = tile_of(grid, first + 2 * pair, count, lane);
    const Tile two = tile_of(grid, first + 2 * pair + 1, count, lane);
    load_column<N>(grid, one, images, a, [](float2& to, float value) { to.x = value; });
    load_column<N>(grid, two, images, a, [](float2& to, float value) { to.y = value; });
  }
  fourier<N, false>(a);
  float2* mine = place + 2 * pair * B::pitch;
#pragma unroll
  for (int u = 0; u < N; ++u) mine[u * (N + 1) + lane] = a[u];
  __syncwarp();
#pragma unroll
  for (int x = 0; x < N; ++x) a[x] = mine[lane * (N + 1) + x];
  __syncwarp();
  fourier<N, false>(a);
  // The two spectra are the even and the odd part of the one.
#pragma unroll
  for (int v = 0; v <= N / 2; ++v) {
    const float2 z = a[v];
    const float2 mirrored = a[(N - v) % N];
    const float mx = __shfl_sync(0xffffffffU, mirrored.x, (N - lane) % N, N);
    const float my = __shfl_sync(0xffffffffU, mirrored.y, (N - lane) % N, N);
    mine[v * N + lane] = make_float2(0.5F * (z.x + mx), 0.5F * (z.y - my));
    mine[B::pitch + v * N + lane] = make_float2(0.5F * (z.y + my), 0.5F * (mx - z.x));
  }
  __syncthreads();
  const float imaginary = conjugate ? -factor : factor;
  for (int i = static_cast<int>(threadIdx.x); i < B::tiles * B::numbers; i += fft_threads) {
    const int tile = by_tile ? i / B::numbers : i % B::tiles;
    const int number = by_tile ? i % B::numbers : i / B::tiles;
    if (first + tile >= count) continue;
    const float2 value = place[tile * B::pitch + number];
    spectra[by_tile ? (first + tile) * B::numbers + number : number * count + first + tile] =
        make_float2(value.x * factor, value.y * imaginary);
  }
}

template <int N>
__global__ void __launch_bounds__(fft_threads)
    transform_back(TileGrid grid, const float2* __restrict__ spectra, std::int64_t count,
                   float* __restrict__ images) {
  using B = Block<N>;
  __shared__ float2 place[B::tiles * B::pitch];
  const int lane = static_cast<int>(threadIdx.x) % N;
  const int pair = static_cast<int>(threadIdx.x) / N;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * B::tiles;
  for (int i = static_cast<int>(threadIdx.x); i < B::tiles * B::numbers; i += fft_threads) {
    const int tile = i % B::tiles, number = i / B::tiles;
    if (first + tile < count)
      place[tile * B::pitch + number] = spectra[number * count + first + tile];
  }
  __syncthreads();
  float2* mine = place + 2 * pair * B::pitch;
  float2 a[N];
#pragma unroll
  for (int v = 0; v < N; ++v) {
    const bool is_mirrored = v > N / 2;
    const int number = is_mirrored ? (N - v) * N + (N - lane) % N : v * N + lane;
    const float2 one = mine[number], two = mine[B::pitch + number];
    a[v] = is_mirrored ? make_float2(one.x + two.y, two.x - one.y)
                       : make_float2(one.x - two.y, one.y + two.x);
  }
  __syncwarp();
  fourier<N, true>(a);
#pragma unroll
  for (int x = 0; x < N; ++x) mine[lane * (N + 1) + x] = a[x];
  __syncwarp();
#pragma unroll
  for (int u = 0; u < N; ++u) a[u] = mine[u * (N + 1) + lane];
  fourier<N, true>(a);
  const Tile one = tile_of(grid, first + 2 * pair, count, lane);
  const Tile two = tile_of(grid, first + 2 * pair + 1, count, lane);
  store_column<N>(grid, one, images, a, [](const float2& from) { return from.x; });
  store_column<N>(grid, two, images, a, [](const float2& from) { return from.y; });
}

template <int N>
unsigned blocks_of(std::int64_t count) {
  return static_cast<unsigned>((count + Block<N>::tiles - 1) / Block<N>::tiles);
}

}  // namespace

void transform_tiles(int n, const TileGrid& grid, const float* images, SpectrumOrder order,
                     float factor, bool conjugate, float2* spectra, cudaStream_t stream) {
  const std::int64_t count = grid.spectra();
  const bool by_tile = order == SpectrumOrder::by_tile;
  if (n == 16) {
    transform<16><<<blocks_of<16>(count), fft_threads, 0, stream>>>(grid, images, count, by_tile,
                                                                    factor, conjugate, spectra);
  } else {
    transform<32><<<blocks_of<32>(count), fft_threads, 0, stream>>>(grid, images, count, by_tile,
                                                                    factor, conjugate, spectra);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

void transform_tiles_back(int n, const TileGrid& grid, const float2* spectra, float* images,
                          cudaStream_t stream) {
  const std::int64_t count = grid.spectra();
  if (n == 16) {
    transform_back<16>
        <<<blocks_of<16>(count), fft_threads, 0, stream>>>(grid, spectra, count, images);
  } else {
    transform_back<32>
        <<<blocks_of<32>(count), fft_threads, 0, stream>>>(grid, spectra, count, images);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

const void* transform_kernel(int n) {
  return n == 16 ? reinterpret_cast<const void*>(&transform<16>)
                 : reinterpret_cast<const void*>(&transform<32>);
}
const void* transform_back_kernel(int n) {
  return n == 16 ? reinterpret_cast<const void*>(&transform_back<16>)
                 : reinterpret_cast<const void*>(&transform_back<32>);
}

}  // namespace strata::cuda
