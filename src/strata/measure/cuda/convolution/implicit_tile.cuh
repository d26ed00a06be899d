// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The inner part of a matrix product in fp32: a block's tile of Rows × Columns, `depth` steps at a
/// time from shared memory, several tiles on their way. Each thread has 8 × 8 results.
namespace strata::cuda {

template <int Rows, int Columns>
struct ProductTile {
  static constexpr int rows = Rows, columns = Columns;
  static constexpr int depth = 8;
  static constexpr int stages = 4;
  static constexpr int warps_down = Rows / 32, warps_across = Columns / 64;
  static constexpr int threads = warps_down * warps_across * 32;
  static constexpr int row_pitch = Rows + 4;  // 8 numbers of 4 rows go to 32 banks
  struct alignas(16) Stage {
    float left[depth][row_pitch];
    float right[depth][Columns];
  };
};

/// Copies one float, or writes zero, while the thread goes on.
__device__ __forceinline__ void copy_later(float* to, const float* from, bool is_there) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = is_there ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;"); }
template <int Open>
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Open));
}

/// Which results a thread has: rows row + {0…3} and row + 16 + {0…3}, columns alike with 32.
template <class T>
struct ThreadPlace {
  int row, column;
  __device__ ThreadPlace() {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    row = warp % T::warps_down * 32 + lane / 8 * 4;
    column = warp / T::warps_down * 64 + lane % 8 * 4;
  }
};

template <class T>
__device__ __forceinline__ void multiply_stage(const typename T::Stage& stage,
                                               const ThreadPlace<T>& place, float (&sums)[8][8]) {
#pragma unroll
  for (int k = 0; k < T::depth; ++k) {
    float left[8], right[8];
    *reinterpret_cast<float4*>(left) = *reinterpret_cast<const float4*>(&stage.left[k][place.row]);
    *reinterpret_cast<float4*>(left + 4) =
        *reinterpret_cast<const float4*>(&stage.left[k][place.row + 16]);
    *reinterpret_cast<float4*>(right) =
        *reinterpret_cast<const float4*>(&stage.right[k][place.column]);
    *reinterpret_cast<float4*>(right + 4) =
        *reinterpret_cast<const float4*>(&stage.right[k][place.column + 32]);
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
  }
}

/// Runs the product; load(stage, step) begins the copies of one step.
template <class T, class Load>
__device__ __forceinline__ void multiply_tiles(typename T::Stage* stages, int steps,
                                               const ThreadPlace<T>& place, float (&sums)[8][8],
                                               const Load& load) {
#pragma unroll
  for (int ahead = 0; ahead < T::stages - 1; ++ahead) {
    if (ahead < steps) load(stages[ahead], ahead);
    close_copies();
  }
  for (int step = 0; step < steps; ++step) {
    await_copies<T::stages - 2>();
    __syncthreads();
    const int next = step + T::stages - 1;
    if (next < steps) load(stages[next % T::stages], next);
    close_copies();
    multiply_stage<T>(stages[step % T::stages], place, sums);
  }
}

}  // namespace strata::cuda
