// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

namespace strata::naive {
namespace {

/// Y[…, f] = Σᵢ X[…, i] W[f, i] + b[f]
struct NaiveLinear {
  Linear op;

  template <class T>
  void forward(Run<T>& run) const {
    const std::int64_t inputs = run.own(0)[1];
    for_each_index(run.output().shape(), [&](const Index& at) {
      const std::int64_t feature = at.back();
      T sum = 0;
      for (std::int64_t i = 0; i < inputs; ++i) {
        sum = multiply_add(sum, run.input(0)(with(at, at.size() - 1, i)), run.own(0)({feature, i}));
      }
      run.output().set(at, op.bias ? sum + run.own(1)({feature}) : sum);
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    const std::size_t weight = run.first_own();
    Tensor<T>& dy = run.output_gradient();
    const Index& x_shape = run.input(0).shape();
    if (run.wants(0)) {
      for_each_index(x_shape, [&](const Index& at) {
        T sum = 0;
        for (std::int64_t f = 0; f < op.features; ++f) {
          sum = multiply_add(sum, dy(with(at, at.size() - 1, f)), run.own(0)({f, at.back()}));
        }
        run.input_gradient(0).set(at, sum);
      });
    }
    if (run.wants(weight)) {
      Buffer<T> dw(run.own(0).shape());
      for_each_index(x_shape, [&](const Index& at) {
        for (std::int64_t f = 0; f < op.features; ++f) {
          T& sum = dw[{f, at.back()}];
          sum = multiply_add(sum, dy(with(at, at.size() - 1, f)), run.input(0)(at));
        }
      });
      run.input_gradient(weight).set_all(dw);
    }
    if (run.wants(weight + 1)) {
      Buffer<T> db({op.features});
      for_each_index(dy.shape(), [&](const Index& at) { db[{at.back()}] += dy(at); });
      run.input_gradient(weight + 1).set_all(db);
    }
  }
};

TEST(LinearCost, equals_the_loops) {
  for_random_cases(100, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    const Linear op{.features = random.between(1, 5), .bias = random.coin()};
    check(NaiveLinear{op}, {{x, any_role(random)}}, {.dtype = any_dtype(random)});
  });
}

/// Y[…, m, n] = Σₖ A[…, m, k] B[…, k, n], leading axes broadcast
struct NaiveMatMul {
  MatMul op;

  template <class T>
  void forward(Run<T>& run) const {
    Buffer<T> y(run.output().shape());
    for_each_product(run, [&](const Index& a, const Index& b, const Index& at) {
      y[at] = multiply_add(y[at], run.input(0)(a), run.input(1)(b));
    });
    run.output().set_all(y);
  }

  template <class T>
  void backward(Run<T>& run) const {
    for (const std::size_t i : {0, 1}) {
      if (!run.wants(i)) continue;
      Buffer<T> gradient(run.input(i).shape());
      for_each_product(run, [&](const Index& a, const Index& b, const Index& at) {
        T& sum = gradient[i == 0 ? a : b];
        sum = multiply_add(sum, run.output_gradient()(at),
                           i == 0 ? run.input(1)(b) : run.input(0)(a));
      });
      run.input_gradient(i).set_all(gradient);
    }
  }

 private:
  template <class T, class F>
  void for_each_product(Run<T>& run, F f) const {
    const Tensor<T>& a = run.input(0);
    const std::int64_t inner = a[a.axes() - (op.transpose_a ? 2 : 1)];
    for_each_index(run.output().shape(), [&](const Index& at) {
      const Index lead = part(at, 0, at.size() - 2);
      const std::int64_t row = at[at.size() - 2], column = at.back();
      for (std::int64_t k = 0; k < inner; ++k) {
        f(joined(lead, op.transpose_a ? Index{k, row} : Index{row, k}),
          joined(lead, op.transpose_b ? Index{column, k} : Index{k, column}), at);
      }
    });
  }
};

TEST(MatMulCost, equals_the_loops_with_broadcasting) {
  for_random_cases(150, [](Random& random) {
    const MatMul op{.transpose_a = random.coin(), .transpose_b = random.coin()};
    const std::int64_t m = random.between(1, 4), n = random.between(1, 4), k = random.between(1, 4);
    const Index lead = random.shape(static_cast<std::size_t>(random.between(0, 2)), 3);
    Index a = lead, b = lead;
    for (std::int64_t& extent : a) extent = random.rarely(4) ? 1 : extent;
    for (std::int64_t& extent : b) extent = random.rarely(4) ? 1 : extent;
    if (random.rarely(3)) b.clear();
    if (random.rarely(3)) a.clear();
    a = joined(a, op.transpose_a ? Index{k, m} : Index{m, k});
    b = joined(b, op.transpose_b ? Index{n, k} : Index{k, n});
    check(NaiveMatMul{op}, {{a, any_role(random)}, {b, any_role(random)}},
          {.dtype = any_dtype(random)});
  });
}

// X Xᵀ reads one tensor once, and has two gradients to give it.
TEST(MatMulCost, of_a_tensor_with_itself) {
  const MatMul op{.transpose_b = true};
  check(NaiveMatMul{op}, {{{3, 4}}, {.shape = {3, 4}, .same_as = 0}});
  const Subject subject(op, {{{3, 4}}, {.shape = {3, 4}, .same_as = 0}}, {});
  EXPECT_EQ(cost_of(subject.bound, subject.node).forward.read_bytes(), 3 * 4 * 4);
}

}  // namespace
}  // namespace strata::naive
