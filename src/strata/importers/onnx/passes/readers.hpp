// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/draft.hpp"

#include <span>
#include <vector>

namespace strata::onnx {

/// All nodes that read each tensor.
class Readers {
 public:
  explicit Readers(const Draft& draft);
  std::span<const NodeId> of(DraftId tensor) const {
    return std::span(nodes_).subspan(begin_[tensor], begin_[tensor + 1] - begin_[tensor]);
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<NodeId> nodes_;
};

/// Whether the tensor becomes the scores of an attention: only sums, scales, masks and views stand
/// between it and a softmax over the last axis.
bool leads_to_softmax(const Draft& draft, const Readers& readers, DraftId tensor);

}  // namespace strata::onnx
