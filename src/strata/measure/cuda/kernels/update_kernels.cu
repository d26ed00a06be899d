// SPDX-License-Identifier: Apache-2.0
// Updates of parameters, number by number, as torch.optim does them.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/pointwise.cuh"

#include <cmath>

namespace strata::cuda::train {
namespace {

// A is the type that the rule is computed in: fp32, of fp64 parameters fp64. States are fp32.
template <class A>
struct Sgd {
  A rate;
  __device__ A operator()(A p, A g, float&, float&) const { return p - rate * g; }
};
template <class A>
struct Momentum {
  A rate, momentum;
  __device__ A operator()(A p, A g, float& state, float&) const {
    const A v = momentum * A(state) + g;
    state = static_cast<float>(v);
    return p - rate * v;
  }
};
template <class A>
struct Adam {
  A beta_1, beta_2, step, root_correction, epsilon;
  __device__ A operator()(A p, A g, float& first, float& second) const {
    const A m = beta_1 * A(first) + (A(1) - beta_1) * g;
    const A v = beta_2 * A(second) + (A(1) - beta_2) * g * g;
    first = static_cast<float>(m);
    second = static_cast<float>(v);
    return p - step * m / (sqrt(v) * root_correction + epsilon);
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
      p.item[i] = stored<T>(rule(value(p.item[i]), value(g.item[i]), as[i], bs[i]));
    reinterpret_cast<Four*>(parameter)[at] = p;
    if constexpr (states > 0) reinterpret_cast<float4*>(first)[at] = a;
    if constexpr (states > 1) reinterpret_cast<float4*>(second)[at] = b;
    return;
  }
  for (std::int64_t i = begin; i < begin + 4 && i < count; ++i) {
    float a = states > 0 ? first[i] : 0, b = states > 1 ? second[i] : 0;
    parameter[i] = stored<T>(rule(value(parameter[i]), value(gradient[i]), a, b));
    if constexpr (states > 0) first[i] = a;
    if constexpr (states > 1) second[i] = b;
  }
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

/// `make_rule` makes the rule for the type that numbers are computed in.
template <int states, class MakeRule>
void launch_update(std::span<const UpdateRun> runs, MakeRule make_rule, cudaStream_t stream) {
  ParameterList list{};
  unsigned blocks = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    list.items[i] = as_item(runs[i], states);
    blocks += blocks_for(runs[i].elements, 4 * threads_per_block);
    list.items[i].end_block = blocks;
  }
  with_element_type(runs.front().dtype, [&](auto element) {
    using T = decltype(element);
    update_list<T, states><<<blocks, threads_per_block, 0, stream>>>(list, make_rule(Compute<T>{}));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

void update_parameters(std::span<const UpdateRun> runs, cudaStream_t stream) {
  const UpdateRun& run = runs.front();
  switch (run.optimizer) {
    case Optimizer::none: return;
    case Optimizer::sgd:
      return launch_update<0>(
          runs,
          [&](auto type) {
            using A = decltype(type);
            return Sgd<A>{A(run.learning_rate)};
          },
          stream);
    case Optimizer::momentum:
      return launch_update<1>(
          runs,
          [&](auto type) {
            using A = decltype(type);
            return Momentum<A>{A(run.learning_rate), A(run.momentum)};
          },
          stream);
    case Optimizer::adam: {
      const auto iteration = static_cast<double>(run.iteration);
      const double step = run.learning_rate / (1 - std::pow(run.beta_1, iteration));
      const double root = 1 / std::sqrt(1 - std::pow(run.beta_2, iteration));
      return launch_update<2>(
          runs,
          [&](auto type) {
            using A = decltype(type);
            return Adam<A>{A(run.beta_1), A(run.beta_2), A(step), A(root), A(run.epsilon)};
          },
          stream);
    }
  }
}

}  // namespace strata::cuda::train
