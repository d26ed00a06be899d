// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/product.hpp"

#include <algorithm>

namespace strata::cpu_training::plain {
namespace {

template <class T>
KernelPair linear_kernels(const Linear& op, const NodeContext& context) {
  const std::int64_t features = op.features, inputs = context.input(1)[1];
  const std::int64_t rows = context.input().elements / inputs;
  const bool has_bias = op.bias;
  const auto forward = [=](const NodeMemory& m) {
    T* const y = numbers<T>(m.outputs[0]);
    if (has_bias) {
      const T* const bias = numbers<T>(m.inputs[2]);
      parallel_for(rows, features,
                   [&](std::int64_t row) { std::copy_n(bias, features, y + row * features); });
    }
    multiply<T>({.m = rows,
                 .n = features,
                 .k = inputs,
                 .a = numbers<T>(m.inputs[0]),
                 .a_step = inputs,
                 .b = numbers<T>(m.inputs[1]),
                 .b_step = inputs,
                 .b_is_transposed = true,
                 .result = y,
                 .result_step = features,
                 .adds = has_bias});
  };
  const auto backward = [=](const NodeMemory& m) {
    const T* const dy = numbers<T>(m.output_gradients[0]);
    if (T* const dx = numbers<T>(m.input_gradients[0])) {
      multiply<T>({.m = rows,
                   .n = inputs,
                   .k = features,
                   .a = dy,
                   .a_step = features,
                   .b = numbers<T>(m.inputs[1]),
                   .b_step = inputs,
                   .result = dx,
                   .result_step = inputs});
    }
    if (T* const dw = numbers<T>(m.input_gradients[1])) {
      multiply<T>({.m = features,
                   .n = inputs,
                   .k = rows,
                   .a = dy,
                   .a_step = features,
                   .a_is_transposed = true,
                   .b = numbers<T>(m.inputs[0]),
                   .b_step = inputs,
                   .result = dw,
                   .result_step = inputs});
    }
    T* const db = has_bias ? numbers<T>(m.input_gradients[2]) : nullptr;
    if (db != nullptr) sum_rows(dy, rows, features, features, db);
  };
  return {.forward = forward, .backward = backward, .needs = {.inputs = true}};
}

/// Y[…] = A[…] · B[…] for every pair of matrices; leading axes are broadcast.
struct MatMulPlan {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposes_a = false, transposes_b = false;
  Sizes outer, a_strides, b_strides;  // of the leading axes, in matrices

  MatMulPlan(const MatMul& op, const NodeContext& context)
      : transposes_a(op.transpose_a), transposes_b(op.transpose_b) {
    const BoundTensor &a = context.input(0), &b = context.input(1), &y = context.output();
    m = y[y.axes() - 2];
    n = y[y.axes() - 1];
    k = a[a.axes() - (op.transpose_a ? 2 : 1)];
    const auto leading = [](const BoundTensor& tensor) {
      Sizes sizes;
      for (std::size_t i = 0; i + 2 < tensor.axes(); ++i) sizes.push_back(tensor[i]);
      return sizes;
    };
    outer = leading(y);
    a_strides = broadcast_strides(leading(a), outer);
    b_strides = broadcast_strides(leading(b), outer);
  }

  std::int64_t a_step() const { return transposes_a ? m : k; }
  std::int64_t b_step() const { return transposes_b ? k : n; }

  /// Calls f(offset in A, in B, in Y) for every pair of matrices, in order.
  template <class F>
  void for_each_pair(const F& f) const {
    for (std::int64_t i = 0; i < product_of(outer); ++i) {
      f(offset_of(i, outer, a_strides) * m * k, offset_of(i, outer, b_strides) * k * n, i * m * n);
    }
  }
};

// dA = dY Bᵀ, or for a transposed A: B dYᵀ.
template <class T>
Product<T> a_gradient(const MatMulPlan& p, const T* b, const T* dy, T* da) {
  Product<T> product{.result = da, .result_step = p.a_step(), .adds = true};
  product.k = p.n;
  if (!p.transposes_a) {
    product.m = p.m, product.n = p.k;
    product.a = dy, product.a_step = p.n;
    product.b = b, product.b_step = p.b_step(), product.b_is_transposed = !p.transposes_b;
  } else {
    product.m = p.k, product.n = p.m;
    product.a = b, product.a_step = p.b_step(), product.a_is_transposed = p.transposes_b;
    product.b = dy, product.b_step = p.n, product.b_is_transposed = true;
  }
  return product;
}

// dB = Aᵀ dY, or for a transposed B: dYᵀ A.
template <class T>
Product<T> b_gradient(const MatMulPlan& p, const T* a, const T* dy, T* db) {
  Product<T> product{.result = db, .result_step = p.b_step(), .adds = true};
  product.k = p.m;
  if (!p.transposes_b) {
    product.m = p.k, product.n = p.n;
    product.a = a, product.a_step = p.a_step(), product.a_is_transposed = !p.transposes_a;
    product.b = dy, product.b_step = p.n;
  } else {
    product.m = p.n, product.n = p.k;
    product.a = dy, product.a_step = p.n, product.a_is_transposed = true;
    product.b = a, product.b_step = p.a_step(), product.b_is_transposed = p.transposes_a;
  }
  return product;
}

template <class T>
KernelPair matmul_kernels(const MatMulPlan& plan, const NodeContext& context) {
  const std::int64_t a_elements = context.input(0).elements, b_elements = context.input(1).elements;
  const auto forward = [=](const NodeMemory& m) {
    plan.for_each_pair([&](std::int64_t a, std::int64_t b, std::int64_t y) {
      multiply<T>({.m = plan.m,
                   .n = plan.n,
                   .k = plan.k,
                   .a = numbers<T>(m.inputs[0]) + a,
                   .a_step = plan.a_step(),
                   .a_is_transposed = plan.transposes_a,
                   .b = numbers<T>(m.inputs[1]) + b,
                   .b_step = plan.b_step(),
                   .b_is_transposed = plan.transposes_b,
                   .result = numbers<T>(m.outputs[0]) + y,
                   .result_step = plan.n});
    });
  };
  const auto backward = [=](const NodeMemory& m) {
    const T* const dy = numbers<T>(m.output_gradients[0]);
    if (T* const da = numbers<T>(m.input_gradients[0])) {
      std::fill_n(da, a_elements, T(0));
      plan.for_each_pair([&](std::int64_t a, std::int64_t b, std::int64_t y) {
        multiply(a_gradient<T>(plan, numbers<T>(m.inputs[1]) + b, dy + y, da + a));
      });
    }
    if (T* const db = numbers<T>(m.input_gradients[1])) {
      std::fill_n(db, b_elements, T(0));
      plan.for_each_pair([&](std::int64_t a, std::int64_t b, std::int64_t y) {
        multiply(b_gradient<T>(plan, numbers<T>(m.inputs[0]) + a, dy + y, db + b));
      });
    }
  };
  return {.forward = forward, .backward = backward, .needs = {.inputs = true}};
}

}  // namespace

KernelPairOrReason make_kernels(const Linear& op, const NodeContext& context) {
  return with_real(context.input().dtype,
                   [&](auto zero) { return linear_kernels<decltype(zero)>(op, context); });
}

KernelPairOrReason make_kernels(const MatMul& op, const NodeContext& context) {
  return with_real(context.input().dtype, [&](auto zero) {
    return matmul_kernels<decltype(zero)>(MatMulPlan(op, context), context);
  });
}

}  // namespace strata::cpu_training::plain
