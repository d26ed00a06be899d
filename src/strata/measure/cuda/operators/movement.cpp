// SPDX-License-Identifier: Apache-2.0
// Operators that put numbers elsewhere: strided copies, transposes and look-ups by our own kernels.
#include "strata/measure/cuda/kernels/movement.cuh"

#include "strata/measure/cuda/kernels/reduce.cuh"
#include "strata/measure/cuda/node.cuh"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cuda::train {
namespace {

/// A box of numbers that goes from one input to one output; strides 0 are the output's, 1 the
/// input's.
struct MovedBox {
  std::size_t input = 0, output = 0;
  std::int64_t input_offset = 0, output_offset = 0;
  StridedAxes axes;
};

/// What goes into a tensor from one other; strides 0 are those of the tensor.
struct MovedPart {
  const void* from = nullptr;
  std::int64_t offset = 0, from_offset = 0;
  StridedAxes axes;
};

/// Every number goes to one place at most, and its gradient comes back from there.
class MoveNode final : public CudaNode {
 public:
  MoveNode(NodeFacts facts, std::vector<MovedBox> boxes)
      : CudaNode(std::move(facts)), boxes_(std::move(boxes)) {}
  NodeNeeds needs() const override { return {}; }

  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      for (std::size_t i = 0; i < facts().outputs.size(); ++i)
        fill(memory.outputs[i], output(i), parts_of_output(memory, i));
      return;
    }
    for (std::size_t i = 0; i < facts().inputs.size(); ++i) {
      if (makes(memory, i)) fill(memory.input_gradients[i], input(i), parts_of_gradient(memory, i));
    }
  }

 private:
  std::vector<MovedPart> parts_of_output(const NodeMemory& memory, std::size_t which) const {
    std::vector<MovedPart> parts;
    for (const MovedBox& box : boxes_) {
      if (box.output == which)
        parts.push_back({memory.inputs[box.input], box.output_offset, box.input_offset, box.axes});
    }
    return parts;
  }
  /// Outputs that nothing comes back from are left out.
  std::vector<MovedPart> parts_of_gradient(const NodeMemory& memory, std::size_t which) const {
    std::vector<MovedPart> parts;
    for (const MovedBox& box : boxes_) {
      const void* const from = memory.output_gradients[box.output];
      if (box.input != which || from == nullptr) continue;
      parts.push_back({from, box.input_offset, box.output_offset, box.axes});
      std::swap(parts.back().axes.strides[0], parts.back().axes.strides[1]);
    }
    return parts;
  }

  /// Zeros are where no part goes.
  void fill(void* to, const BoundTensor& tensor, const std::vector<MovedPart>& parts) const {
    const std::int64_t bytes = bytes_per_element(output().dtype);
    const auto source = [&](const MovedPart& part) {
      return static_cast<const char*>(part.from) + part.from_offset * bytes;
    };
    std::int64_t covered = 0;
    for (const MovedPart& part : parts) covered += part.axes.elements();
    if (covered < tensor.elements) fill_zero(to, tensor.bytes);
    for (const MovedPart& part : parts) {
      if (part.axes.elements() > 0)
        copy_strided(static_cast<char*>(to) + part.offset * bytes, source(part), bytes, part.axes,
                     stream());
    }
  }

  std::vector<MovedBox> boxes_;
};

std::vector<std::int64_t> extents_of(const BoundTensor& tensor) {
  return {tensor.shape.begin(), tensor.shape.end()};
}

KernelsOrReason moved(const NodeFacts& facts, std::vector<MovedBox> boxes) {
  return std::make_unique<MoveNode>(facts, std::move(boxes));
}

/// Sums over what was repeated.
class ExpandNode final : public CudaNode {
 public:
  explicit ExpandNode(NodeFacts facts) : CudaNode(std::move(facts)) {
    const std::vector<std::int64_t> from = broadcast_strides(input(0).shape, output().shape);
    const std::vector<std::int64_t> to = dense_strides(output().shape);
    forward_.extents = extents_of(output());
    forward_.strides = {to, from};
    std::vector<bool> is_repeated;
    for (const std::int64_t stride : from) is_repeated.push_back(stride == 0);
    back_ = Reduction(output().shape, is_repeated);
  }
  NodeNeeds needs() const override {
    NodeNeeds needs;
    if (facts().is_training) needs.scratch_bytes = back_.scratch_bytes(output().dtype);
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      copy_strided(memory.outputs[0], memory.inputs[0], bytes_per_element(output().dtype), forward_,
                   stream());
    } else if (makes(memory, 0)) {
      reduce({.dtype = output().dtype}, memory.input_gradients[0], memory.output_gradients[0],
             nullptr, back_, memory.scratch, stream());
    }
  }

 private:
  StridedAxes forward_;
  Reduction back_;
};

class LookupNode final : public CudaNode {
 public:
  LookupNode(NodeFacts facts, const LookupRun& run, std::size_t data, std::size_t indices)
      : CudaNode(std::move(facts)), run_(run), data_(data), indices_(indices) {}
  NodeNeeds needs() const override {
    NodeNeeds needs;
    needs.inputs = facts().is_training;  // the indices
    if (facts().is_training) needs.scratch_bytes = look_up_scratch_bytes(run_);
    return needs;
  }
  void run(Pass pass, const NodeMemory& memory) override {
    if (pass == Pass::forward) {
      look_up(run_, memory.outputs[0], memory.inputs[data_], memory.inputs[indices_], stream());
    } else if (makes(memory, data_)) {
      look_up_gradient(run_, memory.input_gradients[data_], memory.output_gradients[0],
                       memory.inputs[indices_], memory.scratch, stream());
    }
  }

 private:
  LookupRun run_;
  std::size_t data_, indices_;
};

KernelsOrReason looked_up(const NodeFacts& facts, LookupRun run, std::size_t data,
                          std::size_t indices) {
  const DType type = facts.inputs[indices].dtype;
  if (type != DType::int64 && type != DType::int32)
    return NoKernels{fmt::format("no indices of {}", name_of(type))};
  run.indices_are_64_bit = type == DType::int64;
  run.dtype = facts.inputs[data].dtype;
  run.count = facts.inputs[indices].elements;
  return std::make_unique<LookupNode>(facts, run, data, indices);
}

}  // namespace

KernelsOrReason make_kernels(const Concat& op, const NodeFacts& facts) {
  const BoundTensor& y = facts.outputs[0];
  const std::size_t axis = normal_axis(op.axis, y.axes());
  const std::vector<std::int64_t> whole = dense_strides(y.shape);
  std::vector<MovedBox> boxes;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    const BoundTensor& x = facts.inputs[i];
    boxes.push_back({i, 0, 0, at * whole[axis], {extents_of(x), {whole, dense_strides(x.shape)}}});
    at += x[axis];
  }
  return moved(facts, std::move(boxes));
}

KernelsOrReason make_kernels(const Split& op, const NodeFacts& facts) {
  const BoundTensor& x = facts.inputs[0];
  const std::size_t axis = normal_axis(op.axis, x.axes());
  const std::vector<std::int64_t> whole = dense_strides(x.shape);
  std::vector<MovedBox> boxes;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
    const BoundTensor& y = facts.outputs[i];
    boxes.push_back({0, i, at * whole[axis], 0, {extents_of(y), {dense_strides(y.shape), whole}}});
    at += y[axis];
  }
  return moved(facts, std::move(boxes));
}

KernelsOrReason make_kernels(const Slice& op, const NodeFacts& facts) {
  const BoundTensor &x = facts.inputs[0], &y = facts.outputs[0];
  const std::vector<std::int64_t> values =
      facts.bound->graph->symbols.evaluate(facts.bound->binding);
  MovedBox box;
  box.axes.extents = extents_of(y);
  box.axes.strides = {dense_strides(y.shape), dense_strides(x.shape)};
  for (std::size_t i = 0; i < op.axes.size(); ++i) {
    const std::size_t axis = normal_axis(op.axes[i], x.axes());
    const std::int64_t step = op.step.empty() ? 1 : op.step[i], extent = x[axis];
    const Dim& begin = op.begin[i];
    std::int64_t first = begin.is_number() ? begin.factor : begin.factor * values[begin.symbol];
    if (first < 0) first = first < -extent ? -1 : first + extent;
    first = step > 0 ? std::clamp<std::int64_t>(first, 0, extent)
                     : std::clamp<std::int64_t>(first, -1, extent - 1);
    std::int64_t& stride = box.axes.strides[1][axis];
    box.input_offset += first * stride;
    stride *= step;
  }
  return moved(facts, {box});
}

KernelsOrReason make_kernels(const Pad& op, const NodeFacts& facts) {
  const BoundTensor &x = facts.inputs[0], &y = facts.outputs[0];
  MovedBox box;
  box.axes.strides = {dense_strides(y.shape), dense_strides(x.shape)};
  for (std::size_t axis = 0; axis < x.axes(); ++axis) {
    const std::int64_t cut_begin = std::max<std::int64_t>(-op.begin[axis], 0);
    const std::int64_t cut_end = std::max<std::int64_t>(-op.end[axis], 0);
    box.axes.extents.push_back(std::max<std::int64_t>(x[axis] - cut_begin - cut_end, 0));
    box.input_offset += cut_begin * box.axes.strides[1][axis];
    box.output_offset += std::max<std::int64_t>(op.begin[axis], 0) * box.axes.strides[0][axis];
  }
  return moved(facts, {box});
}

KernelsOrReason make_kernels(const Reshape&, const NodeFacts& facts) { return make_copy(facts); }

KernelsOrReason make_kernels(const Flatten&, const NodeFacts& facts) { return make_copy(facts); }

KernelsOrReason make_kernels(const Transpose& op, const NodeFacts& facts) {
  const BoundTensor &x = facts.inputs[0], &y = facts.outputs[0];
  const std::vector<std::int64_t> from = dense_strides(x.shape);
  MovedBox box;
  box.axes.extents = extents_of(y);
  box.axes.strides = {dense_strides(y.shape), {}};
  for (std::size_t i = 0; i < x.axes(); ++i) {
    const std::size_t axis =
        op.permutation.empty() ? x.axes() - 1 - i : normal_axis(op.permutation[i], x.axes());
    box.axes.strides[1].push_back(from[axis]);
  }
  return moved(facts, {box});
}

KernelsOrReason make_kernels(const Expand&, const NodeFacts& facts) {
  if (facts.inputs[0].elements == facts.outputs[0].elements) return make_copy(facts);
  if (facts.is_training && !is_computed(facts.outputs[0].dtype) && facts.inputs[0].wants_gradient)
    return NoKernels{fmt::format("no gradients of {}", name_of(facts.outputs[0].dtype))};
  return std::make_unique<ExpandNode>(facts);
}

// Channel j·groups + g comes from g·per_group + j.
KernelsOrReason make_kernels(const ChannelShuffle& op, const NodeFacts& facts) {
  const BoundTensor& x = facts.inputs[0];
  const std::int64_t channels = x[1], per_group = channels / op.groups;
  const std::int64_t inner = x.elements / (x[0] * channels);
  MovedBox box;
  box.axes.extents = {x[0], per_group, op.groups, inner};
  box.axes.strides = {{channels * inner, op.groups * inner, inner, 1},
                      {channels * inner, inner, per_group * inner, 1}};
  return moved(facts, {box});
}

// deep[n, (i·block + j)·channels + c, h, w] = wide[n, c, h·block + i, w·block + j].
KernelsOrReason make_kernels(const SpaceToDepth& op, const NodeFacts& facts) {
  const BoundTensor& deep = op.inverse ? facts.inputs[0] : facts.outputs[0];
  const std::int64_t block = op.block, height = deep[2], width = deep[3];
  const std::int64_t channels = deep[1] / (block * block);
  const std::int64_t wide_width = width * block, wide_plane = height * block * wide_width;
  MovedBox box;
  box.axes.extents = {deep[0], block, block, channels, height, width};
  const std::vector<std::int64_t> of_deep = dense_strides(box.axes.extents);
  const std::vector<std::int64_t> of_wide = {channels * wide_plane, wide_width, 1, wide_plane,
                                             block * wide_width,    block};
  box.axes.strides = {op.inverse ? of_wide : of_deep, op.inverse ? of_deep : of_wide};
  return moved(facts, {box});
}

KernelsOrReason make_kernels(const Embedding& op, const NodeFacts& facts) {
  LookupRun run;
  run.choices = op.vocabulary;
  run.inner = op.width;
  return looked_up(facts, run, facts.first_own, 0);
}

KernelsOrReason make_kernels(const Gather& op, const NodeFacts& facts) {
  const BoundTensor& data = facts.inputs[0];
  const std::size_t axis = normal_axis(op.axis, data.axes());
  LookupRun run;
  for (std::size_t i = 0; i < axis; ++i) run.outer *= data[i];
  run.choices = data[axis];
  run.inner = data.elements / run.outer / run.choices;
  return looked_up(facts, run, 0, 1);
}

}  // namespace strata::cuda::train
