// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

#include <functional>
#include <limits>
#include <optional>

namespace strata::naive {
namespace {

constexpr double slope = 0.1, elu_alpha = 1.3, selu_lambda = 1.0507, selu_alpha = 1.67326;
constexpr double gelu_factor = 0.7978845608028654, gelu_cubic = 0.044715;       // √(2/π)
constexpr double half_root = 0.7071067811865476, density = 0.3989422804014327;  // 1/√2, 1/√(2π)

/// A choice whose both sides have been computed, as where a branch would diverge.
template <class T>
T choose(bool condition, T yes, T no) {
  return condition ? yes : no;
}

template <class T>
T value_of(UnaryKind kind, T x) {
  switch (kind) {
    case UnaryKind::relu: return larger(x, T(0));
    case UnaryKind::relu6: return smaller(larger(x, T(0)), T(6));
    case UnaryKind::leaky_relu: return choose(x > T(0), x, T(slope) * x);
    case UnaryKind::prelu: return x;  // has a weight: see NaiveUnary
    case UnaryKind::elu: return choose(x > T(0), x, T(elu_alpha) * (exp_of(x) - T(1)));
    case UnaryKind::selu:
      return T(selu_lambda) * choose(x > T(0), x, T(selu_alpha) * (exp_of(x) - T(1)));
    case UnaryKind::gelu: return T(0.5) * x * (T(1) + erf_of(x * T(half_root)));
    case UnaryKind::gelu_tanh:
      return T(0.5) * x * (T(1) + tanh_of(T(gelu_factor) * (x + T(gelu_cubic) * (x * x * x))));
    case UnaryKind::silu: return x * logistic(x);
    case UnaryKind::hard_swish: return x * smaller(larger(x + T(3), T(0)), T(6)) * T(1.0 / 6);
    case UnaryKind::hard_sigmoid: return smaller(larger(x * T(1.0 / 6) + T(0.5), T(0)), T(1));
    case UnaryKind::sigmoid: return logistic(x);
    case UnaryKind::tanh: return tanh_of(x);
    case UnaryKind::mish: return x * tanh_of(log_of(T(1) + exp_of(x)));
    case UnaryKind::softplus: return log_of(T(1) + exp_of(x));
    case UnaryKind::softsign: return x / (T(1) + absolute(x));
    case UnaryKind::clip: return smaller(larger(x, T(-1)), T(1));
    case UnaryKind::identity: return x;
    case UnaryKind::negate: return -x;
    case UnaryKind::absolute: return absolute(x);
    case UnaryKind::square: return x * x;
    case UnaryKind::square_root: return sqrt_of(x);
    case UnaryKind::reciprocal: return T(1) / x;
    case UnaryKind::exponential: return exp_of(x);
    case UnaryKind::logarithm: return log_of(x);
    case UnaryKind::error_function: return erf_of(x);
    case UnaryKind::sine: return sin_of(x);
    case UnaryKind::cosine: return cos_of(x);
    case UnaryKind::floor: return floor_of(x);
    case UnaryKind::ceiling: return ceil_of(x);
    case UnaryKind::round: return round_of(x);
    case UnaryKind::sign: {
      const bool is_above = x > T(0), is_below = x < T(0);
      return is_above ? 1.0 : is_below ? -1.0 : 0.0;
    }
    case UnaryKind::logical_not: return not_of(x);
  }
  return x;
}

bool has_gradient(UnaryKind kind) { return kind < UnaryKind::floor; }

/// dx from dy and y, for the functions whose slope y tells.
template <class T>
std::optional<T> gradient_from_output(UnaryKind kind, T dy, const std::function<T()>& y) {
  const auto inside = [&](double low, double high, T yes) {
    const T out = y();
    const bool is_above = out > T(low), is_below = out < T(high);
    return is_above && is_below ? yes : T(0);
  };
  switch (kind) {
    case UnaryKind::relu: return y() > T(0) ? dy : T(0);
    case UnaryKind::relu6: return inside(0, 6, dy);
    case UnaryKind::leaky_relu: return choose(y() > T(0), dy, T(slope) * dy);
    case UnaryKind::elu: return choose(y() > T(0), dy, dy * (y() + T(elu_alpha)));
    case UnaryKind::selu:
      return choose(y() > T(0), T(selu_lambda) * dy, dy * (y() + T(selu_lambda * selu_alpha)));
    case UnaryKind::hard_sigmoid: return inside(0, 1, dy * T(1.0 / 6));
    case UnaryKind::sigmoid: return dy * y() * (T(1) - y());
    case UnaryKind::tanh: return dy * (T(1) - y() * y());
    case UnaryKind::clip: return inside(-1, 1, dy);
    case UnaryKind::square_root: return T(0.5) * dy / y();
    case UnaryKind::reciprocal: return -(dy * y() * y());
    case UnaryKind::exponential: return dy * y();
    default: return std::nullopt;
  }
}

/// dx from dy and x, for the others.
template <class T>
T gradient_from_input(UnaryKind kind, T dy, T x) {
  switch (kind) {
    case UnaryKind::gelu: {
      const T area = T(0.5) * (T(1) + erf_of(x * T(half_root)));
      return dy * (area + x * (T(density) * exp_of(T(-0.5) * (x * x))));
    }
    case UnaryKind::gelu_tanh: {
      const T square = x * x;
      const T t = tanh_of(T(gelu_factor) * (x + T(gelu_cubic) * (square * x)));
      const T inner = T(gelu_factor) * (T(1) + T(3 * gelu_cubic) * square);
      return dy * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner);
    }
    case UnaryKind::silu: {
      const T s = logistic(x);
      return dy * (s * (T(1) + x * (T(1) - s)));
    }
    case UnaryKind::hard_swish: {
      const bool is_between = absolute(x) < T(3);
      const bool is_above = x > T(0);
      const T sloped = dy * (x * T(1.0 / 3) + T(0.5));
      return is_between ? sloped : is_above ? dy : T(0);
    }
    case UnaryKind::mish: {
      const T e = exp_of(x);
      const T above_one = T(1) + e;
      const T t = tanh_of(log_of(above_one));
      return dy * (t + x * (e / above_one) * (T(1) - t * t));
    }
    case UnaryKind::softplus: return dy * logistic(x);
    case UnaryKind::softsign: {
      const T below = T(1) + absolute(x);
      return dy / (below * below);
    }
    case UnaryKind::absolute: return x > T(0) ? dy : -dy;
    case UnaryKind::square: return T(2) * x * dy;
    case UnaryKind::logarithm: return dy / x;
    case UnaryKind::error_function: return dy * (T(1.1283791670955126) * exp_of(-(x * x)));  // 2/√π
    case UnaryKind::sine: return dy * cos_of(x);
    case UnaryKind::cosine: return -(dy * sin_of(x));
    default: ADD_FAILURE() << "no gradient written"; return T(0);
  }
}

struct NaiveUnary {
  Unary op;

  template <class T>
  void forward(Run<T>& run) const {
    if (op.kind == UnaryKind::identity) return run.alias_output();
    for_each_index(run.output().shape(), [&](const Index& at) {
      const T x = run.input(0)(at);
      const T y = op.kind == UnaryKind::prelu ? choose(x > T(0), x, run.own(0)({at[1]}) * x)
                                              : value_of(op.kind, x);
      run.output().set(at, y);
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (op.kind == UnaryKind::identity) return run.alias_gradient(0);
    if (!has_gradient(op.kind)) return;
    if (run.wants(0)) {
      for_each_index(run.output().shape(),
                     [&](const Index& at) { run.input_gradient(0).set(at, gradient(run, at)); });
    }
    if (op.kind == UnaryKind::prelu && run.wants(run.first_own())) {
      Buffer<T> sum(run.own(0).shape());
      for_each_index(run.output().shape(), [&](const Index& at) {
        sum[{at[1]}] += run.output_gradient()(at) * smaller(run.input(0)(at), T(0));
      });
      run.input_gradient(run.first_own()).set_all(sum);
    }
  }

 private:
  template <class T>
  T gradient(Run<T>& run, const Index& at) const {
    const T dy = run.output_gradient()(at);
    if (op.kind == UnaryKind::negate) return -dy;
    if (op.kind == UnaryKind::prelu) {
      return choose(run.input(0)(at) > T(0), dy, run.own(0)({at[1]}) * dy);
    }
    const auto y = [&] { return run.output()(at); };
    if (const auto dx = gradient_from_output<T>(op.kind, dy, y)) return *dx;
    return gradient_from_input(op.kind, dy, run.input(0)(at));
  }
};

TEST(UnaryCost, every_kind_equals_the_loops) {
  for (auto kind = UnaryKind::relu; kind <= UnaryKind::logical_not;
       kind = static_cast<UnaryKind>(static_cast<int>(kind) + 1)) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    const bool needs_positive = kind == UnaryKind::square_root || kind == UnaryKind::reciprocal ||
                                kind == UnaryKind::logarithm;
    for_random_cases(50, [&](Random& random) {
      Source x{random.shape(static_cast<std::size_t>(random.between(2, 4)), 4), any_role(random)};
      x.low = needs_positive ? 0.5 : -7;
      x.high = needs_positive ? 3 : 7;
      check(NaiveUnary{{kind}}, {x}, {.dtype = any_dtype(random)});
    });
  }
}

struct NaiveSoftmax {
  Softmax op;
  std::size_t axis;

  template <class T>
  void forward(Run<T>& run) const {
    const Tensor<T>& x = run.input(0);
    for_each_index(with(x.shape(), axis, 1), [&](const Index& row) {
      T most = -std::numeric_limits<double>::infinity();
      for (std::int64_t i = 0; i < x[axis]; ++i) most = larger(most, x(with(row, axis, i)));
      T sum = 0;
      std::vector<T> shifted, powers;
      for (std::int64_t i = 0; i < x[axis]; ++i) {
        shifted.push_back(x(with(row, axis, i)) - most);
        powers.push_back(exp_of(shifted.back()));
        sum += powers.back();
      }
      const T log_sum = op.log ? log_of(sum) : T(0);
      for (std::size_t i = 0; i < powers.size(); ++i) {
        run.output().set(with(row, axis, static_cast<std::int64_t>(i)),
                         op.log ? shifted[i] - log_sum : powers[i] / sum);
      }
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(0)) return;
    const Tensor<T>&y = run.output(), &dy = run.output_gradient();
    for_each_index(with(y.shape(), axis, 1), [&](const Index& row) {
      T sum = 0;
      for (std::int64_t i = 0; i < y[axis]; ++i) {
        const Index at = with(row, axis, i);
        sum += op.log ? dy(at) : dy(at) * y(at);
      }
      for (std::int64_t i = 0; i < y[axis]; ++i) {
        const Index at = with(row, axis, i);
        run.input_gradient(0).set(at,
                                  op.log ? dy(at) - exp_of(y(at)) * sum : y(at) * (dy(at) - sum));
      }
    });
  }
};

TEST(SoftmaxCost, equals_the_loops) {
  for_random_cases(80, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    const std::int64_t axis = random.between(0, static_cast<std::int64_t>(x.size()) - 1);
    Softmax op{.axis = axis, .log = random.coin()};
    if (random.coin()) op.axis -= static_cast<std::int64_t>(x.size());
    check(NaiveSoftmax{op, static_cast<std::size_t>(axis)}, {{x, any_role(random)}},
          {.dtype = any_dtype(random)});
  });
}

struct NaiveDropout {
  Dropout op;

  template <class T>
  void forward(Run<T>& run) const {
    if (!run.is_training() || op.probability == 0) return run.alias_output();
    if (run.has_backward()) run.save("mask", run.output().shape(), 1);
    Random random(3);
    for_each_index(run.output().shape(), [&](const Index& at) {
      const bool is_kept = T(random.real(0, 1)) >= T(op.probability);
      run.output().set(at, choose(is_kept, run.input(0)(at) * T(scale()), T(0)));
      if (run.has_backward()) run.saved(0).set(at, is_kept ? 1.0 : 0.0);
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (op.probability == 0) return run.alias_gradient(0);
    if (!run.wants(0)) return;
    for_each_index(run.output().shape(), [&](const Index& at) {
      const bool is_kept = whole(run.saved(0)(at)) == 1;
      run.input_gradient(0).set(at, choose(is_kept, run.output_gradient()(at) * T(scale()), T(0)));
    });
  }

 private:
  double scale() const { return op.probability < 1 ? 1 / (1 - op.probability) : 0; }
};

TEST(DropoutCost, equals_the_loops) {
  for_random_cases(80, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    const Mode mode = random.rarely(3) ? Mode::inference : Mode::training;
    check(NaiveDropout{{random.pick({0.0, 0.1, 0.5, 1.0})}}, {{x, any_role(random)}},
          {.mode = mode, .dtype = any_dtype(random)});
  });
}

struct NaiveCast {
  Cast op;
  DType from;

  template <class T>
  void forward(Run<T>& run) const {
    if (op.to == from) return run.alias_output();
    for_each_index(run.output().shape(),
                   [&](const Index& at) { run.output().set(at, run.input(0)(at)); });
  }
  template <class T>
  void backward(Run<T>& run) const {
    if (op.to == from) return run.alias_gradient(0);
    if (!run.wants(0)) return;
    for_each_index(run.output().shape(), [&](const Index& at) {
      run.input_gradient(0).set(at, run.output_gradient()(at));
    });
  }
};

TEST(CastCost, equals_the_loops) {
  for_random_cases(80, [](Random& random) {
    const auto any = [&] {
      return random.pick({DType::fp32, DType::fp16, DType::fp64, DType::int32, DType::boolean});
    };
    const DType from = any();
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    check(NaiveCast{{any()}, from}, {{x, any_role(random), from}});
  });
}

}  // namespace
}  // namespace strata::naive
