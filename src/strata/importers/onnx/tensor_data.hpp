// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/model.hpp"
#include "strata/importers/onnx/number.hpp"

/// The numbers of a tensor in the file, where they are worth a look.
namespace strata::onnx {

/// The product of the extents; an Error (input) for a negative extent or a count beyond 64 bits.
std::int64_t elements_of(const TensorDef& tensor);

/// All numbers of a small tensor. Nothing when there are too many, when they are in another file,
/// left out, or of a type that has no value here (texts). An Error (input) when there are more or
/// fewer than the extents say.
KnownNumbers numbers_of(const TensorDef& tensor);

/// Whether all numbers are the same; nothing when they cannot be seen. Reads at most `most_bytes`.
std::optional<bool> is_uniform(const TensorDef& tensor, std::size_t most_bytes);

/// What masks add to a score that must not count is this or less.
constexpr double as_good_as_minus_infinity = -9999;

/// Whether one of the first numbers is as good as minus infinity, or the table holds two different
/// numbers and no third: it is a mask.
bool looks_like_mask(const TensorDef& tensor);

/// Whether it is a table of sines and cosines of positions: nothing beyond ±1, and zeros and ones,
/// the sines and cosines of 0, in its first row.
bool looks_like_sinusoids(const TensorDef& tensor);

/// Of a tensor that is seen as `rows` rows: how many of its columns differ. Nothing when its
/// numbers cannot be seen, or are too many.
std::optional<std::int64_t> different_columns(const TensorDef& tensor, std::int64_t rows);

/// Whether the kernels of a depthwise convolution are those of a blur: positive, the same for all
/// channels and forwards as backwards. Nothing when its numbers cannot be seen.
std::optional<bool> is_blur(const TensorDef& tensor, std::int64_t channels);

/// Whether two matrices of different tensors hold the same numbers, the second one perhaps
/// transposed. Numbers at thousands of places are compared; false when they cannot be seen, or are
/// all the same.
bool are_same_matrix(const TensorDef& a, const TensorDef& b);

/// Whether a square table lets each row see the columns up to itself: 1 there and 0 elsewhere, or 0
/// there and as good as minus infinity elsewhere. Of a large table a few rows are looked at.
bool is_triangle(const TensorDef& tensor);
bool is_triangle(const Numbers& numbers, const Shape& shape);

}  // namespace strata::onnx
