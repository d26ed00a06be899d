// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

#include <functional>

namespace strata::naive {
namespace {

// Large, so that finite differences stay accurate where a row holds two or three nearly equal
// numbers.
constexpr double epsilon = 0.1;

/// Which row (set that shares statistics) and which entry of scale and shift a number belongs to.
struct Layout {
  std::int64_t rows;
  std::function<std::int64_t(const Index&)> row_of;
  std::function<Index(const Index&)> parameter_of;
};

template <class T>
struct Statistics {
  std::vector<T> mean, factor;  // factor = 1/√(variance + ε)
};

/// (x − mean)/√(variance + ε)·scale + shift with mean and variance over each row; how batch, layer
/// and group norm train.
struct NaiveNormalization {
  bool scale;
  bool shift;
  bool scale_is_one_per_row;  // then it multiplies a row's gradient once, not each number

  template <class T>
  std::size_t shift_input(Run<T>& run) const {
    return run.first_own() + (scale ? 1 : 0);
  }
  template <class T>
  double length(Run<T>& run, const Layout& layout) const {
    return static_cast<double>(run.input(0).elements() / layout.rows);
  }
  template <class T>
  bool needs_statistics(Run<T>& run) const {
    return run.wants_ever(0) || (scale && run.wants_ever(run.first_own()));
  }

  template <class T>
  Statistics<T> forward(Run<T>& run, const Layout& layout, std::vector<T>& variance) const {
    const auto rows = static_cast<std::size_t>(layout.rows);
    const Tensor<T>& x = run.input(0);
    const T n = length(run, layout);
    std::vector<T> sum(rows, T(0)), squares(rows, T(0));
    Statistics<T> s;
    for_each_index(x.shape(), [&](const Index& at) { sum[row(layout, at)] += x(at); });
    for (std::size_t r = 0; r < rows; ++r) s.mean.push_back(sum[r] / n);
    for_each_index(x.shape(), [&](const Index& at) {
      const T centred = x(at) - s.mean[row(layout, at)];
      squares[row(layout, at)] += centred * centred;
    });
    for (std::size_t r = 0; r < rows; ++r) {
      variance.push_back(squares[r] / n);
      s.factor.push_back(T(1) / sqrt_of(variance[r] + T(epsilon)));
    }
    apply(run, layout, s);
    if (needs_statistics(run)) {
      run.save("statistics", {2, layout.rows}, run.statistic_bytes());
      for (std::size_t r = 0; r < rows; ++r) {
        run.saved(0).set({0, static_cast<std::int64_t>(r)}, s.mean[r]);
        run.saved(0).set({1, static_cast<std::int64_t>(r)}, s.factor[r]);
      }
    }
    return s;
  }

  template <class T>
  void apply(Run<T>& run, const Layout& layout, const Statistics<T>& s) const {
    for_each_index(run.input(0).shape(), [&](const Index& at) {
      const std::size_t r = row(layout, at);
      T y = (run.input(0)(at) - s.mean[r]) * s.factor[r];
      if (scale) y = y * run.own(0)(layout.parameter_of(at));
      if (shift) y = y + run.input(shift_input(run))(layout.parameter_of(at));
      run.output().set(at, y);
    });
  }

  template <class T>
  void backward(Run<T>& run, const Layout& layout) const {
    if (run.wants(0)) input_gradient(run, layout);
    if (scale && run.wants(run.first_own())) {
      Buffer<T> sum(run.own(0).shape());
      for_each_index(run.input(0).shape(), [&](const Index& at) {
        sum[layout.parameter_of(at)] += run.output_gradient()(at) * normalized(run, layout, at);
      });
      run.input_gradient(run.first_own()).set_all(sum);
    }
    if (shift && run.wants(shift_input(run))) {
      Buffer<T> sum(run.input(shift_input(run)).shape());
      for_each_index(run.input(0).shape(), [&](const Index& at) {
        sum[layout.parameter_of(at)] += run.output_gradient()(at);
      });
      run.input_gradient(shift_input(run)).set_all(sum);
    }
  }

 private:
  static std::size_t row(const Layout& layout, const Index& at) {
    return static_cast<std::size_t>(layout.row_of(at));
  }

  template <class T>
  T normalized(Run<T>& run, const Layout& layout, const Index& at) const {
    const std::int64_t r = layout.row_of(at);
    return (run.input(0)(at) - run.saved(0)({0, r})) * run.saved(0)({1, r});
  }

  template <class T>
  void input_gradient(Run<T>& run, const Layout& layout) const {
    const auto rows = static_cast<std::size_t>(layout.rows);
    const Index& shape = run.input(0).shape();
    Buffer<T> hat(shape), d(shape);
    std::vector<T> sum(rows, T(0)), product(rows, T(0)), factor(rows, T(0));
    for_each_index(shape, [&](const Index& at) {
      const std::size_t r = row(layout, at);
      const T dy = run.output_gradient()(at);
      hat[at] = normalized(run, layout, at);
      d[at] = scale && !scale_is_one_per_row ? dy * run.own(0)(layout.parameter_of(at)) : dy;
      sum[r] += d[at];
      product[r] += d[at] * hat[at];
    });
    for (std::size_t r = 0; r < rows; ++r) {
      sum[r] = sum[r] / T(length(run, layout));
      product[r] = product[r] / T(length(run, layout));
      factor[r] = run.saved(0)({1, static_cast<std::int64_t>(r)});
      if (scale && scale_is_one_per_row)
        factor[r] = factor[r] * run.own(0)({static_cast<std::int64_t>(r)});
    }
    for_each_index(shape, [&](const Index& at) {
      const std::size_t r = row(layout, at);
      run.input_gradient(0).set(at, factor[r] * (d[at] - sum[r] - hat[at] * product[r]));
    });
  }
};

struct NaiveBatchNorm {
  BatchNorm op;

  template <class T>
  void forward(Run<T>& run) const {
    const std::int64_t channels = run.input(0)[1];
    Tensor<T>& running_mean = run.input(run.input_count() - 2);
    Tensor<T>& running_variance = run.input(run.input_count() - 1);
    Statistics<T> s;
    if (!run.is_training()) {
      for (std::int64_t c = 0; c < channels; ++c) {
        s.mean.push_back(running_mean({c}));
        s.factor.push_back(T(1) / sqrt_of(running_variance({c}) + T(epsilon)));
      }
      loops().apply(run, layout(run), s);
      return;
    }
    std::vector<T> variance;
    s = loops().forward(run, layout(run), variance);
    const double momentum = 0.1;
    const double length = loops().length(run, layout(run));
    const double unbiased = length > 1 ? momentum * length / (length - 1) : momentum;
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto r = static_cast<std::size_t>(c);
      running_mean.set({c}, T(1 - momentum) * running_mean({c}) + T(momentum) * s.mean[r]);
      running_variance.set({c},
                           T(1 - momentum) * running_variance({c}) + T(unbiased) * variance[r]);
    }
  }
  template <class T>
  void backward(Run<T>& run) const {
    loops().backward(run, layout(run));
  }

 private:
  NaiveNormalization loops() const { return {op.scale, op.shift, true}; }
  template <class T>
  Layout layout(Run<T>& run) const {
    return {run.input(0)[1], [](const Index& at) { return at[1]; },
            [](const Index& at) { return Index{at[1]}; }};
  }
};

struct NaiveLayerNorm {
  LayerNorm op;
  std::size_t axis;

  template <class T>
  void forward(Run<T>& run) const {
    std::vector<T> variance;
    loops().forward(run, layout(run), variance);
  }
  template <class T>
  void backward(Run<T>& run) const {
    loops().backward(run, layout(run));
  }

 private:
  NaiveNormalization loops() const { return {op.scale, op.shift, false}; }
  template <class T>
  Layout layout(Run<T>& run) const {
    const Index lead = part(run.input(0).shape(), 0, axis);
    const auto first = axis;
    return {elements_of(lead),
            [lead, first](const Index& at) {
              return static_cast<std::int64_t>(place_of(lead, part(at, 0, first)));
            },
            [first](const Index& at) { return part(at, first, at.size()); }};
  }
};

struct NaiveGroupNorm {
  GroupNorm op;

  template <class T>
  void forward(Run<T>& run) const {
    std::vector<T> variance;
    loops().forward(run, layout(run), variance);
  }
  template <class T>
  void backward(Run<T>& run) const {
    loops().backward(run, layout(run));
  }

 private:
  NaiveNormalization loops() const { return {op.scale, op.shift, false}; }
  template <class T>
  Layout layout(Run<T>& run) const {
    const std::int64_t channels = run.input(0)[1];
    const std::int64_t groups = op.groups == 0 ? channels : op.groups;
    return {run.input(0)[0] * groups,
            [=](const Index& at) { return at[0] * groups + at[1] / (channels / groups); },
            [](const Index& at) { return Index{at[1]}; }};
  }
};

Options any_options(Random& random) {
  return {.mode = random.rarely(4) ? Mode::inference : Mode::training, .dtype = any_dtype(random)};
}

TEST(BatchNormCost, equals_the_loops) {
  for_random_cases(120, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(2, 5)), 4);
    const BatchNorm op{.scale = random.coin(), .shift = random.coin()};
    check(NaiveBatchNorm{op}, {{x, any_role(random)}}, any_options(random));
  });
}

TEST(LayerNormCost, equals_the_loops) {
  for_random_cases(120, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    const std::int64_t axis = random.between(0, static_cast<std::int64_t>(x.size()) - 1);
    LayerNorm op{.axis = axis, .scale = random.coin(), .shift = random.coin()};
    if (random.coin()) op.axis -= static_cast<std::int64_t>(x.size());
    check(NaiveLayerNorm{op, static_cast<std::size_t>(axis)}, {{x, any_role(random)}},
          any_options(random));
  });
}

TEST(GroupNormCost, equals_the_loops) {
  for_random_cases(120, [](Random& random) {
    GroupNorm op{.groups = random.between(1, 3), .scale = random.coin(), .shift = random.coin()};
    Index x = random.shape(static_cast<std::size_t>(random.between(2, 4)), 3);
    x[1] = op.groups * random.between(1, 2);
    if (op.groups == x[1] && random.coin()) op.groups = 0;
    check(NaiveGroupNorm{op}, {{x, any_role(random)}}, any_options(random));
  });
}

/// x/√(Σx²/length + ε)·scale over the axes from `axis` on
struct NaiveRmsNorm {
  RmsNorm op;
  std::size_t axis;

  template <class T>
  void forward(Run<T>& run) const {
    const Tensor<T>& x = run.input(0);
    const Index lead = part(x.shape(), 0, axis), tail = part(x.shape(), axis, x.axes());
    const bool keeps = run.has_backward();
    if (keeps) run.save("statistics", lead, run.statistic_bytes());
    for_each_index(lead, [&](const Index& row) {
      T squares = 0;
      for_each_index(tail,
                     [&](const Index& i) { squares += x(joined(row, i)) * x(joined(row, i)); });
      const T factor =
          T(1) / sqrt_of(squares / T(static_cast<double>(elements_of(tail))) + T(epsilon));
      for_each_index(tail, [&](const Index& i) {
        const T hat = x(joined(row, i)) * factor;
        run.output().set(joined(row, i), op.scale ? hat * run.own(0)(i) : hat);
      });
      if (keeps) run.saved(0).set(row, factor);
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    const Tensor<T>& x = run.input(0);
    const Index lead = part(x.shape(), 0, axis), tail = part(x.shape(), axis, x.axes());
    if (run.wants(0)) {
      for_each_index(lead, [&](const Index& row) {
        const T factor = run.saved(0)(row);
        Buffer<T> d(tail), hat(tail);
        T product = 0;
        for_each_index(tail, [&](const Index& i) {
          const T dy = run.output_gradient()(joined(row, i));
          d[i] = op.scale ? dy * run.own(0)(i) : dy;
          hat[i] = x(joined(row, i)) * factor;
          product += d[i] * hat[i];
        });
        product = product / T(static_cast<double>(elements_of(tail)));
        for_each_index(tail, [&](const Index& i) {
          run.input_gradient(0).set(joined(row, i), factor * (d[i] - hat[i] * product));
        });
      });
    }
    if (op.scale && run.wants(run.first_own())) {
      Buffer<T> sum(tail);
      for_each_index(x.shape(), [&](const Index& at) {
        sum[part(at, axis, at.size())] +=
            run.output_gradient()(at) * (x(at) * run.saved(0)(part(at, 0, axis)));
      });
      run.input_gradient(run.first_own()).set_all(sum);
    }
  }
};

TEST(RmsNormCost, equals_the_loops) {
  for_random_cases(120, [](Random& random) {
    const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
    const std::int64_t axis = random.between(0, static_cast<std::int64_t>(x.size()) - 1);
    const RmsNorm op{.axis = axis, .scale = random.coin()};
    check(NaiveRmsNorm{op, static_cast<std::size_t>(axis)}, {{x, any_role(random)}},
          any_options(random));
  });
}

/// x/(k + α/size·Σx²)^β over `size` channels around each; channels beyond the edge are zero.
struct NaiveLocalResponseNorm {
  LocalResponseNorm op;
  static constexpr double k = 1, alpha = 0.5, beta = 0.75;

  template <class T>
  void forward(Run<T>& run) const {
    const Tensor<T>& x = run.input(0);
    Buffer<T> squares(x.shape());
    for_each_index(x.shape(), [&](const Index& at) { squares[at] = x(at) * x(at); });
    const bool keeps = run.has_backward();
    if (keeps) run.save("scale", x.shape(), run.element_bytes(0));
    for_each_index(x.shape(), [&](const Index& at) {
      T sum = 0;
      for (std::int64_t j = 0; j < op.size; ++j)
        sum += inside(squares, at, at[1] + j - op.size / 2);
      const T t = T(k) + T(alpha / static_cast<double>(op.size)) * sum;
      if (keeps) run.saved(0).set(at, t);
      run.output().set(at, x(at) / pow_of(t, T(beta)));
    });
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(0)) return;
    const Tensor<T>& x = run.input(0);
    Buffer<T> ratio(x.shape());
    for_each_index(x.shape(), [&](const Index& at) {
      ratio[at] = run.output_gradient()(at) * run.output()(at) / run.saved(0)(at);
    });
    for_each_index(x.shape(), [&](const Index& at) {
      T sum = 0;
      // The windows that hold this channel, mirrored.
      for (std::int64_t j = 0; j < op.size; ++j) sum += inside(ratio, at, at[1] - j + op.size / 2);
      const T direct = run.output_gradient()(at) * pow_of(run.saved(0)(at), T(-beta));
      run.input_gradient(0).set(
          at, direct - T(2 * alpha * beta / static_cast<double>(op.size)) * x(at) * sum);
    });
  }

 private:
  template <class T>
  static T inside(const Buffer<T>& buffer, const Index& at, std::int64_t channel) {
    return channel >= 0 && channel < buffer.shape()[1] ? buffer[with(at, 1, channel)] : T(0);
  }
};

TEST(LocalResponseNormCost, equals_the_loops) {
  for_random_cases(80, [](Random& random) {
    Index x = random.shape(static_cast<std::size_t>(random.between(2, 4)), 3);
    x[1] = random.between(1, 7);
    check(NaiveLocalResponseNorm{{.size = random.between(1, 6)}}, {{x, any_role(random)}},
          any_options(random));
  });
}

}  // namespace
}  // namespace strata::naive
