// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/view.cuh"
#include "strata/gpu/cuda/api.cuh"

/// The matrix product of unrolling without the unrolled matrix: its numbers are looked up in the
/// images while the product runs.
namespace strata::cuda {

/// How a number of a window is found, from the cheapest on.
enum class Lookup : std::uint8_t {
  inside,   ///< every window is inside its image
  masked,   ///< a window has few rows and columns: those outside are bits of a word
  checked,  ///< by comparing its place with the image's
  spread,   ///< images with zeros between their numbers
};
Lookup lookup_of(const ConvView& view);

/// The k-th number of a window: an offset into the images, and its place in the window: as bits for
/// Lookup::masked, else y and x as halves of the word.
struct alignas(8) WindowEntry {
  int offset;
  int where;
};
/// The table is this many entries long: the numbers of a window, and some that are nowhere.
int window_entries(const ConvView& view);
void fill_window_table(const ConvView& view, Lookup how, WindowEntry* table, cudaStream_t stream);

/// The kernels in the order in which the product reads them: [group][number of the window][filter],
/// both filled up with zeros.
std::int64_t packed_elements(const ConvView& view);
/// Those of the view; `is_turned`: `weights` are the forward pass's, and the view is that of the
/// gradient of the input.
void pack_kernels(const ConvView& view, bool is_turned, const float* weights, float* packed,
                  cudaStream_t stream);

/// results = kernels × images, as the view says, with its table (lookup_of) and packed kernels.
/// `parts` has room for part_elements: of convolutions with few results, the sum is cut.
void implicit_product(const ConvView& view, const WindowEntry* table, const float* packed,
                      const float* images, float* results, float* parts, cudaStream_t stream);
std::int64_t part_elements(const ConvView& view);

/// Parts of the sum over all pixels that run beside each other; `parts` of the size of the weights.
int implicit_parts(const ConvView& view);
/// With a table of Lookup::checked.
void implicit_weight_gradient(const ConvView& view, const WindowEntry* table, const float* images,
                              const float* gradients, int parts, float* sums, cudaStream_t stream);

const void* implicit_kernel(const ConvView& view);
const void* implicit_weight_kernel();

}  // namespace strata::cuda
