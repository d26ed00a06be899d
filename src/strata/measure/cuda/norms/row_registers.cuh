// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/element.cuh"

#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <type_traits>

/// Rows that a team of threads keeps between two looks at them, so that memory is read once. For
/// nvcc only.
///
/// A block is [rows] × [team]: threadIdx.y counts its rows, threadIdx.x the threads of a row's
/// team. A team is a power of two up to a warp, and a block has several; or it is some whole warps,
/// and the block has one. A row is cut into pieces that move by one instruction, and thread t of a
/// team of n takes the pieces t, t + n, t + 2n, …: neighbours read what is neighbouring.
namespace strata::cuda::train {

// --- how threads share rows ----------------------------------------------------------------------

struct RowTeams {
  int team = 0;    ///< threads of a row; 0: it is too long
  int rows = 1;    ///< of a block
  int pieces = 0;  ///< of a thread, at most

  bool exist() const { return team > 0; }
  int threads() const { return team * rows; }
  dim3 block() const { return dim3(static_cast<unsigned>(team), static_cast<unsigned>(rows)); }
  unsigned blocks(std::int64_t all_rows) const { return blocks_for(all_rows, rows); }
};

/// What a kernel has room for: pieces of a thread, as many as are best and as there can be, and
/// threads of a block.
struct TeamLimits {
  int usual, most, threads;
};

inline constexpr int warp_threads = 32;

inline std::int64_t parts_of(std::int64_t items, std::int64_t each) {
  return (items + each - 1) / each;
}
inline std::int64_t whole_warps(std::int64_t threads) {
  return parts_of(threads, warp_threads) * warp_threads;
}

inline RowTeams teams_for(std::int64_t pieces, const TeamLimits& limits) {
  if (pieces <= warp_threads * limits.most) {
    // Eight threads read a line of 128 bytes; fewer of them would read lines in several goes.
    constexpr int line = 8, few = 2;
    int team = 1;
    while (team < warp_threads &&
           (parts_of(pieces, team) > limits.usual || (team < line && parts_of(pieces, team) > few)))
      team *= 2;
    return {team, threads_per_block / team, static_cast<int>(parts_of(pieces, team))};
  }
  std::int64_t team = whole_warps(parts_of(pieces, limits.usual));
  if (team > limits.threads / 2) team = whole_warps(parts_of(pieces, limits.most));
  if (team > limits.threads) return {};
  return {static_cast<int>(team), 1, static_cast<int>(parts_of(pieces, team))};
}

/// Pieces that fill 32 registers of a thread once they are in Compute<T>. Fewer of fp64, whose
/// functions take many registers, and of single numbers, each with an address and a condition.
template <class T, int width>
inline constexpr int most_pieces = width == 1 ? 8 : (sizeof(T) == sizeof(double) ? 4 : 32 / width);

/// For __launch_bounds__: left alone (0), the compiler would rather keep some registers of fp64
/// kernels in memory than have fewer blocks on a processor.
template <class T>
inline constexpr int least_blocks = sizeof(T) == sizeof(double) ? 1 : 0;

/// Calls `f` with how many numbers move at once.
template <class T, class F>
void with_piece_width(bool is_packed, const F& f) {
  if (is_packed) {
    f(std::integral_constant<int, Pack<T>::size>{});
  } else {
    f(std::integral_constant<int, 1>{});
  }
}

/// Calls `f` with the pieces that a kernel has registers for: the fewest that are enough.
template <int most, class F>
void with_pieces(int pieces, const F& f) {
  constexpr int few = std::max(most / 4, 1), some = std::max(most / 2, 1);
  if (pieces <= few) {
    f(std::integral_constant<int, few>{});
  } else if (pieces <= some) {
    f(std::integral_constant<int, some>{});
  } else {
    f(std::integral_constant<int, most>{});
  }
}

// --- where a thread is ---------------------------------------------------------------------------

/// The row of a thread, and how many pieces it has: none beyond the last row, where threads go on
/// for the sake of their warp.
struct RowPlace {
  std::int64_t row;
  unsigned pieces;

  __device__ RowPlace(std::int64_t rows, std::int64_t pieces_each)
      : row(std::int64_t{blockIdx.x} * blockDim.y + threadIdx.y),
        pieces(row < rows ? static_cast<unsigned>(pieces_each) : 0) {}
};

/// Piece k of a thread, counted along the row.
__device__ inline unsigned piece_at(int k) { return k * blockDim.x + threadIdx.x; }

__device__ inline unsigned thread_of_block() { return threadIdx.y * blockDim.x + threadIdx.x; }

// --- what a thread keeps -------------------------------------------------------------------------

/// Dynamic shared memory: a block's threads put there what registers have no room for.
extern __shared__ __align__(16) unsigned char beside_registers[];

/// Pieces as they are stored, in registers or in the thread's own places of shared memory, which
/// must be `bytes` in all.
template <class T, int width, int count, bool is_beside>
struct RowPieces {
  using P = Items<T, width>;
  P item[is_beside ? 1 : count];

  static constexpr int bytes(int threads) { return threads * count * static_cast<int>(sizeof(P)); }

  __device__ static P* beside(int k) {
    return reinterpret_cast<P*>(beside_registers) + k * blockDim.x * blockDim.y + thread_of_block();
  }
  __device__ void read(const T* row, unsigned pieces) {
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const P* const from = reinterpret_cast<const P*>(row) + piece_at(k);
      if constexpr (is_beside) {
        if (piece_at(k) < pieces) __pipeline_memcpy_async(beside(k), from, sizeof(P));
      } else {
        item[k] = piece_at(k) < pieces ? *from : P{};
      }
    }
    if constexpr (is_beside) __pipeline_commit();
  }
  /// Before the first piece is looked at. Nobody else looks at them.
  __device__ void wait() const {
    if constexpr (is_beside) __pipeline_wait_prior(0);
  }
  __device__ P operator[](int k) const {
    if constexpr (is_beside) {
      return *beside(k);
    } else {
      return item[k];
    }
  }
};

/// Numbers as they are computed with. Where two arrays are read, their pieces are best asked for
/// before the numbers of either are taken.
template <class T, int width, int count>
struct RowNumbers {
  using A = Compute<T>;
  A item[count][width];

  /// `elsewhere` stands for what is not in the row.
  __device__ void read(const T* row, unsigned pieces, A elsewhere) {
    RowPieces<T, width, count, false> raw;
    raw.read(row, pieces);
    take(raw, pieces, elsewhere);
  }
  __device__ void take(const RowPieces<T, width, count, false>& raw, unsigned pieces, A elsewhere) {
#pragma unroll
    for (int k = 0; k < count; ++k) {
#pragma unroll
      for (int j = 0; j < width; ++j) {
        const A number = value(raw.item[k].item[j]);
        item[k][j] = piece_at(k) < pieces ? number : elsewhere;
      }
    }
  }
  __device__ void write(T* row, unsigned pieces) const {
    using P = Items<T, width>;
#pragma unroll
    for (int k = 0; k < count; ++k) {
      if (piece_at(k) >= pieces) continue;
      P out;
#pragma unroll
      for (int j = 0; j < width; ++j) out.item[j] = stored<T>(item[k][j]);
      reinterpret_cast<P*>(row)[piece_at(k)] = out;
    }
  }
  /// f(number), of what stands elsewhere, too.
  template <class F>
  __device__ void each(F f) {
#pragma unroll
    for (int k = 0; k < count; ++k) {
#pragma unroll
      for (int j = 0; j < width; ++j) f(item[k][j]);
    }
  }
};

// --- sums over a team ----------------------------------------------------------------------------

template <class A>
struct alignas(2 * sizeof(A)) SumPair {
  A first, second;
  friend __device__ SumPair operator+(SumPair a, SumPair b) {
    return {a.first + b.first, a.second + b.second};
  }
};

template <class A>
__device__ inline A of_other_lane(A x, unsigned step) {
  return __shfl_xor_sync(~0u, x, step);
}
template <class A>
__device__ inline SumPair<A> of_other_lane(SumPair<A> x, unsigned step) {
  return {__shfl_xor_sync(~0u, x.first, step), __shfl_xor_sync(~0u, x.second, step)};
}

/// Joins lanes whose numbers are the same modulo `from` and divided by `below`, powers of two.
template <class X, class Join>
__device__ X over_lanes(X x, Join join, unsigned from, unsigned below) {
  for (unsigned step = below / 2; step >= from; step /= 2) x = join(x, of_other_lane(x, step));
  return x;
}

/// Joins what the warps of a block have, each the same in all its lanes. `parts` has 32 places, not
/// those of the call before.
template <class X, class Join>
__device__ X over_warps(X x, Join join, X nothing, X* parts) {
  const unsigned warp = thread_of_block() / warp_threads, lane = thread_of_block() % warp_threads;
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  x = lane < blockDim.x * blockDim.y / warp_threads ? parts[lane] : nothing;
  return over_lanes(x, join, 1, warp_threads);
}

/// Every thread of a team gets the result.
template <class X, class Join>
__device__ X over_team(X x, Join join, X nothing, X* parts) {
  const unsigned team = blockDim.x;
  x = over_lanes(x, join, 1, team < warp_threads ? team : warp_threads);
  return team <= warp_threads ? x : over_warps(x, join, nothing, parts);
}

/// Whether a kernel may have so much shared memory here; it is told.
template <class Kernel>
bool takes_beside_registers(Kernel kernel, int bytes) {
  int device = 0, most = 0;
  const bool is_known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess;
  if (!is_known || bytes > most) return false;
  const bool is_allowed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               bytes) == cudaSuccess;
  if (!is_allowed) cudaGetLastError();  // there is another way
  return is_allowed;
}

}  // namespace strata::cuda::train
