// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/kernels/elementwise.cuh"
#include "strata/measure/cuda/kernels/strided_map.cuh"

namespace strata::cuda::train {
namespace {

template <class A>
__device__ A joined(ElementwiseKind kind, A a, A b) {
  switch (kind) {
    case ElementwiseKind::add:
    case ElementwiseKind::mean: return a + b;
    case ElementwiseKind::subtract: return a - b;
    case ElementwiseKind::multiply: return a * b;
    case ElementwiseKind::divide: return a / b;
    case ElementwiseKind::power: return pow(a, b);
    case ElementwiseKind::maximum: return a > b ? a : b;
    case ElementwiseKind::minimum: return a < b ? a : b;
    case ElementwiseKind::modulo: return a - b * floor(a / b);
    case ElementwiseKind::equal: return a == b;
    case ElementwiseKind::greater: return a > b;
    case ElementwiseKind::less: return a < b;
    case ElementwiseKind::logical_and: return a != A(0) && b != A(0);
    case ElementwiseKind::logical_or: return a != A(0) || b != A(0);
    case ElementwiseKind::select: return a;
  }
  return a;
}

template <class A>
__device__ A operand(const ElementwiseRun& run, int i, const std::int64_t* places) {
  return value_at<A>(run.input[i], run.input_type[i], places[i]);
}

template <class A>
__global__ void combine(ElementwiseRun run, void* y, IndexMap<most_operands> map,
                        std::int64_t count) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  std::int64_t places[most_operands] = {};
  map.add_places(static_cast<std::uint32_t>(n), places, run.inputs);
  A result = operand<A>(run, 0, places);
  if (run.kind == ElementwiseKind::select) {
    result = operand<A>(run, result != A(0) ? 1 : 2, places);
  } else {
    for (int i = 1; i < run.inputs; ++i)
      result = joined(run.kind, result, operand<A>(run, i, places));
    if (run.kind == ElementwiseKind::mean) result /= A(run.inputs);
  }
  store_at<A>(y, run.y_type, n, result);
}

/// What one place of the result contributes to the gradient of input `which`.
template <class A>
__device__ A term(const ElementwiseRun& run, int which, const std::int64_t* places) {
  const A dy = value_at<A>(run.dy, run.y_type, places[run.inputs]);
  const auto in = [&](int i) { return operand<A>(run, i, places); };
  const auto y = [&] { return value_at<A>(run.y, run.y_type, places[run.inputs]); };
  switch (run.kind) {
    case ElementwiseKind::add: return dy;
    case ElementwiseKind::mean: return dy / A(run.inputs);
    case ElementwiseKind::subtract: return which == 0 ? dy : -dy;
    case ElementwiseKind::multiply: {
      A product = dy;
      for (int i = 0; i < run.inputs; ++i) {
        if (i != which) product *= in(i);
      }
      return product;
    }
    case ElementwiseKind::divide: return which == 0 ? dy / in(1) : -dy * y() / in(1);
    case ElementwiseKind::power:
      return which == 0 ? dy * in(1) * pow(in(0), in(1) - A(1)) : dy * y() * log(in(0));
    case ElementwiseKind::maximum:
    case ElementwiseKind::minimum: return in(which) == y() ? dy : A(0);
    case ElementwiseKind::modulo: return which == 0 ? dy : -dy * floor(in(0) / in(1));
    case ElementwiseKind::select: return (in(0) != A(0)) == (which == 1) ? dy : A(0);
    default: return A(0);
  }
}

template <class A>
__global__ void gradient_by_thread(ElementwiseRun run, int which, void* dx,
                                   IndexMap<elementwise_operands> kept, std::int64_t count,
                                   IndexMap<elementwise_operands> repeated, std::uint32_t repeats) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= count) return;
  std::int64_t base[elementwise_operands] = {};
  kept.add_places(static_cast<std::uint32_t>(n), base, run.inputs + 1);
  A sum = 0;
  for (std::uint32_t r = 0; r < repeats; ++r) {
    std::int64_t places[elementwise_operands];
    for (int i = 0; i <= run.inputs; ++i) places[i] = base[i];
    repeated.add_places(r, places, run.inputs + 1);
    sum += term<A>(run, which, places);
  }
  store_at<A>(dx, run.input_type[which], n, sum);
}

template <class A>
__global__ void gradient_by_block(ElementwiseRun run, int which, void* dx,
                                  IndexMap<elementwise_operands> kept,
                                  IndexMap<elementwise_operands> repeated, std::uint32_t repeats) {
  std::int64_t base[elementwise_operands] = {};
  kept.add_places(blockIdx.x, base, run.inputs + 1);
  A sum = 0;
  for (std::uint32_t r = threadIdx.x; r < repeats; r += blockDim.x) {
    std::int64_t places[elementwise_operands];
    for (int i = 0; i <= run.inputs; ++i) places[i] = base[i];
    repeated.add_places(r, places, run.inputs + 1);
    sum += term<A>(run, which, places);
  }
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) store_at<A>(dx, run.input_type[which], blockIdx.x, sum);
}

// fp32 holds what fp32 and less are; all else goes through double.
bool fits_float(const ElementwiseRun& run) {
  const auto fits = [](DType type) {
    return type == DType::fp32 || type == DType::tf32 || type == DType::fp16 ||
           type == DType::bf16 || type == DType::boolean || type == DType::int8;
  };
  for (int i = 0; i < run.inputs; ++i) {
    if (!fits(run.input_type[i])) return false;
  }
  return fits(run.y_type);
}

template <int inputs>
struct JoinedInputs {
  ElementwiseKind kind;
  template <class A>
  __device__ A operator()(const A* values) const {
    A result = values[0];
#pragma unroll
    for (int i = 1; i < inputs; ++i) result = joined(kind, result, values[i]);
    return kind == ElementwiseKind::mean ? result / A(inputs) : result;
  }
};

template <class T, std::size_t inputs>
void launch_joined(const ElementwiseRun& run, void* y, const StridedAxes& axes,
                   cudaStream_t stream) {
  std::array<const T*, inputs> data;
  for (std::size_t i = 0; i < inputs; ++i) data[i] = static_cast<const T*>(run.input[i]);
  launch_strided_map(static_cast<T*>(y), data, axes, JoinedInputs<inputs>{run.kind}, stream);
}

/// Two or three numbers of the result's type, which is what most networks have; false: they are
/// others.
bool joins_equal_types(const ElementwiseRun& run, void* y, const StridedAxes& axes,
                       cudaStream_t stream) {
  if (run.kind == ElementwiseKind::select || run.inputs < 2 || run.inputs > 3) return false;
  for (int i = 0; i < run.inputs; ++i) {
    if (run.input_type[i] != run.y_type) return false;
  }
  return with_element_type(run.y_type, [&](auto element) {
    using T = decltype(element);
    if (run.inputs == 2) {
      launch_joined<T, 2>(run, y, axes, stream);
    } else {
      launch_joined<T, 3>(run, y, axes, stream);
    }
  });
}

struct PreluValue {
  template <class A>
  __device__ A operator()(const A* values) const {
    return values[0] > A(0) ? values[0] : values[1] * values[0];
  }
};
struct PreluGradient {
  template <class A>
  __device__ A operator()(const A* values) const {
    return values[1] > A(0) ? values[0] : values[2] * values[0];
  }
};

}  // namespace

void elementwise(const ElementwiseRun& run, void* y, const StridedAxes& axes, cudaStream_t stream) {
  if (joins_equal_types(run, y, axes, stream)) return;
  const std::int64_t count = axes.elements();
  const IndexMap<most_operands> map(axes.merged());
  if (fits_float(run)) {
    combine<float><<<blocks_for(count), threads_per_block, 0, stream>>>(run, y, map, count);
  } else {
    combine<double><<<blocks_for(count), threads_per_block, 0, stream>>>(run, y, map, count);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

void elementwise_gradient(const ElementwiseRun& run, int which, void* dx, const StridedAxes& kept,
                          const StridedAxes& repeated, cudaStream_t stream) {
  constexpr std::int64_t enough_for_a_block = 64;
  const std::int64_t count = kept.elements(), repeats = repeated.elements();
  const IndexMap<elementwise_operands> kept_map(kept.merged()), repeated_map(repeated.merged());
  const auto launch = [&](auto compute) {
    using A = decltype(compute);
    if (repeats < enough_for_a_block) {
      gradient_by_thread<A><<<blocks_for(count), threads_per_block, 0, stream>>>(
          run, which, dx, kept_map, count, repeated_map, static_cast<std::uint32_t>(repeats));
    } else {
      gradient_by_block<A><<<static_cast<unsigned>(count), threads_per_block, 0, stream>>>(
          run, which, dx, kept_map, repeated_map, static_cast<std::uint32_t>(repeats));
    }
  };
  if (fits_float(run)) {
    launch(float{});
  } else {
    launch(double{});
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

void parametric_relu(void* y, const void* x, const void* slope, const StridedAxes& axes,
                     DType dtype, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    launch_strided_map(static_cast<T*>(y),
                       std::array{static_cast<const T*>(x), static_cast<const T*>(slope)}, axes,
                       PreluValue{}, stream);
  });
}

void parametric_relu_gradient(void* dx, const void* dy, const void* x, const void* slope,
                              const StridedAxes& axes, DType dtype, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    launch_strided_map(static_cast<T*>(dx),
                       std::array{static_cast<const T*>(dy), static_cast<const T*>(x),
                                  static_cast<const T*>(slope)},
                       axes, PreluGradient{}, stream);
  });
}

}  // namespace strata::cuda::train
