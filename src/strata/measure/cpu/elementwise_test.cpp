// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operator_check_test.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::training_test {
namespace {

double value_of(ElementwiseKind kind, const std::vector<double>& x) {
  const double a = x[0], b = x[1];
  switch (kind) {
    case ElementwiseKind::subtract: return a - b;
    case ElementwiseKind::divide: return a / b;
    case ElementwiseKind::power: return std::pow(a, b);
    case ElementwiseKind::modulo: return a - b * std::floor(a / b);
    case ElementwiseKind::equal: return a == b ? 1 : 0;
    case ElementwiseKind::greater: return a > b ? 1 : 0;
    case ElementwiseKind::less: return a < b ? 1 : 0;
    case ElementwiseKind::logical_and: return a != 0 && b != 0 ? 1 : 0;
    case ElementwiseKind::logical_or: return a != 0 || b != 0 ? 1 : 0;
    case ElementwiseKind::select: return a != 0 ? b : x[2];
    default: break;
  }
  double result = a;
  for (std::size_t i = 1; i < x.size(); ++i) {
    switch (kind) {
      case ElementwiseKind::multiply: result *= x[i]; break;
      case ElementwiseKind::maximum: result = std::max(result, x[i]); break;
      case ElementwiseKind::minimum: result = std::min(result, x[i]); break;
      default: result += x[i]; break;
    }
  }
  return kind == ElementwiseKind::mean ? result / static_cast<double>(x.size()) : result;
}

bool takes_any_number(ElementwiseKind kind) {
  return kind == ElementwiseKind::add || kind == ElementwiseKind::multiply ||
         kind == ElementwiseKind::maximum || kind == ElementwiseKind::minimum ||
         kind == ElementwiseKind::mean;
}

/// A shape that broadcasts to `shape`: axes become 1, or leading ones are left out.
Index narrowed(Random& random, Index shape) {
  if (random.coin()) return shape;
  for (std::int64_t& extent : shape) extent = random.coin() ? 1 : extent;
  const auto left_out = random.between(0, static_cast<std::int64_t>(shape.size()) - 1);
  return naive::part(shape, random.coin() ? static_cast<std::size_t>(left_out) : 0, shape.size());
}

Trial trial_of(ElementwiseKind kind, const std::vector<Source>& sources, const Index& shape) {
  return {Elementwise{kind}, sources, [=](const std::vector<Numbers>& in) {
            Numbers y(shape);
            naive::for_each_index(shape, [&](const Index& at) {
              std::vector<double> x;
              for (const Numbers& each : in) x.push_back(each(at));
              y(at) = value_of(kind, x);
            });
            return std::vector{y};
          }};
}

Trial elementwise_trial(ElementwiseKind kind, Random& random) {
  const Index shape = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
  const std::int64_t count = kind == ElementwiseKind::select ? 3
                             : takes_any_number(kind)        ? random.between(2, 6)
                                                             : 2;
  std::vector<Source> sources;
  for (std::int64_t i = 0; i < count; ++i) {
    Source source{i == 0 ? shape : narrowed(random, shape)};
    source.is_parameter = random.rarely(3);
    if (kind == ElementwiseKind::power || kind == ElementwiseKind::divide) {
      source.low = 0.5, source.high = 2;
    }
    if (kind == ElementwiseKind::modulo) {
      source.low = i == 0 ? -3 : 0.7, source.high = i == 0 ? 3 : 1.3;
    }
    if (kind == ElementwiseKind::select && i == 0) {
      source.dtype = random.pick({DType::boolean, DType::int32}), source.below = 2;
    }
    const bool is_of_truths = kind == ElementwiseKind::equal ||
                              kind == ElementwiseKind::logical_and ||
                              kind == ElementwiseKind::logical_or;
    if (is_of_truths) source.dtype = random.pick({DType::boolean, DType::int64}), source.below = 2;
    sources.push_back(source);
  }
  return trial_of(kind, sources, shape);
}

TEST(CpuElementwise, equal_loops_and_differences) {
  check_family("CpuElementwise.equal_loops_and_differences", 12,
               [](const Operator& op, Random& random) {
                 return elementwise_trial(std::get<Elementwise>(op).kind, random);
               });
}

// Many inputs, and rows that several threads share.
TEST(CpuElementwise, many_and_long_inputs) {
  check(trial_of(ElementwiseKind::mean, std::vector<Source>(15, Source{{2, 3}}), {2, 3}));
  const Index shape = {3, 2, 17'000};
  check(trial_of(ElementwiseKind::multiply, {{shape}, {{2, 1}}, {{17'000}}}, shape));
  check(trial_of(ElementwiseKind::add, {{shape}, {{3, 1, 1}}}, shape));
  check(trial_of(ElementwiseKind::add, {{shape}, {{17'000}}}, shape));
  check(trial_of(ElementwiseKind::multiply, {{{5, 17'003}}, {{17'003}}}, {5, 17'003}));
  check(trial_of(ElementwiseKind::subtract, {{shape}, {{2, 1}}}, shape));
  check(trial_of(ElementwiseKind::subtract, {{{2, 1}}, {shape}}, shape));
  check(trial_of(ElementwiseKind::subtract, {{{3, 1, 1}}, {{17'000}}}, {3, 1, 17'000}));
  check(trial_of(ElementwiseKind::divide, {{shape}, {{2, 1}, DType::fp32, 0.5, 2}}, shape));
  check(trial_of(ElementwiseKind::multiply, {{shape}, {shape}}, shape));
}

// A row that is broadcast, whichever operand it is.
TEST(CpuElementwise, short_rows_of_many) {
  const Index shape = {41, 2, 130};
  for (const Index& row : {Index{130}, Index{2, 130}, Index{1, 2, 130}, Index{1, 1, 130}}) {
    check(trial_of(ElementwiseKind::subtract, {{shape}, {row}}, shape));
    check(trial_of(ElementwiseKind::subtract, {{row}, {shape}}, shape));
    check(trial_of(ElementwiseKind::add, {{shape}, {row}}, shape));
    check(trial_of(ElementwiseKind::multiply, {{shape}, {row}}, shape));
    check(trial_of(ElementwiseKind::multiply, {{row}, {shape}}, shape));
    check(trial_of(ElementwiseKind::maximum, {{shape}, {row}}, shape));
  }
  check(trial_of(ElementwiseKind::subtract, {{{41, 1, 130}}, {{2, 1}}}, shape));
}

TEST(CpuElementwise, of_whole_numbers) {
  Source whole{{3, 4}, DType::int64};
  whole.below = 9;
  check(trial_of(ElementwiseKind::multiply, {whole, whole}, {3, 4}));
  check(trial_of(ElementwiseKind::maximum, {whole, whole, whole}, {3, 4}));
}

struct Reduction {
  Reduce op;
  std::vector<bool> is_reduced;

  Index result_at(const Index& at) const {
    Index result;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      if (!is_reduced[axis]) result.push_back(at[axis]);
      if (is_reduced[axis] && op.keep_axes) result.push_back(0);
    }
    return result;
  }
  Index result_shape(Index shape) const {
    for (std::int64_t& extent : shape) --extent;
    shape = result_at(shape);
    for (std::int64_t& extent : shape) ++extent;
    return shape;
  }
};

Trial reduce_trial(Reduce op, Random& random, const Index& shape) {
  op.keep_axes = random.coin();
  Reduction reduction{op, std::vector<bool>(shape.size(), true)};
  if (random.coin()) {
    const auto first = random.between(0, static_cast<std::int64_t>(shape.size()) - 1);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const bool is_reduced = static_cast<std::int64_t>(axis) == first || random.coin();
      reduction.is_reduced[axis] = is_reduced;
      if (is_reduced) reduction.op.axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  Source x{shape};
  x.low = 0.5, x.high = 1.5, x.is_distinct = true;
  return {reduction.op, {x}, [=](const std::vector<Numbers>& in) {
            const ReduceKind kind = op.kind;
            const bool is_product = kind == ReduceKind::product;
            Numbers y(reduction.result_shape(shape), is_product                    ? 1
                                                     : kind == ReduceKind::minimum ? 1e9
                                                                                   : 0);
            naive::for_each_index(shape, [&](const Index& at) {
              double& total = y(reduction.result_at(at));
              const double value = in[0](at);
              if (kind == ReduceKind::maximum) total = std::max(total, value);
              if (kind == ReduceKind::minimum) total = std::min(total, value);
              if (is_product) total *= value;
              if (kind == ReduceKind::l2) total += value * value;
              if (kind == ReduceKind::sum || kind == ReduceKind::mean) total += value;
            });
            const double length =
                static_cast<double>(in[0].values.size()) / static_cast<double>(y.values.size());
            for (double& total : y.values) {
              if (kind == ReduceKind::mean) total /= length;
              if (kind == ReduceKind::l2) total = std::sqrt(total);
            }
            return std::vector{y};
          }};
}

Trial cross_entropy_trial(Random& random) {
  const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
  SoftmaxCrossEntropy op{.axis = random.between(0, static_cast<std::int64_t>(x.size()) - 1)};
  const auto axis = static_cast<std::size_t>(op.axis);
  if (random.coin()) op.axis -= static_cast<std::int64_t>(x.size());
  Source target{naive::without(x, axis), random.pick({DType::int64, DType::int32})};
  target.below = x[axis];
  return {op, {{x}, target}, [=](const std::vector<Numbers>& in) {
            Numbers loss((Index()));
            naive::for_each_index(target.shape, [&](const Index& at) {
              Index place = at;
              place.insert(place.begin() + static_cast<std::ptrdiff_t>(axis), 0);
              double sum = 0;
              for (std::int64_t i = 0; i < x[axis]; ++i) {
                sum += std::exp(in[0](naive::with(place, axis, i)));
              }
              const auto chosen = static_cast<std::int64_t>(in[1](at));
              loss.values[0] += std::log(sum) - in[0](naive::with(place, axis, chosen));
            });
            loss.values[0] /= static_cast<double>(naive::elements_of(target.shape));
            return std::vector{loss};
          }};
}

Trial squared_error_trial(Random& random) {
  const Index x = random.shape(3, 4);
  return {SquaredError{}, {{x}, {x}}, [=](const std::vector<Numbers>& in) {
            Numbers loss((Index()));
            for (std::size_t i = 0; i < in[0].values.size(); ++i) {
              loss.values[0] += std::pow(in[0].values[i] - in[1].values[i], 2);
            }
            loss.values[0] /= static_cast<double>(in[0].values.size());
            return std::vector{loss};
          }};
}

TEST(CpuReductions, equal_loops_and_differences) {
  check_family("CpuReductions.equal_loops_and_differences", 10,
               [](const Operator& op, Random& random) {
                 if (const auto* reduce = std::get_if<Reduce>(&op)) {
                   const auto axes = static_cast<std::size_t>(random.between(1, 4));
                   return reduce_trial(*reduce, random, random.shape(axes, 4));
                 }
                 return std::holds_alternative<SquaredError>(op) ? squared_error_trial(random)
                                                                 : cross_entropy_trial(random);
               });
}

TEST(CpuReductions, products_of_zeros_have_gradients) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    Trial trial = reduce_trial({.kind = ReduceKind::product}, random, random.shape(3, 4));
    trial.inputs[0].below = 3;  // a third are 0: none, one or several in a result
    trial.inputs[0].is_distinct = false;
    check(trial);
  }
}

TEST(CpuReductions, of_many_numbers) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    check(reduce_trial({.kind = seed % 2 == 0 ? ReduceKind::sum : ReduceKind::maximum}, random,
                       {5, 3000, 7}));
  }
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    check(reduce_trial({.kind = seed % 2 == 0 ? ReduceKind::mean : ReduceKind::l2}, random,
                       {3, 2, 17'000}));
  }
}

}  // namespace
}  // namespace strata::training_test
