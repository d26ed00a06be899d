// SPDX-License-Identifier: Apache-2.0
// One parameter's update, number by number, as torch.optim does it.
#include "strata/measure/cuda/api.cuh"
#include "strata/measure/cuda/training/element.cuh"
#include "strata/measure/cuda/training/pointwise.cuh"

#include <cmath>

namespace strata::cuda::train {
namespace {

struct Sgd {
  float rate;
  __device__ float operator()(float p, float g, float&, float&) const { return p - rate * g; }
};
struct Momentum {
  float rate, momentum;
  __device__ float operator()(float p, float g, float& v, float&) const {
    v = momentum * v + g;
    return p - rate * v;
  }
};
struct Adam {
  float beta_1, beta_2, step, root_correction, epsilon;
  __device__ float operator()(float p, float g, float& m, float& v) const {
    m = beta_1 * m + (1 - beta_1) * g;
    v = beta_2 * v + (1 - beta_2) * g * g;
    return p - step * m / (sqrtf(v) * root_correction + epsilon);
  }
};

// Four numbers per thread: 16 bytes of each state, which is always fp32.
template <class T, int states, class Rule>
__global__ void __launch_bounds__(threads_per_block)
    update(T* parameter, const T* gradient, float* first, float* second, std::int64_t count,
           bool is_packed, Rule rule) {
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t begin = 4 * at;
  struct alignas(4 * sizeof(T)) Four {
    T item[4];
  };
  if (is_packed && begin + 4 <= count) {
    Four p = reinterpret_cast<const Four*>(parameter)[at];
    const Four g = reinterpret_cast<const Four*>(gradient)[at];
    float4 a{}, b{};
    if constexpr (states > 0) a = reinterpret_cast<const float4*>(first)[at];
    if constexpr (states > 1) b = reinterpret_cast<const float4*>(second)[at];
    float* const as = &a.x;
    float* const bs = &b.x;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      p.item[i] = stored<T>(rule(static_cast<float>(value(p.item[i])),
                                 static_cast<float>(value(g.item[i])), as[i], bs[i]));
    reinterpret_cast<Four*>(parameter)[at] = p;
    if constexpr (states > 0) reinterpret_cast<float4*>(first)[at] = a;
    if constexpr (states > 1) reinterpret_cast<float4*>(second)[at] = b;
    return;
  }
  for (std::int64_t i = begin; i < begin + 4 && i < count; ++i) {
    float a = states > 0 ? first[i] : 0, b = states > 1 ? second[i] : 0;
    parameter[i] = stored<T>(rule(static_cast<float>(value(parameter[i])),
                                  static_cast<float>(value(gradient[i])), a, b));
    if constexpr (states > 0) first[i] = a;
    if constexpr (states > 1) second[i] = b;
  }
}

template <int states, class Rule>
void launch_update(const UpdateRun& memory, Rule rule, cudaStream_t stream) {
  float* const first = states > 0 ? memory.states[0] : nullptr;
  float* const second = states > 1 ? memory.states[1] : nullptr;
  const bool is_packed = is_aligned(memory.parameter) && is_aligned(memory.gradient) &&
                         is_aligned(first) && is_aligned(second);
  with_element_type(memory.dtype, [&](auto element) {
    using T = decltype(element);
    update<T, states>
        <<<blocks_for(memory.elements, 4 * threads_per_block), threads_per_block, 0, stream>>>(
            static_cast<T*>(memory.parameter), static_cast<const T*>(memory.gradient), first,
            second, memory.elements, is_packed, rule);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

void update_parameter(const UpdateRun& run, cudaStream_t stream) {
  const auto rate = static_cast<float>(run.learning_rate);
  switch (run.optimizer) {
    case Optimizer::none: return;
    case Optimizer::sgd: return launch_update<0>(run, Sgd{rate}, stream);
    case Optimizer::momentum:
      return launch_update<1>(run, Momentum{rate, static_cast<float>(run.momentum)}, stream);
    case Optimizer::adam: {
      const auto iteration = static_cast<double>(run.iteration);
      const double step = run.learning_rate / (1 - std::pow(run.beta_1, iteration));
      const double root = 1 / std::sqrt(1 - std::pow(run.beta_2, iteration));
      return launch_update<2>(
          run,
          Adam{static_cast<float>(run.beta_1), static_cast<float>(run.beta_2),
               static_cast<float>(step), static_cast<float>(root), static_cast<float>(run.epsilon)},
          stream);
    }
  }
}

}  // namespace strata::cuda::train
