// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/kernels/element.cuh"
#include "strata/measure/cuda/kernels/reduce.cuh"

#include <cub/device/device_segmented_reduce.cuh>
#include <cub/version.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <type_traits>

namespace strata::cuda::train {
namespace {

/// How two numbers become one.
struct Joined {
  ReduceKind kind;
  template <class A>
  __host__ __device__ A nothing() const {
    switch (kind) {
      case ReduceKind::maximum: return A(-INFINITY);
      case ReduceKind::minimum: return A(INFINITY);
      case ReduceKind::product: return A(1);
      default: return A(0);
    }
  }
  template <class A>
  __host__ __device__ A operator()(A a, A b) const {
    switch (kind) {
      case ReduceKind::maximum: return a > b ? a : b;
      case ReduceKind::minimum: return a < b ? a : b;
      case ReduceKind::product: return a * b;
      default: return a + b;
    }
  }
};

/// What is done with a result: division of a mean, root of a length, factor.
template <class T>
struct Finished {
  ReduceKind kind;
  Compute<T> length, factor;
  __device__ T operator()(Compute<T> x) const {
    if (kind == ReduceKind::mean) x /= length;
    if (kind == ReduceKind::l2) x = sqrt(x);
    return stored<T>(x * factor);
  }
};

/// The number that one place of the array contributes.
template <class T>
struct Terms {
  const T *a, *b;
  ReduceTerm term;
  bool is_squared;

  __device__ Compute<T> at(std::int64_t place) const {
    using A = Compute<T>;
    const A x = value(a[place]);
    if (is_squared) return x * x;
    if (term == ReduceTerm::number) return x;
    const A other = value(b[place]);
    if (term == ReduceTerm::product) return x * other;
    return other < A(0) ? x * other : A(0);
  }
};

// --- by CUB --------------------------------------------------------------------------------------

/// Where number `number` of a result is: any strides, or planes, of which a kernel keeps the
/// extents in registers.
struct AnyPlaces {
  IndexMap<1> kept, reduced;
  explicit AnyPlaces(const Reduction& r) : kept(r.kept.merged()), reduced(r.reduced.merged()) {}
  __device__ std::int64_t place(std::uint32_t result, std::uint32_t number) const {
    std::int64_t place = 0;
    kept.add_places(result, &place, 1);
    reduced.add_places(number, &place, 1);
    return place;
  }
};
struct PlanePlaces {
  FastDivisor inner;
  std::uint32_t channels;
  explicit PlanePlaces(const Reduction::Planes& planes)
      : inner(static_cast<std::uint32_t>(planes.inner)),
        channels(static_cast<std::uint32_t>(planes.channels)) {}
  __device__ std::int64_t place(std::uint32_t result, std::uint32_t number) const {
    const std::uint32_t row = inner.quotient(number);
    return (std::int64_t{row} * channels + result) * inner.divisor + (number - row * inner.divisor);
  }
};

/// Number i of segment (split, result), counted through all segments; those beyond the last one of
/// a result are nothing.
template <class T, class Places>
struct SegmentNumbers {
  Terms<T> terms;
  Joined joined;
  FastDivisor part, results;
  std::uint32_t length;
  Places places;

  __device__ Compute<T> operator()(std::int64_t i) const {
    const std::uint32_t segment = part.quotient(static_cast<std::uint32_t>(i));
    const std::uint32_t in_part = static_cast<std::uint32_t>(i) - segment * part.divisor;
    const std::uint32_t split = results.quotient(segment);
    const std::uint32_t number = split * part.divisor + in_part;
    if (number >= length) return joined.template nothing<Compute<T>>();
    return terms.at(places.place(segment - split * results.divisor, number));
  }
};

struct SegmentBegin {
  std::int64_t part;
  __host__ __device__ std::int64_t operator()(std::int64_t segment) const { return segment * part; }
};

template <class A, class Numbers>
void reduce_segments(const Numbers& numbers, A* output, std::int64_t segments, std::int64_t part,
                     Joined joined, void* scratch, cudaStream_t stream) {
  const auto input =
      thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0), numbers);
  const auto begin = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0),
                                                     SegmentBegin{part});
  const auto call = [&](void* temporary, std::size_t& bytes) {
    STRATA_CUDA_CALL(cub::DeviceSegmentedReduce::Reduce(
        temporary, bytes, input, output, static_cast<int>(segments), begin, begin + 1, joined,
        joined.template nothing<A>(), stream));
  };
  std::size_t bytes = 0;
  call(nullptr, bytes);
  if (bytes > 256) check(cudaErrorInvalidValue, "cub::DeviceSegmentedReduce: temporary memory");
  call(scratch, bytes);
}

// --- by kernels of our own -----------------------------------------------------------------------

template <class T>
__global__ void reduce_by_threads(Terms<T> terms, Joined joined, Finished<T> finished, T* y,
                                  IndexMap<1> kept, std::uint32_t count, IndexMap<1> reduced,
                                  std::uint32_t length) {
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= count) return;
  std::int64_t base = 0;
  kept.add_places(n, &base, 1);
  Compute<T> result = joined.template nothing<Compute<T>>();
  for (std::uint32_t r = 0; r < length; ++r) {
    std::int64_t place = base;
    reduced.add_places(r, &place, 1);
    result = joined(result, terms.at(place));
  }
  y[n] = finished(result);
}

constexpr int column_lanes = 32, column_rows = 8;

/// Block (32 columns of a batch, split): its warps take rows in turn. Leaves [split][result].
template <class T>
__global__ void __launch_bounds__(column_lanes* column_rows)
    reduce_columns(Terms<T> terms, Joined joined, Reduction::Columns array, unsigned column_blocks,
                   Compute<T>* partials) {
  using A = Compute<T>;
  __shared__ A parts[column_rows][column_lanes];
  const std::int64_t batch = blockIdx.x / column_blocks;
  const std::int64_t column = std::int64_t{blockIdx.x % column_blocks} * column_lanes + threadIdx.x;
  const std::int64_t step = std::int64_t{gridDim.y} * column_rows;
  A result = joined.template nothing<A>();
  if (column < array.columns) {
#pragma unroll 4
    for (std::int64_t row = blockIdx.y * column_rows + threadIdx.y; row < array.rows; row += step)
      result = joined(result, terms.at((batch * array.rows + row) * array.columns + column));
  }
  parts[threadIdx.y][threadIdx.x] = result;
  __syncthreads();
  if (threadIdx.y > 0 || column >= array.columns) return;
  for (int i = 1; i < column_rows; ++i) result = joined(result, parts[i][threadIdx.x]);
  partials[blockIdx.y * array.batches * array.columns + batch * array.columns + column] = result;
}

/// Joins [split][result].
template <class T>
__global__ void finish_partials(const Compute<T>* partials, std::int64_t splits,
                                std::int64_t results, Joined joined, Finished<T> finished, T* y) {
  const std::int64_t n = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n >= results) return;
  Compute<T> result = partials[n];
  for (std::int64_t i = 1; i < splits; ++i) result = joined(result, partials[i * results + n]);
  y[n] = finished(result);
}

// --- launches ------------------------------------------------------------------------------------

template <class T>
struct Launch {
  using A = Compute<T>;
  Terms<T> terms;
  Joined joined;
  Finished<T> finished;
  T* y;
  char* scratch;
  cudaStream_t stream;

  A* partials() const { return reinterpret_cast<A*>(scratch + 256); }

  void by_threads(const Reduction& r) const {
    reduce_by_threads<<<blocks_for(r.results()), threads_per_block, 0, stream>>>(
        terms, joined, finished, y, IndexMap<1>(r.kept.merged()),
        static_cast<std::uint32_t>(r.results()), IndexMap<1>(r.reduced.merged()),
        static_cast<std::uint32_t>(r.length()));
  }
  void by_columns(const Reduction& r) const {
    const unsigned column_blocks = blocks_for(r.columns->columns, column_lanes);
    const dim3 blocks(column_blocks * static_cast<unsigned>(r.columns->batches),
                      static_cast<unsigned>(r.splits()));
    reduce_columns<<<blocks, dim3(column_lanes, column_rows), 0, stream>>>(
        terms, joined, *r.columns, column_blocks, partials());
    finish(r, r.splits());
  }
  void by_cub(const Reduction& r) const {
    std::int64_t splits = r.splits();
    std::int64_t part = (r.length() + splits - 1) / splits;
    if (splits * part * r.results() >= most_mapped) {  // beyond what numbers are counted in
      splits = 1;
      part = r.length();
    }
    const auto reduce_at = [&](const auto& places) {
      const SegmentNumbers<T, std::decay_t<decltype(places)>> numbers{
          terms,
          joined,
          FastDivisor(static_cast<std::uint32_t>(part)),
          FastDivisor(static_cast<std::uint32_t>(r.results())),
          static_cast<std::uint32_t>(r.length()),
          places};
      reduce_segments(numbers, partials(), splits * r.results(), part, joined, scratch, stream);
    };
    if (r.planes) {
      reduce_at(PlanePlaces(*r.planes));
    } else {
      reduce_at(AnyPlaces(r));
    }
    finish(r, splits);
  }

 private:
  void finish(const Reduction& r, std::int64_t splits) const {
    finish_partials<<<blocks_for(r.results()), threads_per_block, 0, stream>>>(
        static_cast<const A*>(partials()), splits, r.results(), joined, finished, y);
  }
};

}  // namespace

void reduce(const ReduceRun& run, void* y, const void* a, const void* b, const Reduction& reduction,
            void* scratch, cudaStream_t stream) {
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    using A = Compute<T>;
    const Launch<T> launch{
        {static_cast<const T*>(a), static_cast<const T*>(b), run.term, run.kind == ReduceKind::l2},
        {run.kind},
        {run.kind, static_cast<A>(reduction.length()), static_cast<A>(run.factor)},
        static_cast<T*>(y),
        static_cast<char*>(scratch),
        stream};
    if (reduction.columns) {
      launch.by_columns(reduction);
    } else if (reduction.is_by_cub()) {
      launch.by_cub(reduction);
    } else {
      launch.by_threads(reduction);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

std::string cub_version_text() {
  return "CUB " + std::to_string(CUB_VERSION / 100000) + "." +
         std::to_string(CUB_VERSION / 100 % 1000);
}

}  // namespace strata::cuda::train
