// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/op_context.hpp"

#include <functional>
#include <optional>
#include <vector>

/// Nodes that need not run: shape arithmetic, constants, and weights under another shape. Each row
/// of the table returns false where the result cannot be known; the node is then read like any
/// other.
namespace strata::onnx {

/// Sets the node's outputs as constants, if it can.
bool fold(OpContext& context);

using Fold = bool (*)(OpContext& context);
struct FoldRow {
  std::string_view op;
  Fold fold;
};

// One table per family.
std::span<const FoldRow> view_folds();        // views.cpp
std::span<const FoldRow> arithmetic_folds();  // arithmetic.cpp
std::span<const FoldRow> movement_folds();    // movement.cpp
std::span<const FoldRow> source_folds();      // sources.cpp: Shape, Constant, Range …

using Index = std::vector<std::int64_t>;

/// The numbers of an input with their extents.
struct Known {
  KnownNumbers numbers;
  Index extents;
};

/// Nothing when the input's numbers are not known.
std::optional<Known> known(OpContext& context, std::size_t input);

/// Whether the input is a parameter of several numbers that the file stores.
bool is_learnt_operand(OpContext& context, std::size_t input);

/// Sets an output; false when there are too many numbers to keep.
bool set_known(OpContext& context, std::size_t output, DType dtype, const Index& extents,
               Numbers numbers);

std::int64_t count_of(const Index& extents);

/// Calls `visit` with every index of a grid, in row-major order.
void for_each_index(const Index& extents, const std::function<void(const Index&)>& visit);
/// Position of an index in row-major order; where an extent is 1 the index does not matter
/// (broadcasting), and leading entries of a longer index are passed over.
std::size_t place_in(const Index& extents, const Index& index);

/// Whether so many numbers may still be computed; counts them.
bool may_compute(OpContext& context, std::int64_t numbers);

}  // namespace strata::onnx
