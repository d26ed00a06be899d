// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

namespace strata::onnx {

/// What torch.export says of the tensors of a module. PyTorch's exporter keeps it as text in the
/// file: "p_fc_weight: PARAMETER target='fc.weight'", "b_mask: BUFFER target='mask' …".
class Signature {
 public:
  Signature() = default;
  explicit Signature(std::string_view text);

  /// Whether the tensor is learnt; nothing when the file does not say it.
  std::optional<bool> is_learnt(std::string_view name) const;
  /// The same name as text of the file, which lasts as long as that; empty when it is not there.
  std::string_view name_in_file(std::string_view name) const;
  bool is_empty() const { return is_learnt_.empty(); }

 private:
  std::unordered_map<std::string_view, bool> is_learnt_;
};

}  // namespace strata::onnx
