// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/pointwise.cuh"

namespace strata::cuda::train {
namespace {

namespace constants = training_constants;

/// The mask's bytes for a pack of numbers.
template <class T>
using Marks = Items<std::uint8_t, Pack<T>::size>;

/// dropout_keeps() of one node. No tensor has 2³¹ numbers, so that every hash's number fits 32 bits
/// and one key serves all.
class Chances {
 public:
  explicit Chances(const DropoutRun& run)
      : key_(constants::dropout_key(run.node, 0)),
        least_(static_cast<std::uint32_t>(constants::dropout_threshold(run.probability) >> 16U)) {}

  __device__ bool keeps(std::uint32_t place) const {
    return keeps(place, static_cast<std::uint32_t>(constants::dropout_hash_number(place)));
  }
  /// The pack that begins at `place`: its hashes have numbers in a row, and all of its numbers go
  /// by the same half of them.
  template <class T>
  __device__ Marks<T> marks(std::uint32_t place) const {
    static_assert(constants::dropout_pair_distance % Pack<T>::size == 0);
    const auto first = static_cast<std::uint32_t>(constants::dropout_hash_number(place));
    Marks<T> marks;
#pragma unroll
    for (int i = 0; i < Pack<T>::size; ++i) marks.item[i] = keeps(place, first + i);
    return marks;
  }

 private:
  __device__ bool keeps(std::uint32_t place, std::uint32_t number) const {
    const std::uint32_t hash = constants::dropout_hash(key_, number);
    return constants::dropout_half(hash, place) >> 16U >= least_;
  }

  std::uint32_t key_;
  /// The threshold without its lower half, which is 0: its upper 17 bits.
  std::uint32_t least_;
};

template <class T>
__device__ T scaled_or_zero(T x, bool is_kept, Compute<T> scale) {
  return stored<T>(is_kept ? Compute<T>(value(x)) * scale : Compute<T>(0));
}

template <class T>
__device__ void store_kept(T* to, const Pack<T>& from, const Marks<T>& marks, Compute<T> scale) {
  Pack<T> result;
#pragma unroll
  for (int i = 0; i < Pack<T>::size; ++i)
    result.item[i] = scaled_or_zero(from.item[i], marks.item[i] != 0, scale);
  *reinterpret_cast<Pack<T>*>(to) = result;
}

// A Pack per thread, the rest of an array that is no multiple of one number by number.
template <class T>
__global__ void __launch_bounds__(threads_per_block)
    drop(T* y, std::uint8_t* mask, const T* x, std::uint32_t count, bool is_packed, Chances chances,
         Compute<T> scale) {
  constexpr std::uint32_t size = Pack<T>::size;
  const std::uint32_t begin = (blockIdx.x * blockDim.x + threadIdx.x) * size;
  if (begin >= count) return;
  if (is_packed && begin + size <= count) {
    const Pack<T> from = *reinterpret_cast<const Pack<T>*>(x + begin);
    const Marks<T> marks = chances.marks<T>(begin);
    store_kept(y + begin, from, marks, scale);
    *reinterpret_cast<Marks<T>*>(mask + begin) = marks;
    return;
  }
#pragma unroll 1
  for (std::uint32_t i = begin; i < begin + size && i < count; ++i) {
    const bool is_kept = chances.keeps(i);
    y[i] = scaled_or_zero(x[i], is_kept, scale);
    mask[i] = is_kept;
  }
}

template <class T>
__global__ void __launch_bounds__(threads_per_block)
    drop_gradient(T* dx, const std::uint8_t* mask, const T* dy, std::uint32_t count, bool is_packed,
                  Compute<T> scale) {
  constexpr std::uint32_t size = Pack<T>::size;
  const std::uint32_t begin = (blockIdx.x * blockDim.x + threadIdx.x) * size;
  if (begin >= count) return;
  if (is_packed && begin + size <= count) {
    const Pack<T> from = *reinterpret_cast<const Pack<T>*>(dy + begin);
    const Marks<T> marks = *reinterpret_cast<const Marks<T>*>(mask + begin);
    store_kept(dx + begin, from, marks, scale);
    return;
  }
#pragma unroll 1
  for (std::uint32_t i = begin; i < begin + size && i < count; ++i)
    dx[i] = scaled_or_zero(dy[i], mask[i] != 0, scale);
}

template <class T>
bool is_packed(const void* to, const void* from, const std::uint8_t* mask) {
  return is_aligned(to) && is_aligned(from) && holds_items<std::uint8_t, Pack<T>::size>(mask);
}

}  // namespace

void drop_out(const DropoutRun& run, void* y, std::uint8_t* mask, const void* x,
              cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    const unsigned blocks = blocks_for(run.count, threads_per_block * Pack<T>::size);
    drop<<<blocks, threads_per_block, 0, stream>>>(
        static_cast<T*>(y), mask, static_cast<const T*>(x), static_cast<std::uint32_t>(run.count),
        is_packed<T>(y, x, mask), Chances(run),
        static_cast<Compute<T>>(constants::dropout_scale(run.probability)));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void drop_out_gradient(const DropoutRun& run, void* dx, const std::uint8_t* mask, const void* dy,
                       cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    const unsigned blocks = blocks_for(run.count, threads_per_block * Pack<T>::size);
    drop_gradient<<<blocks, threads_per_block, 0, stream>>>(
        static_cast<T*>(dx), mask, static_cast<const T*>(dy), static_cast<std::uint32_t>(run.count),
        is_packed<T>(dx, dy, mask),
        static_cast<Compute<T>>(constants::dropout_scale(run.probability)));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
