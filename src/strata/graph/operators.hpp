// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/graph/operator_kinds.hpp"
#include "strata/graph/shape.hpp"

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

/// What a node does: one plain struct per operator, its attributes as fields, joined in the variant
/// Operator. An operator describes itself completely (a convolution knows its filters, not only
/// their tensor), so its weights follow from it and its input. Layouts: images N, C, space;
/// sequences N, T, features; weights as PyTorch has them.
///
/// The names by which people call them, and the fields that files may set, are in
/// operator_names.hpp and operator_fields.hpp. What they compute is written down, as loops, in the
/// tests of cost/.
namespace strata {

// Sums of products.

/// Y[n,k,·] = Σ X[n,c,·] W[k,c/g,·] + b, in 1, 2 or 3 spatial axes; transposed: the adjoint, W is
/// [c, k/g, ·].
struct Convolution {
  std::int64_t channels = 0;  ///< output channels (filters)
  Extents kernel;
  Extents stride;     ///< empty: 1
  Extents dilation;   ///< empty: 1
  Extents pad_begin;  ///< empty: 0
  Extents pad_end;    ///< empty: 0
  std::int64_t groups = 1;
  bool bias = true;
  bool transposed = false;
  Extents output_padding;  ///< transposed only; empty: 0
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

/// Y = X Wᵀ + b on the last axis; W is [features, inputs].
struct Linear {
  std::int64_t features = 0;
  bool bias = true;
  friend bool operator==(const Linear&, const Linear&) = default;
};

/// Product of two tensors on their last two axes, leading axes broadcast.
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
  friend bool operator==(const MatMul&, const MatMul&) = default;
};

/// softmax(Q Kᵀ · scale) V per head. Q is [N, S, heads·d], K [N, T, kv_heads·d], V [N, T,
/// kv_heads·dv]; a fourth input is an additive mask. Causal: query i sees keys up to i + T − S.
struct Attention {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;  ///< 0: as many as heads
  bool causal = false;
  /// The network computes it step by step, with scores in memory, not by one call of a library.
  bool written_out = false;
  friend bool operator==(const Attention&, const Attention&) = default;
};

/// A stack of recurrent layers over [N, T, features], one packed node. Outputs: Y [N, T,
/// directions·width], the last h [layers·directions, N, width] and, for an LSTM, the last c. width
/// = projection, or hidden without one. Inputs after X: h₀ and c₀.
struct Recurrent {
  CellKind cell = CellKind::lstm;
  std::int64_t hidden = 0;
  std::int64_t layers = 1;
  bool bidirectional = false;
  std::int64_t projection = 0;  ///< LSTM only; 0: none
  std::int64_t biases =
      2;  ///< bias vectors per gate: 2 as in cuDNN and PyTorch, 1 as in Keras, 0 for none
  bool fused_gates = true;  ///< false: one product per gate, as some published models count them
  friend bool operator==(const Recurrent&, const Recurrent&) = default;
};

// Pooling.

struct Pool {
  PoolKind kind = PoolKind::maximum;
  Extents kernel;
  Extents stride;  ///< empty: 1
  Extents dilation;
  Extents pad_begin;
  Extents pad_end;
  bool ceil_mode = false;
  bool count_include_pad =
      false;  ///< average only: the divisor is the window, not what of it lies inside
  friend bool operator==(const Pool&, const Pool&) = default;
};

/// Pools every spatial axis to the given extents (PyTorch's adaptive pooling); empty output: to 1,
/// global pooling.
struct AdaptivePool {
  PoolKind kind = PoolKind::average;
  Extents output;
  friend bool operator==(const AdaptivePool&, const AdaptivePool&) = default;
};

// Normalisation.

/// Per channel over N and space; running mean and variance are buffers.
struct BatchNorm {
  bool scale = true;
  bool shift = true;
  friend bool operator==(const BatchNorm&, const BatchNorm&) = default;
};

/// Over the axes from `axis` to the last.
struct LayerNorm {
  std::int64_t axis = -1;
  bool scale = true;
  bool shift = true;
  friend bool operator==(const LayerNorm&, const LayerNorm&) = default;
};

/// x / rms(x) over the axes from `axis` to the last: no mean is taken out, no shift.
struct RmsNorm {
  std::int64_t axis = -1;
  bool scale = true;
  friend bool operator==(const RmsNorm&, const RmsNorm&) = default;
};

/// Per sample over groups of channels and space; groups = channels is instance normalisation.
struct GroupNorm {
  std::int64_t groups = 0;  ///< 0: as many as channels
  bool scale = true;
  bool shift = true;
  friend bool operator==(const GroupNorm&, const GroupNorm&) = default;
};

/// x / (k + α/size Σ x²)^β across `size` neighbouring channels.
struct LocalResponseNorm {
  std::int64_t size = 5;
  friend bool operator==(const LocalResponseNorm&, const LocalResponseNorm&) = default;
};

// Element by element.

/// Y = f(X), number by number. prelu has one learnt slope per channel.
struct Unary {
  UnaryKind kind = UnaryKind::relu;
  friend bool operator==(const Unary&, const Unary&) = default;
};

/// Y = f(A, B, …) with broadcasting as in NumPy. add, multiply, maximum, minimum and mean take any
/// number of inputs; select is `condition ? a : b`.
struct Elementwise {
  ElementwiseKind kind = ElementwiseKind::add;
  friend bool operator==(const Elementwise&, const Elementwise&) = default;
};

struct Softmax {
  std::int64_t axis = -1;
  bool log = false;
  friend bool operator==(const Softmax&, const Softmax&) = default;
};

struct Dropout {
  double probability = 0.5;
  friend bool operator==(const Dropout&, const Dropout&) = default;
};

/// Rotates pairs of features by angles that grow with the position; X is [N, T, heads·d]. Tables of
/// cosines and sines [T, d/2] are constants.
struct RotaryEmbedding {
  std::int64_t heads = 1;
  friend bool operator==(const RotaryEmbedding&, const RotaryEmbedding&) = default;
};

/// Changes the data type.
struct Cast {
  DType to = DType::fp32;
  friend bool operator==(const Cast&, const Cast&) = default;
};

// Reductions and losses.

struct Reduce {
  ReduceKind kind = ReduceKind::sum;
  Axes axes;  ///< empty: all
  bool keep_axes = false;
  friend bool operator==(const Reduce&, const Reduce&) = default;
};

/// Mean over all samples of −log softmax(logits)[target]; logits [N, …, classes] with the classes
/// on `axis`, targets int64.
struct SoftmaxCrossEntropy {
  std::int64_t axis = -1;
  friend bool operator==(const SoftmaxCrossEntropy&, const SoftmaxCrossEntropy&) = default;
};

/// Mean of (prediction − target)².
struct SquaredError {
  friend bool operator==(const SquaredError&, const SquaredError&) = default;
};

// Moving data.

struct Concat {
  std::int64_t axis = 1;
  friend bool operator==(const Concat&, const Concat&) = default;
};

/// Cuts one axis into consecutive parts, one output each.
struct Split {
  std::int64_t axis = 1;
  std::vector<std::int64_t> sizes;  ///< empty with parts > 0: equal parts
  std::int64_t parts = 0;
  friend bool operator==(const Split&, const Split&) = default;
};

/// x[begin:end:step] on each named axis; negative positions count from the end and everything is
/// clipped, as in NumPy.
struct Slice {
  Axes axes;
  std::vector<Dim> begin;  ///< not Shapes, which would make every Operator twice as large
  std::vector<Dim> end;
  Axes step;  ///< empty: 1
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// Same numbers, other shape: no data moves. 0 keeps the input's extent at that place, −1 (once)
/// takes what is left.
struct Reshape {
  Shape shape;
  friend bool operator==(const Reshape&, const Reshape&) = default;
};

/// Joins the axes from `axis` to the last: no data moves.
struct Flatten {
  std::int64_t axis = 1;
  friend bool operator==(const Flatten&, const Flatten&) = default;
};

struct Transpose {
  Axes permutation;  ///< empty: reversed
  friend bool operator==(const Transpose&, const Transpose&) = default;
};

/// Repeats axes of extent 1 up to the given shape (broadcast made real).
struct Expand {
  Shape shape;
  friend bool operator==(const Expand&, const Expand&) = default;
};

/// Scales the spatial axes of [N, C, …] by whole factors, or to given extents.
struct Resize {
  ResizeKind kind = ResizeKind::nearest;
  Extents scale;   ///< factors; empty when output is given
  Extents output;  ///< extents; empty when scale is given
  friend bool operator==(const Resize&, const Resize&) = default;
};

/// Adds (or, where negative, cuts) elements at both ends of every axis.
struct Pad {
  Axes begin;
  Axes end;
  friend bool operator==(const Pad&, const Pad&) = default;
};

/// Looks rows up: indices of any shape → […, width]; the table [vocabulary, width] is learnt.
struct Embedding {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  friend bool operator==(const Embedding&, const Embedding&) = default;
};

/// data[indices] along one axis.
struct Gather {
  std::int64_t axis = 0;
  friend bool operator==(const Gather&, const Gather&) = default;
};

/// Interleaves the channels of `groups` groups (ShuffleNet).
struct ChannelShuffle {
  std::int64_t groups = 1;
  friend bool operator==(const ChannelShuffle&, const ChannelShuffle&) = default;
};

/// Moves blocks of space into channels (darknet's reorg), or back.
struct SpaceToDepth {
  std::int64_t block = 2;
  bool inverse = false;
  friend bool operator==(const SpaceToDepth&, const SpaceToDepth&) = default;
};

/// darknet's yolo layer on [N, boxes·(5 + classes), H, W]: logistic on x, y, objectness and
/// classes; w and h pass.
struct Yolo {
  std::int64_t boxes = 3;
  std::int64_t classes = 80;
  friend bool operator==(const Yolo&, const Yolo&) = default;
};

/// An operator that Strata does not know: its shapes are declared, its cost is not counted, and
/// results say so.
struct Opaque {
  std::string type;
  std::vector<Shape> shapes;
  friend bool operator==(const Opaque&, const Opaque&) = default;
};

using AnyOperator =
    std::variant<Convolution, Linear, MatMul, Attention, Recurrent, Pool, AdaptivePool, BatchNorm,
                 LayerNorm, RmsNorm, GroupNorm, LocalResponseNorm, Unary, Elementwise, Softmax,
                 Dropout, RotaryEmbedding, Cast, Reduce, SoftmaxCrossEntropy, SquaredError, Concat,
                 Split, Slice, Reshape, Flatten, Transpose, Expand, Resize, Pad, Embedding, Gather,
                 ChannelShuffle, SpaceToDepth, Yolo, Opaque>;

template <typename Type, typename... Alternatives>
constexpr bool is_alternative_of(const std::variant<Alternatives...>* /*variant*/) {
  return (std::is_same_v<Type, Alternatives> || ...);
}

/// The structs that an Operator can be.
template <typename Type>
concept OperatorAlternative = is_alternative_of<Type>(static_cast<const AnyOperator*>(nullptr));

/// One of them. It is made, copied and destroyed in operators.cpp: otherwise every source that does
/// so compiles the code for all alternatives.
class Operator : public AnyOperator {
 public:
  Operator();
  template <OperatorAlternative Alternative>
  Operator(Alternative alternative);  // NOLINT(google-explicit-constructor): it is one
  Operator(const Operator& other);
  Operator(Operator&& other) noexcept;
  Operator& operator=(const Operator& other);
  Operator& operator=(Operator&& other) noexcept;
  ~Operator();
  friend bool operator==(const Operator& left, const Operator& right);
};

}  // namespace strata
