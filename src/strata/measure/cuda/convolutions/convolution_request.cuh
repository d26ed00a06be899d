// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/measure/engine/constants.hpp"

#include <array>
#include <compare>
#include <cstdint>

namespace strata::cuda::train {

enum class RequestPass : std::uint8_t { forward, input_gradient, weight_gradient };

/// One pass of a convolution in up to three spatial axes; absent ones have extent 1 and come first.
/// Input [batch, channels, in], weights [filters, channels/groups, kernel], output [batch, filters,
/// out]. A transposed convolution is one with the passes exchanged.
struct ConvRequest {
  RequestPass pass = RequestPass::forward;
  DType dtype = DType::fp32;
  std::int64_t batch = 1, channels = 1, filters = 1, groups = 1;
  std::array<int, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1},
      pad_begin{0, 0, 0}, pad_end{0, 0, 0};

  std::int64_t in_plane() const { return std::int64_t{in[0]} * in[1] * in[2]; }
  std::int64_t out_plane() const { return std::int64_t{out[0]} * out[1] * out[2]; }
  std::int64_t window() const { return std::int64_t{kernel[0]} * kernel[1] * kernel[2]; }
  std::int64_t input_elements() const { return batch * channels * in_plane(); }
  std::int64_t output_elements() const { return batch * filters * out_plane(); }
  std::int64_t weight_elements() const { return filters * (channels / groups) * window(); }
  std::int64_t result_elements() const {
    return pass == RequestPass::forward          ? output_elements()
           : pass == RequestPass::input_gradient ? input_elements()
                                                 : weight_elements();
  }
  /// Products that one number of the result adds up.
  std::int64_t terms() const {
    return pass == RequestPass::forward          ? channels / groups * window()
           : pass == RequestPass::input_gradient ? filters / groups * window()
                                                 : batch * out_plane();
  }
  bool is_flat() const { return in[0] == 1 && out[0] == 1 && kernel[0] == 1; }
  /// Each channel by itself, with the usual windows.
  bool is_depthwise() const;

  friend auto operator<=>(const ConvRequest&, const ConvRequest&) = default;
};

}  // namespace strata::cuda::train
