// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/view.cuh"

#include <cuda_runtime_api.h>

/// im2col and back, for `images` images of the batch from `first` on.
namespace strata::cuda {

/// columns[image][channel × kh × kw][output pixel]
void unroll_images(const ConvView& view, DType dtype, const void* images, int first, int count,
                   void* columns, cudaStream_t stream);

/// Adds up what each input pixel gave to; columns and images are of the same type.
void roll_back(const ConvView& view, DType dtype, const void* columns, int first, int count,
               void* images, cudaStream_t stream);

const void* unroll_kernel();
const void* roll_back_kernel();

}  // namespace strata::cuda
