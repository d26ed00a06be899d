// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace strata::cpu {

struct ColumnRange {
  std::int64_t first = 0, count = 0;
};

/// Kernels that lie `step` floats apart, each flipped in both axes where the gradient of the input
/// wants it so.
template <class Float>
struct KernelList {
  Float* first = nullptr;
  std::int64_t step = 0;
  std::int64_t count = 0;
  bool is_flipped = false;
};

/// A domain (Winograd's, or that of frequencies) in which the convolution of a tile with a kernel
/// is a product at each position. `T` is float, or complex<float> whose products are with the
/// conjugate of the kernel.
///
/// A column is what one column of the matrix products holds: a tile, or two tiles that travel
/// together. Transformed columns stand side by side: position p of column i at [p · step + i].
/// Memory is there, and may be read and written, for multiples of `columns_together` columns.
/// `work` is memory for work_floats() numbers.
template <class T>
class TileDomain {
 public:
  static constexpr std::int64_t columns_together = 16;

  virtual ~TileDomain() = default;
  virtual std::int64_t positions() const = 0;
  virtual std::int64_t columns() const = 0;  ///< of one channel of all images
  virtual std::int64_t work_floats() const = 0;

  virtual void transform_source(const float* channel, ColumnRange which, T* to, std::int64_t step,
                                float* work) const = 0;
  virtual void transform_kernels(const KernelList<const float>& kernels, T* to, std::int64_t step,
                                 float* work) const = 0;
  virtual void restore_result(const T* from, std::int64_t step, ColumnRange which, float* channel,
                              float* work) const = 0;

  /// For the gradient of the weights: the gradient of the output takes the result's place.
  virtual void transform_gradient(const float* channel, ColumnRange which, T* to, std::int64_t step,
                                  float* work) const = 0;
  virtual void restore_kernels(const T* from, std::int64_t step, const KernelList<float>& kernels,
                               float* work) const = 0;
};

}  // namespace strata::cpu
