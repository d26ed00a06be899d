// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/plain/product.hpp"
#include "strata/measure/cpu/plain/recurrent_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace strata::cpu_training::plain {
namespace {

template <class T>
struct BackwardScratch {
  T* layers[2];  // gradients of the result of this layer and of the one below
  T* dh;         // [batch, width]
  T* dh_before;
  T* dm;  // [batch, hidden]: of what a step puts out before the projection
  T* dc;
  T* before;  // [rows, width]: the state one step before each

  BackwardScratch(const RecurrentPlan& plan, T* scratch) {
    const auto take = [&](std::int64_t count) { return std::exchange(scratch, scratch + count); };
    for (T*& layer : layers) layer = take(plan.rows() * plan.layer_width());
    dh = take(plan.batch * plan.width());
    dh_before = take(plan.batch * plan.width());
    dm = take(plan.batch * plan.op.hidden);
    dc = take(plan.batch * plan.op.hidden);
    before = take(plan.rows() * plan.width());
  }
};

template <class T>
struct BackwardCell {
  const RecurrentPlan& plan;
  const NodeMemory& m;
  T* kept;
  const BackwardScratch<T>& scratch;
  std::int64_t layer, direction;
  const T* above;  // gradient of this layer's result; null: none
  T* below;        // and of what it reads; null: not wanted

  std::int64_t cell() const { return layer * plan.directions() + direction; }
  const T* own(std::int64_t which) const { return numbers<T>(m.inputs[plan.own(cell(), which)]); }
  T* own_gradient(std::size_t input) const { return numbers<T>(m.input_gradients[input]); }
  T* gates(std::int64_t n, std::int64_t t) const {
    return kept + plan.gates_at(cell()) + (n * plan.steps + t) * plan.row_step();
  }
  const T* result_before(std::int64_t n, std::int64_t k) const {
    if (k == 0) {
      if (!plan.has_h0) return nullptr;
      return numbers<T>(m.inputs[1]) + (cell() * plan.batch + n) * plan.width();
    }
    return layer_result(plan, m, kept, layer) + direction * plan.width() +
           (n * plan.steps + plan.time(direction, k - 1)) * plan.layer_width();
  }
  const T* state_before(std::int64_t n, std::int64_t k) const {
    if (k == 0) {
      if (!plan.has_c0) return nullptr;
      return numbers<T>(m.inputs[2]) + (cell() * plan.batch + n) * plan.op.hidden;
    }
    return state(n, plan.time(direction, k - 1));
  }
  const T* state(std::int64_t n, std::int64_t t) const {
    return kept + plan.states_at(cell()) + (n * plan.steps + t) * plan.op.hidden;
  }

  void run() const {
    begin_with_last_states();
    for (std::int64_t k = plan.steps - 1; k >= 0; --k) step(k);
    put_first_state_gradients();
    if (below != nullptr) to_below();
    weight_gradients();
  }

 private:
  void begin_with_last_states() const {
    const auto begin = [&](std::size_t output, std::int64_t width, T* to) {
      const T* const given =
          m.output_gradients.size() > output ? numbers<T>(m.output_gradients[output]) : nullptr;
      const std::int64_t count = plan.batch * width;
      given != nullptr ? void(std::copy(given + cell() * count, given + (cell() + 1) * count, to))
                       : std::fill(to, to + count, T(0));
    };
    begin(1, plan.width(), scratch.dh);
    if (plan.op.cell == CellKind::lstm) begin(2, plan.op.hidden, scratch.dc);
  }

  void step(std::int64_t k) const {
    const std::int64_t t = plan.time(direction, k), width = plan.width();
    for (std::int64_t n = 0; above != nullptr && n < plan.batch; ++n) {
      const T* const from = above + (n * plan.steps + t) * plan.layer_width() + direction * width;
      for (std::int64_t j = 0; j < width; ++j) scratch.dh[n * width + j] += from[j];
    }
    if (plan.op.projection > 0) through_projection(t);
    const T* const dm = plan.op.projection > 0 ? scratch.dm : scratch.dh;
    parallel_for(plan.batch, 4 * plan.row_step(),
                 [&](std::int64_t n) { through_gates(n, k, dm + n * plan.op.hidden); });
    to_state_before(t);
  }

  void through_projection(std::int64_t t) const {
    T* const kept_dh = kept + plan.state_gradients_at(cell());
    for (std::int64_t n = 0; n < plan.batch; ++n) {
      const T* const from = scratch.dh + n * plan.width();
      std::copy(from, from + plan.width(), kept_dh + (n * plan.steps + t) * plan.width());
    }
    multiply<T>({.m = plan.batch,
                 .n = plan.op.hidden,
                 .k = plan.width(),
                 .a = scratch.dh,
                 .a_step = plan.width(),
                 .b = numbers<T>(m.inputs[plan.projection_input(cell())]),
                 .b_step = plan.op.hidden,
                 .result = scratch.dm,
                 .result_step = plan.op.hidden});
  }

  void through_gates(std::int64_t n, std::int64_t k, const T* dm) const {
    T* const g = gates(n, plan.time(direction, k));
    const std::int64_t hidden = plan.op.hidden;
    switch (plan.op.cell) {
      case CellKind::lstm: return through_lstm(n, k, dm, g);
      case CellKind::gru: return through_gru(n, k, dm, g);
      case CellKind::rnn_tanh:
        for (std::int64_t u = 0; u < hidden; ++u) g[u] = dm[u] * (T(1) - g[u] * g[u]);
        return;
      case CellKind::rnn_relu:
        for (std::int64_t u = 0; u < hidden; ++u) g[u] = g[u] > T(0) ? dm[u] : T(0);
        return;
    }
  }

  void through_lstm(std::int64_t n, std::int64_t k, const T* dm, T* g) const {
    const std::int64_t hidden = plan.op.hidden;
    const T* const c = state(n, plan.time(direction, k));
    const T* const before = state_before(n, k);
    T* const dc = scratch.dc + n * hidden;
    for (std::int64_t u = 0; u < hidden; ++u) {
      const T i = g[u], f = g[hidden + u], a = g[2 * hidden + u], o = g[3 * hidden + u];
      const T shown = std::tanh(c[u]);
      const T total = dc[u] + dm[u] * o * (T(1) - shown * shown);
      g[u] = total * a * i * (T(1) - i);
      g[hidden + u] = total * (before != nullptr ? before[u] : T(0)) * f * (T(1) - f);
      g[2 * hidden + u] = total * i * (T(1) - a * a);
      g[3 * hidden + u] = dm[u] * shown * o * (T(1) - o);
      dc[u] = total * f;
    }
  }

  void through_gru(std::int64_t n, std::int64_t k, const T* dm, T* g) const {
    const std::int64_t hidden = plan.op.hidden;
    const T* const before = result_before(n, k);
    T* const direct = scratch.dh_before + n * hidden;
    for (std::int64_t u = 0; u < hidden; ++u) {
      const T r = g[u], z = g[hidden + u], fresh = g[2 * hidden + u], q = g[3 * hidden + u];
      const T d_fresh = dm[u] * (T(1) - z) * (T(1) - fresh * fresh);
      const T h = before != nullptr ? before[u] : T(0);
      direct[u] = dm[u] * z;
      g[u] = d_fresh * q * r * (T(1) - r);
      g[hidden + u] = dm[u] * (h - fresh) * z * (T(1) - z);
      g[2 * hidden + u] = d_fresh;
      g[3 * hidden + u] = d_fresh * r;
    }
  }

  /// dh = what came past the gates (GRU) + gradients of the gates · W_hh
  void to_state_before(std::int64_t t) const {
    const std::int64_t hidden = plan.op.hidden, width = plan.width();
    const bool is_gru = plan.op.cell == CellKind::gru;
    if (is_gru) std::copy(scratch.dh_before, scratch.dh_before + plan.batch * width, scratch.dh);
    Product<T> product{.m = plan.batch,
                       .n = width,
                       .k = (is_gru ? 2 : plan.gates()) * hidden,
                       .a = gates(0, t),
                       .a_step = plan.steps * plan.row_step(),
                       .b = own(1),
                       .b_step = width,
                       .result = scratch.dh,
                       .result_step = width,
                       .adds = is_gru};
    multiply<T>(product);
    if (!is_gru) return;
    product.k = hidden;
    product.a += 3 * hidden;
    product.b += 2 * hidden * width;
    multiply<T>(product);
  }

  void put_first_state_gradients() const {
    const auto put = [&](bool is_given, std::size_t input, std::int64_t width, const T* from) {
      T* const to = is_given ? numbers<T>(m.input_gradients[input]) : nullptr;
      if (to == nullptr) return;
      std::copy(from, from + plan.batch * width, to + cell() * plan.batch * width);
    };
    put(plan.has_h0, 1, plan.width(), scratch.dh);
    put(plan.has_c0, 2, plan.op.hidden, scratch.dc);
  }

  void to_below() const {
    const std::int64_t inputs = plan.inputs_of(layer);
    multiply<T>({.m = plan.rows(),
                 .n = inputs,
                 .k = plan.gates() * plan.op.hidden,
                 .a = gates(0, 0),
                 .a_step = plan.row_step(),
                 .b = own(0),
                 .b_step = inputs,
                 .result = below,
                 .result_step = inputs,
                 .adds = direction > 0});
  }

  void weight_gradients() const {
    const std::int64_t hidden = plan.op.hidden, inputs = plan.inputs_of(layer);
    const std::int64_t gates_width = plan.gates() * hidden;
    if (T* const dw = own_gradient(plan.own(cell(), 0))) {
      from_gates(0, gates_width, layer_input(plan, m, kept, layer), inputs, dw);
    }
    const bool is_gru = plan.op.cell == CellKind::gru;
    const std::int64_t shared = is_gru ? 2 * hidden : gates_width;  // the same for input and state
    if (T* const dw = own_gradient(plan.own(cell(), 1))) {
      gather_before();
      from_gates(0, shared, scratch.before, plan.width(), dw);
      if (is_gru) {
        from_gates(3 * hidden, hidden, scratch.before, plan.width(), dw + shared * plan.width());
      }
    }
    if (T* const db = plan.op.biases > 0 ? own_gradient(plan.own(cell(), 2)) : nullptr) {
      sum_rows(gates(0, 0), plan.rows(), gates_width, plan.row_step(), db);
    }
    if (T* const db = plan.op.biases > 1 ? own_gradient(plan.own(cell(), 3)) : nullptr) {
      sum_rows(gates(0, 0), plan.rows(), shared, plan.row_step(), db);
      if (is_gru) {
        sum_rows(gates(0, 0) + 3 * hidden, plan.rows(), hidden, plan.row_step(), db + shared);
      }
    }
    if (plan.op.projection == 0) return;
    if (T* const dw = own_gradient(plan.projection_input(cell()))) {
      multiply<T>({.m = plan.width(),
                   .n = hidden,
                   .k = plan.rows(),
                   .a = kept + plan.state_gradients_at(cell()),
                   .a_step = plan.width(),
                   .a_is_transposed = true,
                   .b = kept + plan.unprojected_at(cell()),
                   .b_step = hidden,
                   .result = dw,
                   .result_step = hidden});
    }
  }

  /// dw[count, width] = Σ over rows of gates[row, first …]ᵀ · x[row]
  void from_gates(std::int64_t first, std::int64_t count, const T* x, std::int64_t width,
                  T* dw) const {
    multiply<T>({.m = count,
                 .n = width,
                 .k = plan.rows(),
                 .a = gates(0, 0) + first,
                 .a_step = plan.row_step(),
                 .a_is_transposed = true,
                 .b = x,
                 .b_step = width,
                 .result = dw,
                 .result_step = width});
  }

  void gather_before() const {
    parallel_for(plan.batch, plan.steps * plan.width(), [&](std::int64_t n) {
      for (std::int64_t k = 0; k < plan.steps; ++k) {
        const std::int64_t row = n * plan.steps + plan.time(direction, k);
        T* const to = scratch.before + row * plan.width();
        const T* const from = result_before(n, k);
        from != nullptr ? void(std::copy(from, from + plan.width(), to))
                        : std::fill(to, to + plan.width(), T(0));
      }
    });
  }
};

}  // namespace

template <class T>
void recurrent_backward(const RecurrentPlan& plan, const NodeMemory& m) {
  T* const kept = numbers<T>(m.saved);
  const BackwardScratch<T> scratch(plan, numbers<T>(m.scratch));
  const T* above = numbers<T>(m.output_gradients[0]);
  for (std::int64_t layer = plan.op.layers - 1; layer >= 0; --layer) {
    T* const below = layer == 0 ? numbers<T>(m.input_gradients[0]) : scratch.layers[layer % 2];
    for (std::int64_t direction = 0; direction < plan.directions(); ++direction) {
      BackwardCell<T>{plan, m, kept, scratch, layer, direction, above, below}.run();
    }
    above = below;
  }
}

template void recurrent_backward<float>(const RecurrentPlan&, const NodeMemory&);
template void recurrent_backward<double>(const RecurrentPlan&, const NodeMemory&);

}  // namespace strata::cpu_training::plain
