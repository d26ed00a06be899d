// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/ops/recurrent_cell_test.hpp"

namespace strata::naive {
namespace {

struct NaiveRecurrent : Stack {
  explicit NaiveRecurrent(const Recurrent& recurrent) : Stack{recurrent} {}

  // In forward the layer below is read from a scratch copy, so that what is saved is only written.
  template <class T>
  void forward(Run<T>& run) const {
    const bool keeps = run.has_backward();
    const Saved saved = keeps ? make_saved(*this, run) : Saved{};
    const std::int64_t batch = run.input(0)[0], steps = run.input(0)[1];
    Buffer<T> below(run.input(0).shape());
    for_each_index(below.shape(), [&](const Index& i) { below[i] = run.input(0)(i); });
    for (std::int64_t layer = 0; layer < op.layers; ++layer) {
      Buffer<T> above({batch, steps, directions() * width()});
      for (std::int64_t d = 0; d < directions(); ++d) {
        for (std::int64_t n = 0; n < batch; ++n) {
          Cell<T> cell{*this, run, saved, layer, d, n};
          run_forward(cell, below, above, keeps);
        }
      }
      if (is_top(layer)) {
        run.output().set_all(above);
      } else if (keeps) {
        for_each_index(above.shape(), [&](const Index& i) {
          run.saved(saved.hidden).set(joined({layer}, i), above[i]);
        });
      }
      below = above;
    }
  }

  template <class T>
  void backward(Run<T>& run) const {
    run.pass() == Pass::backward_input ? through_time(run) : weights(run);
  }

 private:
  template <class T>
  void run_forward(Cell<T>& cell, const Buffer<T>& below, Buffer<T>& above, bool keeps) const {
    Run<T>& run = cell.run;
    std::vector<T> h(static_cast<std::size_t>(width())), c(static_cast<std::size_t>(op.hidden));
    for (std::size_t j = 0; j < h.size(); ++j) h[j] = cell.h(-1, static_cast<std::int64_t>(j));
    if (op.cell == CellKind::lstm) {
      for (std::size_t u = 0; u < c.size(); ++u) c[u] = cell.c(-1, static_cast<std::int64_t>(u));
    }
    for (std::int64_t k = 0; k < cell.steps(); ++k) {
      const std::int64_t t = cell.step(k);
      std::vector<T> m(static_cast<std::size_t>(op.hidden));
      for (std::int64_t u = 0; u < op.hidden; ++u) {
        m[static_cast<std::size_t>(u)] =
            unit_forward(cell, below, h, c[static_cast<std::size_t>(u)], t, u, keeps);
        if (keeps && op.projection > 0) {
          run.saved(cell.saved.unprojected).set(cell.at(t, {u}), m[static_cast<std::size_t>(u)]);
        }
      }
      h = projected(cell, m);
      for (std::int64_t j = 0; j < width(); ++j)
        above[{cell.sample, t, cell.direction * width() + j}] = h[static_cast<std::size_t>(j)];
    }
    for (std::size_t j = 0; j < h.size(); ++j) {
      run.output(1).set({cell.state_row(), cell.sample, static_cast<std::int64_t>(j)}, h[j]);
    }
    if (op.cell != CellKind::lstm) return;
    for (std::size_t u = 0; u < c.size(); ++u) {
      run.output(2).set({cell.state_row(), cell.sample, static_cast<std::int64_t>(u)}, c[u]);
    }
  }

  template <class T>
  std::vector<T> projected(Cell<T>& cell, const std::vector<T>& m) const {
    if (op.projection == 0) return m;
    std::vector<T> h;
    Tensor<T>& weight = cell.run.own(projection_of(cell.layer, cell.direction));
    for (std::int64_t j = 0; j < op.projection; ++j) {
      T sum = 0;
      for (std::int64_t u = 0; u < op.hidden; ++u)
        sum = multiply_add(sum, weight({j, u}), m[static_cast<std::size_t>(u)]);
      h.push_back(sum);
    }
    return h;
  }

  /// One hidden unit's step; returns what it puts out.
  template <class T>
  T unit_forward(Cell<T>& cell, const Buffer<T>& below, const std::vector<T>& h, T& c,
                 std::int64_t t, std::int64_t u, bool keeps) const {
    const auto of_input = [&](std::int64_t gate) {
      T sum = 0;
      for (std::int64_t i = 0; i < cell.inputs(); ++i) {
        sum = multiply_add(sum, cell.own(0)({gate * op.hidden + u, i}), below[{cell.sample, t, i}]);
      }
      return op.biases > 0 ? sum + cell.own(2)({gate * op.hidden + u}) : sum;
    };
    const auto with_state = [&](std::int64_t gate, T sum) {
      for (std::int64_t j = 0; j < width(); ++j) {
        sum = multiply_add(sum, cell.own(1)({gate * op.hidden + u, j}),
                           h[static_cast<std::size_t>(j)]);
      }
      return op.biases > 1 ? sum + cell.own(3)({gate * op.hidden + u}) : sum;
    };
    const auto keep = [&](std::vector<T> values) {
      for (std::size_t g = 0; keeps && g < values.size(); ++g) {
        cell.run.saved(cell.saved.gates)
            .set(cell.at(t, {static_cast<std::int64_t>(g), u}), values[g]);
      }
    };
    if (op.cell == CellKind::lstm) {
      const T i = logistic(with_state(0, of_input(0))), f = logistic(with_state(1, of_input(1)));
      const T g = tanh_of(with_state(2, of_input(2))), o = logistic(with_state(3, of_input(3)));
      c = f * c + i * g;
      keep({i, f, g, o});
      if (keeps) cell.run.saved(cell.saved.cells).set(cell.at(t, {u}), c);
      return o * tanh_of(c);
    }
    if (op.cell == CellKind::gru) {
      const T r = logistic(with_state(0, of_input(0))), z = logistic(with_state(1, of_input(1)));
      const T q = with_state(2, T(0));
      const T n = tanh_of(of_input(2) + r * q);
      keep({r, z, n, q});
      return (T(1) - z) * n + z * h[static_cast<std::size_t>(u)];
    }
    const T a = with_state(0, of_input(0));
    return op.cell == CellKind::rnn_tanh ? tanh_of(a) : larger(a, T(0));
  }

  template <class T>
  void through_time(Run<T>& run) const {
    const std::int64_t batch = run.input(0)[0], steps = run.input(0)[1];
    const Saved saved = places_of(run);
    Buffer<T> above({batch, steps, directions() * width()});  // gradient of this layer's result
    const bool has_dy = run.has_gradient(0);
    if (has_dy)
      for_each_index(above.shape(), [&](const Index& i) { above[i] = run.output_gradient()(i); });
    for (std::int64_t layer = op.layers - 1; layer >= 0; --layer) {
      const std::int64_t inputs = run.own(own_of(layer, 0, 0))[1];
      Buffer<T> below({batch, steps, inputs});
      for (std::int64_t d = 0; d < directions(); ++d) {
        for (std::int64_t n = 0; n < batch; ++n) {
          Cell<T> cell{*this, run, saved, layer, d, n};
          run_backward(cell, above, below, has_dy || !is_top(layer));
        }
      }
      above = below;
    }
    if (run.wants(0)) run.input_gradient(0).set_all(above);
  }

  template <class T>
  void run_backward(Cell<T>& cell, const Buffer<T>& above, Buffer<T>& below, bool has_dy) const {
    Run<T>& run = cell.run;
    const auto start = [&](std::size_t output, std::int64_t j) {
      return run.has_gradient(output)
                 ? run.output_gradient(output)({cell.state_row(), cell.sample, j})
                 : T(0);
    };
    std::vector<T> dh, dc;
    for (std::int64_t j = 0; j < width(); ++j) dh.push_back(start(1, j));
    for (std::int64_t u = 0; u < op.hidden && op.cell == CellKind::lstm; ++u)
      dc.push_back(start(2, u));
    for (std::int64_t k = cell.steps() - 1; k >= 0; --k) {
      const std::int64_t t = cell.step(k);
      for (std::int64_t j = 0; j < width() && has_dy; ++j) {
        dh[static_cast<std::size_t>(j)] += above[{cell.sample, t, cell.direction * width() + j}];
      }
      step_backward(cell, k, dh, dc, below);
    }
    for (std::int64_t j = 0; j < width() && run.wants(1) && run.first_own() > 1; ++j) {
      run.input_gradient(1).set({cell.state_row(), cell.sample, j},
                                dh[static_cast<std::size_t>(j)]);
    }
    for (std::int64_t u = 0; u < op.hidden && run.wants(2) && run.first_own() > 2; ++u) {
      run.input_gradient(2).set({cell.state_row(), cell.sample, u},
                                dc[static_cast<std::size_t>(u)]);
    }
  }

  /// Gradients under the gates, as they meet the input (first) and as they meet the state (second).
  template <class T>
  struct GateGradients {
    std::vector<T> of_input, of_state;
  };

  template <class T>
  void step_backward(Cell<T>& cell, std::int64_t k, std::vector<T>& dh, std::vector<T>& dc,
                     Buffer<T>& below) const {
    Run<T>& run = cell.run;
    const std::int64_t t = cell.step(k);
    std::vector<T> dm = dh;
    if (op.projection > 0) {
      dm.assign(static_cast<std::size_t>(op.hidden), T(0));
      Tensor<T>& weight = run.own(projection_of(cell.layer, cell.direction));
      for (std::int64_t j = 0; j < width(); ++j) {
        const T dh_j = dh[static_cast<std::size_t>(j)];
        run.saved(cell.saved.state_gradients).set(cell.at(t, {j}), dh_j);
        for (std::size_t u = 0; u < dm.size(); ++u) {
          dm[u] = multiply_add(dm[u], weight({j, static_cast<std::int64_t>(u)}), dh_j);
        }
      }
    }
    std::vector<T> dh_before(dh.size(), T(0));
    std::vector<GateGradients<T>> da;
    for (std::int64_t u = 0; u < op.hidden; ++u) {
      const auto at = static_cast<std::size_t>(u);
      T unused = 0;
      da.push_back(unit_backward(cell, k, u, dm[at], op.cell == CellKind::lstm ? dc[at] : unused,
                                 op.cell == CellKind::gru ? dh_before[at] : unused));
    }
    for (std::int64_t g = 0; g < gates(); ++g) {
      for (std::int64_t u = 0; u < op.hidden; ++u) {
        const GateGradients<T>& unit = da[static_cast<std::size_t>(u)];
        const T of_state = unit.of_state[static_cast<std::size_t>(g)],
                of_input = unit.of_input[static_cast<std::size_t>(g)];
        for (std::int64_t j = 0; j < width(); ++j) {
          T& sum = dh_before[static_cast<std::size_t>(j)];
          sum = multiply_add(sum, cell.own(1)({g * op.hidden + u, j}), of_state);
        }
        for (std::int64_t i = 0; i < below.shape()[2] && (cell.layer > 0 || run.wants(0)); ++i) {
          T& sum = below[{cell.sample, t, i}];
          sum = multiply_add(sum, cell.own(0)({g * op.hidden + u, i}), of_input);
        }
      }
    }
    dh = dh_before;
  }

  template <class T>
  GateGradients<T> unit_backward(Cell<T>& cell, std::int64_t k, std::int64_t u, T dm, T& dc,
                                 T& dh_before) const {
    const std::int64_t t = cell.step(k);
    const auto gate = [&](std::int64_t g) {
      return cell.run.saved(cell.saved.gates)(cell.at(t, {g, u}));
    };
    const auto leave = [&](std::vector<T> gradients) {
      for (std::size_t g = 0; g < gradients.size(); ++g) {
        cell.run.saved(cell.saved.gate_gradients)
            .set(cell.at(t, {static_cast<std::int64_t>(g), u}), gradients[g]);
      }
    };
    if (op.cell == CellKind::lstm) {
      const T i = gate(0), f = gate(1), g = gate(2), o = gate(3);
      const T squashed = tanh_of(cell.c(k, u));
      const T d_o = dm * squashed;
      dc += dm * o * (T(1) - squashed * squashed);
      const T di = dc * g, df = dc * cell.c(k - 1, u), dg = dc * i;
      dc = dc * f;
      const std::vector<T> da = {di * i * (T(1) - i), df * f * (T(1) - f), dg * (T(1) - g * g),
                                 d_o * o * (T(1) - o)};
      leave(da);
      return {da, da};
    }
    if (op.cell == CellKind::gru) {
      const T r = gate(0), z = gate(1), n = gate(2), q = gate(3);
      const T da_n = dm * (T(1) - z) * (T(1) - n * n);
      const T da_z = dm * (cell.h(k - 1, u) - n) * z * (T(1) - z);
      dh_before = dm * z;
      const T dq = da_n * r;
      const T da_r = da_n * q * r * (T(1) - r);
      leave({da_r, da_z, da_n, dq});
      return {{da_r, da_z, da_n}, {da_r, da_z, dq}};
    }
    const T h = cell.h(k, u);
    const T da = op.cell == CellKind::rnn_tanh ? dm * (T(1) - h * h) : (h > T(0) ? dm : T(0));
    leave({da});
    return {{da}, {da}};
  }

  template <class T>
  void weights(Run<T>& run) const {
    const Saved saved = places_of(run);
    for (std::int64_t layer = 0; layer < op.layers; ++layer) {
      for (std::int64_t d = 0; d < directions(); ++d) cell_weights(run, saved, layer, d);
    }
  }

  template <class T>
  void cell_weights(Run<T>& run, const Saved& saved, std::int64_t layer, std::int64_t d) const {
    std::vector<Buffer<T>> sums;
    const std::size_t first = own_of(layer, d, 0), end = own_of(layer, d + 1, 0);
    for (std::size_t i = first; i < end; ++i) sums.emplace_back(run.own(i).shape());
    for (std::int64_t n = 0; n < run.input(0)[0]; ++n) {
      Cell<T> cell{*this, run, saved, layer, d, n};
      for (std::int64_t k = 0; k < cell.steps(); ++k) step_weights(cell, k, sums);
    }
    for (std::size_t i = first; i < end; ++i)
      run.input_gradient(run.first_own() + i).set_all(sums[i - first]);
  }

  template <class T>
  void step_weights(Cell<T>& cell, std::int64_t k, std::vector<Buffer<T>>& sums) const {
    const std::int64_t t = cell.step(k);
    for_each_index({gates(), op.hidden}, [&](const Index& unit) {
      const std::int64_t row = unit[0] * op.hidden + unit[1];
      const auto gradient = [&](std::int64_t g) {
        return cell.run.saved(cell.saved.gate_gradients)(cell.at(t, {g, unit[1]}));
      };
      const T of_input = gradient(unit[0]);
      const T of_state = op.cell == CellKind::gru && unit[0] == 2 ? gradient(3) : of_input;
      for (std::int64_t i = 0; i < cell.inputs(); ++i) {
        sums[0][{row, i}] = multiply_add(sums[0][{row, i}], of_input, cell.x(t, i));
      }
      for (std::int64_t j = 0; j < width(); ++j) {
        sums[1][{row, j}] = multiply_add(sums[1][{row, j}], of_state, cell.h(k - 1, j));
      }
      if (op.biases > 0) sums[2][{row}] += of_input;
      if (op.biases > 1) sums[3][{row}] += of_state;
    });
    if (op.projection == 0) return;
    for_each_index({op.projection, op.hidden}, [&](const Index& at) {
      sums.back()[at] = multiply_add(
          sums.back()[at], cell.run.saved(cell.saved.state_gradients)(cell.at(t, {at[0]})),
          cell.run.saved(cell.saved.unprojected)(cell.at(t, {at[1]})));
    });
  }
};

void check_random(CellKind kind) {
  for_random_cases(80, [kind](Random& random) {
    Recurrent op{.cell = kind, .hidden = random.between(1, 3), .layers = random.between(1, 3)};
    op.bidirectional = random.coin();
    op.biases = random.between(0, 2);
    op.fused_gates = random.coin();
    if (kind == CellKind::lstm && random.coin()) op.projection = random.between(1, 3);
    const Stack stack{op};
    const std::int64_t batch = random.between(1, 2), steps = random.between(1, 3);
    std::vector<Source> sources = {{{batch, steps, random.between(1, 3)}, any_role(random)}};
    const std::int64_t cells = op.layers * stack.directions();
    if (random.coin()) sources.push_back({{cells, batch, stack.width()}, any_role(random)});
    if (sources.size() == 2 && kind == CellKind::lstm && random.coin()) {
      sources.push_back({{cells, batch, op.hidden}, any_role(random)});
    }
    const bool uses_y = random.coin();
    std::vector<bool> used = {uses_y, !uses_y || random.coin()};
    if (kind == CellKind::lstm) used.push_back(random.coin());
    // The last output is in Y but nobody multiplies with it, so a single step leaves gaps.
    check(NaiveRecurrent(op), sources,
          {.touch = Touch::gaps,
           .dtype = any_dtype(random),
           .used_outputs = used,
           .data_gradients_are_in_input_pass = true});
  });
}

TEST(RecurrentCost, lstm_equals_the_loops) { check_random(CellKind::lstm); }
TEST(RecurrentCost, gru_equals_the_loops) { check_random(CellKind::gru); }
TEST(RecurrentCost, rnn_tanh_equals_the_loops) { check_random(CellKind::rnn_tanh); }
TEST(RecurrentCost, rnn_relu_equals_the_loops) { check_random(CellKind::rnn_relu); }

}  // namespace
}  // namespace strata::naive
