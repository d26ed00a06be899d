// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/direct.cuh"
#include "strata/convolution/cuda/direct_patch.cuh"

#include <algorithm>

namespace strata::cuda {
namespace {

constexpr int direct_threads = 128;
constexpr int tile_rows = 16, tile_columns = 32;
constexpr int rows_per_thread = tile_rows / (direct_threads / 32);

/// sums += window × patch for any window; `step` is from row to row of the thread's results.
template <int Filters>
__device__ __forceinline__ void add_any_window(const ConvView& view, const float* patch, int width,
                                               const float* kernels,
                                               float (&sums)[rows_per_thread][Filters]) {
  const int step = view.stride_height * width;
  for (int ky = 0; ky < view.kernel_height; ++ky) {
    for (int kx = 0; kx < view.kernel_width; ++kx) {
      const float* from = patch + ky * view.dilation_height * width + kx * view.dilation_width;
      const float* factor = kernels + (ky * view.kernel_width + kx) * Filters;
#pragma unroll
      for (int row = 0; row < rows_per_thread; ++row) {
        const float value = from[row * step];
#pragma unroll
        for (int f = 0; f < Filters; ++f) sums[row][f] = fmaf(value, factor[f], sums[row][f]);
      }
    }
  }
}

/// For K × K windows with stride and dilation 1: a column of the patch serves all rows.
template <int K, int Filters>
__device__ __forceinline__ void add_window(const float* patch, int width, const float* kernels,
                                           float (&sums)[rows_per_thread][Filters]) {
#pragma unroll 1
  for (int kx = 0; kx < K; ++kx) {
    float column[rows_per_thread + K - 1];
#pragma unroll
    for (int row = 0; row < rows_per_thread + K - 1; ++row) column[row] = patch[row * width + kx];
#pragma unroll
    for (int ky = 0; ky < K; ++ky) {
      const float4* factors = reinterpret_cast<const float4*>(kernels + (ky * K + kx) * Filters);
#pragma unroll
      for (int four = 0; four < Filters / 4; ++four) {
        const float4 factor = factors[four];
#pragma unroll
        for (int row = 0; row < rows_per_thread; ++row) {
          const float value = column[row + ky];
          sums[row][four * 4] = fmaf(value, factor.x, sums[row][four * 4]);
          sums[row][four * 4 + 1] = fmaf(value, factor.y, sums[row][four * 4 + 1]);
          sums[row][four * 4 + 2] = fmaf(value, factor.z, sums[row][four * 4 + 2]);
          sums[row][four * 4 + 3] = fmaf(value, factor.w, sums[row][four * 4 + 3]);
        }
      }
    }
  }
}

/// Factors [position][filter] of one channel; zero for filters beyond the group.
template <int Filters>
__device__ __forceinline__ void load_factors(const float* __restrict__ kernels, int first,
                                             int filters, int channels, int channel, int positions,
                                             float* factors) {
  for (int i = static_cast<int>(threadIdx.x); i < positions * Filters; i += direct_threads) {
    const int f = i / positions, position = i - f * positions;
    const std::int64_t from =
        (static_cast<std::int64_t>(first + f) * channels + channel) * positions;
    factors[position * Filters + f] = f < filters ? kernels[from + position] : 0.0F;
  }
}

// A block: a tile of results of one image and some filters of a group. K = 0: any window.
template <int K, int Filters>
__global__ void __launch_bounds__(direct_threads)
    direct_tile(ConvView view, const float* __restrict__ kernels, const float* __restrict__ images,
                float* __restrict__ results) {
  extern __shared__ float4 memory[];
  const int filters = view.out_channels / view.groups, channels = view.in_channels / view.groups;
  const int positions = view.kernel_height * view.kernel_width;
  float* factors = reinterpret_cast<float*>(memory);
  float* patch = factors + (positions * Filters + 3) / 4 * 4;
  const PatchSize size(view, tile_rows, tile_columns);
  const int tid = static_cast<int>(threadIdx.x);
  const int tiles_x = (view.out_width + tile_columns - 1) / tile_columns;
  const int oy = static_cast<int>(blockIdx.x) / tiles_x * tile_rows;
  const int ox = static_cast<int>(blockIdx.x) % tiles_x * tile_columns;
  const int blocks_per_group = (filters + Filters - 1) / Filters;
  const int group = static_cast<int>(blockIdx.y) / blocks_per_group;
  const int first = static_cast<int>(blockIdx.y) % blocks_per_group * Filters;
  const int image = static_cast<int>(blockIdx.z);
  const int my_row = tid / 32 * rows_per_thread, my_column = tid % 32;
  float sums[rows_per_thread][Filters] = {};
  for (int channel = 0; channel < channels; ++channel) {
    __syncthreads();
    load_patch<direct_threads>(view, size,
                               images + (static_cast<std::int64_t>(image) * view.in_channels +
                                         group * channels + channel) *
                                            view.in_height * view.in_width,
                               oy, ox, patch);
    load_factors<Filters>(kernels, group * filters + first, filters - first, channels, channel,
                          positions, factors);
    __syncthreads();
    if constexpr (K == 0) {
      add_any_window<Filters>(
          view, patch + my_row * view.stride_height * size.width + my_column * view.stride_width,
          size.width, factors, sums);
    } else {
      add_window<K, Filters>(patch + my_row * size.width + my_column, size.width, factors, sums);
    }
  }
  if (ox + my_column >= view.out_width) return;
  float* to = results +
              (static_cast<std::int64_t>(image) * view.out_channels + group * filters + first) *
                  view.out_height * view.out_width +
              ox + my_column;
#pragma unroll
  for (int f = 0; f < Filters; ++f) {
    if (first + f >= filters) break;
#pragma unroll
    for (int row = 0; row < rows_per_thread; ++row) {
      const int y = oy + my_row + row;
      if (y < view.out_height)
        to[(static_cast<std::int64_t>(f) * view.out_height + y) * view.out_width] = sums[row][f];
    }
  }
}

// Without a patch, for windows that no shared memory holds. One result per thread.
__global__ void __launch_bounds__(direct_threads)
    direct_plain(ConvView view, const float* __restrict__ kernels, const float* __restrict__ images,
                 float* __restrict__ results) {
  const int at = static_cast<int>(blockIdx.x) * direct_threads + static_cast<int>(threadIdx.x);
  if (at >= view.out_height * view.out_width) return;
  const int filters = view.out_channels / view.groups, channels = view.in_channels / view.groups;
  const int filter = static_cast<int>(blockIdx.y), image = static_cast<int>(blockIdx.z);
  const int y0 = at / view.out_width * view.stride_height - view.pad_height;
  const int x0 = at % view.out_width * view.stride_width - view.pad_width;
  const int positions = view.kernel_height * view.kernel_width;
  const float* plane =
      images + (static_cast<std::int64_t>(image) * view.in_channels + filter / filters * channels) *
                   view.in_height * view.in_width;
  const float* factors = kernels + static_cast<std::int64_t>(filter) * channels * positions;
  float sum = 0;
  for (int channel = 0; channel < channels; ++channel) {
    for (int position = 0; position < positions; ++position) {
      const int y = y0 + position / view.kernel_width * view.dilation_height;
      const int x = x0 + position % view.kernel_width * view.dilation_width;
      const int row = y / view.gap_height, column = x / view.gap_width;
      if (y >= 0 && x >= 0 && row * view.gap_height == y && column * view.gap_width == x &&
          row < view.in_height && column < view.in_width)
        sum = fmaf(plane[row * view.in_width + column], factors[position], sum);
    }
    plane += view.in_height * view.in_width;
    factors += positions;
  }
  results[(static_cast<std::int64_t>(image) * view.out_channels + filter) * view.out_height *
              view.out_width +
          at] = sum;
}

using DirectKernel = void (*)(ConvView, const float*, const float*, float*);
struct DirectChoice {
  DirectKernel kernel;
  int filters;  // of a block; 0: the one without a patch
};

DirectChoice direct_choice(const ConvView& view) {
  if (direct_patch_bytes(view) > most_patch_bytes) return {direct_plain, 0};
  if (view.out_channels == view.groups) return {direct_tile<0, 1>, 1};
  const bool is_plain = view.stride_height == 1 && view.stride_width == 1 &&
                        view.dilation_height == 1 && view.dilation_width == 1 &&
                        view.kernel_height == view.kernel_width;
  if (is_plain) {
    switch (view.kernel_height) {
      case 3: return {direct_tile<3, 16>, 16};
      case 5: return {direct_tile<5, 16>, 16};
      case 7: return {direct_tile<7, 16>, 16};
      case 9: return {direct_tile<9, 16>, 16};
      case 11: return {direct_tile<11, 16>, 16};
      default: break;
    }
  }
  return {direct_tile<0, 16>, 16};
}

}  // namespace

std::int64_t direct_patch_bytes(const ConvView& view) {
  const PatchSize size(view, tile_rows, tile_columns);
  const std::int64_t factors = std::int64_t{view.kernel_height} * view.kernel_width *
                               (view.out_channels == view.groups ? 1 : 16);
  return 4 * (std::int64_t{size.height} * size.width + (factors + 3) / 4 * 4);
}

void direct_sum(const ConvView& view, const float* kernels, const float* images, float* results,
                cudaStream_t stream) {
  const DirectChoice choice = direct_choice(view);
  const int filters = view.out_channels / view.groups;
  const auto batch = static_cast<unsigned>(view.batch);
  if (choice.filters == 0) {
    const int area = view.out_height * view.out_width;
    const dim3 grid(static_cast<unsigned>((area + direct_threads - 1) / direct_threads),
                    static_cast<unsigned>(view.out_channels), batch);
    direct_plain<<<grid, direct_threads, 0, stream>>>(view, kernels, images, results);
    STRATA_CUDA_CALL(cudaGetLastError());
    return;
  }
  const int tiles = ((view.out_height + tile_rows - 1) / tile_rows) *
                    ((view.out_width + tile_columns - 1) / tile_columns);
  const int blocks = (filters + choice.filters - 1) / choice.filters * view.groups;
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(blocks), batch);
  const auto bytes = static_cast<std::size_t>(direct_patch_bytes(view));
  STRATA_CUDA_CALL(cudaFuncSetAttribute(choice.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
  choice.kernel<<<grid, direct_threads, bytes, stream>>>(view, kernels, images, results);
  STRATA_CUDA_CALL(cudaGetLastError());
}

const void* direct_kernel(const ConvView& view) {
  return reinterpret_cast<const void*>(direct_choice(view).kernel);
}

}  // namespace strata::cuda
