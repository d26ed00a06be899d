// SPDX-License-Identifier: Apache-2.0
// Updates of parameters, number by number, as torch.optim does them.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/elements/pointwise.cuh"

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
__device__ void update_four(T* parameter, const T* gradient, float* first, float* second,
                            std::int64_t count, bool is_packed, std::int64_t at, const Rule& rule) {
  const std::int64_t begin = 4 * at;
  using Four = Items<T, 4>;
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

template <class T, int states, class Rule>
__global__ void __launch_bounds__(threads_per_block)
    update(T* parameter, const T* gradient, float* first, float* second, std::int64_t count,
           bool is_packed, Rule rule) {
  const std::int64_t at = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  update_four<T, states>(parameter, gradient, first, second, count, is_packed, at, rule);
}

struct ParameterList {
  struct One {
    void* parameter;
    const void* gradient;
    float* first;
    float* second;
    std::int64_t count;
    unsigned end_block;  ///< the blocks of this one end here
    bool is_packed;
  };
  One items[most_updates];
};

// Each block belongs to one parameter.
template <class T, int states, class Rule>
__global__ void __launch_bounds__(threads_per_block)
    update_list(const __grid_constant__ ParameterList list, Rule rule) {
  int which = 0;
  unsigned begin_block = 0;
  while (blockIdx.x >= list.items[which].end_block) begin_block = list.items[which++].end_block;
  const ParameterList::One& one = list.items[which];
  const std::int64_t at = std::int64_t{blockIdx.x - begin_block} * blockDim.x + threadIdx.x;
  update_four<T, states>(static_cast<T*>(one.parameter), static_cast<const T*>(one.gradient),
                         one.first, one.second, one.count, one.is_packed, at, rule);
}

ParameterList::One as_item(const UpdateRun& run, int states) {
  ParameterList::One one{};
  one.parameter = run.parameter;
  one.gradient = run.gradient;
  one.first = states > 0 ? run.states[0] : nullptr;
  one.second = states > 1 ? run.states[1] : nullptr;
  one.count = run.elements;
  one.is_packed = is_aligned(one.parameter) && is_aligned(one.gradient) && is_aligned(one.first) &&
                  is_aligned(one.second);
  return one;
}

template <int states, class Rule>
void launch_update(std::span<const UpdateRun> runs, Rule rule, cudaStream_t stream) {
  ParameterList list{};
  unsigned blocks = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    list.items[i] = as_item(runs[i], states);
    blocks += blocks_for(runs[i].elements, 4 * threads_per_block);
    list.items[i].end_block = blocks;
  }
  with_element_type(runs.front().dtype, [&](auto element) {
    using T = decltype(element);
    const ParameterList::One& one = list.items[0];
    if (runs.size() == 1) {
      update<T, states><<<blocks, threads_per_block, 0, stream>>>(
          static_cast<T*>(one.parameter), static_cast<const T*>(one.gradient), one.first,
          one.second, one.count, one.is_packed, rule);
    } else {
      update_list<T, states><<<blocks, threads_per_block, 0, stream>>>(list, rule);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

void update_parameter(const UpdateRun& run, cudaStream_t stream) {
  update_parameters({&run, 1}, stream);
}

void update_parameters(std::span<const UpdateRun> runs, cudaStream_t stream) {
  const UpdateRun& run = runs.front();
  const auto rate = static_cast<float>(run.learning_rate);
  switch (run.optimizer) {
    case Optimizer::none: return;
    case Optimizer::sgd: return launch_update<0>(runs, Sgd{rate}, stream);
    case Optimizer::momentum:
      return launch_update<1>(runs, Momentum{rate, static_cast<float>(run.momentum)}, stream);
    case Optimizer::adam: {
      const auto iteration = static_cast<double>(run.iteration);
      const double step = run.learning_rate / (1 - std::pow(run.beta_1, iteration));
      const double root = 1 / std::sqrt(1 - std::pow(run.beta_2, iteration));
      return launch_update<2>(
          runs,
          Adam{static_cast<float>(run.beta_1), static_cast<float>(run.beta_2),
               static_cast<float>(step), static_cast<float>(root), static_cast<float>(run.epsilon)},
          stream);
    }
  }
}

}  // namespace strata::cuda::train
