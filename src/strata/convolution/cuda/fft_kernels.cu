// SPDX-License-Identifier: Apache-2.0
// N lanes of a warp hold two tiles, one as real and one as imaginary part: first a column each,
// then a row each.
#include "strata/convolution/cuda/fft.cuh"
#include "strata/convolution/cuda/fft_registers.cuh"
#include "strata/convolution/cuda/fft_tiles.cuh"

namespace strata::cuda {
namespace {

/// 16 tiles, so that by_frequency they are written as whole lines of 128 bytes.
template <int N>
struct Block {
  static constexpr int tiles = 16;
  static constexpr int threads = tiles / 2 * N;
  static constexpr int numbers = spectrum_size(N);
  static constexpr int pitch = numbers + 1;  // odd: 16 lanes with a number of 16 tiles, 16 banks
  // Threads side by side have the tiles, and go through the numbers in steps.
  static constexpr int step = threads / tiles, rounds = numbers / step;
  static_assert(rounds * step == numbers);
  static constexpr int bytes = tiles * pitch * static_cast<int>(sizeof(float2));
  static_assert(2 * pitch >= N * (N + 1), "a pair's place also serves to exchange its halves");
};

template <int N>
__global__ void __launch_bounds__(Block<N>::threads, N == 32 ? 3 : 6)
    transform(TileGrid grid, const float* __restrict__ images, std::int64_t count, bool by_tile,
              float factor, bool conjugate, float2* __restrict__ spectra) {
  using B = Block<N>;
  extern __shared__ float2 place[];
  const int lane = static_cast<int>(threadIdx.x) % N;
  const int pair = static_cast<int>(threadIdx.x) / N;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * B::tiles;
  float2 a[N];
#pragma unroll
  for (int row = 0; row < N; ++row) a[row] = make_float2(0, 0);
  {
    const Tile one = tile_of(grid, first + 2 * pair, count, lane);
    const Tile two = tile_of(grid, first + 2 * pair + 1, count, lane);
    load_column<N>(grid, one, images, [&](int row, float value) { a[row].x = value; });
    load_column<N>(grid, two, images, [&](int row, float value) { a[row].y = value; });
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
  if (by_tile) {
    for (int tile = 0; tile < B::tiles && first + tile < count; ++tile) {
      for (int i = static_cast<int>(threadIdx.x); i < B::numbers; i += B::threads) {
        const float2 value = place[tile * B::pitch + i];
        spectra[(first + tile) * B::numbers + i] =
            make_float2(value.x * factor, value.y * imaginary);
      }
    }
    return;
  }
  const int tile = static_cast<int>(threadIdx.x) % B::tiles;
  const int number = static_cast<int>(threadIdx.x) / B::tiles;
  if (first + tile >= count) return;
  float2* to = spectra + number * count + first + tile;
#pragma unroll
  for (int i = 0; i < B::rounds; ++i, to += B::step * count) {
    const float2 value = place[tile * B::pitch + number + i * B::step];
    *to = make_float2(value.x * factor, value.y * imaginary);
  }
}

/// Eight pairs of tiles, each with room for a whole spectrum and to exchange its halves.
template <int N>
struct BackBlock {
  static constexpr int tiles = 16, pairs = tiles / 2;
  static constexpr int threads = pairs * N;
  static constexpr int rounds = N / 2 + 1;
  static constexpr int pitch = N * (N + 1) + 2;  // a number of each of 8 pairs: 16 banks apart
  static constexpr int bytes = pairs * pitch * static_cast<int>(sizeof(float2));
};

/// The same number of the two tiles of a pair; zeros for what is not there: what lay there before
/// could be anything, and its rounding errors would reach the other tile.
__device__ __forceinline__ float4 read_pair(const float2* __restrict__ from, int there,
                                            bool is_even) {
  if (is_even && there == 2) return __ldg(reinterpret_cast<const float4*>(from));
  const float2 none = make_float2(0, 0);
  const float2 one = there > 0 ? __ldg(from) : none, two = there > 1 ? __ldg(from + 1) : none;
  return make_float4(one.x, one.y, two.x, two.y);
}

template <int N>
__global__ void __launch_bounds__(BackBlock<N>::threads, N == 32 ? 2 : 6)
    transform_back(TileGrid grid, const float2* __restrict__ spectra, std::int64_t count,
                   float* __restrict__ images) {
  using B = BackBlock<N>;
  extern __shared__ float2 place[];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * B::tiles;
  {
    // A thread has one u of a pair and all v; the two spectra become that of one complex image.
    const int pair = static_cast<int>(threadIdx.x) % B::pairs;
    const int u = static_cast<int>(threadIdx.x) / B::pairs;
    const std::int64_t tile = first + 2 * pair;
    const int there = static_cast<int>(min(max(count - tile, std::int64_t{0}), std::int64_t{2}));
    const float2* from = spectra + (there > 0 ? u * count + tile : 0);
    const bool is_even = count % 2 == 0;
    float4 both[B::rounds];
#pragma unroll
    for (int v = 0; v < B::rounds; ++v) both[v] = read_pair(from + v * N * count, there, is_even);
    float2* pairs_place = place + pair * B::pitch;
#pragma unroll
    for (int v = 0; v < B::rounds; ++v) {
      const float4 z = both[v];
      pairs_place[v * N + u] = make_float2(z.x - z.w, z.y + z.z);
      if (v > 0 && v < N / 2)
        pairs_place[(N - v) * N + (N - u) % N] = make_float2(z.x + z.w, z.z - z.y);
    }
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % N;
  const int pair = static_cast<int>(threadIdx.x) / N;
  float2* mine = place + pair * B::pitch;
  float2 a[N];
#pragma unroll
  for (int v = 0; v < N; ++v) a[v] = mine[v * N + lane];
  __syncwarp();
  fourier<N, true>(a);
  // Columns that nobody keeps are not exchanged.
#pragma unroll
  for (int x = 0; x < N; ++x)
    if (x < grid.limit_width) mine[lane * (N + 1) + x] = a[x];
  __syncwarp();
#pragma unroll
  for (int u = 0; u < N; ++u) a[u] = mine[u * (N + 1) + lane];
  fourier<N, true>(a);
  const Tile one = tile_of(grid, first + 2 * pair, count, lane);
  const Tile two = tile_of(grid, first + 2 * pair + 1, count, lane);
  store_column<N>(grid, one, images, [&](int row) { return a[row].x; });
  store_column<N>(grid, two, images, [&](int row) { return a[row].y; });
}

template <class B, class Kernel, class... Arguments>
void launch_tiles(Kernel kernel, std::int64_t count, cudaStream_t stream, Arguments... arguments) {
  const auto blocks = static_cast<unsigned>((count + B::tiles - 1) / B::tiles);
  STRATA_CUDA_CALL(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, B::bytes));
  kernel<<<blocks, B::threads, B::bytes, stream>>>(arguments...);
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

void transform_tiles(int n, const TileGrid& grid, const float* images, SpectrumOrder order,
                     float factor, bool conjugate, float2* spectra, cudaStream_t stream) {
  const std::int64_t count = grid.spectra();
  const bool by_tile = order == SpectrumOrder::by_tile;
  if (n == 16) {
    launch_tiles<Block<16>>(transform<16>, count, stream, grid, images, count, by_tile, factor,
                            conjugate, spectra);
  } else {
    launch_tiles<Block<32>>(transform<32>, count, stream, grid, images, count, by_tile, factor,
                            conjugate, spectra);
  }
}

void transform_tiles_back(int n, const TileGrid& grid, const float2* spectra, float* images,
                          cudaStream_t stream) {
  const std::int64_t count = grid.spectra();
  if (n == 16) {
    launch_tiles<BackBlock<16>>(transform_back<16>, count, stream, grid, spectra, count, images);
  } else {
    launch_tiles<BackBlock<32>>(transform_back<32>, count, stream, grid, spectra, count, images);
  }
}

TileKernel transform_kernel(int n) {
  return n == 16 ? TileKernel{reinterpret_cast<const void*>(&transform<16>), Block<16>::bytes}
                 : TileKernel{reinterpret_cast<const void*>(&transform<32>), Block<32>::bytes};
}
TileKernel transform_back_kernel(int n) {
  return n == 16
             ? TileKernel{reinterpret_cast<const void*>(&transform_back<16>), BackBlock<16>::bytes}
             : TileKernel{reinterpret_cast<const void*>(&transform_back<32>), BackBlock<32>::bytes};
}

}  // namespace strata::cuda
