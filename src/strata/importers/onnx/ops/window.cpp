// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/ops/window.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::onnx {
namespace {

// What one axis needs so that ⌈in/stride⌉ windows fit. For an extent that is open the usual case is
// taken: it is a multiple of the stride.
std::int64_t same_padding(OpContext& context, Dim in, const Window& window, std::size_t axis) {
  const std::int64_t stride = window.stride[axis];
  const std::int64_t cover =
      checked_add(checked_mul(window.dilation[axis], window.kernel[axis] - 1), 1);
  if (!in.is_number()) {
    if (stride > 1) {
      context.warn(WarningCode::value_assumed,
                   fmt::format("{}: auto_pad depends on {}; a multiple of {} is assumed",
                               context.place(), context.symbols().text(in), stride));
    }
    return std::max<std::int64_t>(cover - stride, 0);
  }
  const std::int64_t windows = (in.factor - 1) / stride + 1;
  const std::int64_t needed = checked_add(checked_mul(windows - 1, stride), cover);
  return std::max<std::int64_t>(needed - in.factor, 0);
}

}  // namespace

std::optional<Extents> extents_attribute(OpContext& context, std::string_view name,
                                         std::size_t axes) {
  const auto list = context.integers(name);
  if (!list || list->empty()) return std::nullopt;
  if (list->size() != axes) {
    fail(ErrorKind::input, "{} has {} entries for {} spatial axes", name, list->size(), axes);
  }
  return Extents(std::span<const std::int64_t>(*list));
}

Window window_of(OpContext& context, std::size_t axes, const Extents& kernel) {
  if (axes < 1 || axes > Extents::most()) {
    fail(ErrorKind::unsupported, "{} spatial axes; Strata has 1 to {}", axes, Extents::most());
  }
  Window window;
  const Extents ones(axes, 1);
  window.kernel = extents_attribute(context, "kernel_shape", axes).value_or(kernel);
  window.stride = extents_attribute(context, "strides", axes).value_or(ones);
  window.dilation = extents_attribute(context, "dilations", axes).value_or(ones);
  if (window.kernel.empty()) fail(ErrorKind::input, "kernel_shape is missing");
  for (const Extents& list : {window.kernel, window.stride, window.dilation}) {
    for (const std::int64_t entry : list) {
      if (entry < 1) {
        fail(ErrorKind::input, "kernel, strides and dilations are at least 1, got {}", entry);
      }
    }
  }
  return window;
}

void set_padding(OpContext& context, const Shape& x, Window& window) {
  const std::size_t axes = window.kernel.size();
  const std::string_view mode = context.word("auto_pad", "NOTSET");
  window.pad_begin = Extents(axes, 0);
  window.pad_end = Extents(axes, 0);
  if (mode == "NOTSET") {
    const auto pads = context.integers("pads");
    if (!pads || pads->empty()) return;
    if (pads->size() != 2 * axes) {
      fail(ErrorKind::input, "pads has {} entries for {} spatial axes", pads->size(), axes);
    }
    for (std::size_t axis = 0; axis < axes; ++axis) {
      window.pad_begin[axis] = (*pads)[axis];
      window.pad_end[axis] = (*pads)[axes + axis];
    }
    return;
  }
  if (mode == "VALID") return;
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    fail(ErrorKind::input, "auto_pad is {}, expected NOTSET, VALID, SAME_UPPER or SAME_LOWER",
         quoted(mode));
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t total = same_padding(context, x[axis + 2], window, axis);
    const std::int64_t small = total / 2;
    window.pad_begin[axis] = mode == "SAME_UPPER" ? small : total - small;
    window.pad_end[axis] = total - window.pad_begin[axis];
  }
}

DraftId with_fused_activation(OpContext& context, DraftId y) {
  struct Row {
    std::string_view name;
    UnaryKind kind;
  };
  static constexpr std::array<Row, 7> rows = {{
      {"Relu", UnaryKind::relu},
      {"Tanh", UnaryKind::tanh},
      {"Sigmoid", UnaryKind::sigmoid},
      {"LeakyRelu", UnaryKind::leaky_relu},
      {"Clip", UnaryKind::clip},
      {"HardSigmoid", UnaryKind::hard_sigmoid},
      {"Gelu", UnaryKind::gelu},
  }};
  const std::string_view name = context.word("activation", "");
  if (name.empty()) return y;
  for (const Row& row : rows) {
    if (row.name == name) return context.add(Unary{row.kind}, {y}, {}, "activation");
  }
  fail(ErrorKind::unsupported, "the fused activation {}", quoted(name));
}

}  // namespace strata::onnx
