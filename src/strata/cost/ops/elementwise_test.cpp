// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

namespace strata::naive {
namespace {

/// Y = f(A, B, …) number by number, operands broadcast as in NumPy.
struct NaiveElementwise {
  Elementwise op;

  template <class T>
  void forward(Run<T>& run) const {
    if (run.input_count() == 1) return run.alias_output();
    for_each_index(run.output().shape(),
                   [&](const Index& at) { run.output().set(at, value(run, at)); });
  }

  template <class T>
  void backward(Run<T>& run) const {
    if (run.input_count() == 1) return run.alias_gradient(0);
    for (std::size_t i = 0; i < run.input_count(); ++i) {
      if (!run.wants(i)) continue;
      const bool is_repeated = run.input(i).elements() != run.output().elements();
      const bool is_same_type = run.input(i).bytes() / run.input(i).elements() ==
                                run.output().bytes() / run.output().elements();
      if (passes_gradient_on(i) && !is_repeated && is_same_type) {
        run.alias_gradient(i);
        continue;
      }
      Buffer<T> sum(run.input(i).shape());
      for_each_index(run.output().shape(), [&](const Index& at) {
        const T term = gradient(run, i, at);
        if (is_repeated) {
          sum[at] += term;
        } else {
          sum[at] = term;
        }
      });
      run.input_gradient(i).set_all(sum);
    }
  }

 private:
  bool passes_gradient_on(std::size_t i) const {
    return op.kind == ElementwiseKind::add ||
           (i == 0 && (op.kind == ElementwiseKind::subtract || op.kind == ElementwiseKind::modulo));
  }

  template <class T>
  T value(Run<T>& run, const Index& at) const {
    const T a = run.input(0)(at), b = run.input(1)(at);
    switch (op.kind) {
      case ElementwiseKind::subtract: return a - b;
      case ElementwiseKind::divide: return a / b;
      case ElementwiseKind::power: return pow_of(a, b);
      case ElementwiseKind::modulo: return remainder_of(a, b);
      case ElementwiseKind::equal: return a == b ? 1.0 : 0.0;
      case ElementwiseKind::greater: return a > b ? 1.0 : 0.0;
      case ElementwiseKind::less: return a < b ? 1.0 : 0.0;
      case ElementwiseKind::logical_and: return smaller(a, b);
      case ElementwiseKind::logical_or: return larger(a, b);
      case ElementwiseKind::select: {
        const T yes = b, no = run.input(2)(at);
        return whole(a) != 0 ? yes : no;
      }
      default: break;
    }
    T result = a;
    for (std::size_t i = 1; i < run.input_count(); ++i) {
      const T x = run.input(i)(at);
      switch (op.kind) {
        case ElementwiseKind::multiply: result = result * x; break;
        case ElementwiseKind::maximum: result = larger(result, x); break;
        case ElementwiseKind::minimum: result = smaller(result, x); break;
        default: result = result + x; break;
      }
    }
    return op.kind == ElementwiseKind::mean ? result / T(static_cast<double>(run.input_count()))
                                            : result;
  }

  template <class T>
  T gradient(Run<T>& run, std::size_t i, const Index& at) const {
    const T dy = run.output_gradient()(at);
    const auto in = [&](std::size_t k) { return run.input(k)(at); };
    switch (op.kind) {
      case ElementwiseKind::subtract: return i == 0 ? dy : -dy;
      case ElementwiseKind::multiply: {
        T product = dy;
        for (std::size_t k = 0; k < run.input_count(); ++k) {
          if (k != i) product = product * in(k);
        }
        return product;
      }
      case ElementwiseKind::divide: return i == 0 ? dy / in(1) : -(dy * run.output()(at) / in(1));
      case ElementwiseKind::power:
        if (i == 0) return dy * in(1) * pow_of(in(0), in(1) - T(1));
        return dy * run.output()(at) * log_of(in(0));
      case ElementwiseKind::maximum:
      case ElementwiseKind::minimum: return in(i) == run.output()(at) ? dy : T(0);
      case ElementwiseKind::mean: return dy / T(static_cast<double>(run.input_count()));
      case ElementwiseKind::modulo: return i == 0 ? dy : -(dy * floor_of(in(0) / in(1)));
      case ElementwiseKind::select: return (whole(in(0)) != 0) == (i == 1) ? dy : T(0);
      default: return dy;
    }
  }
};

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
  return part(shape, random.coin() ? static_cast<std::size_t>(left_out) : 0, shape.size());
}

void check_kind(ElementwiseKind kind, Random& random) {
  const Index shape = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
  const std::size_t inputs = kind == ElementwiseKind::select ? 3
                             : takes_any_number(kind)
                                 ? static_cast<std::size_t>(random.between(1, 4))
                                 : 2;
  std::vector<Source> sources;
  for (std::size_t i = 0; i < inputs; ++i) {
    Source source{narrowed(random, shape), any_role(random)};
    if (kind == ElementwiseKind::power || kind == ElementwiseKind::divide)
      source.low = 0.5, source.high = 2;
    if (kind == ElementwiseKind::modulo)
      source.low = i == 0 ? -3 : 0.7, source.high = i == 0 ? 3 : 1.3;
    if (kind == ElementwiseKind::select && i == 0) {
      source.role = Role::network_input, source.dtype = DType::boolean, source.indices_below = 2;
    }
    sources.push_back(source);
  }
  check(NaiveElementwise{{kind}}, sources, {.dtype = any_dtype(random)});
}

TEST(ElementwiseCost, every_kind_equals_the_loops) {
  for (auto kind = ElementwiseKind::add; kind <= ElementwiseKind::select;
       kind = static_cast<ElementwiseKind>(static_cast<int>(kind) + 1)) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    for_random_cases(80, [kind](Random& random) { check_kind(kind, random); });
  }
}

TEST(ElementwiseCost, of_a_tensor_with_itself) {
  const std::vector<Source> twice = {{{2, 3}}, {.shape = {2, 3}, .same_as = 0}};
  for (const auto kind :
       {ElementwiseKind::add, ElementwiseKind::multiply, ElementwiseKind::divide}) {
    std::vector<Source> sources = twice;
    sources[0].low = 0.5;
    check(NaiveElementwise{{kind}}, sources);
  }
}

// A residual connection costs one addition forward and nothing at all backward.
TEST(ElementwiseCost, residual_gradients_are_aliases) {
  const Subject subject(Elementwise{}, {{{8, 4}}, {{8, 4}}}, {});
  const NodeCost cost = cost_of(subject.bound, subject.node);
  EXPECT_EQ(cost.forward.flop, 32);
  EXPECT_EQ(cost.backward_input.flop, 0);
  EXPECT_EQ(cost.backward_input.read_bytes() + cost.backward_input.write_bytes(), 0);
  EXPECT_EQ(cost.backward_input.accesses.size(), 2U);
}

// A position table that is added is learnt: its gradient is a weight gradient, summed over the
// batch.
TEST(ElementwiseCost, added_table_gets_a_weight_gradient) {
  const Subject subject(Elementwise{}, {{{8, 4}}, {{1, 4}, Role::parameter}}, {});
  const NodeCost cost = cost_of(subject.bound, subject.node);
  EXPECT_EQ(cost.backward_weight.flop, 32);
  EXPECT_EQ(cost.backward_weight.read_bytes(), 32 * 4);
  EXPECT_EQ(cost.backward_weight.write_bytes(), 4 * 4);
}

TEST(ElementwiseCost, of_different_types_the_gradient_is_converted) {
  check(NaiveElementwise{{ElementwiseKind::add}},
        {{{2, 3}, Role::activation, DType::fp16}, {{2, 3}, Role::activation, DType::fp32}});
}

TEST(ElementwiseCost, many_inputs) {
  std::vector<Source> sources(40, Source{{2, 2}});
  sources.push_back({.shape = {2, 2}, .same_as = 3});
  check(NaiveElementwise{{ElementwiseKind::add}}, sources);
  sources.pop_back();
  check(NaiveElementwise{{ElementwiseKind::add}}, sources);
}

}  // namespace
}  // namespace strata::naive
