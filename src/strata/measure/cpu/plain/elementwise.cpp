// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/reduction.hpp"
#include "strata/measure/cpu/plain/stored_numbers.hpp"

#include <algorithm>
#include <cmath>

/// Functions of several numbers, with broadcasting.
namespace strata::cpu_training::plain {
namespace {

/// Number `place` of a tensor of any type, in the type T of the computation.
template <class T>
T number_at(const void* memory, DType dtype, std::int64_t place) {
  if (dtype == dtype_of<T>()) return static_cast<const T*>(memory)[place];
  T number = 0;
  read_row(dtype, memory, place, 1, 1, &number);
  return number;
}

struct ElementwisePlan {
  ElementwiseKind kind;
  std::vector<DType> types;  // of the inputs
  std::vector<Sizes> strides;
  std::vector<bool> is_broadcast;
  Sizes shape;
  DType result_type;

  std::size_t inputs() const { return types.size(); }

  /// Input i at an element of the result.
  template <class T>
  T operand(const NodeMemory& m, std::size_t i, std::int64_t element) const {
    const std::int64_t place = is_broadcast[i] ? offset_of(element, shape, strides[i]) : element;
    return number_at<T>(m.inputs[i], types[i], place);
  }
};

template <class T>
T combined(ElementwiseKind kind, T a, T b) {
  switch (kind) {
    case ElementwiseKind::add:
    case ElementwiseKind::mean: return a + b;
    case ElementwiseKind::subtract: return a - b;
    case ElementwiseKind::multiply: return a * b;
    case ElementwiseKind::divide: return a / b;
    case ElementwiseKind::power: return std::pow(a, b);
    case ElementwiseKind::maximum: return std::max(a, b);
    case ElementwiseKind::minimum: return std::min(a, b);
    case ElementwiseKind::modulo: return a - b * std::floor(a / b);
    case ElementwiseKind::equal: return T(a == b);
    case ElementwiseKind::greater: return T(a > b);
    case ElementwiseKind::less: return T(a < b);
    case ElementwiseKind::logical_and: return T(a != T(0) && b != T(0));
    case ElementwiseKind::logical_or: return T(a != T(0) || b != T(0));
    case ElementwiseKind::select: break;  // has three operands
  }
  return a;
}

template <class T>
T elementwise_value(const ElementwisePlan& plan, const NodeMemory& m, std::int64_t element) {
  if (plan.kind == ElementwiseKind::select) {
    return plan.operand<T>(m, plan.operand<T>(m, 0, element) != T(0) ? 1 : 2, element);
  }
  T value = plan.operand<T>(m, 0, element);
  for (std::size_t i = 1; i < plan.inputs(); ++i) {
    value = combined(plan.kind, value, plan.operand<T>(m, i, element));
  }
  return plan.kind == ElementwiseKind::mean ? value / static_cast<T>(plan.inputs()) : value;
}

/// The derivative of an element of the result by input i.
template <class T>
T elementwise_slope(const ElementwisePlan& plan, const NodeMemory& m, std::size_t i,
                    std::int64_t element) {
  const auto x = [&](std::size_t k) { return plan.operand<T>(m, k, element); };
  switch (plan.kind) {
    case ElementwiseKind::subtract: return i == 0 ? T(1) : T(-1);
    case ElementwiseKind::multiply: {
      T product = 1;
      for (std::size_t k = 0; k < plan.inputs(); ++k) product *= k == i ? T(1) : x(k);
      return product;
    }
    case ElementwiseKind::divide: return i == 0 ? T(1) / x(1) : -x(0) / (x(1) * x(1));
    case ElementwiseKind::power:
      return i == 0 ? x(1) * std::pow(x(0), x(1) - T(1)) : std::pow(x(0), x(1)) * std::log(x(0));
    case ElementwiseKind::maximum:
    case ElementwiseKind::minimum: return T(x(i) == elementwise_value<T>(plan, m, element));
    case ElementwiseKind::mean: return T(1) / static_cast<T>(plan.inputs());
    case ElementwiseKind::modulo: return i == 0 ? T(1) : -std::floor(x(0) / x(1));
    case ElementwiseKind::select: return T((x(0) != T(0)) == (i == 1));
    default: return T(1);
  }
}

bool slope_needs_inputs(ElementwiseKind kind) {
  return kind != ElementwiseKind::add && kind != ElementwiseKind::subtract &&
         kind != ElementwiseKind::mean;
}

template <class T>
void elementwise_gradient(const ElementwisePlan& plan, const NodeMemory& m, std::size_t i) {
  const T* const dy = numbers<T>(m.output_gradients[0]);
  T* const dx = numbers<T>(m.input_gradients[i]);
  if (dx == nullptr) return;
  const auto term = [&](std::int64_t element) {
    return dy[element] * elementwise_slope<T>(plan, m, i, element);
  };
  if (plan.is_broadcast[i]) return sum_terms(ReducedAxes(plan.shape, plan.strides[i]), dx, term);
  parallel_for(product_of(plan.shape), 8,
               [&](std::int64_t element) { dx[element] = term(element); });
}

template <class T>
KernelPair elementwise_kernels(const ElementwisePlan& plan) {
  const auto forward = [=](const NodeMemory& m) {
    parallel_for(product_of(plan.shape), 8, [&](std::int64_t element) {
      const T value = elementwise_value<T>(plan, m, element);
      if (plan.result_type == dtype_of<T>()) {
        numbers<T>(m.outputs[0])[element] = value;
      } else {
        write_row(plan.result_type, m.outputs[0], element, 1, &value);
      }
    });
  };
  const auto backward = [=](const NodeMemory& m) {
    for (std::size_t i = 0; i < plan.inputs(); ++i) elementwise_gradient<T>(plan, m, i);
  };
  return {
      .forward = forward, .backward = backward, .needs = {.inputs = slope_needs_inputs(plan.kind)}};
}

}  // namespace

KernelPairOrReason make_kernels(const Elementwise& op, const NodeContext& context) {
  if (context.input_count() == 1) return copy_kernels(context);
  ElementwisePlan plan{.kind = op.kind,
                       .types = {},
                       .strides = {},
                       .is_broadcast = {},
                       .shape = context.output().shape,
                       .result_type = context.output().dtype};
  bool is_fp32 = false;  // without any, integers are exact in fp64 up to 2⁵³
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    plan.types.push_back(context.input(i).dtype);
    plan.strides.push_back(broadcast_strides(context.input(i).shape, plan.shape));
    plan.is_broadcast.push_back(plan.strides.back() != strides_of(plan.shape));
    is_fp32 = is_fp32 || context.input(i).dtype == DType::fp32;
    if (context.wants(i) && context.output().dtype != context.input(i).dtype) {
      return NoKernels{"its gradient would change the data type"};
    }
    if (!is_stored(context.input(i).dtype)) {
      return NoKernels{"the CPU engine does not store " +
                       std::string(name_of(context.input(i).dtype))};
    }
  }
  return is_fp32 ? elementwise_kernels<float>(plan) : elementwise_kernels<double>(plan);
}

}  // namespace strata::cpu_training::plain
