// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// Classes of kernels: what a framework launches for one operation, in one pass, by what its time
/// depends on. "relu.forward" depends on the number of elements, "linear.backward_weight" on the
/// extents of a matrix product.
namespace strata {

/// How the time of a class depends on its dimensions.
enum class KernelForm : std::uint8_t {
  elements,     ///< elements
  rows,         ///< rows, columns
  channels,     ///< channels, elements of each: one block of threads per channel
  pool,         ///< input elements, output elements, elements of a window
  product,      ///< batch, m, n, k
  convolution,  ///< samples, channels, filters, input and output pixels, window, groups
  depthwise,    ///< the same
  lookup,       ///< tokens, rows of the table, width
  list,         ///< tensors, elements of all of them
  recurrent,    ///< samples, time steps, width, hidden, layers
  attention,    ///< samples, heads, queries, keys, width, 2 if causal (half the scores) or 1
};

inline constexpr std::size_t most_kernel_dims = 7;
using KernelDims = std::array<double, most_kernel_dims>;

/// Names of the dimensions, in their order.
std::span<const std::string_view> dims_of(KernelForm form);

/// A class, as its place among operation_class_names().
enum class OperationClass : std::uint16_t {};
std::span<const std::string_view> operation_class_names();
std::string_view name_of(OperationClass kernel_class);
std::optional<OperationClass> operation_class_named(std::string_view name);
/// The class whose kernels are taken for those of a class that a calibration does not have: another
/// layout, images instead of volumes. It has the same dimensions. Nothing: no other is like it.
std::optional<OperationClass> class_instead(OperationClass kernel_class);
KernelForm form_of(OperationClass kernel_class);

}  // namespace strata
