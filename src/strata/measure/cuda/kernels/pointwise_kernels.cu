// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/kernels/functions.cuh"
#include "strata/measure/cuda/kernels/pointwise.cuh"
#include "strata/measure/cuda/kernels/strided_map.cuh"

namespace strata::cuda::train {
namespace {

/// A function of one or two contiguous arrays.
template <class T, class F>
void launch_map(void* y, const void* x, std::int64_t count, F f, cudaStream_t stream) {
  launch_strided_map(static_cast<T*>(y), std::array{static_cast<const T*>(x)},
                     {{count}, {{std::int64_t{1}}}}, f, stream);
}
template <class T, class F>
void launch_map(void* y, const void* a, const void* b, std::int64_t count, F f,
                cudaStream_t stream) {
  launch_strided_map(static_cast<T*>(y),
                     std::array{static_cast<const T*>(a), static_cast<const T*>(b)},
                     {{count}, {{std::int64_t{1}}, {std::int64_t{1}}}}, f, stream);
}

// The functions of most networks are compiled for themselves; of the others the kind is looked at
// for every number.
template <UnaryKind fixed>
struct FixedFunction {
  template <class A>
  __device__ A operator()(const A* x) const {
    return function_value(fixed, *x);
  }
};
struct AnyFunction {
  UnaryKind kind;
  template <class A>
  __device__ A operator()(const A* x) const {
    return function_value(kind, *x);
  }
};
template <UnaryKind fixed>
struct FixedGradient {
  template <class A>
  __device__ A operator()(const A* values) const {
    return function_gradient(fixed, values[0], values[1]);
  }
};
struct AnyGradient {
  UnaryKind kind;
  template <class A>
  __device__ A operator()(const A* values) const {
    return function_gradient(kind, values[0], values[1]);
  }
};

struct Negated {
  template <class A>
  __device__ A operator()(const A* x) const {
    return -*x;
  }
};
struct Plus {
  template <class A>
  __device__ A operator()(const A* values) const {
    return values[0] + values[1];
  }
};

/// Entries 2 and 3 of a box are logarithms of its extents; all others pass the logistic function.
template <class T, bool is_gradient>
__global__ void map_boxes(YoloRun run, T* to, const T* from, const T* y) {
  using A = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= run.count) return;
  const std::int64_t entry = i / run.inner % run.entries;
  const bool is_extent = entry == 2 || entry == 3;
  const A x = value(from[i]);
  if (is_extent) {
    to[i] = stored<T>(x);
  } else if (is_gradient) {
    const A result = value(y[i]);
    to[i] = stored<T>(x * result * (A(1) - result));
  } else {
    to[i] = stored<T>(logistic(x));
  }
}

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
    const auto run = [&](auto f) { launch_map<T>(y, x, count, f, stream); };
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
    const auto run = [&](auto f) { launch_map<T>(dx, dy, kept, count, f, stream); };
    switch (kind) {
      case UnaryKind::relu: return run(FixedGradient<UnaryKind::relu>{});
      case UnaryKind::relu6: return run(FixedGradient<UnaryKind::relu6>{});
      case UnaryKind::gelu: return run(FixedGradient<UnaryKind::gelu>{});
      case UnaryKind::gelu_tanh: return run(FixedGradient<UnaryKind::gelu_tanh>{});
      case UnaryKind::silu: return run(FixedGradient<UnaryKind::silu>{});
      case UnaryKind::sigmoid: return run(FixedGradient<UnaryKind::sigmoid>{});
      case UnaryKind::tanh: return run(FixedGradient<UnaryKind::tanh>{});
      case UnaryKind::mish: return run(FixedGradient<UnaryKind::mish>{});
      case UnaryKind::negate: return launch_map<T>(dx, dy, count, Negated{}, stream);
      default: return run(AnyGradient{kind});
    }
  });
}

void convert(void* y, DType to, const void* x, DType from, std::int64_t count,
             cudaStream_t stream) {
  convert_numbers<<<blocks_for(count), threads_per_block, 0, stream>>>(y, to, x, from, count);
  STRATA_CUDA_CALL(cudaGetLastError());
}

void yolo(const YoloRun& run, void* y, const void* x, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    map_boxes<T, false><<<blocks_for(run.count), threads_per_block, 0, stream>>>(
        run, static_cast<T*>(y), static_cast<const T*>(x), nullptr);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void yolo_gradient(const YoloRun& run, void* dx, const void* dy, const void* y,
                   cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    map_boxes<T, true><<<blocks_for(run.count), threads_per_block, 0, stream>>>(
        run, static_cast<T*>(dx), static_cast<const T*>(dy), static_cast<const T*>(y));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void add_arrays(void* sum, const void* a, const void* b, std::int64_t count, DType dtype,
                cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    launch_map<decltype(element)>(sum, a, b, count, Plus{}, stream);
  });
}

}  // namespace strata::cuda::train
