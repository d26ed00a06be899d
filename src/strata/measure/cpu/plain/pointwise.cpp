// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/loops.hpp"
#include "strata/measure/cpu/plain/stored_numbers.hpp"
#include "strata/measure/cpu/plain/unary_functions.hpp"
#include "strata/measure/engine/constants.hpp"

/// Dropout, rotary embedding, yolo's logistic layer, casts.
namespace strata::cpu_training::plain {
namespace {

/// Forward leaves in `saved` which numbers were kept, a byte each.
template <class T>
KernelPair dropout_kernels(double probability, const NodeContext& context) {
  using namespace training_constants;
  const std::int64_t count = context.output().elements;
  const NodeId node = context.id;
  const std::uint64_t threshold = dropout_threshold(probability);
  const T scale = static_cast<T>(dropout_scale(probability));
  const auto forward = [=](const NodeMemory& m) {
    const T* const x = numbers<T>(m.inputs[0]);
    T* const y = numbers<T>(m.outputs[0]);
    auto* const mask = numbers<std::uint8_t>(m.saved);
    parallel_for(count, 4, [=](std::int64_t i) {
      const bool is_kept = dropout_keeps(node, static_cast<std::uint64_t>(i), threshold);
      y[i] = is_kept ? scale * x[i] : T(0);
      if (mask != nullptr) mask[i] = is_kept ? 1 : 0;
    });
  };
  const auto backward = [=](const NodeMemory& m) {
    T* const dx = numbers<T>(m.input_gradients[0]);
    if (dx == nullptr) return;
    const T* const dy = numbers<T>(m.output_gradients[0]);
    const auto* const mask = numbers<std::uint8_t>(m.saved);
    parallel_for(count, 1, [=](std::int64_t i) { dx[i] = mask[i] != 0 ? scale * dy[i] : T(0); });
  };
  return {.forward = forward,
          .backward = backward,
          .needs = {.saved_bytes = context.wants(0) ? count : 0}};
}

/// Features k and k + d/2 of a head are a pair, rotated by the angle of their position; backward
/// rotates the other way.
template <class T>
KernelPair rotary_kernels(const RotaryEmbedding& op, const NodeContext& context) {
  const std::int64_t rows = context.input()[0] * context.input()[1], positions = context.input()[1];
  const std::int64_t width = context.input()[2], heads = op.heads, pairs = width / heads / 2;
  const auto rotate = [=](const NodeMemory& m, const T* from, T* to, T direction) {
    parallel_for(rows, width, [&](std::int64_t row) {
      const T* const cosine = numbers<T>(m.inputs[1]) + row % positions * pairs;
      const T* const sine = numbers<T>(m.inputs[2]) + row % positions * pairs;
      for (std::int64_t head = 0; head < heads; ++head) {
        const T* const x = from + row * width + head * 2 * pairs;
        T* const y = to + row * width + head * 2 * pairs;
        for (std::int64_t k = 0; k < pairs; ++k) {
          const T first = x[k], second = x[k + pairs], s = direction * sine[k];
          y[k] = first * cosine[k] - second * s;
          y[k + pairs] = first * s + second * cosine[k];
        }
      }
    });
  };
  return {.forward =
              [=](const NodeMemory& m) {
                rotate(m, numbers<T>(m.inputs[0]), numbers<T>(m.outputs[0]), T(1));
              },
          .backward =
              [=](const NodeMemory& m) {
                T* const dx = numbers<T>(m.input_gradients[0]);
                if (dx != nullptr) rotate(m, numbers<T>(m.output_gradients[0]), dx, T(-1));
              }};
}

/// X is [N, boxes · (5 + classes), H, W]; planes 2 and 3 of a box are its size and pass unchanged.
template <class T>
KernelPair yolo_kernels(const Yolo& op, const NodeContext& context) {
  const std::int64_t planes = context.input()[0] * context.input()[1], entries = op.classes + 5;
  const std::int64_t space = context.input()[2] * context.input()[3];
  const auto is_size = [entries](std::int64_t plane) {
    return plane % entries == 2 || plane % entries == 3;
  };
  const auto forward = [=](const NodeMemory& m) {
    const T* const x = numbers<T>(m.inputs[0]);
    T* const y = numbers<T>(m.outputs[0]);
    parallel_for(planes, space, [&](std::int64_t plane) {
      for (std::int64_t i = plane * space; i < (plane + 1) * space; ++i) {
        y[i] = is_size(plane) ? x[i] : sigmoid(x[i]);
      }
    });
  };
  const auto backward = [=](const NodeMemory& m) {
    T* const dx = numbers<T>(m.input_gradients[0]);
    if (dx == nullptr) return;
    const T *const y = numbers<T>(m.outputs[0]), *const dy = numbers<T>(m.output_gradients[0]);
    parallel_for(planes, space, [&](std::int64_t plane) {
      for (std::int64_t i = plane * space; i < (plane + 1) * space; ++i) {
        dx[i] = is_size(plane) ? dy[i] : dy[i] * unary_slope<UnaryKind::sigmoid>(y[i]);
      }
    });
  };
  return {.forward = forward, .backward = backward, .needs = {.outputs = true}};
}

}  // namespace

KernelPairOrReason make_kernels(const Dropout& op, const NodeContext& context) {
  if (!context.is_training || op.probability == 0) return copy_kernels(context);
  return with_real(context.input().dtype, [&](auto zero) {
    return dropout_kernels<decltype(zero)>(op.probability, context);
  });
}

KernelPairOrReason make_kernels(const RotaryEmbedding& op, const NodeContext& context) {
  return with_real(context.input().dtype,
                   [&](auto zero) { return rotary_kernels<decltype(zero)>(op, context); });
}

KernelPairOrReason make_kernels(const Yolo& op, const NodeContext& context) {
  return with_real(context.input().dtype,
                   [&](auto zero) { return yolo_kernels<decltype(zero)>(op, context); });
}

KernelPairOrReason make_kernels(const Cast&, const NodeContext& context) {
  const DType from = context.input().dtype, to = context.output().dtype;
  if (from == to) return copy_kernels(context);
  for (const DType dtype : {from, to}) {
    if (!is_stored(dtype)) {
      return NoKernels{"the CPU engine does not store " + std::string(name_of(dtype))};
    }
  }
  const std::int64_t count = context.output().elements;
  const auto convert = [=](DType source, const void* x, DType target, void* y) {
    constexpr std::int64_t at_once = 4096;
    parallel_for((count + at_once - 1) / at_once, at_once, [&](std::int64_t block) {
      const std::int64_t begin = block * at_once;
      with_stored(target, [&](auto stored) {
        read_row(source, x, begin, 1, std::min(at_once, count - begin),
                 static_cast<decltype(stored)*>(y) + begin);
      });
    });
  };
  return KernelPair{
      .forward = [=](const NodeMemory& m) { convert(from, m.inputs[0], to, m.outputs[0]); },
      .backward =
          [=](const NodeMemory& m) {
            if (m.input_gradients[0] == nullptr) return;
            convert(to, m.output_gradients[0], from, m.input_gradients[0]);
          }};
}

KernelPairOrReason make_kernels(const Opaque& op, const NodeContext&) {
  return NoKernels{"Strata does not know the operator " + op.type};
}

}  // namespace strata::cpu_training::plain
