// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/reduction.hpp"
#include "strata/measure/cpu/moving/copy_into_zeros.hpp"
#include "strata/measure/cpu/moving/strided_copy.hpp"

#include <cstdlib>
#include <limits>
#include <optional>

namespace strata::cpu_training {
namespace {

std::int64_t product_of(const Sizes& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

/// A one-to-one move: places of the shape in Y and in X. What of either is not touched is zero.
struct Move {
  Sizes shape;
  Sizes x_strides, y_strides;
  std::int64_t x_offset = 0, y_offset = 0;
  std::optional<Box> in_x = {}, in_y = {};  // where it is a part of one of them
};

void run_move(const Workers& workers, const Move& move, std::int64_t element_bytes, void* x,
              std::int64_t x_bytes, void* y, std::int64_t y_bytes, bool is_backward) {
  const Placed in_x{x, move.x_strides, move.x_offset}, in_y{y, move.y_strides, move.y_offset};
  void* const written = is_backward ? x : y;
  const std::int64_t bytes = is_backward ? x_bytes : y_bytes;
  if (product_of(move.shape) * element_bytes != bytes) {
    const std::optional<Box>& box = is_backward ? move.in_x : move.in_y;
    const Placed& from = is_backward ? in_y : in_x;
    if (box && element_bytes == 4 && from.strides.back() == 1) {
      return copy_into_zeros(workers, *box, from, written);
    }
    fill_bytes_with_zero(workers, written, bytes);
  }
  is_backward ? copy_strided(workers, element_bytes, move.shape, in_y, in_x)
              : copy_strided(workers, element_bytes, move.shape, in_x, in_y);
}

KernelsOrReason move_kernels(const Move& move, const Setting& s) {
  const std::int64_t x_bytes = s.input().bytes, y_bytes = s.output().bytes;
  const std::int64_t element = bytes_per_element(s.input().dtype);
  const Workers& workers = s.workers;
  return kernels_by({[=, &workers](const NodeMemory& m) {
                       run_move(workers, move, element, m.inputs[0], x_bytes, m.outputs[0], y_bytes,
                                false);
                     },
                     [=, &workers](const NodeMemory& m) {
                       if (m.input_gradients[0] == nullptr) return;
                       run_move(workers, move, element, m.input_gradients[0], x_bytes,
                                m.output_gradients[0], y_bytes, true);
                     }},
                    s);
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

std::int64_t value_in(const Setting& s, Dim dim) {
  if (dim.is_number()) return dim.factor;
  return dim.factor * s.bound.graph->symbols.evaluate(s.bound.binding)[dim.symbol];
}

/// Tensors one after the other along an axis: input i of Concat, output i of Split. Places in the
/// whole.
struct Parts {
  std::vector<Sizes> shapes;
  std::vector<std::int64_t> offsets;
  Sizes whole_strides;
  std::int64_t element_bytes = 4;
  const Workers* workers = nullptr;

  void copy(std::size_t i, void* part, void* whole, bool into_whole) const {
    const Placed of_part{part, strides_of(shapes[i])};
    const Placed of_whole{whole, whole_strides, offsets[i]};
    into_whole ? copy_strided(*workers, element_bytes, shapes[i], of_part, of_whole)
               : copy_strided(*workers, element_bytes, shapes[i], of_whole, of_part);
  }
};

Parts parts_of(const Setting& s, std::int64_t axis, const BoundTensor& whole,
               const std::vector<TensorId>& ids) {
  Parts parts{.whole_strides = strides_of(whole.shape),
              .element_bytes = bytes_per_element(whole.dtype),
              .workers = &s.workers};
  const std::size_t along = normal_axis(axis, whole.axes());
  std::int64_t begin = 0;
  for (const TensorId id : ids) {
    parts.shapes.push_back(s.bound.tensors[id].shape);
    parts.offsets.push_back(begin * parts.whole_strides[along]);
    begin += s.bound.tensors[id][along];
  }
  return parts;
}

/// Space to depth by two, or back.
KernelsOrReason pair_kernels(const PairPlanes& pairs, bool is_inverse, const Setting& s) {
  const Workers& workers = s.workers;
  const auto run = [=, &workers](bool is_splitting, const void* from, void* to) {
    (is_splitting ? split_into_planes : join_planes)(workers, pairs, from, to);
  };
  return kernels_by({[=](const NodeMemory& m) { run(!is_inverse, m.inputs[0], m.outputs[0]); },
                     [=](const NodeMemory& m) {
                       if (m.input_gradients[0] == nullptr) return;
                       run(is_inverse, m.output_gradients[0], m.input_gradients[0]);
                     }},
                    s);
}

}  // namespace

KernelsOrReason make_kernels(const Reshape&, const Setting& s) { return alias_kernels(s); }
KernelsOrReason make_kernels(const Flatten&, const Setting& s) { return alias_kernels(s); }

KernelsOrReason make_kernels(const Transpose& op, const Setting& s) {
  Sizes permutation;
  const std::size_t axes = s.input().axes();
  for (std::size_t i = 0; i < axes; ++i) {
    permutation.push_back(static_cast<std::int64_t>(
        op.permutation.empty() ? axes - 1 - i : normal_axis(op.permutation[i], axes)));
  }
  return move_kernels(permutation_move(s.input().shape, permutation), s);
}

KernelsOrReason make_kernels(const ChannelShuffle& op, const Setting& s) {
  const std::int64_t batch = s.input()[0], channels = s.input()[1];
  const std::int64_t space = s.input().elements / (batch * channels);
  return move_kernels(
      permutation_move({batch, op.groups, channels / op.groups, space}, {0, 2, 1, 3}), s);
}

KernelsOrReason make_kernels(const SpaceToDepth& op, const Setting& s) {
  const BoundTensor& wide = op.inverse ? s.output() : s.input();
  const std::int64_t b = op.block, height = wide[2] / b, width = wide[3] / b;
  const PairPlanes pairs{wide[0], wide[1], height, width};
  if (b == 2 && bytes_per_element(s.input().dtype) == 4 && can_move_pairs(pairs)) {
    return pair_kernels(pairs, op.inverse, s);
  }
  // Wide is [n, c, h, by, w, bx], deep is [n, by, bx, c, h, w].
  if (op.inverse) {
    return move_kernels(
        permutation_move({wide[0], b, b, wide[1], height, width}, {0, 3, 4, 1, 5, 2}), s);
  }
  return move_kernels(permutation_move({wide[0], wide[1], height, b, width, b}, {0, 3, 5, 1, 2, 4}),
                      s);
}

KernelsOrReason make_kernels(const Slice& op, const Setting& s) {
  Move move{.shape = s.output().shape,
            .x_strides = strides_of(s.input().shape),
            .y_strides = strides_of(s.output().shape)};
  Box box{s.input().shape, s.input().shape, s.output().shape};
  for (std::int64_t& begin : box.begin) begin = 0;
  bool is_box = true;
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const std::size_t axis = normal_axis(op.axes[i], s.input().axes());
    const std::int64_t extent = s.input()[axis], step = op.step.empty() ? 1 : op.step[i];
    std::int64_t begin = value_in(s, op.begin[i]);
    if (begin < 0) begin += extent;
    begin = std::clamp<std::int64_t>(begin, 0, step > 0 ? extent : extent - 1);
    move.x_offset += begin * move.x_strides[axis];
    move.x_strides[axis] *= step;
    box.begin[axis] += begin;
    is_box = is_box && step == 1;
  }
  if (is_box) move.in_x = box;
  return move_kernels(move, s);
}

KernelsOrReason make_kernels(const Pad& op, const Setting& s) {
  Move move{.x_strides = strides_of(s.input().shape), .y_strides = strides_of(s.output().shape)};
  Box in_x{s.input().shape, {}, {}}, in_y{s.output().shape, {}, {}};
  for (std::size_t axis = 0; axis < s.input().axes(); ++axis) {
    // The part of X that is still there, in X's own places.
    const std::int64_t first = std::max<std::int64_t>(0, -op.begin[axis]);
    const std::int64_t last = std::min(s.input()[axis], s.input()[axis] + op.end[axis]);
    move.shape.push_back(std::max<std::int64_t>(0, last - first));
    move.x_offset += first * move.x_strides[axis];
    move.y_offset += (first + op.begin[axis]) * move.y_strides[axis];
    in_x.begin.push_back(first);
    in_y.begin.push_back(first + op.begin[axis]);
  }
  in_x.shape = in_y.shape = move.shape;
  move.in_x = in_x;
  move.in_y = in_y;
  return move_kernels(move, s);
}

KernelsOrReason make_kernels(const Expand&, const Setting& s) {
  if (s.input().elements == s.output().elements) return alias_kernels(s);
  const Sizes shape = s.output().shape;
  const Sizes x_strides = broadcast_strides(s.input().shape, shape);
  const std::int64_t element = bytes_per_element(s.input().dtype);
  const std::int64_t results = s.input().elements;
  const Workers& workers = s.workers;
  const auto forward = [=, &workers](const NodeMemory& m) {
    copy_strided(workers, element, shape, {m.inputs[0], x_strides},
                 {m.outputs[0], strides_of(shape)});
  };
  const bool is_fp64 = s.input().dtype == DType::fp64;
  const auto backward = [=, &workers](const NodeMemory& m) {
    if (m.input_gradients[0] == nullptr) return;
    const Walk walk(shape, {strides_of(shape), x_strides});
    const auto sum = [&](auto zero) {
      using T = decltype(zero);
      const T* const dy = real<T>(m.output_gradients[0]);
      reduce(workers, walk, 1, Combine::add, real<T>(m.input_gradients[0]), results,
             real<T>(m.scratch),
             [&](const Walk::Offsets& at, std::int64_t) -> const T* { return dy + at[0]; });
    };
    is_fp64 ? sum(double{}) : sum(float{});
  };
  return kernels_by(
      {forward,
       backward,
       {.scratch_bytes = s.wants(0) ? reduction_scratch_elements(workers, results) * element : 0}},
      s);
}

KernelsOrReason make_kernels(const Concat& op, const Setting& s) {
  const Parts parts = parts_of(s, op.axis, s.output(), s.node().inputs);
  return kernels_by({[=](const NodeMemory& m) {
                       for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
                         parts.copy(i, m.inputs[i], m.outputs[0], true);
                       }
                     },
                     [=](const NodeMemory& m) {
                       for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
                         if (m.input_gradients[i] == nullptr) continue;
                         parts.copy(i, m.input_gradients[i], m.output_gradients[0], false);
                       }
                     }},
                    s);
}

KernelsOrReason make_kernels(const Split& op, const Setting& s) {
  const Parts parts = parts_of(s, op.axis, s.input(), s.node().outputs);
  const std::int64_t x_bytes = s.input().bytes;
  return kernels_by({[=](const NodeMemory& m) {
                       for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
                         parts.copy(i, m.outputs[i], m.inputs[0], false);
                       }
                     },
                     [=](const NodeMemory& m) {
                       void* const dx = m.input_gradients[0];
                       if (dx == nullptr) return;
                       // Outputs that nobody reads have no gradient; theirs is zero.
                       bool is_whole = true;
                       for (void* const dy : m.output_gradients)
                         is_whole = is_whole && dy != nullptr;
                       if (!is_whole) fill_bytes_with_zero(*parts.workers, dx, x_bytes);
                       for (std::size_t i = 0; i < parts.shapes.size(); ++i) {
                         if (m.output_gradients[i] != nullptr)
                           parts.copy(i, m.output_gradients[i], dx, true);
                       }
                     }},
                    s);
}

}  // namespace strata::cpu_training
