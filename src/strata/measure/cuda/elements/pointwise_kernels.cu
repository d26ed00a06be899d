// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/elements/functions.cuh"
#include "strata/measure/cuda/elements/pointwise.cuh"

namespace strata::cuda::train {
namespace {

// One Pack per thread, the rest of an array that is no multiple of one number by number.
template <class T, int inputs, class F>
__global__ void __launch_bounds__(threads_per_block)
    map_packs(T* y, const T* a, const T* b, std::int64_t count, bool is_packed, F f) {
  using A = Compute<T>;
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  constexpr int size = Pack<T>::size;
  const std::int64_t begin = at * size;
  if (begin >= count) return;
  if (is_packed && begin + size <= count) {
    const Pack<T> pa = reinterpret_cast<const Pack<T>*>(a)[at];
    Pack<T> pb = pa;
    if constexpr (inputs > 1) pb = reinterpret_cast<const Pack<T>*>(b)[at];
    Pack<T> out;
#pragma unroll
    for (int i = 0; i < size; ++i)
      out.item[i] = stored<T>(f(A(value(pa.item[i])), A(value(pb.item[i]))));
    reinterpret_cast<Pack<T>*>(y)[at] = out;
    return;
  }
  for (std::int64_t i = begin; i < begin + size && i < count; ++i) {
    const A x = value(a[i]);
    y[i] = stored<T>(f(x, inputs > 1 ? A(value(b[i])) : x));
  }
}

template <class T, int inputs, class F>
void launch_map(void* y, const void* a, const void* b, std::int64_t count, F f,
                cudaStream_t stream) {
  const bool is_packed = is_aligned(y) && is_aligned(a) && (inputs < 2 || is_aligned(b));
  map_packs<T, inputs>
      <<<blocks_for(count, threads_per_block * Pack<T>::size), threads_per_block, 0, stream>>>(
          static_cast<T*>(y), static_cast<const T*>(a), static_cast<const T*>(b), count, is_packed,
          f);
  STRATA_CUDA_CALL(cudaGetLastError());
}

// The functions of most networks are compiled for themselves; of the others the kind is looked at
// for every number.
template <UnaryKind fixed>
struct FixedFunction {
  template <class A>
  __device__ A operator()(A x, A) const {
    return function_value(fixed, x);
  }
};
struct AnyFunction {
  UnaryKind kind;
  template <class A>
  __device__ A operator()(A x, A) const {
    return function_value(kind, x);
  }
};
template <UnaryKind fixed>
struct FixedGradient {
  template <class A>
  __device__ A operator()(A dy, A v) const {
    return function_gradient(fixed, dy, v);
  }
};
struct AnyGradient {
  UnaryKind kind;
  template <class A>
  __device__ A operator()(A dy, A v) const {
    return function_gradient(kind, dy, v);
  }
};

struct Plus {
  template <class A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
};

__global__ void convert_numbers(void* y, DType to, const void* x, DType from, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  // Whole numbers of 64 bits pass by themselves: a double has 53.
  if (from == DType::int64 && to == DType::int64)
    static_cast<std::int64_t*>(y)[i] = static_cast<const std::int64_t*>(x)[i];
  else
    store_at<double>(y, to, i, value_at<double>(x, from, i));
}

}  // namespace

bool function_keeps_output(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::relu:
    case UnaryKind::relu6:
    case UnaryKind::leaky_relu:
    case UnaryKind::elu:
    case UnaryKind::selu:
    case UnaryKind::hard_sigmoid:
    case UnaryKind::sigmoid:
    case UnaryKind::tanh:
    case UnaryKind::clip:
    case UnaryKind::square_root:
    case UnaryKind::reciprocal:
    case UnaryKind::exponential: return true;
    default: return false;
  }
}

bool function_has_gradient(UnaryKind kind) { return kind < UnaryKind::floor; }

void apply_function(UnaryKind kind, void* y, const void* x, std::int64_t count, DType dtype,
                    cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    const auto run = [&](auto f) { launch_map<T, 1>(y, x, x, count, f, stream); };
    switch (kind) {
      case UnaryKind::relu: return run(FixedFunction<UnaryKind::relu>{});
      case UnaryKind::relu6: return run(FixedFunction<UnaryKind::relu6>{});
      case UnaryKind::gelu: return run(FixedFunction<UnaryKind::gelu>{});
      case UnaryKind::gelu_tanh: return run(FixedFunction<UnaryKind::gelu_tanh>{});
      case UnaryKind::silu: return run(FixedFunction<UnaryKind::silu>{});
      case UnaryKind::sigmoid: return run(FixedFunction<UnaryKind::sigmoid>{});
      case UnaryKind::tanh: return run(FixedFunction<UnaryKind::tanh>{});
      case UnaryKind::mish: return run(FixedFunction<UnaryKind::mish>{});
      default: return run(AnyFunction{kind});
    }
  });
}

void apply_function_gradient(UnaryKind kind, void* dx, const void* dy, const void* kept,
                             std::int64_t count, DType dtype, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    const auto run = [&](auto f) { launch_map<T, 2>(dx, dy, kept, count, f, stream); };
    switch (kind) {
      case UnaryKind::relu: return run(FixedGradient<UnaryKind::relu>{});
      case UnaryKind::relu6: return run(FixedGradient<UnaryKind::relu6>{});
      case UnaryKind::gelu: return run(FixedGradient<UnaryKind::gelu>{});
      case UnaryKind::gelu_tanh: return run(FixedGradient<UnaryKind::gelu_tanh>{});
      case UnaryKind::silu: return run(FixedGradient<UnaryKind::silu>{});
      case UnaryKind::sigmoid: return run(FixedGradient<UnaryKind::sigmoid>{});
      case UnaryKind::tanh: return run(FixedGradient<UnaryKind::tanh>{});
      case UnaryKind::mish: return run(FixedGradient<UnaryKind::mish>{});
      case UnaryKind::negate:
        return launch_map<T, 1>(dx, dy, dy, count, FixedGradient<UnaryKind::negate>{}, stream);
      default: return run(AnyGradient{kind});
    }
  });
}

void convert(void* y, DType to, const void* x, DType from, std::int64_t count,
             cudaStream_t stream) {
  convert_numbers<<<blocks_for(count), threads_per_block, 0, stream>>>(y, to, x, from, count);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void add_arrays(void* sum, const void* a, const void* b, std::int64_t count, DType dtype,
                cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    launch_map<decltype(element), 2>(sum, a, b, count, Plus{}, stream);
  });
}

}  // namespace strata::cuda::train
