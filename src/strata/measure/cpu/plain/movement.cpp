// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/reduction.hpp"

#include <algorithm>
#include <cstring>

/// Operators that only move numbers.
namespace strata::cpu_training::plain {
namespace {

/// Elements of a tensor: where the first one lies and how far apart the others do.
struct StridedView {
  void* memory = nullptr;
  Sizes strides;
  std::int64_t offset = 0;
};

template <class Element>
void copy_elements(const Sizes& shape, const StridedView& from, const StridedView& to) {
  const std::int64_t length = shape.empty() ? 1 : shape.back();
  const std::int64_t from_step = last_stride(from.strides), to_step = last_stride(to.strides);
  const auto* const source = static_cast<const Element*>(from.memory) + from.offset;
  auto* const target = static_cast<Element*>(to.memory) + to.offset;
  for_each_row<2>(shape, {from.strides, to.strides}, [&](const auto& at) {
    for (std::int64_t i = 0; i < length; ++i) {
      target[at[1] + i * to_step] = source[at[0] + i * from_step];
    }
  });
}

void copy_strided(std::int64_t element_bytes, const Sizes& shape, const StridedView& from,
                  const StridedView& to) {
  switch (element_bytes) {
    case 1: return copy_elements<std::uint8_t>(shape, from, to);
    case 2: return copy_elements<std::uint16_t>(shape, from, to);
    case 4: return copy_elements<std::uint32_t>(shape, from, to);
    default: return copy_elements<std::uint64_t>(shape, from, to);
  }
}

/// A one-to-one move: elements of `shape` in X and in Y. What of either is not touched is zero.
struct Move {
  Sizes shape;
  Sizes x_strides, y_strides;
  std::int64_t x_offset = 0, y_offset = 0;
};

KernelPair move_kernels(const Move& move, const NodeContext& context) {
  const std::int64_t element = bytes_per_element(context.input().dtype);
  const std::int64_t moved = product_of(move.shape) * element;
  const std::int64_t x_bytes = context.input().bytes, y_bytes = context.output().bytes;
  const auto clear = [moved](void* memory, std::int64_t bytes) {
    if (bytes != moved) std::memset(memory, 0, static_cast<std::size_t>(bytes));
  };
  return {.forward =
              [=](const NodeMemory& m) {
                clear(m.outputs[0], y_bytes);
                copy_strided(element, move.shape, {m.inputs[0], move.x_strides, move.x_offset},
                             {m.outputs[0], move.y_strides, move.y_offset});
              },
          .backward =
              [=](const NodeMemory& m) {
                if (m.input_gradients[0] == nullptr) return;
                clear(m.input_gradients[0], x_bytes);
                copy_strided(element, move.shape,
                             {m.output_gradients[0], move.y_strides, move.y_offset},
                             {m.input_gradients[0], move.x_strides, move.x_offset});
              }};
}

/// Y's axes are X's, seen as `shape`, in another order.
Move permutation_move(const Sizes& shape, const Sizes& permutation) {
  Move move;
  const Sizes strides = strides_of(shape);
  for (const std::int64_t axis : permutation) {
    move.shape.push_back(shape[static_cast<std::size_t>(axis)]);
    move.x_strides.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  move.y_strides = strides_of(move.shape);
  return move;
}

std::int64_t value_in(const NodeContext& context, Dim dim) {
  if (dim.is_number()) return dim.factor;
  return dim.factor * context.bound.graph->symbols.evaluate(context.bound.binding)[dim.symbol];
}

/// Tensors one after the other along an axis: the inputs of Concat, the outputs of Split.
struct Parts {
  std::vector<Sizes> shapes;
  std::vector<std::int64_t> offsets;  // in the whole
  Sizes whole_strides;
  std::int64_t element_bytes = 4;

  Parts(const NodeContext& context, std::int64_t axis, const BoundTensor& whole,
        const std::vector<TensorId>& ids)
      : whole_strides(strides_of(whole.shape)), element_bytes(bytes_per_element(whole.dtype)) {
    const std::size_t along = normal_axis(axis, whole.axes());
    std::int64_t begin = 0;
    for (const TensorId id : ids) {
      shapes.push_back(context.bound.tensors[id].shape);
      offsets.push_back(begin * whole_strides[along]);
      begin += context.bound.tensors[id][along];
    }
  }

  void into_whole(std::size_t i, void* part, void* whole) const {
    copy_strided(element_bytes, shapes[i], {part, strides_of(shapes[i])},
                 {whole, whole_strides, offsets[i]});
  }
  void out_of_whole(std::size_t i, void* part, void* whole) const {
    copy_strided(element_bytes, shapes[i], {whole, whole_strides, offsets[i]},
                 {part, strides_of(shapes[i])});
  }
};

}  // namespace

KernelPair copy_kernels(const NodeContext& context) {
  const auto copy = [bytes = context.output().bytes](void* to, const void* from) {
    if (to != nullptr && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  };
  return {
      .forward = [=](const NodeMemory& m) { copy(m.outputs[0], m.inputs[0]); },
      .backward = [=](const NodeMemory& m) { copy(m.input_gradients[0], m.output_gradients[0]); }};
}

KernelPairOrReason make_kernels(const Reshape&, const NodeContext& context) {
  return copy_kernels(context);
}
KernelPairOrReason make_kernels(const Flatten&, const NodeContext& context) {
  return copy_kernels(context);
}

KernelPairOrReason make_kernels(const Transpose& op, const NodeContext& context) {
  Sizes permutation;
  const std::size_t axes = context.input().axes();
  for (std::size_t i = 0; i < axes; ++i) {
    permutation.push_back(static_cast<std::int64_t>(
        op.permutation.empty() ? axes - 1 - i : normal_axis(op.permutation[i], axes)));
  }
  return move_kernels(permutation_move(context.input().shape, permutation), context);
}

KernelPairOrReason make_kernels(const ChannelShuffle& op, const NodeContext& context) {
  const std::int64_t batch = context.input()[0], channels = context.input()[1];
  const std::int64_t space = context.input().elements / (batch * channels);
  return move_kernels(
      permutation_move({batch, op.groups, channels / op.groups, space}, {0, 2, 1, 3}), context);
}

KernelPairOrReason make_kernels(const SpaceToDepth& op, const NodeContext& context) {
  const BoundTensor& wide = op.inverse ? context.output() : context.input();
  const std::int64_t b = op.block, height = wide[2] / b, width = wide[3] / b;
  // Wide is [n, c, h, by, w, bx], deep is [n, by, bx, c, h, w].
  const Move move =
      op.inverse ? permutation_move({wide[0], b, b, wide[1], height, width}, {0, 3, 4, 1, 5, 2})
                 : permutation_move({wide[0], wide[1], height, b, width, b}, {0, 3, 5, 1, 2, 4});
  return move_kernels(move, context);
}

KernelPairOrReason make_kernels(const Slice& op, const NodeContext& context) {
  Move move{.shape = context.output().shape,
            .x_strides = strides_of(context.input().shape),
            .y_strides = strides_of(context.output().shape)};
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const std::size_t axis = normal_axis(op.axes[i], context.input().axes());
    const std::int64_t extent = context.input()[axis], step = op.step.empty() ? 1 : op.step[i];
    std::int64_t begin = value_in(context, op.begin[i]);
    if (begin < 0) begin += extent;
    begin = std::clamp<std::int64_t>(begin, 0, step > 0 ? extent : extent - 1);
    move.x_offset += begin * move.x_strides[axis];
    move.x_strides[axis] *= step;
  }
  return move_kernels(move, context);
}

KernelPairOrReason make_kernels(const Pad& op, const NodeContext& context) {
  const BoundTensor& x = context.input();
  Move move{.shape = {},
            .x_strides = strides_of(x.shape),
            .y_strides = strides_of(context.output().shape)};
  for (std::size_t axis = 0; axis < x.axes(); ++axis) {
    // The part of X that is still there, in X's own places.
    const std::int64_t first = std::max<std::int64_t>(0, -op.begin[axis]);
    const std::int64_t last = std::min(x[axis], x[axis] + op.end[axis]);
    move.shape.push_back(std::max<std::int64_t>(0, last - first));
    move.x_offset += first * move.x_strides[axis];
    move.y_offset += (first + op.begin[axis]) * move.y_strides[axis];
  }
  return move_kernels(move, context);
}

KernelPairOrReason make_kernels(const Expand&, const NodeContext& context) {
  if (context.input().elements == context.output().elements) return copy_kernels(context);
  const Sizes shape = context.output().shape;
  const Sizes x_strides = broadcast_strides(context.input().shape, shape);
  const std::int64_t element = bytes_per_element(context.input().dtype);
  const DType dtype = context.input().dtype;
  return KernelPair{.forward =
                        [=](const NodeMemory& m) {
                          copy_strided(element, shape, {m.inputs[0], x_strides},
                                       {m.outputs[0], strides_of(shape)});
                        },
                    .backward =
                        [=](const NodeMemory& m) {
                          if (m.input_gradients[0] == nullptr) return;
                          with_real(dtype, [&](auto zero) {
                            using T = decltype(zero);
                            const T* const dy = numbers<T>(m.output_gradients[0]);
                            sum_terms(ReducedAxes(shape, x_strides),
                                      numbers<T>(m.input_gradients[0]),
                                      [&](std::int64_t place) { return dy[place]; });
                          });
                        }};
}

KernelPairOrReason make_kernels(const Concat& op, const NodeContext& context) {
  const Parts parts(context, op.axis, context.output(), context.node().inputs);
  return KernelPair{.forward =
                        [=](const NodeMemory& m) {
                          for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
                            parts.into_whole(i, m.inputs[i], m.outputs[0]);
                          }
                        },
                    .backward =
                        [=](const NodeMemory& m) {
                          for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
                            if (m.input_gradients[i] == nullptr) continue;
                            parts.out_of_whole(i, m.input_gradients[i], m.output_gradients[0]);
                          }
                        }};
}

KernelPairOrReason make_kernels(const Split& op, const NodeContext& context) {
  const Parts parts(context, op.axis, context.input(), context.node().outputs);
  const auto x_bytes = static_cast<std::size_t>(context.input().bytes);
  return KernelPair{
      .forward =
          [=](const NodeMemory& m) {
            for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
              parts.out_of_whole(i, m.outputs[i], m.inputs[0]);
            }
          },
      .backward =
          [=](const NodeMemory& m) {
            void* const dx = m.input_gradients[0];
            if (dx == nullptr) return;
            // Outputs that nobody reads have no gradient; theirs is zero.
            if (std::count(m.output_gradients.begin(), m.output_gradients.end(), nullptr) > 0) {
              std::memset(dx, 0, x_bytes);
            }
            for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
              if (m.output_gradients[i] != nullptr) parts.into_whole(i, m.output_gradients[i], dx);
            }
          }};
}

}  // namespace strata::cpu_training::plain
