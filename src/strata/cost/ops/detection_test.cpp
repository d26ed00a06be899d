// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

namespace strata::naive {
namespace {

/// Channels are boxes × (x, y, w, h, objectness, classes…): the logistic function on all but w and
/// h.
struct NaiveYolo {
  Yolo op;

  template <class T>
  void forward(Run<T>& run) const {
    for_each_index(run.output().shape(), [&](const Index& at) {
      const T x = run.input(0)(at);
      run.output().set(at, is_size(at) ? x : logistic(x));
    });
  }
  template <class T>
  void backward(Run<T>& run) const {
    if (!run.wants(0)) return;
    for_each_index(run.output().shape(), [&](const Index& at) {
      const T dy = run.output_gradient()(at);
      if (is_size(at)) return run.input_gradient(0).set(at, dy);
      const T y = run.output()(at);
      run.input_gradient(0).set(at, dy * y * (T(1) - y));
    });
  }

 private:
  bool is_size(const Index& at) const {
    const std::int64_t entry = at[1] % (op.classes + 5);
    return entry == 2 || entry == 3;
  }
};

TEST(YoloCost, equals_the_loops) {
  for_random_cases(50, [](Random& random) {
    const Yolo op{.boxes = random.between(1, 3), .classes = random.between(0, 3)};
    const Index x = {random.between(1, 2), op.boxes * (5 + op.classes), random.between(1, 3),
                     random.between(1, 3)};
    // w and h of Y are kept with it though nothing needs them.
    check(NaiveYolo{op}, {{x, any_role(random)}},
          {.touch = Touch::gaps, .dtype = any_dtype(random)});
  });
}

TEST(OpaqueCost, is_not_counted_but_its_tensors_are_listed) {
  const Opaque op{.type = "SomebodysOwn", .shapes = {{2, 3}, {4}}};
  const Subject subject(op, {{{2, 3}}, {{5}, Role::parameter}}, {});
  const NodeCost cost = cost_of(subject.bound, subject.node);
  EXPECT_FALSE(cost.is_counted);
  EXPECT_EQ(cost.forward.flop, 0);
  EXPECT_EQ(cost.forward.read_bytes(), (6 + 5) * 4);
  EXPECT_EQ(cost.forward.write_bytes(), (6 + 4) * 4);
  EXPECT_FALSE(cost.backward_input.exists());
  EXPECT_FALSE(cost.backward_weight.exists());
}

}  // namespace
}  // namespace strata::naive
