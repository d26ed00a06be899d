// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/index_map.cuh"
#include "strata/measure/cuda/kernels/pointwise.cuh"

namespace strata::cuda::train {
namespace {

/// [samples, times, heads, 2, pairs], where pairs are counted in items of several; a thread takes
/// an item of the first half and the one beside it in the second.
struct Halves {
  FastDivisor half, heads, times;
  std::uint32_t count;

  Halves(const RotaryRun& run, int item_size)
      : half(static_cast<std::uint32_t>(run.pairs / item_size)),
        heads(static_cast<std::uint32_t>(run.heads)),
        times(static_cast<std::uint32_t>(run.times)),
        count(static_cast<std::uint32_t>(run.samples * run.times * run.heads) * half.divisor) {}

  struct Place {
    std::uint32_t first, second, table;
  };
  __device__ Place place(std::uint32_t n) const {
    const std::uint32_t head = half.quotient(n), row = heads.quotient(head);
    const std::uint32_t time = row - times.quotient(row) * times.divisor;
    const std::uint32_t before = head * half.divisor;  // as many as the second halves before it
    return {n + before, n + before + half.divisor, n - before + time * half.divisor};
  }
};

template <class T, int item_size>
__global__ void __launch_bounds__(threads_per_block)
    rotate_halves(Halves halves, Items<T, item_size>* y, const Items<T, item_size>* x,
                  const Items<T, item_size>* cosine, const Items<T, item_size>* sine,
                  Compute<T> sign) {
  using A = Compute<T>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= halves.count) return;
  const Halves::Place at = halves.place(n);
  const Items<T, item_size> a = x[at.first], b = x[at.second];
  const Items<T, item_size> c = cosine[at.table], s = sine[at.table];
  Items<T, item_size> first, second;
#pragma unroll
  for (int i = 0; i < item_size; ++i) {
    const A cos_i = value(c.item[i]), sin_i = sign * A(value(s.item[i]));
    const A a_i = value(a.item[i]), b_i = value(b.item[i]);
    first.item[i] = stored<T>(a_i * cos_i - b_i * sin_i);
    second.item[i] = stored<T>(a_i * sin_i + b_i * cos_i);
  }
  y[at.first] = first;
  y[at.second] = second;
}

template <class T, int item_size>
void launch_rotation(const RotaryRun& run, void* y, const void* x, const void* cosine,
                     const void* sine, cudaStream_t stream) {
  using Item = Items<T, item_size>;
  const Halves halves(run, item_size);
  rotate_halves<T, item_size><<<blocks_for(halves.count), threads_per_block, 0, stream>>>(
      halves, static_cast<Item*>(y), static_cast<const Item*>(x), static_cast<const Item*>(cosine),
      static_cast<const Item*>(sine), Compute<T>(run.is_reversed ? -1 : 1));
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

void rotate(const RotaryRun& run, void* y, const void* x, const void* cosine, const void* sine,
            cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    constexpr int size = Pack<T>::size;
    if (run.pairs % size == 0 && is_aligned(y) && is_aligned(x) && is_aligned(cosine) &&
        is_aligned(sine)) {
      launch_rotation<T, size>(run, y, x, cosine, sine, stream);
    } else {
      launch_rotation<T, 1>(run, y, x, cosine, sine, stream);
    }
  });
}

}  // namespace strata::cuda::train
