// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/index_map.cuh"

#include <algorithm>
#include <array>

/// A function of several arrays of one type, number by number, of which some are repeated along
/// axes of the result. For nvcc only.
namespace strata::cuda::train {

template <class T, int inputs>
struct StridedInputs {
  const T* data[inputs];
  bool is_repeated[inputs];  ///< along the last axis: one number for the whole of a pack
};

/// A thread makes `width` neighbouring results; f(values of all inputs) is one of them.
template <class T, int inputs, int width, class F>
__global__ void __launch_bounds__(threads_per_block)
    map_strided(T* y, StridedInputs<T, inputs> in, IndexMap<inputs> map, std::uint32_t packs, F f) {
  using A = Compute<T>;
  using Numbers = Items<T, width>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= packs) return;
  std::int64_t places[inputs] = {};
  map.add_places(n, places, inputs);
  Numbers numbers[inputs];
#pragma unroll
  for (int i = 0; i < inputs; ++i) {
    if (in.is_repeated[i]) {
      const T one = in.data[i][places[i]];
#pragma unroll
      for (int k = 0; k < width; ++k) numbers[i].item[k] = one;
    } else {
      numbers[i] = *reinterpret_cast<const Numbers*>(in.data[i] + places[i]);
    }
  }
  Numbers results;
#pragma unroll
  for (int k = 0; k < width; ++k) {
    A values[inputs];
#pragma unroll
    for (int i = 0; i < inputs; ++i) values[i] = value(numbers[i].item[k]);
    results.item[k] = stored<T>(f(values));
  }
  reinterpret_cast<Numbers*>(y)[n] = results;
}

/// Whether runs of so many numbers of every input are whole packs of it, or one number.
template <class T, std::size_t inputs>
bool is_in_packs(const StridedAxes& axes, const std::array<const T*, inputs>& data, const T* y) {
  constexpr std::int64_t width = Pack<T>::size;
  if (axes.extents.empty() || axes.extents.back() % width != 0 || !is_aligned(y)) return false;
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::vector<std::int64_t>& strides = axes.strides[i];
    if (strides.back() == 0) continue;
    const bool is_whole = std::all_of(strides.begin(), strides.end() - 1,
                                      [](std::int64_t stride) { return stride % width == 0; });
    if (strides.back() != 1 || !is_whole || !is_aligned(data[i])) return false;
  }
  return true;
}

/// `axes` has the strides of each input over the result's shape, whose last is 1 or 0.
template <class T, std::size_t inputs, class F>
void launch_strided_map(T* y, const std::array<const T*, inputs>& data, const StridedAxes& axes,
                        F f, cudaStream_t stream) {
  StridedAxes merged = axes.merged();
  StridedInputs<T, inputs> in;
  for (std::size_t i = 0; i < inputs; ++i) {
    in.data[i] = data[i];
    in.is_repeated[i] = merged.extents.empty() || merged.strides[i].back() == 0;
  }
  if (is_in_packs(merged, data, y)) {
    constexpr int width = Pack<T>::size;
    merged.extents.back() /= width;
    for (std::vector<std::int64_t>& strides : merged.strides) strides.back() *= width;
    const auto packs = static_cast<std::uint32_t>(merged.elements());
    map_strided<T, inputs, width><<<blocks_for(packs), threads_per_block, 0, stream>>>(
        y, in, IndexMap<inputs>(merged), packs, f);
  } else {
    const auto count = static_cast<std::uint32_t>(merged.elements());
    map_strided<T, inputs, 1><<<blocks_for(count), threads_per_block, 0, stream>>>(
        y, in, IndexMap<inputs>(merged), count, f);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
