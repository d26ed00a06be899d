// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operator_check_test.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::training_test {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// One cell of the stack, sample by sample and unit by unit.
struct NaiveCell {
  const Recurrent& op;
  const Numbers* own;  // weight_ih, weight_hh, biases, weight_hr

  /// The sum under gate g of unit u from the input and from the state.
  double of_input(std::int64_t g, std::int64_t u, const std::vector<double>& x) const {
    double sum = op.biases > 0 ? own[2]({g * op.hidden + u}) : 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += own[0]({g * op.hidden + u, static_cast<std::int64_t>(i)}) * x[i];
    }
    return sum;
  }
  double of_state(std::int64_t g, std::int64_t u, const std::vector<double>& h) const {
    double sum = op.biases > 1 ? own[3]({g * op.hidden + u}) : 0;
    for (std::size_t j = 0; j < h.size(); ++j) {
      sum += own[1]({g * op.hidden + u, static_cast<std::int64_t>(j)}) * h[j];
    }
    return sum;
  }

  void step(const std::vector<double>& x, std::vector<double>& h, std::vector<double>& c) const {
    std::vector<double> m(static_cast<std::size_t>(op.hidden));
    for (std::int64_t u = 0; u < op.hidden; ++u) {
      const auto at = static_cast<std::size_t>(u);
      const auto both = [&](std::int64_t g) { return of_input(g, u, x) + of_state(g, u, h); };
      if (op.cell == CellKind::lstm) {
        c[at] = logistic(both(1)) * c[at] + logistic(both(0)) * std::tanh(both(2));
        m[at] = logistic(both(3)) * std::tanh(c[at]);
      } else if (op.cell == CellKind::gru) {
        const double z = logistic(both(1));
        const double fresh = std::tanh(of_input(2, u, x) + logistic(both(0)) * of_state(2, u, h));
        m[at] = (1 - z) * fresh + z * h[at];
      } else {
        m[at] = op.cell == CellKind::rnn_tanh ? std::tanh(both(0)) : std::max(0.0, both(0));
      }
    }
    if (op.projection == 0) {
      h = m;
      return;
    }
    const Numbers& projection = own[2 + op.biases];
    for (std::size_t j = 0; j < h.size(); ++j) {
      h[j] = 0;
      for (std::size_t u = 0; u < m.size(); ++u) {
        h[j] += projection({static_cast<std::int64_t>(j), static_cast<std::int64_t>(u)}) * m[u];
      }
    }
  }
};

std::vector<Numbers> run_stack(const Recurrent& op, std::size_t states,
                               const std::vector<Numbers>& in) {
  const std::int64_t directions = op.bidirectional ? 2 : 1;
  const std::int64_t width = op.projection > 0 ? op.projection : op.hidden;
  const std::int64_t batch = in[0][0], steps = in[0][1];
  const auto tensors = static_cast<std::size_t>(2 + op.biases + (op.projection > 0 ? 1 : 0));
  Numbers last_h({op.layers * directions, batch, width});
  Numbers last_c({op.layers * directions, batch, op.hidden});
  Numbers below = in[0];
  for (std::int64_t layer = 0; layer < op.layers; ++layer) {
    Numbers above({batch, steps, directions * width});
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::int64_t cell = layer * directions + direction;
      const NaiveCell naive{op, &in[1 + states + static_cast<std::size_t>(cell) * tensors]};
      for (std::int64_t n = 0; n < batch; ++n) {
        std::vector<double> h(static_cast<std::size_t>(width)),
            c(static_cast<std::size_t>(op.hidden));
        for (std::size_t j = 0; states > 0 && j < h.size(); ++j) {
          h[j] = in[1]({cell, n, static_cast<std::int64_t>(j)});
        }
        for (std::size_t u = 0; states > 1 && u < c.size(); ++u) {
          c[u] = in[2]({cell, n, static_cast<std::int64_t>(u)});
        }
        for (std::int64_t k = 0; k < steps; ++k) {
          const std::int64_t t = direction == 0 ? k : steps - 1 - k;
          std::vector<double> x;
          for (std::int64_t i = 0; i < below[2]; ++i) x.push_back(below({n, t, i}));
          naive.step(x, h, c);
          for (std::int64_t j = 0; j < width; ++j) {
            above({n, t, direction * width + j}) = h[static_cast<std::size_t>(j)];
          }
        }
        for (std::int64_t j = 0; j < width; ++j) {
          last_h({cell, n, j}) = h[static_cast<std::size_t>(j)];
        }
        for (std::int64_t u = 0; u < op.hidden; ++u) {
          last_c({cell, n, u}) = c[static_cast<std::size_t>(u)];
        }
      }
    }
    below = above;
  }
  if (op.cell != CellKind::lstm) return {below, last_h};
  return {below, last_h, last_c};
}

Trial recurrent_trial(Recurrent op, Random& random) {
  op.hidden = random.between(1, 3);
  op.layers = random.between(1, 3);
  op.bidirectional = random.coin();
  op.biases = random.between(0, 2);
  op.projection = op.cell == CellKind::lstm && random.coin() ? random.between(1, 3) : 0;
  const std::int64_t batch = random.between(1, 3), stacked = op.layers * (op.bidirectional ? 2 : 1);
  std::vector<Source> sources = {{.shape = {batch, random.between(1, 4), random.between(1, 3)},
                                  .wants_gradient = !random.rarely(4)}};
  const std::int64_t states = random.between(0, op.cell == CellKind::lstm ? 2 : 1);
  for (std::int64_t i = 0; i < states; ++i) {
    const std::int64_t width = i == 0 && op.projection > 0 ? op.projection : op.hidden;
    sources.push_back({{stacked, batch, width}});
  }
  return {op, sources, [=](const std::vector<Numbers>& in) {
            return run_stack(op, static_cast<std::size_t>(states), in);
          }};
}

TEST(CpuRecurrent, equal_loops_and_differences) {
  check_family("CpuRecurrent.equal_loops_and_differences", 15,
               [](const Operator& op, Random& random) {
                 return recurrent_trial(std::get<Recurrent>(op), random);
               });
}

}  // namespace
}  // namespace strata::training_test
