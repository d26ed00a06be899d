// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/loops.hpp"
#include "strata/measure/cpu/plain/stored_numbers.hpp"
#include "strata/measure/cpu/plain/unary_functions.hpp"

#include <array>
#include <utility>

namespace strata::cpu_training::plain {
namespace {

/// The loops of one kind.
template <class T>
struct UnaryLoops {
  void (*apply)(const T* x, T* y, std::int64_t count);
  void (*gradient)(const T* known, const T* dy, T* dx, std::int64_t count);
};

template <UnaryKind kind, class T>
constexpr UnaryLoops<T> loops_of_kind() {
  return {[](const T* x, T* y, std::int64_t count) {
            parallel_for(count, 8, [=](std::int64_t i) { y[i] = unary_value<kind>(x[i]); });
          },
          [](const T* known, const T* dy, T* dx, std::int64_t count) {
            parallel_for(count, 8,
                         [=](std::int64_t i) { dx[i] = dy[i] * unary_slope<kind>(known[i]); });
          }};
}

template <class T, std::size_t... kinds>
constexpr auto table_of(std::index_sequence<kinds...>) {
  return std::array{loops_of_kind<static_cast<UnaryKind>(kinds), T>()...};
}

template <class T>
UnaryLoops<T> loops_of(UnaryKind kind) {
  constexpr auto kinds = static_cast<std::size_t>(UnaryKind::logical_not) + 1;
  static constexpr auto table = table_of<T>(std::make_index_sequence<kinds>());
  return table[static_cast<std::size_t>(kind)];
}

template <class T>
KernelPair unary_kernels(UnaryKind kind, const NodeContext& context) {
  const std::int64_t count = context.output().elements;
  const UnaryLoops<T> loops = loops_of<T>(kind);
  const SlopeFrom from = slope_from(kind);
  const auto backward = [=](const NodeMemory& m) {
    T* const dx = numbers<T>(m.input_gradients[0]);
    if (dx == nullptr) return;
    const T* const dy = numbers<T>(m.output_gradients[0]);
    const T* const known = from == SlopeFrom::input    ? numbers<T>(m.inputs[0])
                           : from == SlopeFrom::output ? numbers<T>(m.outputs[0])
                                                       : dy;  // not looked at
    loops.gradient(known, dy, dx, count);
  };
  return {.forward =
              [=](const NodeMemory& m) {
                loops.apply(numbers<T>(m.inputs[0]), numbers<T>(m.outputs[0]), count);
              },
          .backward = backward,
          .needs = {.inputs = from == SlopeFrom::input, .outputs = from == SlopeFrom::output}};
}

/// Integers and truth values: they are computed as fp64 and have no gradient.
KernelPair converting_kernels(UnaryKind kind, const NodeContext& context) {
  const std::int64_t count = context.output().elements;
  const DType from = context.input().dtype, to = context.output().dtype;
  const auto apply = loops_of<double>(kind).apply;
  return {.forward =
              [=](const NodeMemory& m) {
                for (std::int64_t i = 0; i < count; ++i) {
                  double number = 0;
                  read_row(from, m.inputs[0], i, 1, 1, &number);
                  apply(&number, &number, 1);
                  write_row(to, m.outputs[0], i, 1, &number);
                }
              },
          .backward = [](const NodeMemory&) {}};
}

/// One slope per channel: X is [N, C, space].
template <class T>
KernelPair prelu_kernels(const NodeContext& context) {
  const std::int64_t batch = context.input()[0], channels = context.input()[1];
  const std::int64_t space = context.input().elements / (batch * channels);
  const auto forward = [=](const NodeMemory& m) {
    const T *const x = numbers<T>(m.inputs[0]), *const slopes = numbers<T>(m.inputs[1]);
    T* const y = numbers<T>(m.outputs[0]);
    parallel_for(batch * channels, space, [&](std::int64_t plane) {
      const T slope = slopes[plane % channels];
      for (std::int64_t i = plane * space; i < (plane + 1) * space; ++i) {
        y[i] = x[i] > T(0) ? x[i] : slope * x[i];
      }
    });
  };
  const auto backward = [=](const NodeMemory& m) {
    const T *const x = numbers<T>(m.inputs[0]), *const slopes = numbers<T>(m.inputs[1]);
    const T* const dy = numbers<T>(m.output_gradients[0]);
    T *const dx = numbers<T>(m.input_gradients[0]), *const d_slopes =
                                                        numbers<T>(m.input_gradients[1]);
    parallel_for(channels, batch * space, [&](std::int64_t c) {
      double sum = 0;
      for (std::int64_t n = 0; n < batch; ++n) {
        const std::int64_t first = (n * channels + c) * space;
        for (std::int64_t i = first; i < first + space; ++i) {
          if (dx != nullptr) dx[i] = x[i] > T(0) ? dy[i] : slopes[c] * dy[i];
          sum += x[i] > T(0) ? 0 : static_cast<double>(x[i] * dy[i]);
        }
      }
      if (d_slopes != nullptr) d_slopes[c] = static_cast<T>(sum);
    });
  };
  return {.forward = forward, .backward = backward, .needs = {.inputs = true}};
}

}  // namespace

KernelPairOrReason make_kernels(const Unary& op, const NodeContext& context) {
  if (op.kind == UnaryKind::identity) return copy_kernels(context);
  if (!is_floating(context.input().dtype) || context.output().dtype != context.input().dtype) {
    return converting_kernels(op.kind, context);
  }
  return with_real(context.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    return op.kind == UnaryKind::prelu ? prelu_kernels<T>(context)
                                       : unary_kernels<T>(op.kind, context);
  });
}

}  // namespace strata::cpu_training::plain
