// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

#include <limits>

namespace strata::naive {
namespace {

struct NaiveReduce {
  Reduce op;
  std::vector<bool> is_reduced;

  template <class T>
  void forward(Run<T>& run) const {
    const double infinity = std::numeric_limits<double>::infinity();
    double start = 0;
    if (op.kind == ReduceKind::maximum) start = -infinity;
    if (op.kind == ReduceKind::minimum) start = infinity;
    if (op.kind == ReduceKind::product) start = 1;
    Buffer<T> results(run.output().shape(), T(start));
    for_each_index(run.input(0).shape(), [&](const Index& at) {
      const T x = run.input(0)(at);
      T& result = results[result_at(at)];
      switch (op.kind) {
        case ReduceKind::sum:
        case ReduceKind::mean: result += x; break;
        case ReduceKind::maximum: result = larger(result, x); break;
        case ReduceKind::minimum: result = smaller(result, x); break;
        case ReduceKind::product: result *= x; break;
        case ReduceKind::l2: result += x * x; break;
      }
    });
    for_each_index(run.output().shape(), [&](const Index& at) {
      T result = results[at];
      if (op.kind == ReduceKind::mean) result = result / T(length(run));
      if (op.kind == ReduceKind::l2) result = sqrt_of(result);
      run.output().set(at, result);
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(0)) return;
    Buffer<T> factors(run.output().shape());  // what all inputs of one result share
    for_each_index(run.output().shape(), [&](const Index& at) {
      const T dy = run.output_gradient()(at);
      switch (op.kind) {
        case ReduceKind::mean: factors[at] = dy / T(length(run)); break;
        case ReduceKind::product: factors[at] = dy * run.output()(at); break;
        case ReduceKind::l2: factors[at] = dy / run.output()(at); break;
        default: factors[at] = dy; break;
      }
    });
    for_each_index(run.input(0).shape(), [&](const Index& at) {
      const T factor = factors[result_at(at)];
      T dx = factor;
      switch (op.kind) {
        case ReduceKind::sum:
        case ReduceKind::mean: break;
        case ReduceKind::maximum:
        case ReduceKind::minimum:
          dx = run.input(0)(at) == run.output()(result_at(at)) ? factor : T(0);
          break;
        case ReduceKind::product: dx = factor / run.input(0)(at); break;
        case ReduceKind::l2: dx = factor * run.input(0)(at); break;
      }
      run.input_gradient(0).set(at, dx);
    });
  }

 private:
  Index result_at(const Index& at) const {
    Index result;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      if (!is_reduced[axis]) {
        result.push_back(at[axis]);
      } else if (op.keep_axes) {
        result.push_back(0);
      }
    }
    return result;
  }
  template <class T>
  static double length(Run<T>& run) {
    return static_cast<double>(run.input(0).elements() / run.output().elements());
  }
};

TEST(ReduceCost, every_kind_equals_the_loops) {
  for (const auto kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::maximum,
                          ReduceKind::minimum, ReduceKind::product, ReduceKind::l2}) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    for_random_cases(60, [kind](Random& random) {
      Source x{random.shape(static_cast<std::size_t>(random.between(1, 4)), 4), any_role(random)};
      x.low = 0.5, x.high = 1.5;
      Reduce op{.kind = kind, .keep_axes = random.coin()};
      std::vector<bool> is_reduced(x.shape.size(), random.coin());
      if (!is_reduced[0] || random.coin()) {
        const auto first = random.between(0, static_cast<std::int64_t>(x.shape.size()) - 1);
        is_reduced.assign(x.shape.size(), false);
        for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(x.shape.size()); ++axis) {
          if (axis != first && random.coin()) continue;
          is_reduced[static_cast<std::size_t>(axis)] = true;
          op.axes.push_back(random.coin() ? axis
                                          : axis - static_cast<std::int64_t>(x.shape.size()));
        }
      }
      check(NaiveReduce{op, is_reduced}, {x}, {.dtype = any_dtype(random)});
    });
  }
}

/// Mean over the samples of −log softmax(x)[target]
struct NaiveCrossEntropy {
  SoftmaxCrossEntropy op;
  std::size_t axis;

  template <class T>
  void forward(Run<T>& run) const {
    const Tensor<T>& x = run.input(0);
    if (run.has_backward()) run.save("probabilities", x.shape(), run.element_bytes(0));
    T total = 0;
    for_each_index(with(x.shape(), axis, 1), [&](const Index& row) {
      T most = -std::numeric_limits<double>::infinity();
      for (std::int64_t i = 0; i < x[axis]; ++i) most = larger(most, x(with(row, axis, i)));
      std::vector<T> shifted, powers;
      T sum = 0;
      for (std::int64_t i = 0; i < x[axis]; ++i) {
        shifted.push_back(x(with(row, axis, i)) - most);
        powers.push_back(exp_of(shifted.back()));
        sum += powers.back();
      }
      for (std::size_t i = 0; i < powers.size(); ++i) {
        const T probability = powers[i] / sum;
        if (run.has_backward())
          run.saved(0).set(with(row, axis, static_cast<std::int64_t>(i)), probability);
      }
      total += log_of(sum) - shifted[static_cast<std::size_t>(target(run, row))];
    });
    run.output().set({}, total / T(samples(run)));
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(0)) return;
    const Index& shape = run.input(0).shape();
    const T factor = run.output_gradient()({}) / T(samples(run));
    Buffer<T> dx(shape);
    for_each_index(shape, [&](const Index& at) { dx[at] = run.saved(0)(at) * factor; });
    for_each_index(with(shape, axis, 1),
                   [&](const Index& row) { dx[with(row, axis, target(run, row))] -= factor; });
    run.input_gradient(0).set_all(dx);
  }

 private:
  template <class T>
  std::int64_t target(Run<T>& run, const Index& row) const {
    return whole(run.input(1)(without(row, axis)));
  }
  template <class T>
  double samples(Run<T>& run) const {
    return static_cast<double>(run.input(0).elements() / run.input(0)[axis]);
  }
};

TEST(SoftmaxCrossEntropyCost, equals_the_loops) {
  for_random_cases(80, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    const std::int64_t axis = random.between(0, static_cast<std::int64_t>(x.size()) - 1);
    SoftmaxCrossEntropy op{.axis = axis};
    if (random.coin()) op.axis -= static_cast<std::int64_t>(x.size());
    const auto place = static_cast<std::size_t>(axis);
    Source target{without(x, place), Role::network_input, DType::int64};
    target.indices_below = x[place];
    check(NaiveCrossEntropy{op, place}, {{x, any_role(random)}, target},
          {.dtype = any_dtype(random)});
  });
}

/// Mean of (p − t)²
struct NaiveSquaredError {
  SquaredError op;

  template <class T>
  void forward(Run<T>& run) const {
    T sum = 0;
    for_each_index(run.input(0).shape(), [&](const Index& at) {
      const T difference = run.input(0)(at) - run.input(1)(at);
      sum += difference * difference;
    });
    run.output().set({}, sum / T(static_cast<double>(run.input(0).elements())));
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(0) && !run.wants(1)) return;
    const T factor =
        T(2) * run.output_gradient()({}) / T(static_cast<double>(run.input(0).elements()));
    for_each_index(run.input(0).shape(), [&](const Index& at) {
      const T gradient = (run.input(0)(at) - run.input(1)(at)) * factor;
      if (run.wants(0)) run.input_gradient(0).set(at, gradient);
      if (run.wants(1)) run.input_gradient(1).set(at, -gradient);
    });
  }
};

TEST(SquaredErrorCost, equals_the_loops) {
  for_random_cases(60, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    check(NaiveSquaredError{}, {{x, any_role(random)}, {x, any_role(random)}},
          {.dtype = any_dtype(random)});
  });
}

}  // namespace
}  // namespace strata::naive
