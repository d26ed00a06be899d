// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operator_check_test.hpp"
#include "strata/measure/engine/constants.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::training_test {
namespace {

using namespace training_constants;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

double value_of(UnaryKind kind, double x, double slope) {
  switch (kind) {
    case UnaryKind::relu: return std::max(x, 0.0);
    case UnaryKind::relu6: return std::min(std::max(x, 0.0), 6.0);
    case UnaryKind::leaky_relu: return x > 0 ? x : leaky_relu_slope * x;
    case UnaryKind::prelu: return x > 0 ? x : slope * x;
    case UnaryKind::elu: return x > 0 ? x : elu_alpha * std::expm1(x);
    case UnaryKind::selu: return selu_lambda * (x > 0 ? x : selu_alpha * std::expm1(x));
    case UnaryKind::gelu: return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case UnaryKind::gelu_tanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + gelu_cubic * x * x * x)));
    case UnaryKind::silu: return x * sigmoid_of(x);
    case UnaryKind::hard_swish: return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
    case UnaryKind::hard_sigmoid: return std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    case UnaryKind::sigmoid: return sigmoid_of(x);
    case UnaryKind::tanh: return std::tanh(x);
    case UnaryKind::mish: return x * std::tanh(std::log1p(std::exp(x)));
    case UnaryKind::softplus: return std::log1p(std::exp(x));
    case UnaryKind::softsign: return x / (1 + std::fabs(x));
    case UnaryKind::clip: return std::min(std::max(x, clip_low), clip_high);
    case UnaryKind::identity: return x;
    case UnaryKind::negate: return -x;
    case UnaryKind::absolute: return std::fabs(x);
    case UnaryKind::square: return x * x;
    case UnaryKind::square_root: return std::sqrt(x);
    case UnaryKind::reciprocal: return 1 / x;
    case UnaryKind::exponential: return std::exp(x);
    case UnaryKind::logarithm: return std::log(x);
    case UnaryKind::error_function: return std::erf(x);
    case UnaryKind::sine: return std::sin(x);
    case UnaryKind::cosine: return std::cos(x);
    case UnaryKind::floor: return std::floor(x);
    case UnaryKind::ceiling: return std::ceil(x);
    case UnaryKind::round: return std::nearbyint(x);
    case UnaryKind::sign: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case UnaryKind::logical_not: return x == 0 ? 1 : 0;
  }
  return x;
}

Trial unary_trial(const Unary& op, Random& random) {
  const bool needs_positive = op.kind == UnaryKind::square_root ||
                              op.kind == UnaryKind::reciprocal || op.kind == UnaryKind::logarithm;
  Source x{random.shape(static_cast<std::size_t>(random.between(2, 4)), 4)};
  x.low = needs_positive ? 0.5 : -8;
  x.high = needs_positive ? 3 : 8;
  if (op.kind == UnaryKind::exponential) x.low = -3, x.high = 3;
  return {op, {x}, [op](const std::vector<Numbers>& in) {
            Numbers y(in[0].shape);
            naive::for_each_index(y.shape, [&](const Index& at) {
              const double slope = op.kind == UnaryKind::prelu ? in[1]({at[1]}) : 0;
              y(at) = value_of(op.kind, in[0](at), slope);
            });
            return std::vector{y};
          }};
}

Trial softmax_trial(Softmax op, Random& random) {
  const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 5);
  op.axis = random.between(0, static_cast<std::int64_t>(x.size()) - 1);
  const auto axis = static_cast<std::size_t>(op.axis);
  if (random.coin()) op.axis -= static_cast<std::int64_t>(x.size());
  return {op, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers y(x);
            naive::for_each_index(x, [&](const Index& at) {
              double sum = 0;
              for (std::int64_t i = 0; i < x[axis]; ++i) {
                sum += std::exp(in[0](naive::with(at, axis, i)));
              }
              y(at) = op.log ? in[0](at) - std::log(sum) : std::exp(in[0](at)) / sum;
            });
            return std::vector{y};
          }};
}

Trial dropout_trial(const Dropout& op, const Index& x) {
  return {op, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers y(x);
            constexpr std::uint32_t node = 1;  // after the one that makes x
            for (std::size_t i = 0; i < y.values.size(); ++i) {
              const bool is_kept = dropout_keeps(node, i, dropout_threshold(op.probability));
              y.values[i] = is_kept ? in[0].values[i] * dropout_scale(op.probability) : 0;
            }
            return std::vector{y};
          }};
}

Trial rotary_trial(Random& random) {
  const RotaryEmbedding op{.heads = random.between(1, 3)};
  const std::int64_t pairs = random.between(1, 3);
  const Index x = {random.between(1, 2), random.between(1, 4), op.heads * 2 * pairs};
  return {op, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers y(x);
            naive::for_each_index(x, [&](const Index& at) {
              const std::int64_t k = at[2] % (2 * pairs) % pairs;
              const bool is_second = at[2] % (2 * pairs) >= pairs;
              const double other = in[0]({at[0], at[1], is_second ? at[2] - pairs : at[2] + pairs});
              const double sine = in[2]({at[1], k});
              y(at) = in[0](at) * in[1]({at[1], k}) + (is_second ? other * sine : -other * sine);
            });
            return std::vector{y};
          }};
}

Trial cast_trial(Random& random) {
  const Index x = random.shape(2, 5);
  Source source{x, random.pick({DType::int32, DType::int64, DType::boolean, DType::int8})};
  source.below = 2;
  return {Cast{DType::fp32}, {source}, [](const std::vector<Numbers>& in) {
            return std::vector{in[0]};
          }};
}

Trial yolo_trial(Random& random) {
  const Yolo op{.boxes = random.between(1, 2), .classes = random.between(0, 2)};
  const Index x = {random.between(1, 2), op.boxes * (5 + op.classes), random.between(1, 3), 2};
  return {op, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers y(x);
            naive::for_each_index(x, [&](const Index& at) {
              const std::int64_t entry = at[1] % (5 + op.classes);
              y(at) = entry == 2 || entry == 3 ? in[0](at) : sigmoid_of(in[0](at));
            });
            return std::vector{y};
          }};
}

TEST(CpuPointwise, equal_loops_and_differences) {
  check_family(
      "CpuPointwise.equal_loops_and_differences", 4, [](const Operator& op, Random& random) {
        if (const auto* unary = std::get_if<Unary>(&op)) return unary_trial(*unary, random);
        if (const auto* softmax = std::get_if<Softmax>(&op)) {
          return softmax_trial(*softmax, random);
        }
        if (std::holds_alternative<Dropout>(op)) {
          return dropout_trial(Dropout{random.pick({0.0, 0.3, 0.5, 1.0})}, random.shape(3, 5));
        }
        if (std::holds_alternative<RotaryEmbedding>(op)) return rotary_trial(random);
        if (std::holds_alternative<Cast>(op)) return cast_trial(random);
        return yolo_trial(random);
      });
}

// Long rows go through several pieces and threads.
TEST(CpuPointwise, of_many_numbers) {
  const Index x = {2, 3, 11'000};
  for (const UnaryKind kind : {UnaryKind::gelu, UnaryKind::softplus, UnaryKind::tanh}) {
    check({Unary{kind}, {{x}}, [=](const std::vector<Numbers>& in) {
             Numbers y(x);
             for (std::size_t i = 0; i < y.values.size(); ++i) {
               y.values[i] = value_of(kind, in[0].values[i], 0);
             }
             return std::vector{y};
           }});
  }
  check({Unary{UnaryKind::prelu}, {{x}}, [=](const std::vector<Numbers>& in) {
           Numbers y(x);
           naive::for_each_index(x, [&](const Index& at) {
             y(at) = value_of(UnaryKind::prelu, in[0](at), in[1]({at[1]}));
           });
           return std::vector{y};
         }});
  check(dropout_trial(Dropout{0.3}, {3, 50'001}));  // hashes on both sides of 2¹⁶
}

TEST(CpuPointwise, dropout_keeps_as_many_as_it_should) {
  for (const double probability : {0.1, 0.5, 0.9}) {
    std::int64_t kept = 0;
    constexpr std::int64_t count = 100'000;
    for (std::uint64_t i = 0; i < count; ++i) {
      kept += dropout_keeps(3, i, dropout_threshold(probability)) ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(kept) / count, 1 - probability, 0.006);
  }
}

// Of numbers that share a hash, that are neighbours, or that lie in rows of common lengths.
TEST(CpuPointwise, dropout_keeps_one_number_whether_or_not_it_keeps_another) {
  constexpr std::uint64_t count = 200'000;
  for (const double probability : {0.1, 0.5}) {
    const std::uint64_t threshold = dropout_threshold(probability);
    for (const std::uint64_t distance : {1, 2, 15, 16, 17, 32, 64, 768, 1000, 1024, 4096}) {
      std::int64_t both = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        both += dropout_keeps(3, i, threshold) && dropout_keeps(3, i + distance, threshold) ? 1 : 0;
      }
      const double expected = (1 - probability) * (1 - probability);
      EXPECT_NEAR(static_cast<double>(both) / count, expected, 0.006) << distance << " apart";
    }
  }
}

}  // namespace
}  // namespace strata::training_test
