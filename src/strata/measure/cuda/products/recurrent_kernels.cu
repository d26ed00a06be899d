// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/elements/functions.cuh"
#include "strata/measure/cuda/products/recurrent.cuh"

namespace strata::cuda::train {
namespace {

template <class T>
__device__ Compute<T> at(const StepRows& rows, std::int64_t row, std::int64_t column) {
  if (rows.data == nullptr) return 0;
  return value(static_cast<const T*>(rows.data)[row * rows.row + column]);
}
template <class T>
__device__ void put(const StepRows& rows, std::int64_t row, std::int64_t column, Compute<T> x) {
  if (rows.data != nullptr) static_cast<T*>(rows.data)[row * rows.row + column] = stored<T>(x);
}
template <class T>
__device__ Compute<T> bias_of(const void* bias, std::int64_t i) {
  return bias == nullptr ? Compute<T>(0) : Compute<T>(value(static_cast<const T*>(bias)[i]));
}

template <class T>
__global__ void cell_forward(CellStep s) {
  using A = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= s.batch * s.hidden) return;
  const std::int64_t n = i / s.hidden, u = i % s.hidden;
  const auto of_input = [&](int gate) {
    const std::int64_t place = gate * s.hidden + u;
    return at<T>(s.of_input, n, place) + bias_of<T>(s.input_bias, place);
  };
  const auto of_state = [&](int gate) {
    const std::int64_t place = gate * s.hidden + u;
    return at<T>(s.of_state, n, place) + bias_of<T>(s.state_bias, place);
  };
  const auto keep = [&](int gate, A x) { put<T>(s.gates, n, gate * s.hidden + u, x); };
  if (s.cell == CellKind::lstm) {
    const A input = logistic(of_input(0) + of_state(0)),
            forget = logistic(of_input(1) + of_state(1));
    const A candidate = tanh(of_input(2) + of_state(2)), out = logistic(of_input(3) + of_state(3));
    const A c = forget * at<T>(s.cells_before, n, u) + input * candidate;
    keep(0, input);
    keep(1, forget);
    keep(2, candidate);
    keep(3, out);
    put<T>(s.cells, n, u, c);
    put<T>(s.state, n, u, out * tanh(c));
  } else if (s.cell == CellKind::gru) {
    const A reset = logistic(of_input(0) + of_state(0)),
            update = logistic(of_input(1) + of_state(1));
    const A q = of_state(2);
    const A candidate = tanh(of_input(2) + reset * q);
    keep(0, reset);
    keep(1, update);
    keep(2, candidate);
    keep(3, q);
    put<T>(s.state, n, u, (A(1) - update) * candidate + update * at<T>(s.state_before, n, u));
  } else {
    const A a = of_input(0) + of_state(0);
    put<T>(s.state, n, u, s.cell == CellKind::rnn_tanh ? tanh(a) : (a > A(0) ? a : A(0)));
  }
}

template <class T>
__global__ void cell_backward(CellStep s) {
  using A = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= s.batch * s.hidden) return;
  const std::int64_t n = i / s.hidden, u = i % s.hidden;
  auto* const dh = static_cast<T*>(s.state_gradient);
  const A dm = A(value(dh[i])) + at<T>(s.above, n, u);
  const auto gate = [&](int g) { return at<T>(s.gates, n, g * s.hidden + u); };
  const auto leave = [&](int g, A input, A state) {
    put<T>(s.gate_gradients, n, g * s.hidden + u, input);
    put<T>(s.of_state, n, g * s.hidden + u, state);
  };
  if (s.cell == CellKind::lstm) {
    const A in = gate(0), forget = gate(1), candidate = gate(2), out = gate(3);
    auto* const dcs = static_cast<A*>(s.cell_gradient);
    const A squashed = tanh(at<T>(s.cells, n, u));
    const A dc = dcs[i] + dm * out * (A(1) - squashed * squashed);
    dcs[i] = dc * forget;
    const A da_i = dc * candidate * in * (A(1) - in);
    const A da_f = dc * at<T>(s.cells_before, n, u) * forget * (A(1) - forget);
    const A da_g = dc * in * (A(1) - candidate * candidate);
    const A da_o = dm * squashed * out * (A(1) - out);
    leave(0, da_i, da_i);
    leave(1, da_f, da_f);
    leave(2, da_g, da_g);
    leave(3, da_o, da_o);
  } else if (s.cell == CellKind::gru) {
    const A reset = gate(0), update = gate(1), candidate = gate(2), q = gate(3);
    const A da_n = dm * (A(1) - update) * (A(1) - candidate * candidate);
    const A da_z = dm * (at<T>(s.state_before, n, u) - candidate) * update * (A(1) - update);
    const A da_r = da_n * q * reset * (A(1) - reset);
    dh[i] = stored<T>(dm * update);
    leave(0, da_r, da_r);
    leave(1, da_z, da_z);
    leave(2, da_n, da_n * reset);
  } else {
    const A h = at<T>(s.state, n, u);
    const A da = s.cell == CellKind::rnn_tanh ? dm * (A(1) - h * h) : (h > A(0) ? dm : A(0));
    leave(0, da, da);
  }
}

template <class T>
__global__ void add_row_pairs(StepRows to, StepRows a, StepRows b, std::int64_t rows,
                              std::int64_t width) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= rows * width) return;
  const std::int64_t n = i / width, u = i % width;
  put<T>(to, n, u, at<T>(a, n, u) + at<T>(b, n, u));
}

}  // namespace

void step_forward(const CellStep& step, cudaStream_t stream) {
  with_element_type(step.dtype, [&](auto element) {
    cell_forward<decltype(element)>
        <<<blocks_for(step.batch * step.hidden), threads_per_block, 0, stream>>>(step);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void step_backward(const CellStep& step, cudaStream_t stream) {
  with_element_type(step.dtype, [&](auto element) {
    cell_backward<decltype(element)>
        <<<blocks_for(step.batch * step.hidden), threads_per_block, 0, stream>>>(step);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void add_rows(StepRows to, StepRows a, StepRows b, std::int64_t rows, std::int64_t width,
              DType dtype, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    add_row_pairs<decltype(element)>
        <<<blocks_for(rows * width), threads_per_block, 0, stream>>>(to, a, b, rows, width);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
