// SPDX-License-Identifier: Apache-2.0
// Rows are kept in registers, so that each is read once: mean, then squared differences to it, then
// results. Longer ones than fit there are read twice.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/index_map.cuh"
#include "strata/measure/cuda/norms/normalization.cuh"
#include "strata/measure/cuda/norms/row_registers.cuh"

namespace strata::cuda::train {
namespace {

template <class T>
struct NormArrays {
  const T *x, *scale, *shift;
  T* y;
  Compute<T>* statistics;

  explicit NormArrays(const RowNormMemory& memory)
      : x(static_cast<const T*>(memory.x)),
        scale(static_cast<const T*>(memory.scale)),
        shift(static_cast<const T*>(memory.shift)),
        y(static_cast<T*>(memory.y)),
        statistics(static_cast<Compute<T>*>(memory.statistics)) {}
};

/// Scales and shifts as they belong to the pieces of a row.
template <class T, int width, bool is_by_number>
struct RowWeights {
  using A = Compute<T>;
  const T *scale, *shift;
  FastDivisor entry_pieces;  ///< of an entry; where every number has its own, of nothing

  __device__ RowWeights(const RowNorm& norm, const NormArrays<T>& arrays, FastDivisor pieces,
                        std::int64_t row)
      : scale(arrays.scale), shift(arrays.shift), entry_pieces(pieces) {
    const std::int64_t first = row % norm.groups * (norm.length / norm.inner);
    if (scale != nullptr) scale += first;
    if (shift != nullptr) shift += first;
  }
  /// numbers = numbers × scale + shift
  __device__ void apply(A (&numbers)[width], unsigned piece) const {
    A factors[width], offsets[width];
    read(scale, piece, A(1), factors);
    read(shift, piece, A(0), offsets);
#pragma unroll
    for (int j = 0; j < width; ++j) numbers[j] = numbers[j] * factors[j] + offsets[j];
  }

 private:
  __device__ void read(const T* weights, unsigned piece, A absent, A (&to)[width]) const {
    if (weights == nullptr) {
#pragma unroll
      for (int j = 0; j < width; ++j) to[j] = absent;
    } else if constexpr (is_by_number) {
      const auto from = reinterpret_cast<const Items<T, width>*>(weights)[piece];
#pragma unroll
      for (int j = 0; j < width; ++j) to[j] = value(from.item[j]);
    } else {
      const A one = value(weights[entry_pieces.quotient(piece)]);
#pragma unroll
      for (int j = 0; j < width; ++j) to[j] = one;
    }
  }
};

/// Mean and 1/deviation.
template <class A>
struct RowStatistics {
  A mean, r;

  template <class T>
  __device__ void leave(const NormArrays<T>& arrays, std::int64_t row) const {
    if (arrays.statistics == nullptr) return;
    arrays.statistics[2 * row] = mean;
    arrays.statistics[2 * row + 1] = r;
  }
};

template <class T, int width, int count, bool is_by_number>
__device__ void finish_row(RowNumbers<T, width, count>& numbers, T* to, unsigned first,
                           unsigned pieces, RowStatistics<Compute<T>> of_row,
                           const RowWeights<T, width, is_by_number>& weights) {
#pragma unroll
  for (int k = 0; k < count; ++k) {
    if (first + piece_at(k) >= pieces) continue;
#pragma unroll
    for (int j = 0; j < width; ++j)
      numbers.item[k][j] = (numbers.item[k][j] - of_row.mean) * of_row.r;
    weights.apply(numbers.item[k], first + piece_at(k));
  }
  numbers.write(to + std::int64_t{first} * width, pieces - first);
}

template <class T, int width, int count, bool is_by_number>
__global__ void __launch_bounds__(1024, least_blocks<T>)
    normalize_rows(RowNorm norm, FastDivisor entry_pieces, NormArrays<T> arrays) {
  using A = Compute<T>;
  __shared__ A parts[2][warp_threads];
  const RowPlace place(norm.rows, norm.length / width);
  RowNumbers<T, width, count> numbers;
  numbers.read(arrays.x + place.row * norm.length, place.pieces, A(0));
  RowStatistics<A> of_row{0, 0};
  if (norm.takes_mean) {
    A sum = 0;
    numbers.each([&](A x) { sum += x; });
    of_row.mean = over_team(sum, Sum{}, A(0), parts[0]) / A(norm.length);
  }
  A squares = 0;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    if (piece_at(k) >= place.pieces) continue;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      const A d = numbers.item[k][j] - of_row.mean;
      squares += d * d;
    }
  }
  squares = over_team(squares, Sum{}, A(0), parts[1]);
  of_row.r = rsqrt(squares / A(norm.length) + A(norm.epsilon));
  if (place.pieces == 0) return;
  if (threadIdx.x == 0) of_row.leave(arrays, place.row);
  finish_row(numbers, arrays.y + place.row * norm.length, 0, place.pieces, of_row,
             RowWeights<T, width, is_by_number>(norm, arrays, entry_pieces, place.row));
}

// --- rows that are too long for registers --------------------------------------------------------

/// Of some numbers: how many, their mean and the sum of squared differences to it. Two of them make
/// one (Chan, Golub and LeVeque), as exact as two walks would be.
template <class A>
struct Spread {
  A count = 0, mean = 0, squares = 0;

  __device__ void add(const Spread& other) {
    if (other.count == A(0)) return;
    const A all = count + other.count, between = other.mean - mean;
    mean += between * (other.count / all);
    squares += other.squares + between * between * (count * other.count / all);
    count = all;
  }
};

/// Of what a thread read. Without a mean, differences are to 0.
template <class T, int width, int count>
__device__ Spread<Compute<T>> spread_of(const RowNumbers<T, width, count>& numbers, unsigned pieces,
                                        bool takes_mean) {
  using A = Compute<T>;
  Spread<A> spread;
  A sum = 0;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    if (piece_at(k) < pieces) spread.count += A(width);
#pragma unroll
    for (int j = 0; j < width; ++j) sum += numbers.item[k][j];
  }
  if (takes_mean && spread.count > A(0)) spread.mean = sum / spread.count;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    if (piece_at(k) >= pieces) continue;
#pragma unroll
    for (int j = 0; j < width; ++j) {
      const A d = numbers.item[k][j] - spread.mean;
      spread.squares += d * d;
    }
  }
  return spread;
}

constexpr int long_row_threads = 512;

template <class T, int width, bool is_by_number>
__global__ void __launch_bounds__(long_row_threads, least_blocks<T>)
    normalize_long_rows(RowNorm norm, FastDivisor entry_pieces, NormArrays<T> arrays) {
  using A = Compute<T>;
  constexpr int count = most_pieces<T, width> / 2;
  __shared__ A parts[2][warp_threads];
  const RowPlace place(norm.rows, norm.length / width);
  const T* const from = arrays.x + place.row * norm.length;
  RowNumbers<T, width, count> numbers;
  Spread<A> mine;
  for (unsigned first = 0; first < place.pieces; first += count * blockDim.x) {
    numbers.read(from + std::int64_t{first} * width, place.pieces - first, A(0));
    mine.add(spread_of(numbers, place.pieces - first, norm.takes_mean));
  }
  RowStatistics<A> of_row;
  of_row.mean = over_team(mine.count * mine.mean, Sum{}, A(0), parts[0]) / A(norm.length);
  const A between = mine.mean - of_row.mean;
  const A squares = over_team(mine.squares + mine.count * between * between, Sum{}, A(0), parts[1]);
  of_row.r = rsqrt(squares / A(norm.length) + A(norm.epsilon));
  if (threadIdx.x == 0) of_row.leave(arrays, place.row);
  const RowWeights<T, width, is_by_number> weights(norm, arrays, entry_pieces, place.row);
  for (unsigned first = 0; first < place.pieces; first += count * blockDim.x) {
    numbers.read(from + std::int64_t{first} * width, place.pieces - first, A(0));
    finish_row(numbers, arrays.y + place.row * norm.length, first, place.pieces, of_row, weights);
  }
}

// --- launches ------------------------------------------------------------------------------------

template <class T, int width, bool is_by_number>
void launch_row_norm(const RowNorm& norm, const NormArrays<T>& arrays, cudaStream_t stream) {
  constexpr int most = most_pieces<T, width>;
  const FastDivisor entry_pieces(static_cast<std::uint32_t>(is_by_number ? 1 : norm.inner / width));
  const RowTeams teams = teams_for(norm.length / width, {most / 2, most, 1024});
  if (!teams.exist()) {
    normalize_long_rows<T, width, is_by_number>
        <<<static_cast<unsigned>(norm.rows), long_row_threads, 0, stream>>>(norm, entry_pieces,
                                                                            arrays);
    return;
  }
  with_pieces<most>(teams.pieces, [&](auto count) {
    normalize_rows<T, width, count.value, is_by_number>
        <<<teams.blocks(norm.rows), teams.block(), 0, stream>>>(norm, entry_pieces, arrays);
  });
}

}  // namespace

void row_norm(const RowNorm& norm, const RowNormMemory& memory, cudaStream_t stream) {
  with_element_type(norm.dtype, [&](auto element) {
    using T = decltype(element);
    constexpr int width = Pack<T>::size;
    const NormArrays<T> arrays(memory);
    const bool is_whole = norm.length % width == 0 && is_aligned(memory.x) && is_aligned(memory.y);
    if (is_whole && norm.inner == 1 && is_aligned(memory.scale) && is_aligned(memory.shift)) {
      launch_row_norm<T, width, true>(norm, arrays, stream);
    } else if (is_whole && norm.inner % width == 0) {
      launch_row_norm<T, width, false>(norm, arrays, stream);
    } else {
      launch_row_norm<T, 1, false>(norm, arrays, stream);
    }
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
