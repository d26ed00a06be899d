// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/product.hpp"
#include "strata/measure/cpu/plain/recurrent_plan.hpp"

#include <algorithm>
#include <cmath>

namespace strata::cpu_training::plain {

RecurrentPlan::RecurrentPlan(const Recurrent& recurrent, const NodeContext& context)
    : op(recurrent),
      batch(context.input()[0]),
      steps(context.input()[1]),
      features(context.input()[2]),
      has_h0(context.first_own() > 1),
      has_c0(context.first_own() > 2),
      keeps(context.wants_any()),
      first_own(context.first_own()) {}

namespace {

template <class T>
void apply_sigmoid(T* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = T(1) / (T(1) + std::exp(-x[i]));
}
template <class T>
void apply_tanh(T* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = std::tanh(x[i]);
}

template <class T>
struct ForwardCell {
  const RecurrentPlan& plan;
  const NodeMemory& m;
  T* kept;
  std::int64_t layer, direction;

  std::int64_t cell() const { return layer * plan.directions() + direction; }
  const T* own(std::int64_t which) const { return numbers<T>(m.inputs[plan.own(cell(), which)]); }
  T* gates(std::int64_t n, std::int64_t t) const {
    return kept + plan.gates_at(cell()) + (n * plan.steps + t) * plan.row_step();
  }
  T* state(std::int64_t n, std::int64_t t) const {
    return kept + plan.states_at(cell()) + (n * plan.steps + t) * plan.op.hidden;
  }
  T* result(std::int64_t n, std::int64_t t) const {
    return layer_result(plan, m, kept, layer) + (n * plan.steps + t) * plan.layer_width() +
           direction * plan.width();
  }
  /// Where a step's output before the projection goes.
  T* unprojected(std::int64_t n, std::int64_t t) const {
    if (plan.op.projection == 0) return result(n, t);
    return kept + plan.unprojected_at(cell()) + (n * plan.steps + t) * plan.op.hidden;
  }

  void run() const {
    set_biases();
    add_input();
    for (std::int64_t k = 0; k < plan.steps; ++k) {
      add_state(k);
      parallel_for(plan.batch, 4 * plan.row_step(), [&](std::int64_t n) { through_gates(n, k); });
      if (plan.op.projection > 0) project(k);
    }
    put_last_states();
  }

 private:
  /// Every row begins with the sum of the biases; a GRU's new gate keeps its two apart.
  void set_biases() const {
    const std::int64_t hidden = plan.op.hidden, count = plan.gates() * hidden;
    const T* const of_input = plan.op.biases > 0 ? own(2) : nullptr;
    const T* const of_state = plan.op.biases > 1 ? own(3) : nullptr;
    parallel_for(plan.rows(), plan.row_step(), [&](std::int64_t r) {
      T* const row = kept + plan.gates_at(cell()) + r * plan.row_step();
      std::fill_n(row, plan.row_step(), T(0));
      for (std::int64_t i = 0; i < count; ++i) {
        const bool is_new_gate = plan.op.cell == CellKind::gru && i >= 2 * hidden;
        if (of_input != nullptr) row[i] += of_input[i];
        if (of_state != nullptr) row[is_new_gate ? i + hidden : i] += of_state[i];
      }
    });
  }

  /// All times at once: what comes from below is there already.
  void add_input() const {
    const std::int64_t inputs = plan.inputs_of(layer);
    multiply<T>({.m = plan.rows(),
                 .n = plan.gates() * plan.op.hidden,
                 .k = inputs,
                 .a = layer_input(plan, m, kept, layer),
                 .a_step = inputs,
                 .b = own(0),
                 .b_step = inputs,
                 .b_is_transposed = true,
                 .result = gates(0, 0),
                 .result_step = plan.row_step(),
                 .adds = true});
  }

  void add_state(std::int64_t k) const {
    if (k == 0 && !plan.has_h0) return;
    const std::int64_t t = plan.time(direction, k), hidden = plan.op.hidden;
    Product<T> product{.m = plan.batch,
                       .n = plan.gates() * hidden,
                       .k = plan.width(),
                       .b = own(1),
                       .b_step = plan.width(),
                       .b_is_transposed = true,
                       .result = gates(0, t),
                       .result_step = plan.steps * plan.row_step(),
                       .adds = true};
    if (k == 0) {
      product.a = numbers<T>(m.inputs[1]) + cell() * plan.batch * plan.width();
      product.a_step = plan.width();
    } else {
      product.a = result(0, plan.time(direction, k - 1));
      product.a_step = plan.steps * plan.layer_width();
    }
    if (plan.op.cell != CellKind::gru) return multiply<T>(product);
    product.n = 2 * hidden;
    multiply<T>(product);
    product.n = hidden;
    product.b += 2 * hidden * plan.width();
    product.result += 3 * hidden;
    multiply<T>(product);
  }

  const T* state_before(std::int64_t n, std::int64_t k) const {
    if (k > 0) return state(n, plan.time(direction, k - 1));
    if (!plan.has_c0) return nullptr;
    return numbers<T>(m.inputs[2]) + (cell() * plan.batch + n) * plan.op.hidden;
  }
  const T* result_before(std::int64_t n, std::int64_t k) const {
    if (k > 0) return result(n, plan.time(direction, k - 1));
    if (!plan.has_h0) return nullptr;
    return numbers<T>(m.inputs[1]) + (cell() * plan.batch + n) * plan.width();
  }

  void through_gates(std::int64_t n, std::int64_t k) const {
    const std::int64_t hidden = plan.op.hidden, t = plan.time(direction, k);
    T* const g = gates(n, t);
    T* const out = unprojected(n, t);
    const auto zero_or = [](const T* numbers, std::int64_t i) {
      return numbers != nullptr ? numbers[i] : T(0);
    };
    switch (plan.op.cell) {
      case CellKind::lstm: {
        apply_sigmoid(g, 2 * hidden);
        apply_tanh(g + 2 * hidden, hidden);
        apply_sigmoid(g + 3 * hidden, hidden);
        const T* const before = state_before(n, k);
        T* const c = state(n, t);
        for (std::int64_t u = 0; u < hidden; ++u) {
          c[u] = g[hidden + u] * zero_or(before, u) + g[u] * g[2 * hidden + u];
        }
        for (std::int64_t u = 0; u < hidden; ++u) out[u] = g[3 * hidden + u] * std::tanh(c[u]);
        break;
      }
      case CellKind::gru: {
        apply_sigmoid(g, 2 * hidden);
        T* const fresh = g + 2 * hidden;
        for (std::int64_t u = 0; u < hidden; ++u) fresh[u] += g[u] * g[3 * hidden + u];
        apply_tanh(fresh, hidden);
        const T* const before = result_before(n, k);
        for (std::int64_t u = 0; u < hidden; ++u) {
          const T z = g[hidden + u];
          out[u] = (T(1) - z) * fresh[u] + z * zero_or(before, u);
        }
        break;
      }
      case CellKind::rnn_tanh:
        apply_tanh(g, hidden);
        std::copy(g, g + hidden, out);
        break;
      case CellKind::rnn_relu:
        for (std::int64_t u = 0; u < hidden; ++u) out[u] = g[u] = std::max(g[u], T(0));
        break;
    }
  }

  void project(std::int64_t k) const {
    const std::int64_t t = plan.time(direction, k);
    multiply<T>({.m = plan.batch,
                 .n = plan.op.projection,
                 .k = plan.op.hidden,
                 .a = unprojected(0, t),
                 .a_step = plan.steps * plan.op.hidden,
                 .b = numbers<T>(m.inputs[plan.projection_input(cell())]),
                 .b_step = plan.op.hidden,
                 .b_is_transposed = true,
                 .result = result(0, t),
                 .result_step = plan.steps * plan.layer_width()});
  }

  void put_last_states() const {
    const std::int64_t t = plan.time(direction, plan.steps - 1);
    for (std::int64_t n = 0; n < plan.batch; ++n) {
      const std::int64_t row = cell() * plan.batch + n;
      if (T* const last = numbers<T>(m.outputs[1])) {
        std::copy(result(n, t), result(n, t) + plan.width(), last + row * plan.width());
      }
      if (plan.op.cell != CellKind::lstm || m.outputs[2] == nullptr) continue;
      std::copy(state(n, t), state(n, t) + plan.op.hidden,
                numbers<T>(m.outputs[2]) + row * plan.op.hidden);
    }
  }
};

}  // namespace

template <class T>
void recurrent_forward(const RecurrentPlan& plan, const NodeMemory& m) {
  T* const kept = numbers<T>(plan.keeps ? m.saved : m.scratch);
  for (std::int64_t layer = 0; layer < plan.op.layers; ++layer) {
    for (std::int64_t direction = 0; direction < plan.directions(); ++direction) {
      ForwardCell<T>{plan, m, kept, layer, direction}.run();
    }
  }
}

template void recurrent_forward<float>(const RecurrentPlan&, const NodeMemory&);
template void recurrent_forward<double>(const RecurrentPlan&, const NodeMemory&);

KernelPairOrReason make_kernels(const Recurrent& op, const NodeContext& context) {
  const RecurrentPlan plan(op, context);
  return with_real(context.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr auto element = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t kept = plan.kept_elements() * element;
    return KernelPair{
        .forward = [=](const NodeMemory& m) { recurrent_forward<T>(plan, m); },
        .backward = [=](const NodeMemory& m) { recurrent_backward<T>(plan, m); },
        .needs = {.inputs = true,
                  .outputs = true,
                  .saved_bytes = plan.keeps ? kept : 0,
                  .scratch_bytes = plan.keeps ? plan.scratch_elements() * element : kept,
                  .backward_is_one = true}};
  });
}

}  // namespace strata::cpu_training::plain
