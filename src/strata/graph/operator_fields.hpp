// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operators.hpp"

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// The one table of what people may set on each operator. Reading a file, writing one, and the
/// documentation all walk it, so a field that is added here is everywhere at once.
///
/// What an operator's name already says (relu or gelu, max or average pooling, transposed or not)
/// is no field, and a field that means nothing for that name (the projection of a GRU) is not
/// visited.
namespace strata {

struct Field {
  std::string_view name;
  std::string_view help;
  bool is_required = false;  ///< there is no default that would make sense
};

/// Padding at the two ends of the axes: one field that files may set as "pad" for both ends alike,
/// or as "pad_begin" and "pad_end".
template <class List>
struct Ends {
  List& begin;
  List& end;
};
template <class List>
Ends(List&, List&) -> Ends<List>;

template <class Op, class Struct>
concept OperatorLike = std::same_as<std::remove_const_t<Op>, Struct>;

// ---- sums of products
// -------------------------------------------------------------------------------------------

template <OperatorLike<Convolution> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"channels", "output channels, the number of filters", true}, op.channels);
  visit(Field{"kernel", "size of the filter", true}, op.kernel);
  visit(Field{"stride", "step of the window; 1 when absent"}, op.stride);
  visit(Field{"dilation", "distance between the weights of the filter; 1 when absent"},
        op.dilation);
  visit(Field{"pad", "zeros added around the input; 0 when absent"},
        Ends{op.pad_begin, op.pad_end});
  visit(Field{"groups", "channels are convolved in so many groups; as many as channels: depthwise"},
        op.groups);
  visit(Field{"bias", "add one learnt number per output channel"}, op.bias);
  if (op.transposed) {
    visit(Field{"output_padding", "added at the end of the output; 0 when absent"},
          op.output_padding);
  }
}

template <OperatorLike<Linear> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"features", "outputs of the layer, on the last axis", true}, op.features);
  visit(Field{"bias", "add one learnt number per feature"}, op.bias);
}

template <OperatorLike<MatMul> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"transpose_a", "swap the last two axes of the first input"}, op.transpose_a);
  visit(Field{"transpose_b", "swap the last two axes of the second input"}, op.transpose_b);
}

template <OperatorLike<Attention> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"heads", "query heads"}, op.heads);
  visit(Field{"kv_heads", "key and value heads; 0: as many as heads"}, op.kv_heads);
  visit(Field{"causal", "a position sees only those before it and itself"}, op.causal);
  visit(Field{"written_out", "computed step by step, not by one call"}, op.written_out);
}

template <OperatorLike<Recurrent> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"hidden", "width of the hidden state", true}, op.hidden);
  visit(Field{"layers", "layers stacked in this one node"}, op.layers);
  visit(Field{"bidirectional", "a second set of cells runs from the end to the begin"},
        op.bidirectional);
  if (op.cell == CellKind::lstm) {
    visit(Field{"projection", "width to which the hidden state is projected; 0: not"},
          op.projection);
  }
  visit(Field{"biases", "bias vectors per gate: 2 as in cuDNN and PyTorch, 1 as in Keras, 0: none"},
        op.biases);
  visit(Field{"fused_gates", "compute all gates in one matrix product"}, op.fused_gates);
}

// ---- pooling
// ----------------------------------------------------------------------------------------------------

template <OperatorLike<Pool> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"kernel", "size of the window", true}, op.kernel);
  visit(Field{"stride", "step of the window; 1 when absent"}, op.stride);
  visit(Field{"dilation", "distance between the elements of the window; 1 when absent"},
        op.dilation);
  visit(Field{"pad", "elements added around the input; 0 when absent"},
        Ends{op.pad_begin, op.pad_end});
  visit(Field{"ceil_mode", "a last window that is partly outside still counts"}, op.ceil_mode);
  if (op.kind == PoolKind::average) {
    visit(Field{"count_include_pad", "the divisor is the whole window, padding included"},
          op.count_include_pad);
  }
}

template <OperatorLike<AdaptivePool> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"output", "spatial size of the output; absent: 1, global pooling"}, op.output);
}

// ---- normalisation
// ----------------------------------------------------------------------------------------------

template <OperatorLike<BatchNorm> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"scale", "learn one factor per channel"}, op.scale);
  visit(Field{"shift", "learn one offset per channel"}, op.shift);
}

template <OperatorLike<LayerNorm> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axis", "first of the axes over which to normalise, up to the last"}, op.axis);
  visit(Field{"scale", "learn one factor per element of those axes"}, op.scale);
  visit(Field{"shift", "learn one offset per element of those axes"}, op.shift);
}

template <OperatorLike<RmsNorm> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axis", "first of the axes over which to normalise, up to the last"}, op.axis);
  visit(Field{"scale", "learn one factor per element of those axes"}, op.scale);
}

template <OperatorLike<GroupNorm> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  if (op.groups != 0) visit(Field{"groups", "groups of channels"}, op.groups);
  visit(Field{"scale", "learn one factor per channel"}, op.scale);
  visit(Field{"shift", "learn one offset per channel"}, op.shift);
}

template <OperatorLike<LocalResponseNorm> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"size", "neighbouring channels that are summed"}, op.size);
}

// ---- element by element
// -----------------------------------------------------------------------------------------

template <class Op, class Visit>
requires(OperatorLike<Op, Unary> || OperatorLike<Op, Elementwise> ||
         OperatorLike<Op, SquaredError>) void visit_fields(Op&, Visit&&) {}

template <OperatorLike<Softmax> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axis", "axis along which the results sum to 1"}, op.axis);
}

template <OperatorLike<Dropout> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"probability", "of setting an element to zero in training"}, op.probability);
}

template <OperatorLike<RotaryEmbedding> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"heads", "heads into which the last axis splits"}, op.heads);
}

template <OperatorLike<Cast> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"to", "data type of the output", true}, op.to);
}

// ---- reductions and losses
// --------------------------------------------------------------------------------------

template <OperatorLike<Reduce> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axes", "axes that are reduced; absent: all"}, op.axes);
  visit(Field{"keep_axes", "reduced axes stay, with extent 1"}, op.keep_axes);
}

template <OperatorLike<SoftmaxCrossEntropy> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axis", "axis of the classes"}, op.axis);
}

// ---- moving data
// ------------------------------------------------------------------------------------------------

template <OperatorLike<Concat> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axis", "axis along which the inputs are joined"}, op.axis);
}

template <OperatorLike<Split> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axis", "axis that is cut"}, op.axis);
  visit(Field{"sizes", "extent of each part; absent: equal parts"}, op.sizes);
  visit(Field{"parts", "number of equal parts, where no sizes are given"}, op.parts);
}

template <OperatorLike<Slice> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axes", "axes that are cut", true}, op.axes);
  visit(Field{"begin", "first position on each of them; negative counts from the end", true},
        op.begin);
  visit(Field{"end", "position after the last on each of them", true}, op.end);
  visit(Field{"step", "step on each of them; 1 when absent"}, op.step);
}

template <OperatorLike<Reshape> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(
      Field{"shape", "new shape; 0 keeps the extent at that place, -1 (once) takes the rest", true},
      op.shape);
}

template <OperatorLike<Flatten> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axis", "first of the axes that become one, up to the last"}, op.axis);
}

template <OperatorLike<Transpose> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"permutation", "where each axis of the output comes from; absent: reversed"},
        op.permutation);
}

template <OperatorLike<Expand> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"shape", "shape to which axes of extent 1 are repeated", true}, op.shape);
}

template <OperatorLike<Resize> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"scale", "factor per spatial axis; give this or output"}, op.scale);
  visit(Field{"output", "spatial size of the output; give this or scale"}, op.output);
}

template <OperatorLike<Pad> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"begin", "elements added before each axis; negative cuts", true}, op.begin);
  visit(Field{"end", "elements added after each axis; negative cuts", true}, op.end);
}

template <OperatorLike<Embedding> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"vocabulary", "rows of the table", true}, op.vocabulary);
  visit(Field{"width", "numbers per row", true}, op.width);
}

template <OperatorLike<Gather> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"axis", "axis from which the second input picks"}, op.axis);
}

template <OperatorLike<ChannelShuffle> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"groups", "groups whose channels are interleaved", true}, op.groups);
}

template <OperatorLike<SpaceToDepth> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(
      Field{"block_size", "side of the square of positions that becomes channels, or the reverse"},
      op.block);
}

template <OperatorLike<Yolo> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"boxes", "boxes per cell"}, op.boxes);
  visit(Field{"classes", "classes per box"}, op.classes);
}

template <OperatorLike<Opaque> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  visit(Field{"type", "what the operator is called where the network comes from"}, op.type);
  visit(Field{"shapes", "shape of each output", true}, op.shapes);
}

// -----------------------------------------------------------------------------------------------------------------

template <OperatorLike<Operator> Op, class Visit>
void visit_fields(Op& op, Visit&& visit) {
  std::visit([&visit](auto& alternative) { visit_fields(alternative, visit); }, op);
}

/// A field in words, as the documentation and messages show it.
struct FieldDescription {
  std::string name;
  std::string_view help;
  std::string_view type;      ///< "whole number", "true or false", …
  std::string default_value;  ///< as JSON; empty: none, or the help says what holds
  bool is_required = false;
};

/// Every key that a file may set on the operator, in the order of the table. Ends are one field and
/// three keys.
std::vector<FieldDescription> fields_of(const Operator& op);

/// What the operator does and what it takes, in a sentence or two. The same for all names of one
/// struct.
std::string_view help_of(const Operator& op);

}  // namespace strata
