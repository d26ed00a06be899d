// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cuda/api.cuh"
#include "strata/measure/cuda/training/element.cuh"
#include "strata/measure/cuda/training/norms/softmax.cuh"

namespace strata::cuda::train {
namespace {

/// A row's numbers, one block each; `place(j)` is where number j stands.
template <class T>
struct Row {
  std::int64_t base, step;
  __device__ explicit Row(const SoftmaxRun& run)
      : base(blockIdx.x / run.inner * run.length * run.inner + blockIdx.x % run.inner),
        step(run.inner) {}
  __device__ std::int64_t place(std::int64_t j) const { return base + j * step; }
};

/// log Σ exp(x) of a row, read once: where a larger number comes, the sum so far shrinks.
template <class T>
__device__ Compute<T> log_sum_of(const SoftmaxRun& run, const Row<T>& row, const T* x) {
  using A = Compute<T>;
  A most = A(-INFINITY), sum = 0;
  for (std::int64_t j = threadIdx.x; j < run.length; j += blockDim.x) {
    const A v = value(x[row.place(j)]);
    if (v > most) {
      sum = sum * exp(most - v) + A(1);
      most = v;
    } else if (most > A(-INFINITY)) {
      sum += exp(v - most);
    }
  }
  const A all = over_block(most, Larger{}, A(-INFINITY));
  // A thread without numbers has nothing to add.
  sum = sum_over_block(sum > A(0) ? sum * exp(most - all) : A(0));
  return all + log(sum);
}

template <class T>
__global__ void softmax_rows(SoftmaxRun run, T* y, const T* x) {
  using A = Compute<T>;
  const Row<T> row(run);
  const A log_sum = log_sum_of(run, row, x);
  for (std::int64_t j = threadIdx.x; j < run.length; j += blockDim.x) {
    const A v = A(value(x[row.place(j)])) - log_sum;
    y[row.place(j)] = stored<T>(run.is_log ? v : exp(v));
  }
}

template <class T>
__global__ void softmax_rows_gradient(SoftmaxRun run, T* dx, const T* dy, const T* y) {
  using A = Compute<T>;
  const Row<T> row(run);
  A sum = 0;
  for (std::int64_t j = threadIdx.x; j < run.length; j += blockDim.x) {
    const A d = value(dy[row.place(j)]);
    sum += run.is_log ? d : d * A(value(y[row.place(j)]));
  }
  sum = sum_over_block(sum);
  for (std::int64_t j = threadIdx.x; j < run.length; j += blockDim.x) {
    const A d = value(dy[row.place(j)]), v = value(y[row.place(j)]);
    dx[row.place(j)] = stored<T>(run.is_log ? d - exp(v) * sum : v * (d - sum));
  }
}

template <class T>
__global__ void row_losses(SoftmaxRun run, CrossEntropyMemory memory) {
  using A = Compute<T>;
  const Row<T> row(run);
  const auto* const x = static_cast<const T*>(memory.logits);
  const A log_sum = log_sum_of(run, row, x);
  if (threadIdx.x != 0) return;
  const std::int64_t target = index_at(memory.targets, memory.targets_are_64_bit, blockIdx.x);
  if (memory.log_sums != nullptr) static_cast<A*>(memory.log_sums)[blockIdx.x] = log_sum;
  static_cast<A*>(memory.row_losses)[blockIdx.x] = log_sum - A(value(x[row.place(target)]));
}

template <class T>
__global__ void cross_entropy_rows(SoftmaxRun run, CrossEntropyMemory memory, T* dx,
                                   const T* dloss) {
  using A = Compute<T>;
  const Row<T> row(run);
  const auto* const x = static_cast<const T*>(memory.logits);
  const A log_sum = static_cast<const A*>(memory.log_sums)[blockIdx.x];
  const std::int64_t target = index_at(memory.targets, memory.targets_are_64_bit, blockIdx.x);
  const A share = A(value(*dloss)) / A(run.rows());
  for (std::int64_t j = threadIdx.x; j < run.length; j += blockDim.x) {
    const A p = exp(A(value(x[row.place(j)])) - log_sum);
    dx[row.place(j)] = stored<T>((p - (j == target ? A(1) : A(0))) * share);
  }
}

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
  const A d = (A(value(a[i])) - A(value(b[i]))) * A(2) * A(value(*dloss)) / A(count);
  if (da != nullptr) da[i] = stored<T>(d);
  if (db != nullptr) db[i] = stored<T>(-d);
}

/// Keys that a query sees.
__device__ std::int64_t seen_keys(const AttentionRows& rows, std::int64_t query) {
  if (!rows.is_causal) return rows.keys;
  const std::int64_t seen = query + rows.keys - rows.queries + 1;
  return seen < 0 ? 0 : (seen < rows.keys ? seen : rows.keys);
}

template <class T>
__global__ void attention_rows(AttentionRows rows, T* scores) {
  using A = Compute<T>;
  const std::int64_t query = blockIdx.x % rows.queries, head_batch = blockIdx.x / rows.queries;
  T* const row = scores + std::int64_t{blockIdx.x} * rows.keys;
  const std::int64_t seen = seen_keys(rows, query);
  const std::int64_t mask_base = head_batch / rows.heads * rows.mask_strides[0] +
                                 head_batch % rows.heads * rows.mask_strides[1] +
                                 query * rows.mask_strides[2];
  const auto score = [&](std::int64_t j) {
    A s = A(value(row[j])) * A(rows.scale);
    if (rows.mask != nullptr)
      s += A(value(static_cast<const T*>(rows.mask)[mask_base + j * rows.mask_strides[3]]));
    return s;
  };
  A most = A(-INFINITY);
  for (std::int64_t j = threadIdx.x; j < seen; j += blockDim.x) most = Larger{}(most, score(j));
  most = over_block(most, Larger{}, A(-INFINITY));
  A sum = 0;
  for (std::int64_t j = threadIdx.x; j < seen; j += blockDim.x) sum += exp(score(j) - most);
  sum = sum_over_block(sum);
  for (std::int64_t j = threadIdx.x; j < rows.keys; j += blockDim.x)
    row[j] = stored<T>(j < seen ? exp(score(j) - most) / sum : A(0));
}

template <class T>
__global__ void attention_rows_gradient(AttentionRows rows, T* dscores, const T* probabilities,
                                        Compute<T> factor) {
  using A = Compute<T>;
  const std::int64_t base = std::int64_t{blockIdx.x} * rows.keys;
  A sum = 0;
  for (std::int64_t j = threadIdx.x; j < rows.keys; j += blockDim.x)
    sum += A(value(dscores[base + j])) * A(value(probabilities[base + j]));
  sum = sum_over_block(sum);
  for (std::int64_t j = threadIdx.x; j < rows.keys; j += blockDim.x) {
    const A p = value(probabilities[base + j]);
    dscores[base + j] = stored<T>(p * (A(value(dscores[base + j])) - sum) * factor);
  }
}

int threads_for(std::int64_t length) {
  int threads = 32;
  while (threads < length / 4 && threads < 512) threads *= 2;
  return threads;
}

}  // namespace

void softmax(const SoftmaxRun& run, void* y, const void* x, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    softmax_rows<<<static_cast<unsigned>(run.rows()), threads_for(run.length), 0, stream>>>(
        run, static_cast<T*>(y), static_cast<const T*>(x));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void softmax_gradient(const SoftmaxRun& run, void* dx, const void* dy, const void* y,
                      cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    softmax_rows_gradient<<<static_cast<unsigned>(run.rows()), threads_for(run.length), 0,
                            stream>>>(run, static_cast<T*>(dx), static_cast<const T*>(dy),
                                      static_cast<const T*>(y));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void cross_entropy(const SoftmaxRun& run, const CrossEntropyMemory& memory, void* loss,
                   cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    row_losses<T>
        <<<static_cast<unsigned>(run.rows()), threads_for(run.length), 0, stream>>>(run, memory);
    mean_of<<<1, 1024, 0, stream>>>(static_cast<T*>(loss),
                                    static_cast<const Compute<T>*>(memory.row_losses), run.rows(),
                                    static_cast<Compute<T>>(run.rows()));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void cross_entropy_gradient(const SoftmaxRun& run, const CrossEntropyMemory& memory, void* dx,
                            const void* dloss, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    cross_entropy_rows<<<static_cast<unsigned>(run.rows()), threads_for(run.length), 0, stream>>>(
        run, memory, static_cast<T*>(dx), static_cast<const T*>(dloss));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void squared_error(void* loss, const void* a, const void* b, std::int64_t count, DType dtype,
                   void* partials, cudaStream_t stream) {
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    squares<<<squared_error_partials, threads_per_block, 0, stream>>>(
        static_cast<A*>(partials), static_cast<const T*>(a), static_cast<const T*>(b), count);
    mean_of<<<1, 1024, 0, stream>>>(static_cast<T*>(loss), static_cast<const A*>(partials),
                                    squared_error_partials, static_cast<A>(count));
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

void attention_softmax(const AttentionRows& rows, void* scores, cudaStream_t stream) {
  with_element_type(rows.dtype, [&](auto element) {
    using T = decltype(element);
    attention_rows<<<static_cast<unsigned>(rows.batch * rows.heads * rows.queries),
                     threads_for(rows.keys), 0, stream>>>(rows, static_cast<T*>(scores));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void attention_softmax_gradient(const AttentionRows& rows, void* dscores, const void* probabilities,
                                bool is_scaled, cudaStream_t stream) {
  with_element_type(rows.dtype, [&](auto element) {
    using T = decltype(element);
    attention_rows_gradient<<<static_cast<unsigned>(rows.batch * rows.heads * rows.queries),
                              threads_for(rows.keys), 0, stream>>>(
        rows, static_cast<T*>(dscores), static_cast<const T*>(probabilities),
        static_cast<Compute<T>>(is_scaled ? rows.scale : 1));
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
