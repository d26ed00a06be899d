// SPDX-License-Identifier: Apache-2.0
// One thread transforms one tile in its registers; threads beside each other have tiles beside each
// other, so that every number of the transformed tiles is written in one piece.
#include "strata/convolution/cuda/fft_registers.cuh"
#include "strata/convolution/cuda/winograd.cuh"

namespace strata::cuda {
namespace {

constexpr int winograd_threads = 128;

/// Coefficients are functions, so that zeros and ones cost nothing.
template <int M>
struct Matrices;

template <>
struct Matrices<2> {
  __host__ __device__ static constexpr float bt(int i, int j) {
    constexpr float b[4][4] = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
    return b[i][j];
  }
  __host__ __device__ static constexpr float g(int i, int j) {
    constexpr float m[4][3] = {{1, 0, 0}, {.5F, .5F, .5F}, {.5F, -.5F, .5F}, {0, 0, 1}};
    return m[i][j];
  }
  __host__ __device__ static constexpr float at(int i, int j) {
    constexpr float a[2][4] = {{1, 1, 1, 0}, {0, 1, -1, -1}};
    return a[i][j];
  }
};

template <>
struct Matrices<4> {
  __host__ __device__ static constexpr float bt(int i, int j) {
    constexpr float b[6][6] = {{4, 0, -5, 0, 1, 0},  {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
                               {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
    return b[i][j];
  }
  __host__ __device__ static constexpr float g(int i, int j) {
    constexpr float m[6][3] = {{1 / 4.F, 0, 0},
                               {-1 / 6.F, -1 / 6.F, -1 / 6.F},
                               {-1 / 6.F, 1 / 6.F, -1 / 6.F},
                               {1 / 24.F, 1 / 12.F, 1 / 6.F},
                               {1 / 24.F, -1 / 12.F, 1 / 6.F},
                               {0, 0, 1}};
    return m[i][j];
  }
  __host__ __device__ static constexpr float at(int i, int j) {
    constexpr float a[4][6] = {
        {1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}};
    return a[i][j];
  }
};

// The four matrices as [Rows × Columns] types.
template <int M>
struct InputMatrix {
  static constexpr int rows = M + 2, columns = M + 2;
  __host__ __device__ static constexpr float at(int i, int j) { return Matrices<M>::bt(i, j); }
};
template <int M>
struct KernelMatrix {
  static constexpr int rows = M + 2, columns = 3;
  __host__ __device__ static constexpr float at(int i, int j) { return Matrices<M>::g(i, j); }
};
template <int M>
struct ResultMatrix {
  static constexpr int rows = M, columns = M + 2;
  __host__ __device__ static constexpr float at(int i, int j) { return Matrices<M>::at(i, j); }
};
template <class Matrix>
struct Transposed {
  static constexpr int rows = Matrix::columns, columns = Matrix::rows;
  __host__ __device__ static constexpr float at(int i, int j) { return Matrix::at(j, i); }
};

/// One row of the matrix times a vector, which `get` reads.
template <class Matrix, int Row, class Get>
__device__ __forceinline__ float row_times(const Get& get) {
  float sum = 0;
  bool is_first = true;
  unrolled<Matrix::columns>([&](auto index) {
    constexpr int j = decltype(index)::value;
    constexpr float factor = Matrix::at(Row, j);
    if constexpr (factor != 0) {
      const float term = factor == 1 ? get(j) : factor == -1 ? -get(j) : 0;
      if (is_first) {
        sum = factor == 1 || factor == -1 ? term : factor * get(j);
      } else if constexpr (factor == 1 || factor == -1) {
        sum += term;
      } else {
        sum = fmaf(factor, get(j), sum);
      }
      is_first = false;
    }
  });
  return sum;
}

/// out = Matrix × in × Matrixᵀ.
template <class Matrix>
__device__ __forceinline__ void both_sides(const float (&in)[Matrix::columns][Matrix::columns],
                                           float (&out)[Matrix::rows][Matrix::rows]) {
  float half[Matrix::rows][Matrix::columns];
  unrolled<Matrix::rows>([&](auto row) {
    constexpr int i = decltype(row)::value;
#pragma unroll
    for (int x = 0; x < Matrix::columns; ++x)
      half[i][x] = row_times<Matrix, i>([&](int j) { return in[j][x]; });
  });
  unrolled<Matrix::rows>([&](auto column) {
    constexpr int x = decltype(column)::value;
#pragma unroll
    for (int i = 0; i < Matrix::rows; ++i)
      out[i][x] = row_times<Matrix, x>([&](int j) { return half[i][j]; });
  });
}

/// Which tile a thread has.
struct TilePlace {
  int channel, tile, image, y, x;
  bool is_real;  // not one of those that fill the last part
};
__device__ TilePlace place_of(const ConvView& view, const WinogradTiles& tiles) {
  const int tile = static_cast<int>(blockIdx.x) * winograd_threads + static_cast<int>(threadIdx.x);
  const int per_image = tiles.tiles_y * tiles.tiles_x;
  const int image = tile / per_image, rest = tile - image * per_image;
  const int y = rest / tiles.tiles_x;
  return {
      static_cast<int>(blockIdx.y), tile, image, y, rest - y * tiles.tiles_x, image < view.batch};
}

/// Where the tile's first number is among the transformed ones, and how far the next is.
__device__ std::int64_t transformed_at(const WinogradTiles& tiles, int channels,
                                       const TilePlace& place) {
  const int part = place.tile / tiles.per_part;
  return (static_cast<std::int64_t>(part) * (tiles.m + 2) * (tiles.m + 2) * channels +
          place.channel) *
             tiles.per_part +
         place.tile - part * tiles.per_part;
}

template <int Side>
__device__ __forceinline__ void write_points(const float (&values)[Side][Side], float* to,
                                             std::int64_t step) {
#pragma unroll
  for (int i = 0; i < Side; ++i)
#pragma unroll
    for (int j = 0; j < Side; ++j) to[(i * Side + j) * step] = values[i][j];
}

/// A square of the images from (y0, x0) on; zero outside.
template <int Side>
__device__ __forceinline__ void read_square(const float* plane, int height, int width, int y0,
                                            int x0, bool is_real, float (&square)[Side][Side]) {
#pragma unroll
  for (int i = 0; i < Side; ++i) {
    const bool is_row = is_real && static_cast<unsigned>(y0 + i) < static_cast<unsigned>(height);
#pragma unroll
    for (int j = 0; j < Side; ++j) {
      const bool is_inside = is_row && static_cast<unsigned>(x0 + j) < static_cast<unsigned>(width);
      square[i][j] = is_inside ? __ldg(plane + (y0 + i) * width + x0 + j) : 0.0F;
    }
  }
}

template <int M>
__global__ void __launch_bounds__(winograd_threads)
    images_to_points(ConvView view, WinogradTiles tiles, const float* __restrict__ images,
                     float* __restrict__ transformed) {
  const TilePlace place = place_of(view, tiles);
  if (place.tile >= tiles.parts * tiles.per_part) return;
  const float* plane =
      images + (static_cast<std::int64_t>(place.image) * view.in_channels + place.channel) *
                   view.in_height * view.in_width;
  float square[M + 2][M + 2], points[M + 2][M + 2];
  read_square<M + 2>(plane, view.in_height, view.in_width, place.y * M - view.pad_height,
                     place.x * M - view.pad_width, place.is_real, square);
  both_sides<InputMatrix<M>>(square, points);
  write_points<M + 2>(points, transformed + transformed_at(tiles, view.in_channels, place),
                      static_cast<std::int64_t>(view.in_channels) * tiles.per_part);
}

template <int M>
__global__ void __launch_bounds__(winograd_threads)
    gradients_to_points(ConvView view, WinogradTiles tiles, const float* __restrict__ gradients,
                        float* __restrict__ transformed) {
  const TilePlace place = place_of(view, tiles);
  if (place.tile >= tiles.parts * tiles.per_part) return;
  const float* plane =
      gradients + (static_cast<std::int64_t>(place.image) * view.out_channels + place.channel) *
                      view.out_height * view.out_width;
  float square[M][M], points[M + 2][M + 2];
  read_square<M>(plane, view.out_height, view.out_width, place.y * M, place.x * M, place.is_real,
                 square);
  both_sides<Transposed<ResultMatrix<M>>>(square, points);
  write_points<M + 2>(points, transformed + transformed_at(tiles, view.out_channels, place),
                      static_cast<std::int64_t>(view.out_channels) * tiles.per_part);
}

template <int M>
__global__ void __launch_bounds__(winograd_threads)
    points_to_results(ConvView view, WinogradTiles tiles, const float* __restrict__ transformed,
                      float* __restrict__ results) {
  const TilePlace place = place_of(view, tiles);
  if (place.tile >= tiles.per_part || !place.is_real) return;
  const float* from = transformed + transformed_at(tiles, view.out_channels, place);
  const std::int64_t step = static_cast<std::int64_t>(view.out_channels) * tiles.per_part;
  float points[M + 2][M + 2], square[M][M];
#pragma unroll
  for (int i = 0; i < M + 2; ++i)
#pragma unroll
    for (int j = 0; j < M + 2; ++j) points[i][j] = __ldg(from + (i * (M + 2) + j) * step);
  both_sides<ResultMatrix<M>>(points, square);
  float* plane =
      results + (static_cast<std::int64_t>(place.image) * view.out_channels + place.channel) *
                    view.out_height * view.out_width;
  const int y0 = place.y * M, x0 = place.x * M;
  const bool is_aligned = M == 4 && view.out_width % 4 == 0;
#pragma unroll
  for (int i = 0; i < M; ++i) {
    if (y0 + i >= view.out_height) break;
    float* row = plane + (y0 + i) * view.out_width + x0;
    if (M == 4 && is_aligned) {
      *reinterpret_cast<float4*>(row) =
          make_float4(square[i][0], square[i][1], square[i][M - 2], square[i][M - 1]);
    } else {
#pragma unroll
      for (int j = 0; j < M; ++j)
        if (x0 + j < view.out_width) row[j] = square[i][j];
    }
  }
}

template <int M>
__global__ void __launch_bounds__(winograd_threads)
    kernels_to_points(int count, const float* __restrict__ kernels,
                      float* __restrict__ transformed) {
  const int i = static_cast<int>(blockIdx.x) * winograd_threads + static_cast<int>(threadIdx.x);
  if (i >= count) return;
  float kernel[3][3], points[M + 2][M + 2];
#pragma unroll
  for (int j = 0; j < 9; ++j) kernel[j / 3][j % 3] = kernels[static_cast<std::int64_t>(i) * 9 + j];
  both_sides<KernelMatrix<M>>(kernel, points);
  write_points<M + 2>(points, transformed + i, count);
}

template <int M>
__global__ void __launch_bounds__(winograd_threads)
    points_to_kernels(int count, int parts, const float* __restrict__ transformed,
                      float* __restrict__ gradients) {
  const int i = static_cast<int>(blockIdx.x) * winograd_threads + static_cast<int>(threadIdx.x);
  if (i >= count) return;
  float points[M + 2][M + 2] = {}, kernel[3][3];
  for (int part = 0; part < parts; ++part) {
    const float* from =
        transformed + static_cast<std::int64_t>(part) * (M + 2) * (M + 2) * count + i;
#pragma unroll
    for (int j = 0; j < (M + 2) * (M + 2); ++j)
      points[j / (M + 2)][j % (M + 2)] += __ldg(from + static_cast<std::int64_t>(j) * count);
  }
  both_sides<Transposed<KernelMatrix<M>>>(points, kernel);
#pragma unroll
  for (int j = 0; j < 9; ++j)
    gradients[static_cast<std::int64_t>(i) * 9 + j] = kernel[j / 3][j % 3];
}

unsigned winograd_blocks(int items) {
  return static_cast<unsigned>((items + winograd_threads - 1) / winograd_threads);
}
dim3 tile_blocks(const WinogradTiles& tiles, int channels) {
  return {winograd_blocks(tiles.parts * tiles.per_part), static_cast<unsigned>(channels)};
}

/// What a matrix costs on both sides of a square.
template <class Matrix>
std::int64_t both_sides_flop() {
  std::int64_t factors = 0;
  for (int i = 0; i < Matrix::rows; ++i)
    for (int j = 0; j < Matrix::columns; ++j) factors += Matrix::at(i, j) != 0;
  return 2 * factors * (Matrix::columns + Matrix::rows);
}

}  // namespace

void winograd_images(const ConvView& view, const WinogradTiles& tiles, const float* images,
                     float* transformed, cudaStream_t stream) {
  const auto kernel = tiles.m == 2 ? images_to_points<2> : images_to_points<4>;
  kernel<<<tile_blocks(tiles, view.in_channels), winograd_threads, 0, stream>>>(view, tiles, images,
                                                                                transformed);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void winograd_kernels(const WinogradTiles& tiles, int count, const float* kernels,
                      float* transformed, cudaStream_t stream) {
  const auto kernel = tiles.m == 2 ? kernels_to_points<2> : kernels_to_points<4>;
  kernel<<<winograd_blocks(count), winograd_threads, 0, stream>>>(count, kernels, transformed);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void winograd_results(const ConvView& view, const WinogradTiles& tiles, const float* transformed,
                      float* results, cudaStream_t stream) {
  const auto kernel = tiles.m == 2 ? points_to_results<2> : points_to_results<4>;
  kernel<<<tile_blocks(tiles, view.out_channels), winograd_threads, 0, stream>>>(
      view, tiles, transformed, results);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void winograd_result_gradients(const ConvView& view, const WinogradTiles& tiles,
                               const float* gradients, float* transformed, cudaStream_t stream) {
  const auto kernel = tiles.m == 2 ? gradients_to_points<2> : gradients_to_points<4>;
  kernel<<<tile_blocks(tiles, view.out_channels), winograd_threads, 0, stream>>>(
      view, tiles, gradients, transformed);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void winograd_kernel_gradients(const WinogradTiles& tiles, int count, const float* transformed,
                               float* gradients, cudaStream_t stream) {
  const auto kernel = tiles.m == 2 ? points_to_kernels<2> : points_to_kernels<4>;
  kernel<<<winograd_blocks(count), winograd_threads, 0, stream>>>(count, tiles.parts, transformed,
                                                                  gradients);
  STRATA_CUDA_CALL(cudaGetLastError());
}

const void* winograd_images_kernel(int m) {
  return m == 2 ? reinterpret_cast<const void*>(&images_to_points<2>)
                : reinterpret_cast<const void*>(&images_to_points<4>);
}
const void* winograd_results_kernel(int m) {
  return m == 2 ? reinterpret_cast<const void*>(&points_to_results<2>)
                : reinterpret_cast<const void*>(&points_to_results<4>);
}

WinogradFlop winograd_flop(int m) {
  if (m == 2) {
    return {both_sides_flop<InputMatrix<2>>(), both_sides_flop<KernelMatrix<2>>(),
            both_sides_flop<ResultMatrix<2>>()};
  }
  return {both_sides_flop<InputMatrix<4>>(), both_sides_flop<KernelMatrix<4>>(),
          both_sides_flop<ResultMatrix<4>>()};
}

}  // namespace strata::cuda
