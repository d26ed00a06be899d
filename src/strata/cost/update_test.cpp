// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/update.hpp"

#include "strata/base/error.hpp"
#include "strata/cost/naive_tensor_test.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

using naive::Counted;
using naive::Index;
using naive::Tensor;

/// A parameter with its gradient and the optimizer's state, all of one size and type.
template <class T>
struct Parameter {
  Tensor<T> weight, gradient, first, second;

  Parameter(std::int64_t elements, DType dtype)
      : weight({elements}, bytes_per_element(dtype)),
        gradient(weight),
        first(weight),
        second(weight) {
    for (std::size_t i = 0; i < weight.values.size(); ++i)
      gradient.values[i] = i % 2 == 0 ? 3.0 : -0.5;
  }
};

constexpr double rate = 0.1, decay_1 = 0.9, decay_2 = 0.999, tiny = 1e-8;

/// The update rules as loops; `step` counts from 1.
template <class T>
void update(Optimizer optimizer, Parameter<T>& p, int step) {
  const T correction_1 = 1 - std::pow(decay_1, step), correction_2 = 1 - std::pow(decay_2, step);
  naive::for_each_index(p.weight.shape(), [&](const Index& i) {
    switch (optimizer) {
      case Optimizer::none: return;
      case Optimizer::sgd: return p.weight.set(i, p.weight(i) - T(rate) * p.gradient(i));
      case Optimizer::momentum: {
        const T velocity = T(decay_1) * p.first(i) + p.gradient(i);
        p.first.set(i, velocity);
        return p.weight.set(i, p.weight(i) - T(rate) * velocity);
      }
      case Optimizer::adam: {
        const T g = p.gradient(i);
        const T m = T(decay_1) * p.first(i) + T(1 - decay_1) * g;
        const T v = T(decay_2) * p.second(i) + T(1 - decay_2) * (g * g);
        p.first.set(i, m);
        p.second.set(i, v);
        const T unbiased_m = m / correction_1, unbiased_v = v / correction_2;
        return p.weight.set(
            i, p.weight(i) - T(rate) * unbiased_m / (naive::sqrt_of(unbiased_v) + T(tiny)));
      }
    }
  });
}

constexpr Optimizer every_optimizer[] = {Optimizer::none, Optimizer::sgd, Optimizer::momentum,
                                         Optimizer::adam};

TEST(UpdateCost, equals_the_loops) {
  for (const Optimizer optimizer : every_optimizer) {
    for (const DType dtype : {DType::fp32, DType::bf16, DType::fp64}) {
      for (const std::int64_t elements : {1, 7, 32}) {
        SCOPED_TRACE(std::string(name_of(optimizer)) + " " + std::to_string(elements));
        Parameter<Counted> p(elements, dtype);
        naive::tally = {};
        update(optimizer, p, 1);
        const UpdateCost cost = update_cost(optimizer, elements, dtype);
        EXPECT_EQ(cost.flop, naive::tally.flop);
        EXPECT_EQ(cost.read_bytes, p.weight.read_bytes() + p.gradient.read_bytes() +
                                       p.first.read_bytes() + p.second.read_bytes());
        EXPECT_EQ(cost.write_bytes,
                  p.weight.written_bytes() + p.first.written_bytes() + p.second.written_bytes());
        EXPECT_EQ(cost.state_bytes, p.first.written_bytes() + p.second.written_bytes());
      }
    }
  }
}

// That the loops are the optimizers they claim to be: what two steps with a constant gradient g do.
TEST(UpdateCost, loops_are_the_optimizers) {
  const auto moved = [](Optimizer optimizer) {
    Parameter<double> p(2, DType::fp32);
    update(optimizer, p, 1);
    update(optimizer, p, 2);
    return p.weight.values;
  };
  EXPECT_NEAR(moved(Optimizer::sgd)[0], -2 * rate * 3, 1e-12);
  EXPECT_NEAR(moved(Optimizer::momentum)[0], -(2 + decay_1) * rate * 3, 1e-12);
  // Adam with its bias corrected moves by the rate, whatever the gradient's size.
  EXPECT_NEAR(moved(Optimizer::adam)[0], -2 * rate, 1e-6);
  EXPECT_NEAR(moved(Optimizer::adam)[1], 2 * rate, 1e-6);
}

TEST(UpdateCost, names_lead_back_to_the_optimizer) {
  for (const Optimizer optimizer : every_optimizer)
    EXPECT_EQ(optimizer_named(name_of(optimizer)), optimizer);
  EXPECT_EQ(optimizer_named("sdg"), std::nullopt);
}

TEST(UpdateCost, beyond_64_bits_is_an_input_error) {
  try {
    update_cost(Optimizer::adam, std::int64_t{1} << 61, DType::fp32);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
  }
}

}  // namespace
}  // namespace strata
