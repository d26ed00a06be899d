// SPDX-License-Identifier: Apache-2.0
// Kernels that do nothing, with arguments of several sizes.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/ceilings/cuda/kernels.cuh"

namespace strata::cuda {
namespace {

template <int bytes>
struct Argument {
  unsigned char data[bytes];
};

__global__ void empty_kernel() {}

template <int bytes>
__global__ void empty_kernel_with(Argument<bytes>) {}

template <int bytes>
void launch_with(int grid, int block, cudaStream_t stream) {
  empty_kernel_with<bytes><<<grid, block, 0, stream>>>(Argument<bytes>{});
}

__global__ void spin_kernel(std::int64_t clocks) {
  const std::int64_t start = clock64();
  while (clock64() - start < clocks) {
  }
}

}  // namespace

void launch_empty(int grid, int block, int bytes_of_arguments, cudaStream_t stream) {
  switch (bytes_of_arguments) {
    case argument_bytes[0]: empty_kernel<<<grid, block, 0, stream>>>(); break;
    case argument_bytes[1]: launch_with<argument_bytes[1]>(grid, block, stream); break;
    case argument_bytes[2]: launch_with<argument_bytes[2]>(grid, block, stream); break;
    case argument_bytes[3]: launch_with<argument_bytes[3]>(grid, block, stream); break;
    default: check(cudaErrorInvalidValue, "launch_empty: a size without a kernel");
  }
  STRATA_CUDA_CALL(cudaGetLastError());
}

void spin(std::int64_t clocks, cudaStream_t stream) {
  spin_kernel<<<1, 1, 0, stream>>>(clocks);
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda
