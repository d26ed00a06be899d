// SPDX-License-Identifier: Apache-2.0
// Rows that lie in one piece are kept in registers, so that each is read once; longer ones than
// fit there are read twice.
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/norms/softmax.cuh"
#include "strata/measure/cuda/norms/softmax_sums.cuh"

namespace strata::cuda::train {
namespace {

template <class T, int width, int count>
__global__ void __launch_bounds__(1024) softmax_rows(SoftmaxRun run, T* y, const T* x) {
  using A = Compute<T>;
  __shared__ A parts[2][warp_threads];
  const RowPlace place(run.outer, run.length / width);
  RowNumbers<T, width, count> numbers;
  numbers.read(x + place.row * run.length, place.pieces, A(-INFINITY));
  A most = A(-INFINITY);
  numbers.each([&](A v) { most = Larger{}(most, v); });
  most = over_team(most, Larger{}, A(-INFINITY), parts[0]);
  A sum = 0;
  numbers.each([&](A& v) {
    const A below = v - most, e = exp(below);
    sum += e;
    v = run.is_log ? below : e;
  });
  sum = over_team(sum, Sum{}, A(0), parts[1]);
  if (run.is_log) {
    const A log_sum = log(sum);
    numbers.each([&](A& v) { v -= log_sum; });
  } else {
    const A share = A(1) / sum;
    numbers.each([&](A& v) { v *= share; });
  }
  numbers.write(y + place.row * run.length, place.pieces);
}

/// With `is_beside`, dy is in shared memory: registers have room for one of two long rows.
template <class T, int width, int count, bool is_beside>
__global__ void __launch_bounds__(is_beside ? 1024 : 512, least_blocks<T>)
    softmax_rows_gradient(SoftmaxRun run, T* dx, const T* dy, const T* y) {
  using A = Compute<T>;
  using P = Items<T, width>;
  __shared__ A parts[warp_threads];
  const RowPlace place(run.outer, run.length / width);
  const std::int64_t row = place.row * run.length;
  RowPieces<T, width, count, is_beside> d;
  RowPieces<T, width, count, false> v;
  d.read(dy + row, place.pieces);
  v.read(y + row, place.pieces);
  d.wait();
  A sum = 0;
#pragma unroll
  for (int k = 0; k < count; ++k) {
    if (piece_at(k) >= place.pieces) continue;
    const P dk = d[k], vk = v[k];
#pragma unroll
    for (int j = 0; j < width; ++j)
      sum += A(value(dk.item[j])) * (run.is_log ? A(1) : A(value(vk.item[j])));
  }
  sum = over_team(sum, Sum{}, A(0), parts);
  with_slope<A>(run.is_log, [&](auto slope) {
#pragma unroll
    for (int k = 0; k < count; ++k) {
      if (piece_at(k) >= place.pieces) continue;
      const P dk = d[k], vk = v[k];
      P out;
#pragma unroll
      for (int j = 0; j < width; ++j)
        out.item[j] = stored<T>(slope(A(value(dk.item[j])), A(value(vk.item[j])), sum));
      reinterpret_cast<P*>(dx + row)[piece_at(k)] = out;
    }
  });
}

// --- rows that are too long for registers --------------------------------------------------------

constexpr int long_row_threads = 512;

template <class T, int width>
__global__ void __launch_bounds__(long_row_threads, least_blocks<T>)
    softmax_long_rows(SoftmaxRun run, T* y, const T* x) {
  using A = Compute<T>;
  using P = Items<T, width>;
  constexpr int count = most_pieces<T, width> / 2;
  __shared__ A parts[2][warp_threads];
  const RowPlace place(run.outer, run.length / width);
  const P* const from = reinterpret_cast<const P*>(x + place.row * run.length);
  P* const to = reinterpret_cast<P*>(y + place.row * run.length);
  const ExpSum<A> sum = exp_sum_of_row<count>(from, place.pieces, parts);
  const A log_sum = log(sum.sum);
  for (unsigned first = 0; first < place.pieces; first += count * blockDim.x) {
    RowNumbers<T, width, count> numbers;
    numbers.read(from[first].item, place.pieces - first, A(0));
    numbers.each([&](A& v) {
      v = v - sum.most - log_sum;
      if (!run.is_log) v = exp(v);
    });
    numbers.write(to[first].item, place.pieces - first);
  }
}

template <class T, int width>
__global__ void __launch_bounds__(long_row_threads, least_blocks<T>)
    softmax_long_rows_gradient(SoftmaxRun run, T* dx, const T* dy, const T* y) {
  using A = Compute<T>;
  constexpr int count = most_pieces<T, width> / 2;
  __shared__ A parts[warp_threads];
  const RowPlace place(run.outer, run.length / width);
  const std::int64_t row = place.row * run.length;
  RowNumbers<T, width, count> d, v;
  const auto read = [&](unsigned first) {
    const std::int64_t at = row + std::int64_t{first} * width;
    RowPieces<T, width, count, false> d_pieces, v_pieces;
    d_pieces.read(dy + at, place.pieces - first);
    v_pieces.read(y + at, place.pieces - first);
    d.take(d_pieces, place.pieces - first, A(0));
    v.take(v_pieces, place.pieces - first, A(0));
  };
  A sum = 0;
  for (unsigned first = 0; first < place.pieces; first += count * blockDim.x) {
    read(first);
#pragma unroll
    for (int k = 0; k < count; ++k) {
#pragma unroll
      for (int j = 0; j < width; ++j) sum += d.item[k][j] * (run.is_log ? A(1) : v.item[k][j]);
    }
  }
  sum = over_team(sum, Sum{}, A(0), parts);
  with_slope<A>(run.is_log, [&](auto slope) {
    for (unsigned first = 0; first < place.pieces; first += count * blockDim.x) {
      read(first);
#pragma unroll
      for (int k = 0; k < count; ++k) {
#pragma unroll
        for (int j = 0; j < width; ++j) d.item[k][j] = slope(d.item[k][j], v.item[k][j], sum);
      }
      d.write(dx + row + std::int64_t{first} * width, place.pieces - first);
    }
  });
}

// --- launches ------------------------------------------------------------------------------------

template <class T, int width>
void launch_softmax(const SoftmaxRun& run, T* y, const T* x, cudaStream_t stream) {
  constexpr int most = most_pieces<T, width>;
  const RowTeams teams = teams_for(run.length / width, {most / 2, most, 1024});
  if (!teams.exist()) {
    softmax_long_rows<T, width>
        <<<static_cast<unsigned>(run.outer), long_row_threads, 0, stream>>>(run, y, x);
    return;
  }
  with_pieces<most>(teams.pieces, [&](auto count) {
    softmax_rows<T, width, count.value>
        <<<teams.blocks(run.outer), teams.block(), 0, stream>>>(run, y, x);
  });
}

/// Rows of which one tensor is beside the registers; false: they are too long for that, too.
template <class T>
bool launch_gradient_beside(const SoftmaxRun& run, T* dx, const T* dy, const T* y,
                            cudaStream_t stream) {
  constexpr int width = Pack<T>::size, most = most_pieces<T, width>;
  const RowTeams teams = teams_for(run.length / width, {most, most, 1024});
  if (!teams.exist()) return false;
  const auto kernel = softmax_rows_gradient<T, width, most, true>;
  const int bytes = RowPieces<T, width, most, true>::bytes(teams.threads());
  if (!takes_beside_registers(kernel, bytes)) return false;
  kernel<<<teams.blocks(run.outer), teams.block(), static_cast<unsigned>(bytes), stream>>>(run, dx,
                                                                                           dy, y);
  return true;
}

template <class T, int width>
void launch_gradient(const SoftmaxRun& run, T* dx, const T* dy, const T* y, cudaStream_t stream) {
  constexpr int most = most_pieces<T, width>;
  const RowTeams teams = teams_for(run.length / width, {most / 2, most, 512});
  if (teams.exist()) {
    with_pieces<most>(teams.pieces, [&](auto count) {
      softmax_rows_gradient<T, width, count.value, false>
          <<<teams.blocks(run.outer), teams.block(), 0, stream>>>(run, dx, dy, y);
    });
    return;
  }
  if constexpr (width > 1) {
    if (launch_gradient_beside(run, dx, dy, y, stream)) return;
  }
  softmax_long_rows_gradient<T, width>
      <<<static_cast<unsigned>(run.outer), long_row_threads, 0, stream>>>(run, dx, dy, y);
}

template <class T>
bool is_packed(const SoftmaxRun& run) {
  return run.length % Pack<T>::size == 0;
}

}  // namespace

void softmax(const SoftmaxRun& run, void* y, const void* x, cudaStream_t stream) {
  if (run.inner > 1) return channel_softmax(run, y, x, stream);
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    with_piece_width<T>(is_packed<T>(run) && is_aligned(x) && is_aligned(y), [&](auto width) {
      launch_softmax<T, width.value>(run, static_cast<T*>(y), static_cast<const T*>(x), stream);
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

void softmax_gradient(const SoftmaxRun& run, void* dx, const void* dy, const void* y,
                      cudaStream_t stream) {
  if (run.inner > 1) return channel_softmax_gradient(run, dx, dy, y, stream);
  with_element_type(run.dtype, [&](auto element) {
    using T = decltype(element);
    const bool is_whole = is_packed<T>(run) && is_aligned(dx) && is_aligned(dy) && is_aligned(y);
    with_piece_width<T>(is_whole, [&](auto width) {
      launch_gradient<T, width.value>(run, static_cast<T*>(dx), static_cast<const T*>(dy),
                                      static_cast<const T*>(y), stream);
    });
  });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace strata::cuda::train
