// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/api.cuh"
#include "strata/measure/cuda/convolution/view.cuh"

/// The matrix product of unrolling without the unrolled matrix: its numbers are looked up in the
/// images while the product runs.
namespace strata::cuda {

/// Where the k-th number of a window is: an offset into the images and its place in the window.
struct alignas(8) WindowEntry {
  int offset;
  short y, x;
};
/// The table is this many entries long: the numbers of a window, and some that are nowhere.
int window_entries(const ConvView& view);
void fill_window_table(const ConvView& view, WindowEntry* table, cudaStream_t stream);

/// results = kernels × images, as the view says.
void implicit_product(const ConvView& view, const WindowEntry* table, const float* kernels,
                      const float* images, float* results, cudaStream_t stream);

/// Parts of the sum over all pixels that run beside each other; `parts` of the size of the weights.
int implicit_parts(const ConvView& view);
void implicit_weight_gradient(const ConvView& view, const WindowEntry* table, const float* images,
                              const float* gradients, int parts, float* sums, cudaStream_t stream);

const void* implicit_kernel(const ConvView& view);
const void* implicit_weight_kernel();

}  // namespace strata::cuda
