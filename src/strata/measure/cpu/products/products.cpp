// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/walk.hpp"
#include "strata/measure/cpu/products/gemm.hpp"

#include <algorithm>
#include <vector>

namespace strata::cpu_training {
namespace {

std::function<std::string(Pass)> gemm_of(DType dtype) {
  return [is_fp64 = dtype == DType::fp64](Pass) { return product_name(is_fp64); };
}

template <class T>
KernelsOrReason linear_kernels(const Linear& op, const Setting& s) {
  const std::int64_t features = op.features, inputs = s.input(1)[1];
  const std::int64_t rows = s.input().elements / inputs;
  const bool has_bias = op.bias;
  const Workers& workers = s.workers;
  const auto forward = [=, &workers](const NodeMemory& m) {
    T* const y = real<T>(m.outputs[0]);
    if (has_bias) {
      const T* const bias = real<T>(m.inputs[2]);
      workers.ranges(rows, std::max<std::int64_t>(1, numbers_per_part / features),
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t row = begin; row < end; ++row) {
                         std::copy(bias, bias + features, y + row * features);
                       }
                     });
    }
    multiply<T>(workers, {.m = rows,
                          .n = features,
                          .k = inputs,
                          .a = real<T>(m.inputs[0]),
                          .a_step = inputs,
                          .b = real<T>(m.inputs[1]),
                          .b_step = inputs,
                          .b_is_turned = true,
                          .result = y,
                          .result_step = features,
                          .adds = has_bias});
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    const T* const dy = real<T>(m.output_gradients[0]);
    if (T* const dx = real<T>(m.input_gradients[0])) {
      multiply<T>(workers, {.m = rows,
                            .n = inputs,
                            .k = features,
                            .a = dy,
                            .a_step = features,
                            .b = real<T>(m.inputs[1]),
                            .b_step = inputs,
                            .result = dx,
                            .result_step = inputs});
    }
    if (T* const dw = real<T>(m.input_gradients[1])) {
      multiply<T>(workers, {.m = features,
                            .n = inputs,
                            .k = rows,
                            .a = dy,
                            .a_step = features,
                            .a_is_turned = true,
                            .b = real<T>(m.inputs[0]),
                            .b_step = inputs,
                            .result = dw,
                            .result_step = inputs});
    }
    T* const db = has_bias ? real<T>(m.input_gradients[2]) : nullptr;
    if (db != nullptr) sum_rows(workers, dy, rows, features, features, db);
  };
  return kernels_by({forward, backward, {.inputs = true}, gemm_of(s.input().dtype)}, s);
}

/// The product of every pair of matrices; offsets of each pair's matrices.
struct MatMulPlan {
  std::int64_t m = 0, n = 0, k = 0;
  bool turns_a = false, turns_b = false;
  struct Pair {
    std::int64_t a, b, y;
  };
  std::vector<Pair> pairs;

  std::int64_t a_step() const { return turns_a ? m : k; }
  std::int64_t b_step() const { return turns_b ? k : n; }
};

MatMulPlan matmul_plan(const MatMul& op, const Setting& s) {
  const BoundTensor &a = s.input(0), &b = s.input(1), &y = s.output();
  MatMulPlan plan{.m = y[y.axes() - 2],
                  .n = y[y.axes() - 1],
                  .k = a[a.axes() - (op.transpose_a ? 2 : 1)],
                  .turns_a = op.transpose_a,
                  .turns_b = op.transpose_b};
  const auto leading = [](const BoundTensor& tensor) {
    Sizes sizes;
    for (std::size_t i = 0; i + 2 < tensor.axes(); ++i) sizes.push_back(tensor[i]);
    return sizes;
  };
  const Sizes outer = leading(y);
  const Sizes a_strides = broadcast_strides(leading(a), outer);
  const Sizes b_strides = broadcast_strides(leading(b), outer);
  const std::int64_t count = y.elements / (plan.m * plan.n);
  for (std::int64_t i = 0; i < count; ++i) {
    MatMulPlan::Pair pair{0, 0, i * plan.m * plan.n};
    std::int64_t rest = i;
    for (std::size_t axis = outer.size(); axis-- > 0;) {
      pair.a += rest % outer[axis] * a_strides[axis] * plan.m * plan.k;
      pair.b += rest % outer[axis] * b_strides[axis] * plan.k * plan.n;
      rest /= outer[axis];
    }
    plan.pairs.push_back(pair);
  }
  return plan;
}

/// Products that go to one place, in order: the first sets it, the others add to it.
template <class T>
void run_products(const Workers& workers, std::vector<Product<T>> products) {
  std::stable_sort(products.begin(), products.end(),
                   [](const Product<T>& p, const Product<T>& q) { return p.result < q.result; });
  std::vector<std::size_t> groups;  // where each place's begin
  for (std::size_t i = 0; i < products.size(); ++i) {
    const bool is_first = i == 0 || products[i].result != products[i - 1].result;
    products[i].adds = !is_first;
    if (is_first) groups.push_back(i);
  }
  groups.push_back(products.size());
  const auto count = static_cast<std::int64_t>(groups.size()) - 1;
  if (count < workers.count()) {
    for (const Product<T>& product : products) multiply(workers, product);
    return;
  }
  workers.ranges(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::size_t i = groups[static_cast<std::size_t>(begin)];
         i < groups[static_cast<std::size_t>(end)]; ++i) {
      multiply(products[i]);
    }
  });
}

template <class T>
Product<T> turned_if(Product<T> p, bool a_is_turned, bool b_is_turned) {
  p.a_is_turned = a_is_turned;
  p.b_is_turned = b_is_turned;
  return p;
}

// dA = dY Bᵀ, or for a turned A its turn: B dYᵀ.
template <class T>
Product<T> a_gradient(const MatMulPlan& p, const T* b, const T* dy, T* da) {
  if (!p.turns_a) {
    return turned_if<T>({.m = p.m,
                         .n = p.k,
                         .k = p.n,
                         .a = dy,
                         .a_step = p.n,
                         .b = b,
                         .b_step = p.b_step(),
                         .result = da,
                         .result_step = p.k},
                        false, !p.turns_b);
  }
  return turned_if<T>({.m = p.k,
                       .n = p.m,
                       .k = p.n,
                       .a = b,
                       .a_step = p.b_step(),
                       .b = dy,
                       .b_step = p.n,
                       .result = da,
                       .result_step = p.m},
                      p.turns_b, true);
}

// dB = Aᵀ dY, or its turn: dYᵀ A.
template <class T>
Product<T> b_gradient(const MatMulPlan& p, const T* a, const T* dy, T* db) {
  if (!p.turns_b) {
    return turned_if<T>({.m = p.k,
                         .n = p.n,
                         .k = p.m,
                         .a = a,
                         .a_step = p.a_step(),
                         .b = dy,
                         .b_step = p.n,
                         .result = db,
                         .result_step = p.n},
                        !p.turns_a, false);
  }
  return turned_if<T>({.m = p.n,
                       .n = p.k,
                       .k = p.m,
                       .a = dy,
                       .a_step = p.n,
                       .b = a,
                       .b_step = p.a_step(),
                       .result = db,
                       .result_step = p.k},
                      true, p.turns_a);
}

template <class T>
KernelsOrReason matmul_kernels(const MatMulPlan& plan, const Setting& s) {
  const Workers& workers = s.workers;
  const auto all = [](const MatMulPlan& p, const auto& product_of) {
    std::vector<Product<T>> products;
    for (const MatMulPlan::Pair& pair : p.pairs) products.push_back(product_of(pair));
    return products;
  };
  const auto forward = [=, &workers](const NodeMemory& m) {
    run_products<T>(workers, all(plan, [&](const MatMulPlan::Pair& pair) -> Product<T> {
                      return {.m = plan.m,
                              .n = plan.n,
                              .k = plan.k,
                              .a = real<T>(m.inputs[0]) + pair.a,
                              .a_step = plan.a_step(),
                              .a_is_turned = plan.turns_a,
                              .b = real<T>(m.inputs[1]) + pair.b,
                              .b_step = plan.b_step(),
                              .b_is_turned = plan.turns_b,
                              .result = real<T>(m.outputs[0]) + pair.y,
                              .result_step = plan.n};
                    }));
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    const T* const dy = real<T>(m.output_gradients[0]);
    if (T* const da = real<T>(m.input_gradients[0])) {
      run_products<T>(workers, all(plan, [&](const MatMulPlan::Pair& pair) {
                        return a_gradient<T>(plan, real<T>(m.inputs[1]) + pair.b, dy + pair.y,
                                             da + pair.a);
                      }));
    }
    if (T* const db = real<T>(m.input_gradients[1])) {
      run_products<T>(workers, all(plan, [&](const MatMulPlan::Pair& pair) {
                        return b_gradient<T>(plan, real<T>(m.inputs[0]) + pair.a, dy + pair.y,
                                             db + pair.b);
                      }));
    }
  };
  return kernels_by({forward, backward, {.inputs = true}, gemm_of(s.input().dtype)}, s);
}

}  // namespace

KernelsOrReason make_kernels(const Linear& op, const Setting& s) {
  return with_real(s.input().dtype,
                   [&](auto zero) { return linear_kernels<decltype(zero)>(op, s); });
}

KernelsOrReason make_kernels(const MatMul& op, const Setting& s) {
  return with_real(s.input().dtype, [&](auto zero) {
    return matmul_kernels<decltype(zero)>(matmul_plan(op, s), s);
  });
}

}  // namespace strata::cpu_training
