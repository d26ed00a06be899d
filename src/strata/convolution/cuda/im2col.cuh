// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/view.cuh"

#include <cuda_runtime_api.h>

/// im2col and back, for `images` images of the batch from `first` on.
namespace strata::cuda {

/// columns[image][channel × kh × kw][output pixel]
void im2col(const ConvView& view, DType dtype, const void* images, int first, int count,
            void* columns, cudaStream_t stream);

/// Adds up what each input pixel gave to; columns and images are of the same type.
void col2im(const ConvView& view, DType dtype, const void* columns, int first, int count,
            void* images, cudaStream_t stream);

const void* im2col_kernel();
const void* col2im_kernel();

}  // namespace strata::cuda
