// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/passes/view.hpp"

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace strata::onnx {

/// Writes nodes of a draft a second time, with views in place of transposes and reshapes. An
/// operator that does not care for the order of axes works on the base of a view and hands the view
/// on; any other gets its operands as tensors.
class ViewWriter {
 public:
  explicit ViewWriter(Draft& draft);

  void write(const DraftNode& node);
  /// What became of a tensor, as a tensor.
  DraftId tensor(DraftId old);

 private:
  // What became of a tensor of the old list: another tensor, or a view that waits.
  struct Entry {
    DraftId plain = no_tensor;
    std::unique_ptr<View> view;
  };

  bool is_view(DraftId old) const { return entries_[old].view != nullptr; }
  View view(DraftId old, const DraftNode& node) const;
  void set(DraftId old, DraftId plain) { entries_[old].plain = plain; }
  void set(DraftId old, View view);

  DraftId add(const DraftNode& like, Operator op, std::span<const DraftId> data,
              const char* suffix);
  std::vector<DraftId> add_all(const DraftNode& like, Operator op, std::span<const DraftId> data);
  DraftId reshaped(const DraftNode& like, DraftId tensor, const Shape& shape);
  DraftId made(View& view);

  /// The base with each atom as an axis.
  DraftId as_atoms(const DraftNode& node, const View& view);
  /// The base with the last axis of the view as its last axis; nothing when they are not the same
  /// run.
  std::optional<DraftId> with_last_axis(const DraftNode& node, const View& view);

  void write_plain(const DraftNode& node);
  bool write_on_view(const DraftNode& node);
  bool write_pointwise(const DraftNode& node);
  bool write_on_last_axis(const DraftNode& node);
  bool write_elementwise(const DraftNode& node);
  bool write_reduce(const DraftNode& node);
  bool write_gather(const DraftNode& node);
  bool write_slice(const DraftNode& node);
  bool write_split(const DraftNode& node);
  bool write_softmax(const DraftNode& node);
  bool write_concat(const DraftNode& node);
  void write_matmul(const DraftNode& node);

  Draft& draft_;
  std::vector<Entry> entries_;
  std::unordered_map<DraftId, std::vector<DraftId>> reshapes_;  ///< each is made once
};

}  // namespace strata::onnx
