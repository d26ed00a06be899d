// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace strata {

/// One two-dimensional convolution. Tensors are stored whole, last index fastest:
/// input [batch, channels, height, width], weights [filters, channels/groups, kernel height, kernel
/// width], output [batch, filters, output height, output width].
struct ConvShape {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t filters = 1;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  std::int64_t pad_height = 0;  ///< zeros added at the top, and as many at the bottom
  std::int64_t pad_width = 0;
  std::int64_t dilation_height = 1;
  std::int64_t dilation_width = 1;
  std::int64_t groups = 1;

  std::int64_t output_height() const;
  std::int64_t output_width() const;
  std::int64_t input_elements() const;
  std::int64_t weight_elements() const;
  std::int64_t output_elements() const;

  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};

/// Why this is no convolution: a size below 1, a kernel larger than the padded input, groups that
/// divide neither channels nor filters, counts beyond 64 bits. Nothing: it is one.
std::optional<std::string> refusal_of(const ConvShape& shape);

enum class ConvPass : std::uint8_t { forward, input_gradient, weight_gradient };
inline constexpr std::array<ConvPass, 3> all_conv_passes = {
    ConvPass::forward, ConvPass::input_gradient, ConvPass::weight_gradient};

std::string_view name_of(ConvPass pass);
std::optional<ConvPass> conv_pass_named(std::string_view name);

/// What is asked of a strategy: one pass of one convolution in one data type.
struct ConvProblem {
  ConvShape shape;
  ConvPass pass = ConvPass::forward;
  DType dtype = DType::fp32;
};

/// Multiplications and additions of the defining sum, products with padding included; the same for
/// all three passes.
std::int64_t direct_flop(const ConvShape& shape);

/// "b64 c3 128×128 f64 k11×11 s1 p0".
std::string to_text(const ConvShape& shape);

}  // namespace strata
