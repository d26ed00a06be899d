// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/infer.hpp"

/// What convolution and pooling share: a window that slides over the spatial axes.
namespace strata {

/// The value for one spatial axis; an empty list means the default for all.
inline std::int64_t extent_or(const Extents& extents, std::size_t axis, std::int64_t otherwise) {
  return extents.empty() ? otherwise : extents[axis];
}

/// Errors unless kernel has `axes` entries ≥ 1, the other lists are empty or as long, and their
/// values make sense.
template <class Windowed>
void check_window(const Windowed& op, std::size_t axes) {
  const auto check = [axes](const Extents& extents, std::int64_t least, std::string_view what) {
    if (!extents.empty() && extents.size() != axes) {
      fail(ErrorKind::input, "{} has {} entries for {} spatial axes", what, extents.size(), axes);
    }
    for (const std::int64_t extent : extents) {
      if (extent < least)
        fail(ErrorKind::input, "{} must be at least {}, got {}", what, least, extent);
    }
  };
  if (op.kernel.empty()) fail(ErrorKind::input, "kernel is missing");
  check(op.kernel, 1, "kernel");
  check(op.stride, 1, "stride");
  check(op.dilation, 1, "dilation");
  check(op.pad_begin, 0, "padding");
  check(op.pad_end, 0, "padding");
}

}  // namespace strata
