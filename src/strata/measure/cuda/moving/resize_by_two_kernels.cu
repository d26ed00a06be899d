// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/api.cuh"
#include "strata/measure/cuda/element.cuh"
#include "strata/measure/cuda/moving/resize_by_two.cuh"

#include <type_traits>

namespace strata::cuda::train {
namespace {

/// A thread takes 2 × 2 numbers of a small plane, which are 4 × 4 of the large one: a line of
/// either is a pack.
struct Squares {
  FastDivisor packs, rows;  ///< of a line, of a plane
  std::uint32_t count;
  int height;                 ///< of a small plane
  std::int64_t small, large;  ///< numbers of a plane

  explicit Squares(const ResizeRun& run)
      : packs(static_cast<std::uint32_t>(run.in[2] / 2)),
        rows(static_cast<std::uint32_t>((run.in[1] + 1) / 2)),
        count(static_cast<std::uint32_t>(run.planes * run.in[0]) * rows.divisor * packs.divisor),
        height(run.in[1]),
        small(std::int64_t{run.in[1]} * run.in[2]),
        large(4 * small) {}

  __device__ int line_packs() const { return static_cast<int>(packs.divisor); }

  /// `row`: of the small plane, where the square begins.
  struct Place {
    std::int64_t plane;
    int row, pack;
  };
  __device__ Place place(std::uint32_t n) const {
    const std::uint32_t line = packs.quotient(n), plane = rows.quotient(line);
    return {plane, 2 * static_cast<int>(line - plane * rows.divisor),
            static_cast<int>(n - line * packs.divisor)};
  }
};

__device__ inline int clamped(int at, int extent) { return at < 0 ? 0 : min(at, extent - 1); }

/// Numbers are read and written by packs, of which a line has `packs`. Counted in them, an address
/// is aligned for the compiler, too, which would else fall back to single numbers.
template <class T, int size>
__device__ void read_pack(const T* plane, int pack, Compute<T> (&numbers)[size]) {
  const Items<T, size> all = reinterpret_cast<const Items<T, size>*>(plane)[pack];
#pragma unroll
  for (int i = 0; i < size; ++i) numbers[i] = value(all.item[i]);
}
template <class T, int size>
__device__ void write_pack(T* plane, int pack, const Compute<T> (&numbers)[size]) {
  Items<T, size> all;
#pragma unroll
  for (int i = 0; i < size; ++i) all.item[i] = stored<T>(numbers[i]);
  reinterpret_cast<Items<T, size>*>(plane)[pack] = all;
}

/// With one number before and one after them. Beyond the ends of a line its last numbers are
/// repeated, which is what edges weigh in both directions.
template <class T, int size>
__device__ void read_with_neighbours(const T* plane, int row, int pack, int packs,
                                     Compute<T> (&numbers)[size + 2]) {
  Compute<T> middle[size];
  read_pack(plane, row * packs + pack, middle);
  const T* const line = plane + row * packs * size;
  numbers[0] = value(line[pack == 0 ? 0 : pack * size - 1]);
  numbers[size + 1] = value(line[pack + 1 == packs ? packs * size - 1 : (pack + 1) * size]);
#pragma unroll
  for (int i = 0; i < size; ++i) numbers[i + 1] = middle[i];
}

template <class A>
__device__ A between(A near, A far) {
  return A(0.75) * near + A(0.25) * far;
}
/// Two numbers with their neighbours become four.
template <class A>
__device__ void spread(const A (&four)[4], A (&result)[4]) {
  result[0] = between(four[1], four[0]);
  result[1] = between(four[1], four[2]);
  result[2] = between(four[2], four[1]);
  result[3] = between(four[2], four[3]);
}
/// The way back: one of the two numbers, from the four that it had a part in.
template <class A>
__device__ A gathered(const A (&six)[6], int at) {
  return between(six[2 * at + 1], six[2 * at]) + between(six[2 * at + 2], six[2 * at + 3]);
}

template <class T>
__global__ void __launch_bounds__(threads_per_block)
    spread_linearly(Squares squares, T* y, const T* x) {
  using A = Compute<T>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= squares.count) return;
  const Squares::Place place = squares.place(n);
  const T* const from = x + place.plane * squares.small;
  T* const to = y + place.plane * squares.large;
  A wide[4][4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    A line[4];
    read_with_neighbours<T, 2>(from, clamped(place.row - 1 + r, squares.height), place.pack,
                               squares.line_packs(), line);
    spread(line, wide[r]);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    if (place.row + r / 2 >= squares.height) return;
    A line[4];
#pragma unroll
    for (int c = 0; c < 4; ++c)
      line[c] = between(wide[1 + r / 2][c], wide[r % 2 == 0 ? r / 2 : 2 + r / 2][c]);
    write_pack(to, (2 * place.row + r) * squares.line_packs() + place.pack, line);
  }
}

template <class T>
__global__ void __launch_bounds__(threads_per_block)
    gather_linearly(Squares squares, T* dx, const T* dy) {
  using A = Compute<T>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= squares.count) return;
  const Squares::Place place = squares.place(n);
  const T* const from = dy + place.plane * squares.large;
  T* const to = dx + place.plane * squares.small;
  A columns[2][6];
#pragma unroll
  for (int r = 0; r < 6; ++r) {
    A line[6];
    read_with_neighbours<T, 4>(from, clamped(2 * place.row - 1 + r, 2 * squares.height), place.pack,
                               squares.line_packs(), line);
    columns[0][r] = gathered(line, 0);
    columns[1][r] = gathered(line, 1);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (place.row + r >= squares.height) return;
    const A line[2] = {gathered(columns[0], r), gathered(columns[1], r)};
    write_pack(to, (place.row + r) * squares.line_packs() + place.pack, line);
  }
}

template <class T>
__global__ void __launch_bounds__(threads_per_block)
    repeat_twice(Squares squares, T* y, const T* x) {
  using A = Compute<T>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= squares.count) return;
  const Squares::Place place = squares.place(n);
  const T* const from = x + place.plane * squares.small;
  T* const to = y + place.plane * squares.large;
  A small[2][2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = clamped(place.row + r, squares.height);
    read_pack(from, row * squares.line_packs() + place.pack, small[r]);
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    if (place.row + r / 2 >= squares.height) return;
    const A(&two)[2] = small[r / 2];
    const A line[4] = {two[0], two[0], two[1], two[1]};
    write_pack(to, (2 * place.row + r) * squares.line_packs() + place.pack, line);
  }
}

template <class T>
__global__ void __launch_bounds__(threads_per_block)
    add_squares(Squares squares, T* dx, const T* dy) {
  using A = Compute<T>;
  const std::uint32_t n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= squares.count) return;
  const Squares::Place place = squares.place(n);
  const T* const from = dy + place.plane * squares.large;
  T* const to = dx + place.plane * squares.small;
  A large[4][4];
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = clamped(2 * place.row + r, 2 * squares.height);
    read_pack(from, row * squares.line_packs() + place.pack, large[r]);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (place.row + r >= squares.height) return;
    const A(&upper)[4] = large[2 * r];
    const A(&lower)[4] = large[2 * r + 1];
    const A line[2] = {(upper[0] + upper[1]) + (lower[0] + lower[1]),
                       (upper[2] + upper[3]) + (lower[2] + lower[3])};
    write_pack(to, (place.row + r) * squares.line_packs() + place.pack, line);
  }
}

template <class F>
void with_squares(const ResizeRun& run, const F& f) {
  const Squares squares(run);
  with_element_type(run.dtype, [&](auto element) { f(element, squares); });
  STRATA_CUDA_CALL(cudaGetLastError());
}

}  // namespace

// Rows of an even length, so that all lines of a square are aligned.
bool can_resize_by_two(const ResizeRun& run, const void* small, const void* large) {
  return run.kind != ResizeKind::cubic && run.out[0] == run.in[0] && run.out[1] == 2 * run.in[1] &&
         run.out[2] == 2 * run.in[2] && run.in[2] % 2 == 0 && is_aligned(small) &&
         is_aligned(large);
}

void resize_by_two(const ResizeRun& run, void* y, const void* x, cudaStream_t stream) {
  with_squares(run, [&](auto element, const Squares& squares) {
    using T = decltype(element);
    const auto kernel = run.kind == ResizeKind::linear ? spread_linearly<T> : repeat_twice<T>;
    kernel<<<blocks_for(squares.count), threads_per_block, 0, stream>>>(squares, static_cast<T*>(y),
                                                                        static_cast<const T*>(x));
  });
}

void resize_by_two_gradient(const ResizeRun& run, void* dx, const void* dy, cudaStream_t stream) {
  with_squares(run, [&](auto element, const Squares& squares) {
    using T = decltype(element);
    const auto kernel = run.kind == ResizeKind::linear ? gather_linearly<T> : add_squares<T>;
    kernel<<<blocks_for(squares.count), threads_per_block, 0, stream>>>(
        squares, static_cast<T*>(dx), static_cast<const T*>(dy));
  });
}

}  // namespace strata::cuda::train
