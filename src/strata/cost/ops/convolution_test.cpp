// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

namespace strata::naive {
namespace {

std::int64_t or_default(const Extents& extents, std::size_t axis, std::int64_t otherwise) {
  return extents.empty() ? otherwise : extents[axis];
}

/// The definition. Padding is made real first; a transposed convolution writes into a padded result
/// and cuts it afterwards.
struct NaiveConvolution {
  Convolution op;

  template <class T>
  void forward(Run<T>& run) const {
    if (op.transposed) {
      Buffer<T> y = padded(run.output(), run, false);
      for_each_product(run, [&](const Index& x_at, const Index& w_at, const Index& y_at) {
        y[y_at] = multiply_add(y[y_at], run.input(0)(x_at), run.own(0)(w_at));
      });
      for_each_index(run.output().shape(),
                     [&](const Index& at) { finish(run, at, y[shifted(at)]); });
      return;
    }
    Buffer<T> y(run.output().shape());
    const Buffer<T> x = padded(run.input(0), run, true);
    for_each_product(run, [&](const Index& x_at, const Index& w_at, const Index& y_at) {
      y[y_at] = multiply_add(y[y_at], x[x_at], run.own(0)(w_at));
    });
    for_each_index(y.shape(), [&](const Index& at) { finish(run, at, y[at]); });
  }

  template <class T>
  void backward(Run<T>& run) const {
    const std::size_t weight = run.first_own();
    if (run.wants(0)) input_gradient(run);
    if (run.wants(weight)) weight_gradient(run);
    if (run.wants(weight + 1)) {
      Buffer<T> db({op.channels});
      for_each_index(run.output().shape(),
                     [&](const Index& at) { db[{at[1]}] += run.output_gradient()(at); });
      run.input_gradient(weight + 1).set_all(db);
    }
  }

 private:
  template <class T>
  void finish(Run<T>& run, const Index& at, T sum) const {
    run.output().set(at, op.bias ? sum + run.own(1)({at[1]}) : sum);
  }

  // dX: every product's share of dY goes back to its x.
  template <class T>
  void input_gradient(Run<T>& run) const {
    Tensor<T>& dx = run.input_gradient(0);
    if (op.transposed) {
      const Buffer<T> dy = padded(run.output_gradient(), run, true);
      Buffer<T> sum(dx.shape());
      for_each_product(run, [&](const Index& x_at, const Index& w_at, const Index& y_at) {
        sum[x_at] = multiply_add(sum[x_at], dy[y_at], run.own(0)(w_at));
      });
      dx.set_all(sum);
      return;
    }
    Buffer<T> sum = padded(dx, run, false);
    for_each_product(run, [&](const Index& x_at, const Index& w_at, const Index& y_at) {
      sum[x_at] = multiply_add(sum[x_at], run.output_gradient()(y_at), run.own(0)(w_at));
    });
    for_each_index(dx.shape(), [&](const Index& at) { dx.set(at, sum[shifted(at)]); });
  }

  template <class T>
  void weight_gradient(Run<T>& run) const {
    const Buffer<T> x = copied(run.input(0), run, !op.transposed);
    const Buffer<T> dy = copied(run.output_gradient(), run, op.transposed);
    Buffer<T> dw(run.own(0).shape());
    for_each_product(run, [&](const Index& x_at, const Index& w_at, const Index& y_at) {
      dw[w_at] = multiply_add(dw[w_at], x[x_at], dy[y_at]);
    });
    run.input_gradient(run.first_own()).set_all(dw);
  }

  // Calls f(place in x, place in w, place in y) for every product of the sum; the side that has
  // padding is addressed with it.
  template <class T, class F>
  void for_each_product(Run<T>& run, F f) const {
    const Index& small = op.transposed ? run.input(0).shape() : run.output().shape();
    const std::int64_t in_group = run.input(0)[1] / op.groups;
    const std::int64_t out_group = op.channels / op.groups;
    const Index kernel(op.kernel.begin(), op.kernel.end());
    for_each_index(small, [&](const Index& at) {
      const std::int64_t group = at[1] / (op.transposed ? in_group : out_group);
      for (std::int64_t other = 0; other < (op.transposed ? out_group : in_group); ++other) {
        for_each_index(kernel, [&](const Index& tap) {
          const Index w_at = joined({at[1], other}, tap);
          Index large = {at[0], group * (op.transposed ? out_group : in_group) + other};
          for (std::size_t axis = 0; axis < tap.size(); ++axis) {
            large.push_back(at[axis + 2] * or_default(op.stride, axis, 1) +
                            tap[axis] * or_default(op.dilation, axis, 1));
          }
          op.transposed ? f(at, w_at, large) : f(large, w_at, at);
        });
      }
    });
  }

  Index shifted(Index at) const {
    for (std::size_t axis = 0; axis < op.kernel.size(); ++axis)
      at[axis + 2] += or_default(op.pad_begin, axis, 0);
    return at;
  }

  template <class T>
  Buffer<T> padded(Tensor<T>& tensor, Run<T>&, bool is_filled) const {
    Index shape = tensor.shape();
    for (std::size_t axis = 0; axis < op.kernel.size(); ++axis) {
      shape[axis + 2] += or_default(op.pad_begin, axis, 0) + or_default(op.pad_end, axis, 0);
    }
    Buffer<T> buffer(shape);
    if (is_filled)
      for_each_index(tensor.shape(), [&](const Index& at) { buffer[shifted(at)] = tensor(at); });
    return buffer;
  }

  template <class T>
  Buffer<T> copied(Tensor<T>& tensor, Run<T>& run, bool is_padded) const {
    if (is_padded) return padded(tensor, run, true);
    Buffer<T> buffer(tensor.shape());
    for_each_index(tensor.shape(), [&](const Index& at) { buffer[at] = tensor(at); });
    return buffer;
  }
};

struct Case {
  Convolution op;
  Index x;
};

Case any_case(Random& random, std::size_t axes, bool is_transposed) {
  const std::int64_t most = axes == 3 ? 2 : 3;
  Case c;
  c.op.transposed = is_transposed;
  c.op.groups = random.between(1, 3);
  c.op.channels = c.op.groups * random.between(1, 2);
  c.op.bias = random.coin();
  c.x = {random.between(1, 2), c.op.groups * random.between(1, 2)};
  const bool is_strided = random.coin(), is_dilated = random.coin(), is_padded = random.coin();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    c.op.kernel.push_back(random.between(1, most));
    const std::int64_t stride = is_strided ? random.between(1, 3) : 1;
    const std::int64_t dilation = is_dilated ? random.between(1, 2) : 1;
    const std::int64_t begin = is_padded ? random.between(0, 2) : 0;
    const std::int64_t end = is_padded ? random.between(0, 2) : 0;
    const std::int64_t output_padding =
        is_transposed && stride > 1 ? random.between(0, stride - 1) : 0;
    if (is_strided) c.op.stride.push_back(stride);
    if (is_dilated) c.op.dilation.push_back(dilation);
    if (is_padded) c.op.pad_begin.push_back(begin);
    if (is_padded) c.op.pad_end.push_back(end);
    if (is_transposed) c.op.output_padding.push_back(output_padding);
    const std::int64_t cover = dilation * (c.op.kernel[axis] - 1) + 1;
    // At least one output.
    const std::int64_t least = is_transposed ? (begin + end + stride - 1) / stride + 1
                                             : std::max<std::int64_t>(1, cover - begin - end);
    c.x.push_back(least + random.between(0, most));
  }
  return c;
}

void check_random(bool is_transposed) {
  for_random_cases(150, [&](Random& random) {
    const Case c = any_case(random, static_cast<std::size_t>(random.between(1, 3)), is_transposed);
    check(NaiveConvolution{c.op}, {{c.x, any_role(random)}}, {.dtype = any_dtype(random)});
  });
}

TEST(ConvolutionCost, equals_the_loops) { check_random(false); }
TEST(ConvolutionCost, equals_the_loops_when_transposed) { check_random(true); }

TEST(ConvolutionCost, depthwise) {
  for_random_cases(50, [](Random& random) {
    Case c = any_case(random, 2, false);
    c.op.groups = c.op.channels = c.x[1];
    check(NaiveConvolution{c.op}, {{c.x, any_role(random)}});
  });
}

// ResNet-50's first layer: 118,013,952 multiply-adds, the figure every count of this network starts
// with.
TEST(ConvolutionCost, first_layer_of_resnet) {
  const Convolution op{.channels = 64,
                       .kernel = {7, 7},
                       .stride = {2, 2},
                       .pad_begin = {3, 3},
                       .pad_end = {3, 3},
                       .bias = false};
  const Subject subject(op, {{{1, 3, 224, 224}, Role::network_input}}, {});
  const NodeCost cost = cost_of(subject.bound, subject.node);
  EXPECT_EQ(cost.forward.mac, 118'013'952);
  EXPECT_EQ(cost.forward.flop, 236'027'904);
  EXPECT_FALSE(cost.backward_input.exists()) << "the network's input gets no gradient";
  EXPECT_EQ(cost.backward_weight.mac, 118'013'952);
  EXPECT_EQ(kept_for_backward(subject.bound, subject.node, cost).text, "input");
}

}  // namespace
}  // namespace strata::naive
