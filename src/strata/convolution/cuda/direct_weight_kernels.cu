// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/direct.cuh"
#include "strata/convolution/cuda/direct_patch.cuh"

#include <algorithm>

namespace strata::cuda {
namespace {

constexpr int weight_threads = 256;
constexpr int weight_rows = 8, weight_columns = 32;
constexpr int weight_filters = 8;

/// How a block's threads share the numbers of the window; more than the threads: in rounds.
struct PositionShare {
  int positions, lanes, rounds;  // lanes: threads per number
  __host__ __device__ explicit PositionShare(int all)
      : positions(all < weight_threads ? all : weight_threads),
        lanes(weight_threads / positions),
        rounds((all + weight_threads - 1) / weight_threads) {}
};

__device__ __forceinline__ void add_to_filters(float value, const float4* factors,
                                               float (&sums)[weight_filters]) {
  const float4 low = factors[0], high = factors[1];
  sums[0] = fmaf(value, low.x, sums[0]), sums[1] = fmaf(value, low.y, sums[1]);
  sums[2] = fmaf(value, low.z, sums[2]), sums[3] = fmaf(value, low.w, sums[3]);
  sums[4] = fmaf(value, high.x, sums[4]), sums[5] = fmaf(value, high.y, sums[5]);
  sums[6] = fmaf(value, high.z, sums[6]), sums[7] = fmaf(value, high.w, sums[7]);
}

/// Tile [result][filter] of the results from (oy, ox) on; zero where there is none.
__device__ __forceinline__ void load_gradients(const ConvView& view,
                                               const float* __restrict__ gradient, int filters,
                                               int oy, int ox, float* tile) {
  const int area = view.out_height * view.out_width;
  for (int i = static_cast<int>(threadIdx.x); i < weight_rows * weight_columns * weight_filters;
       i += weight_threads) {
    const int column = i % weight_columns, row = i / weight_columns % weight_rows;
    const int f = i / (weight_columns * weight_rows);
    const bool is_there = f < filters && oy + row < view.out_height && ox + column < view.out_width;
    tile[(row * weight_columns + column) * weight_filters + f] =
        is_there ? __ldg(gradient + static_cast<std::int64_t>(f) * area +
                         (oy + row) * view.out_width + ox + column)
                 : 0.0F;
  }
}

// A block: some filters and one channel, all results of a part of the batch. A thread has one
// number of the window and every lanes-th result of a tile.
__global__ void __launch_bounds__(weight_threads)
    direct_weights(ConvView view, const float* __restrict__ images,
                   const float* __restrict__ gradients, int parts, float* __restrict__ sums_out) {
  extern __shared__ float4 memory[];
  const PatchSize size(view, weight_rows, weight_columns);
  float* tile = reinterpret_cast<float*>(memory);  // [result][filter]
  float* patch = tile + weight_rows * weight_columns * weight_filters;
  const int filters = view.out_channels / view.groups, channels = view.in_channels / view.groups;
  const int all_positions = view.kernel_height * view.kernel_width;
  const PositionShare share(all_positions);
  const int tid = static_cast<int>(threadIdx.x);
  const int blocks_per_group = (filters + weight_filters - 1) / weight_filters;
  const int group = static_cast<int>(blockIdx.x) / blocks_per_group;
  const int first = static_cast<int>(blockIdx.x) % blocks_per_group * weight_filters;
  const int channel = static_cast<int>(blockIdx.y) % channels;
  const int round = static_cast<int>(blockIdx.y) / channels;
  const int part = static_cast<int>(blockIdx.z);
  const int position = round * weight_threads + tid % share.positions, lane = tid / share.positions;
  const bool has_position = position < all_positions && lane < share.lanes;
  const int ky = position / view.kernel_width, kx = position - ky * view.kernel_width;
  const int from = ky * view.dilation_height * size.width + kx * view.dilation_width;
  const int area = view.out_height * view.out_width;
  float sums[weight_filters] = {};
  for (int image = part; image < view.batch; image += parts) {
    const float* plane = images + (static_cast<std::int64_t>(image) * view.in_channels +
                                   group * channels + channel) *
                                      view.in_height * view.in_width;
    const float* gradient =
        gradients +
        (static_cast<std::int64_t>(image) * view.out_channels + group * filters + first) * area;
    for (int oy = 0; oy < view.out_height; oy += weight_rows) {
      for (int ox = 0; ox < view.out_width; ox += weight_columns) {
        __syncthreads();
        load_patch<weight_threads>(view, size, plane, oy, ox, patch);
        load_gradients(view, gradient, filters - first, oy, ox, tile);
        __syncthreads();
        if (!has_position) continue;
        for (int i = lane; i < weight_rows * weight_columns; i += share.lanes) {
          const int row = i / weight_columns, column = i % weight_columns;
          const float value =
              patch[from + row * view.stride_height * size.width + column * view.stride_width];
          add_to_filters(value, reinterpret_cast<const float4*>(tile + i * weight_filters), sums);
        }
      }
    }
  }
  // The lanes of a number add up through what was the tile.
  __syncthreads();
  static_assert(weight_rows * weight_columns >= weight_threads, "room for all threads");
#pragma unroll
  for (int f = 0; f < weight_filters; ++f) tile[tid * weight_filters + f] = sums[f];
  __syncthreads();
  if (lane != 0 || !has_position) return;
  for (int f = 0; f < weight_filters && first + f < filters; ++f) {
    float sum = 0;
    for (int other = 0; other < share.lanes; ++other)
      sum += tile[(tid + other * share.positions) * weight_filters + f];
    sums_out[((static_cast<std::int64_t>(part) * view.out_channels + group * filters + first + f) *
                  channels +
              channel) *
                 all_positions +
             position] = sum;
  }
}

// Without shared memory: a warp per number of the weights.
__global__ void __launch_bounds__(weight_threads)
    direct_weights_plain(ConvView view, const float* __restrict__ images,
                         const float* __restrict__ gradients, std::int64_t count,
                         float* __restrict__ sums_out) {
  const std::int64_t number =
      static_cast<std::int64_t>(blockIdx.x) * (weight_threads / 32) + threadIdx.x / 32;
  if (number >= count) return;
  const int filters = view.out_channels / view.groups, channels = view.in_channels / view.groups;
  const int positions = view.kernel_height * view.kernel_width;
  const int position = static_cast<int>(number % positions);
  const int channel = static_cast<int>(number / positions % channels);
  const int filter = static_cast<int>(number / positions / channels);
  const int area = view.out_height * view.out_width;
  float sum = 0;
  for (int image = 0; image < view.batch; ++image) {
    const float* plane = images + (static_cast<std::int64_t>(image) * view.in_channels +
                                   filter / filters * channels + channel) *
                                      view.in_height * view.in_width;
    const float* gradient =
        gradients + (static_cast<std::int64_t>(image) * view.out_channels + filter) * area;
    for (int at = static_cast<int>(threadIdx.x) % 32; at < area; at += 32) {
      const int y = at / view.out_width * view.stride_height - view.pad_height +
                    position / view.kernel_width * view.dilation_height;
      const int x = at % view.out_width * view.stride_width - view.pad_width +
                    position % view.kernel_width * view.dilation_width;
      if (y >= 0 && x >= 0 && y < view.in_height && x < view.in_width)
        sum = fmaf(plane[y * view.in_width + x], gradient[at], sum);
    }
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, step);
  if (threadIdx.x % 32 == 0) sums_out[number] = sum;
}

bool has_weight_patch(const ConvView& view) {
  const PositionShare share(view.kernel_height * view.kernel_width);
  return direct_weight_patch_bytes(view) <= most_patch_bytes &&
         std::int64_t{share.rounds} * view.in_channels / view.groups <= 65535;
}

}  // namespace

std::int64_t direct_weight_patch_bytes(const ConvView& view) {
  const PatchSize size(view, weight_rows, weight_columns);
  return 4 *
         (std::int64_t{size.height} * size.width + weight_rows * weight_columns * weight_filters);
}

int direct_parts(const ConvView& view) {
  if (!has_weight_patch(view)) return 1;
  constexpr int wanted_blocks = 1056;
  const PositionShare share(view.kernel_height * view.kernel_width);
  const int filters = view.out_channels / view.groups;
  const int blocks = (filters + weight_filters - 1) / weight_filters * view.groups *
                     (view.in_channels / view.groups) * share.rounds;
  return std::clamp(wanted_blocks / blocks, 1, view.batch);
}

void direct_weight_gradient(const ConvView& view, const float* images, const float* gradients,
                            int parts, float* sums, cudaStream_t stream) {
  const int filters = view.out_channels / view.groups, channels = view.in_channels / view.groups;
  const PositionShare share(view.kernel_height * view.kernel_width);
  if (!has_weight_patch(view)) {
    const std::int64_t count =
        std::int64_t{view.out_channels} * channels * view.kernel_height * view.kernel_width;
    const std::int64_t warps = weight_threads / 32;
    direct_weights_plain<<<static_cast<unsigned>((count + warps - 1) / warps), weight_threads, 0,
                           stream>>>(view, images, gradients, count, sums);
    STRATA_CUDA_CALL(cudaGetLastError());
    return;
  }
  const dim3 grid(
      static_cast<unsigned>((filters + weight_filters - 1) / weight_filters * view.groups),
      static_cast<unsigned>(channels * share.rounds), static_cast<unsigned>(parts));
  const auto bytes = static_cast<std::size_t>(direct_weight_patch_bytes(view));
  STRATA_CUDA_CALL(cudaFuncSetAttribute(direct_weights, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(bytes)));
  direct_weights<<<grid, weight_threads, bytes, stream>>>(view, images, gradients, parts, sums);
  STRATA_CUDA_CALL(cudaGetLastError());
}

const void* direct_weight_kernel(const ConvView& view) {
  return has_weight_patch(view) ? reinterpret_cast<const void*>(&direct_weights)
                                : reinterpret_cast<const void*>(&direct_weights_plain);
}

}  // namespace strata::cuda
