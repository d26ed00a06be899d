// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/convolution/lab/strategy.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace strata::cuda::train {

/// One pass of a convolution in up to three spatial axes; absent ones have extent 1 and come first.
/// Input [batch, channels, in], weights [filters, channels/groups, kernel], output [batch, filters,
/// out]. A transposed convolution is one with the passes exchanged.
struct ConvRequest {
  ConvPass pass = ConvPass::forward;
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
  bool is_flat() const { return in[0] == 1 && out[0] == 1 && kernel[0] == 1; }

  friend auto operator<=>(const ConvRequest&, const ConvRequest&) = default;
};

/// A pass made ready to run. Scratch memory comes with each run.
class ConvAlgorithm {
 public:
  virtual ~ConvAlgorithm() = default;
  virtual std::string name() const = 0;  ///< "cuDNN 9.14.0 engine 17: winograd"; "fft"
  virtual std::int64_t scratch_bytes() const { return 0; }
  virtual std::int64_t own_bytes() const { return 0; }  ///< that it holds as long as it lives
  /// Enqueues it; the pass says which of the tensors is written. False: the library refuses.
  virtual bool run(const ConvTensors& tensors, void* scratch) = 0;
};

}  // namespace strata::cuda::train
