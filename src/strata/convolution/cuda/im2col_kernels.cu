// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/im2col.cuh"
#include "strata/gpu/cuda/api.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace strata::cuda {
namespace {

constexpr int im2col_threads = 256;
constexpr int rows_per_block = 8;  // rows of the columns, for the sake of the index arithmetic

/// Where a pixel's window begins, in the images.
struct Window {
  int y, x;
};
__device__ Window window_of(const ConvView& view, int pixel) {
  const int y = pixel / view.out_width;
  return {y * view.stride_height - view.pad_height,
          (pixel - y * view.out_width) * view.stride_width - view.pad_width};
}

// Block: a strip of pixels, some rows (channel, ky, kx), one image. Words are copied as bits.
template <class Word>
__global__ void __launch_bounds__(im2col_threads)
    im2col_strip(ConvView view, const Word* __restrict__ images, int first,
                 Word* __restrict__ columns) {
  const int pixels = view.out_height * view.out_width;
  const int pixel = static_cast<int>(blockIdx.x) * im2col_threads + static_cast<int>(threadIdx.x);
  if (pixel >= pixels) return;
  const int window = view.kernel_height * view.kernel_width;
  const int rows = view.in_channels * window;
  const int image = static_cast<int>(blockIdx.z);
  const Window begin = window_of(view, pixel);
  const Word* from = images + static_cast<std::int64_t>(first + image) * view.in_channels *
                                  view.in_height * view.in_width;
  Word* to = columns + static_cast<std::int64_t>(image) * rows * pixels + pixel;
  const int row0 = static_cast<int>(blockIdx.y) * rows_per_block;
#pragma unroll
  for (int j = 0; j < rows_per_block; ++j) {
    const int row = row0 + j;
    if (row >= rows) return;
    const int channel = row / window;
    const int position = row - channel * window;
    const int ky = position / view.kernel_width;
    const int y = begin.y + ky * view.dilation_height;
    const int x = begin.x + (position - ky * view.kernel_width) * view.dilation_width;
    Word word = 0;
    if (static_cast<unsigned>(y) < static_cast<unsigned>(view.in_height) &&
        static_cast<unsigned>(x) < static_cast<unsigned>(view.in_width))
      word = from[(channel * view.in_height + y) * view.in_width + x];
    to[static_cast<std::int64_t>(row) * pixels] = word;
  }
}

template <class Number>
__device__ float to_float(Number number) {
  return static_cast<float>(number);
}

// One thread per input pixel; it looks which windows it was in.
template <class Number>
__global__ void __launch_bounds__(im2col_threads)
    col2im_pixel(ConvView view, const Number* __restrict__ columns, int first,
                 Number* __restrict__ images) {
  const int area = view.in_height * view.in_width;
  const int at = static_cast<int>(blockIdx.x) * im2col_threads + static_cast<int>(threadIdx.x);
  if (at >= area) return;
  const int channel = static_cast<int>(blockIdx.y);
  const int image = static_cast<int>(blockIdx.z);
  const int y = at / view.in_width + view.pad_height;
  const int x = at % view.in_width + view.pad_width;
  const std::int64_t pixels = static_cast<std::int64_t>(view.out_height) * view.out_width;
  const int window = view.kernel_height * view.kernel_width;
  const Number* from =
      columns + (static_cast<std::int64_t>(image) * view.in_channels + channel) * window * pixels;
  float sum = 0;
  for (int ky = 0; ky < view.kernel_height; ++ky) {
    const int down = y - ky * view.dilation_height;
    const int oy = down / view.stride_height;
    if (down < 0 || oy * view.stride_height != down || oy >= view.out_height) continue;
    for (int kx = 0; kx < view.kernel_width; ++kx) {
      const int right = x - kx * view.dilation_width;
      const int ox = right / view.stride_width;
      if (right < 0 || ox * view.stride_width != right || ox >= view.out_width) continue;
      sum += to_float(from[(ky * view.kernel_width + kx) * pixels + oy * view.out_width + ox]);
    }
  }
  images[(static_cast<std::int64_t>(first + image) * view.in_channels + channel) * area + at] =
      static_cast<Number>(sum);
}

template <class Word>
void launch_im2col(const ConvView& view, const void* images, int first, int count, void* columns,
                   cudaStream_t stream) {
  const int pixels = view.out_height * view.out_width;
  const int rows = view.in_channels * view.kernel_height * view.kernel_width;
  const dim3 grid(static_cast<unsigned>((pixels + im2col_threads - 1) / im2col_threads),
                  static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block),
                  static_cast<unsigned>(count));
  im2col_strip<<<grid, im2col_threads, 0, stream>>>(view, static_cast<const Word*>(images), first,
                                                    static_cast<Word*>(columns));
}

template <class Number>
void launch_col2im(const ConvView& view, const void* columns, int first, int count, void* images,
                   cudaStream_t stream) {
  const int area = view.in_height * view.in_width;
  const dim3 grid(static_cast<unsigned>((area + im2col_threads - 1) / im2col_threads),
                  static_cast<unsigned>(view.in_channels), static_cast<unsigned>(count));
  col2im_pixel<<<grid, im2col_threads, 0, stream>>>(view, static_cast<const Number*>(columns),
                                                    first, static_cast<Number*>(images));
}

}  // namespace

void im2col(const ConvView& view, DType dtype, const void* images, int first, int count,
            void* columns, cudaStream_t stream) {
  if (dtype == DType::fp32) {
    launch_im2col<std::uint32_t>(view, images, first, count, columns, stream);
  } else {
    launch_im2col<std::uint16_t>(view, images, first, count, columns, stream);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

void col2im(const ConvView& view, DType dtype, const void* columns, int first, int count,
            void* images, cudaStream_t stream) {
  if (dtype == DType::fp32) {
    launch_col2im<float>(view, columns, first, count, images, stream);
  } else if (dtype == DType::fp16) {
    launch_col2im<__half>(view, columns, first, count, images, stream);
  } else {
    launch_col2im<__nv_bfloat16>(view, columns, first, count, images, stream);
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

const void* im2col_kernel() { return reinterpret_cast<const void*>(&im2col_strip<std::uint32_t>); }
const void* col2im_kernel() { return reinterpret_cast<const void*>(&col2im_pixel<float>); }

}  // namespace strata::cuda
