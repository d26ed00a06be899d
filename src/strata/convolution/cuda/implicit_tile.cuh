// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The inner part of a matrix product in fp32: a block's tile of Rows × Columns, `depth` steps at a
/// time from shared memory, several tiles on their way. Each thread has ThreadRows × 8 results.
namespace strata::cuda {

/// Padding: numbers beside each row of the left part, where it is written across.
template <int Rows, int Columns, int ThreadRows = 8, int Depth = 8, int Stages = 4, int Padding = 0>
struct ProductTile {
  static constexpr int rows = Rows, columns = Columns;
  static constexpr int thread_rows = ThreadRows, thread_columns = 8;
  static constexpr int depth = Depth, stages = Stages;
  static constexpr int warp_rows = 4 * ThreadRows, warp_columns = 64;
  static constexpr int warps_down = Rows / warp_rows, warps_across = Columns / warp_columns;
  static constexpr int threads = warps_down * warps_across * 32;
  static_assert(Depth % 2 == 0, "the two fragments take turns");
  static_assert(warps_down * warp_rows == Rows && warps_across * warp_columns == Columns);
  struct alignas(16) Stage {
    float left[Depth][Rows + Padding];
    float right[Depth][Columns];
  };
};

/// Copies one float, or writes zero, while the thread goes on.
__device__ __forceinline__ void copy_later(float* to, const float* from, bool is_there) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = is_there ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void copy_later(float* to, const float* from) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from));
}
/// Four of them; both places are aligned to 16 bytes.
__device__ __forceinline__ void copy_four_later(float* to, const float* from) {
  const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from));
}
__device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;"); }
template <int Open>
__device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Open));
}

/// Which results a thread has: rows row + 16 i + {0…3}, columns column + 32 j + {0…3}. Lanes side
/// by side have other rows, so that half a warp reads 128 bytes of the right part and 32 of the
/// left: as many as shared memory gives at once.
template <class T>
struct ThreadPlace {
  int row, column;
  __device__ ThreadPlace() {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    row = warp % T::warps_down * T::warp_rows + (lane / 16 * 2 + lane % 2) * 4;
    column = warp / T::warps_down * T::warp_columns + lane / 2 % 8 * 4;
  }
};

/// One step's numbers of a thread.
template <class T>
struct Fragment {
  float left[T::thread_rows], right[T::thread_columns];
  __device__ __forceinline__ void load(const typename T::Stage& stage, int k,
                                       const ThreadPlace<T>& place) {
#pragma unroll
    for (int i = 0; i < T::thread_rows; i += 4)
      *reinterpret_cast<float4*>(left + i) =
          *reinterpret_cast<const float4*>(&stage.left[k][place.row + 4 * i]);
#pragma unroll
    for (int j = 0; j < T::thread_columns; j += 4)
      *reinterpret_cast<float4*>(right + j) =
          *reinterpret_cast<const float4*>(&stage.right[k][place.column + 8 * j]);
  }
};

template <class T>
using ThreadSums = float[T::thread_rows][T::thread_columns];

/// To and fro: the compiler keeps the number at each turn at hand.
template <class T>
__device__ __forceinline__ void add_outer_product(const Fragment<T>& numbers, ThreadSums<T>& sums) {
#pragma unroll
  for (int i = 0; i < T::thread_rows; ++i)
#pragma unroll
    for (int along = 0; along < T::thread_columns; ++along) {
      const int j = i % 2 == 0 ? along : T::thread_columns - 1 - along;
      sums[i][j] = fmaf(numbers.left[i], numbers.right[j], sums[i][j]);
    }
}

/// Runs the product. load(stage, step, k) begins the k-th part of the copies of one step, k below
/// depth; the steps come in order. So that the loop has no branch, it also asks for the stages − 1
/// steps behind the last, which nobody multiplies. A step's first numbers are read before the last
/// one's are multiplied, so that nobody waits for shared memory.
template <class T, class Load>
__device__ __forceinline__ void multiply_tiles(typename T::Stage* stages, int steps,
                                               const ThreadPlace<T>& place, ThreadSums<T>& sums,
                                               Load& load) {
#pragma unroll
  for (int ahead = 0; ahead < T::stages - 1; ++ahead) {
#pragma unroll
    for (int k = 0; k < T::depth; ++k) load(stages[ahead], ahead, k);
    close_copies();
  }
  await_copies<T::stages - 2>();
  __syncthreads();
  Fragment<T> fragments[2];
  fragments[0].load(stages[0], 0, place);
  int now = 0, last = T::stages - 1;  // the stage that is read, the one that is filled
  for (int step = 0; step < steps; ++step) {
    const int next = now + 1 == T::stages ? 0 : now + 1;
#pragma unroll
    for (int k = 0; k < T::depth; ++k) {
      load(stages[last], step + T::stages - 1, k);
      if (k == T::depth - 1) {
        close_copies();
        await_copies<T::stages - 2>();
        __syncthreads();
        fragments[0].load(stages[next], 0, place);
      } else {
        fragments[(k + 1) % 2].load(stages[now], k + 1, place);
      }
      add_outer_product<T>(fragments[k % 2], sums);
    }
    last = now;
    now = next;
  }
  await_copies<0>();
}

}  // namespace strata::cuda
