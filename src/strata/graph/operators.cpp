// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/operators.hpp"

#include <utility>

namespace strata {

Operator::Operator() = default;
Operator::Operator(const Operator& other) = default;
Operator::Operator(Operator&& other) noexcept = default;
Operator& Operator::operator=(const Operator& other) = default;
Operator& Operator::operator=(Operator&& other) noexcept = default;
Operator::~Operator() = default;

template <OperatorAlternative Alternative>
Operator::Operator(Alternative alternative)
    : AnyOperator(std::in_place_type<Alternative>, std::move(alternative)) {}

bool operator==(const Operator& left, const Operator& right) {
  return static_cast<const AnyOperator&>(left) == static_cast<const AnyOperator&>(right);
}

template Operator::Operator(Convolution);
template Operator::Operator(Linear);
template Operator::Operator(MatMul);
template Operator::Operator(Attention);
template Operator::Operator(Recurrent);
template Operator::Operator(Pool);
template Operator::Operator(AdaptivePool);
template Operator::Operator(BatchNorm);
template Operator::Operator(LayerNorm);
template Operator::Operator(RmsNorm);
template Operator::Operator(GroupNorm);
template Operator::Operator(LocalResponseNorm);
template Operator::Operator(Unary);
template Operator::Operator(Elementwise);
template Operator::Operator(Softmax);
template Operator::Operator(Dropout);
template Operator::Operator(RotaryEmbedding);
template Operator::Operator(Cast);
template Operator::Operator(Reduce);
template Operator::Operator(SoftmaxCrossEntropy);
template Operator::Operator(SquaredError);
template Operator::Operator(Concat);
template Operator::Operator(Split);
template Operator::Operator(Slice);
template Operator::Operator(Reshape);
template Operator::Operator(Flatten);
template Operator::Operator(Transpose);
template Operator::Operator(Expand);
template Operator::Operator(Resize);
template Operator::Operator(Pad);
template Operator::Operator(Embedding);
template Operator::Operator(Gather);
template Operator::Operator(ChannelShuffle);
template Operator::Operator(SpaceToDepth);
template Operator::Operator(Yolo);
template Operator::Operator(Opaque);

}  // namespace strata
