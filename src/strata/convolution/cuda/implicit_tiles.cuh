// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/implicit.cuh"

#include <array>

/// The tiles in which the product of unrolling is compiled, and which of them suits a convolution.
namespace strata::cuda {

using ProductKernel = void (*)(ConvView, const WindowEntry*, const float* packed, int packed_rows,
                               const float* images, float* results, float* parts);

struct ProductChoice {
  int rows = 0, columns = 0, depth = 0, threads = 0;
  double rate = 1;  ///< of one block that has an SM for itself, relative to the others
  std::array<ProductKernel, 4> kernels = {};  ///< by Lookup
  ProductKernel kernel_for(Lookup how) const { return kernels[static_cast<std::size_t>(how)]; }
};

/// A tile, and into how many parts the sum is cut so that there are blocks for all SMs.
struct ProductPlan {
  const ProductChoice* tile = nullptr;
  int parts = 1;
};

/// The one that takes the least time: rounds over the GPU's SMs × work of a block, and adding up.
ProductPlan product_plan(const ConvView& view);

}  // namespace strata::cuda
