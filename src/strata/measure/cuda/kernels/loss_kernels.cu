// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/softmax_rows.cuh"

namespace strata::cuda::train {
namespace {

/// One block adds what others left.
template <class T>
__global__ void mean_of(T* result, const Compute<T>* parts, std::int64_t count,
                        Compute<T> divisor) {
  Compute<T> sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += parts[i];
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) *result = stored<T>(sum / divisor);
}

template <class T>
void launch_mean(T* result, const Compute<T>* parts, std::int64_t count, std::int64_t divisor,
                 cudaStream_t stream) {
  mean_of<<<1, 1024, 0, stream>>>(result, parts, count, static_cast<Compute<T>>(divisor));
}

// --- cross entropy -------------------------------------------------------------------------------

/// log Σ exp(x) − x of the target.
template <class T, bool is_block>
__device__ void loss_of_row(const SoftmaxRun& run, const RowWalk& walk,
                            const CrossEntropyMemory& memory) {
  using A = Compute<T>;
  const auto* const x = static_cast<const T*>(memory.logits);
  ExpSum<A> sum;
  walk.each(run.length, [&](std::int64_t at, std::int64_t) { sum.add(A(value(x[at]))); });
  if constexpr (is_block) sum = over_block(sum);
  if (is_block && threadIdx.x > 0) return;
  const std::int64_t target = index_at(memory.targets, memory.targets_are_64_bit, walk.row);
  const A log_sum = sum.log_sum();
  if (memory.log_sums != nullptr) static_cast<A*>(memory.log_sums)[walk.row] = log_sum;
  static_cast<A*>(memory.row_losses)[walk.row] =
      log_sum - A(value(x[walk.base + target * walk.inner]));
}

/// (softmax − 1 at the target) × dloss / rows.
template <class T>
__device__ void gradient_of_row(const SoftmaxRun& run, const RowWalk& walk,
                                const CrossEntropyMemory& memory, T* dx, const T* dloss) {
  using A = Compute<T>;
  const auto* const x = static_cast<const T*>(memory.logits);
  const std::int64_t target = index_at(memory.targets, memory.targets_are_64_bit, walk.row);
  const A log_sum = static_cast<const A*>(memory.log_sums)[walk.row];
  const A share = A(value(*dloss)) / A(run.rows());
  walk.each(run.length, [&](std::int64_t at, std::int64_t j) {
    const A probability = exp(A(value(x[at])) - log_sum);
    dx[at] = stored<T>((probability - (j == target ? A(1) : A(0))) * share);
  });
}

template <class T>
__global__ void losses_of_blocks(SoftmaxRun run, CrossEntropyMemory memory) {
  loss_of_row<T, true>(run, RowWalk::of_block(run), memory);
}
template <class T>
__global__ void losses_of_threads(SoftmaxRun run, CrossEntropyMemory memory) {
  const RowWalk walk = RowWalk::of_thread(run);
  if (walk.is_there) loss_of_row<T, false>(run, walk, memory);
}
template <class T>
__global__ void loss_gradients_of_blocks(SoftmaxRun run, CrossEntropyMemory memory, T* dx,
                                         const T* dloss) {
  gradient_of_row(run, RowWalk::of_block(run), memory, dx, dloss);
}
template <class T>
__global__ void loss_gradients_of_threads(SoftmaxRun run, CrossEntropyMemory memory, T* dx,
                                          const T* dloss) {
  const RowWalk walk = RowWalk::of_thread(run);
  if (walk.is_there) gradient_of_row(run, walk, memory, dx, dloss);
}

// --- squared error -------------------------------------------------------------------------------

template <class T>
__global__ void squares(Compute<T>* partials, const T* a, const T* b, std::int64_t count) {
  using A = Compute<T>;
  A sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const A d = A(value(a[i])) - A(value(b[i]));
    sum += d * d;
  }
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

template <class T>
__global__ void squares_gradient(T* da, T* db, const T* a, const T* b, const T* dloss,
                                 std::int64_t count) {
  using A = Compute<T>;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const A share = A(2) * A(value(*dloss)) / A(count);
  const A d = (A(value(a[i])) - A(value(b[i]))) * share;
  if (da != nullptr) da[i] = stored<T>(d);
  if (db != nullptr) db[i] = stored<T>(-d);
}

}  // namespace

void cross_entropy(const SoftmaxRun& run, const CrossEntropyMemory& memory, void* loss,
                   cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    if (run.inner == 1) {
      losses_of_blocks<T>
          <<<static_cast<unsigned>(run.outer), softmax_threads(run.length), 0, stream>>>(run,
                                                                                         memory);
    } else {
      losses_of_threads<T><<<blocks_for(run.rows()), threads_per_block, 0, stream>>>(run, memory);
    }
    launch_mean(static_cast<T*>(loss), static_cast<const Compute<T>*>(memory.row_losses),
                run.rows(), run.rows(), stream);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void cross_entropy_gradient(const SoftmaxRun& run, const CrossEntropyMemory& memory, void* dx,
                            const void* dloss, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const to = static_cast<T*>(dx);
    const auto* const of_loss = static_cast<const T*>(dloss);
    if (run.inner == 1) {
      loss_gradients_of_blocks<<<static_cast<unsigned>(run.outer), softmax_threads(run.length), 0,
                                 stream>>>(run, memory, to, of_loss);
    } else {
      loss_gradients_of_threads<<<blocks_for(run.rows()), threads_per_block, 0, stream>>>(
          run, memory, to, of_loss);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void squared_error(void* loss, const void* a, const void* b, std::int64_t count, DType dtype,
                   void* partials, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    auto* const sums = static_cast<Compute<T>*>(partials);
    squares<<<squared_error_partials, threads_per_block, 0, stream>>>(
        sums, static_cast<const T*>(a), static_cast<const T*>(b), count);
    launch_mean(static_cast<T*>(loss), static_cast<const Compute<T>*>(sums), squared_error_partials,
                count, stream);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void squared_error_gradient(void* da, void* db, const void* a, const void* b, const void* dloss,
                            std::int64_t count, DType dtype, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    squares_gradient<<<blocks_for(count), threads_per_block, 0, stream>>>(
        static_cast<T*>(da), static_cast<T*>(db), static_cast<const T*>(a),
        static_cast<const T*>(b), static_cast<const T*>(dloss), count);
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
