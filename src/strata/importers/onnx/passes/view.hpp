// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/draft.hpp"

#include <optional>
#include <vector>

namespace strata::onnx {

/// A tensor seen under another shape and order of axes, before anybody has moved its numbers. The
/// axes of the base are cut into atoms, as fine as all reshapes so far need; each axis of the view
/// is a run of atoms. [N, S, 768] reshaped to [N, S, 12, 64] and transposed to [N, 12, S, 64] is
/// the base [N, S, 768] with the atoms N, S, 12, 64 and the axes {0}, {2}, {1}, {3}. Axes of extent
/// 1 have no atoms.
struct View {
  DraftId base = no_tensor;
  std::vector<Dim> atoms;              ///< in the order of the base
  std::vector<std::vector<int>> axes;  ///< indices of atoms
  std::uint32_t origin = 0;            ///< the node of the file that asked for it
  DraftId made = no_tensor;            ///< the tensor, once somebody needed it as one

  /// All atoms in the order of the view.
  std::vector<int> order() const;
  /// No number has to move: the view is the base under another shape.
  bool is_in_order() const;
  bool has_same_structure(const View& other) const {
    return atoms == other.atoms && axes == other.axes;
  }
};

View view_of(DraftId base, const Shape& shape);

/// a/b if b divides a without a rest; nothing else.
std::optional<Dim> exact_quotient(Symbols& symbols, Dim a, Dim b);

/// The view under another shape; nothing when the shape does not cut along atoms.
std::optional<View> regrouped(const View& view, const Shape& shape, Symbols& symbols);

/// The view with its axes in another order.
View permuted(const View& view, const Axes& permutation);

/// Takes an atom out of the list; no axis may use it any more.
void erase_atom(View& view, int atom);

}  // namespace strata::onnx
