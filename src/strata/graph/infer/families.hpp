// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/infer.hpp"

/// Shape inference of each operator; one .cpp per family in this folder. The overloads are declared
/// together so that the dispatcher fails to compile when an operator has none.
namespace strata {

// convolution.cpp
void infer_shapes(const Convolution& op, Inference& sheet);

// product.cpp
void infer_shapes(const Linear& op, Inference& sheet);
void infer_shapes(const MatMul& op, Inference& sheet);
void infer_shapes(const Attention& op, Inference& sheet);
void infer_shapes(const RotaryEmbedding& op, Inference& sheet);

// recurrent.cpp
void infer_shapes(const Recurrent& op, Inference& sheet);

// pool.cpp
void infer_shapes(const Pool& op, Inference& sheet);
void infer_shapes(const AdaptivePool& op, Inference& sheet);

// normalization.cpp
void infer_shapes(const BatchNorm& op, Inference& sheet);
void infer_shapes(const LayerNorm& op, Inference& sheet);
void infer_shapes(const RmsNorm& op, Inference& sheet);
void infer_shapes(const GroupNorm& op, Inference& sheet);
void infer_shapes(const LocalResponseNorm& op, Inference& sheet);

// pointwise.cpp
void infer_shapes(const Unary& op, Inference& sheet);
void infer_shapes(const Elementwise& op, Inference& sheet);
void infer_shapes(const Softmax& op, Inference& sheet);
void infer_shapes(const Dropout& op, Inference& sheet);
void infer_shapes(const Cast& op, Inference& sheet);
void infer_shapes(const Yolo& op, Inference& sheet);

// reduce.cpp
void infer_shapes(const Reduce& op, Inference& sheet);
void infer_shapes(const SoftmaxCrossEntropy& op, Inference& sheet);
void infer_shapes(const SquaredError& op, Inference& sheet);

// movement.cpp: the same numbers in other places
void infer_shapes(const Concat& op, Inference& sheet);
void infer_shapes(const Split& op, Inference& sheet);
void infer_shapes(const Slice& op, Inference& sheet);
void infer_shapes(const Reshape& op, Inference& sheet);
void infer_shapes(const Flatten& op, Inference& sheet);
void infer_shapes(const Transpose& op, Inference& sheet);
void infer_shapes(const Expand& op, Inference& sheet);
void infer_shapes(const Pad& op, Inference& sheet);
void infer_shapes(const ChannelShuffle& op, Inference& sheet);
void infer_shapes(const SpaceToDepth& op, Inference& sheet);

// lookup.cpp: numbers chosen or made from others
void infer_shapes(const Resize& op, Inference& sheet);
void infer_shapes(const Embedding& op, Inference& sheet);
void infer_shapes(const Gather& op, Inference& sheet);
void infer_shapes(const Opaque& op, Inference& sheet);

}  // namespace strata
