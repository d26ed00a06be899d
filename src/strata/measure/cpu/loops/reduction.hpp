// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/vector_loops.hpp"
#include "strata/measure/cpu/loops/walk.hpp"

#include <algorithm>
#include <limits>

/// Reduces a tensor along some of its axes; the gradient of everything that is broadcast.
namespace strata::cpu_training {

enum class Combine : std::uint8_t { add, multiply, maximum, minimum };

template <class T>
T start_of(Combine combine) {
  switch (combine) {
    case Combine::add: return T(0);
    case Combine::multiply: return T(1);
    case Combine::maximum: return -std::numeric_limits<T>::infinity();
    case Combine::minimum: return std::numeric_limits<T>::infinity();
  }
  return T(0);
}

/// total[i] = total[i] with x[i]
template <class T>
void combine_rows(Combine combine, const T* x, T* total, std::int64_t count) {
  switch (combine) {
    case Combine::add: vector_loops<T>().add_distant_row(x, total, count); break;
    case Combine::multiply:
      for (std::int64_t i = 0; i < count; ++i) total[i] *= x[i];
      break;
    case Combine::maximum:
      for (std::int64_t i = 0; i < count; ++i) total[i] = larger_of(total[i], x[i]);
      break;
    case Combine::minimum:
      for (std::int64_t i = 0; i < count; ++i) total[i] = smaller_of(total[i], x[i]);
      break;
  }
}

template <class T>
void combine_row_into_one(Combine combine, const T* x, T* total, std::int64_t count) {
  const VectorLoops<T>& loops = vector_loops<T>();
  if (combine == Combine::add) {
    *total += loops.sum(x, count);
  } else if (combine == Combine::maximum) {
    *total = larger_of(*total, loops.maximum(x, count));
  } else {
    for (std::int64_t i = 0; i < count; ++i) combine_rows(combine, x + i, total, 1);
  }
}

/// Threads that cannot share the result's places have a copy of it each.
inline std::int64_t reduction_scratch_elements(const Workers& workers, std::int64_t results) {
  return workers.count() * results;
}

/// results = all terms combined, where operand `target` of the walk says which result a term
/// belongs to. make_adder() gives, for each part of the work, an add(offsets, length, to) that
/// combines pieces of terms with `to`, in order: with one number where the target's step is 0,
/// else number by number. Results need not be set before; scratch holds reduction_scratch_elements.
template <class T, class MakeAdder>
void reduce_parts(const Workers& workers, const Walk& walk, std::size_t target, Combine combine,
                  T* results, std::int64_t result_count, T* scratch, const MakeAdder& make_adder) {
  const auto add_pieces = [&](std::int64_t begin, std::int64_t end, T* to) {
    auto add = make_adder();
    walk.each_piece(begin, end, [&](const Walk::Offsets& offsets, std::int64_t length) {
      add(offsets, length, to + offsets[target]);
    });
  };
  const std::int64_t first = walk.first_extent();
  const std::int64_t numbers = walk.rows() * walk.row_length();
  if (first > 1 && walk.first_stride(target) != 0) {
    // The first axis stays: no two of its places have a result in common.
    const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part * first / numbers);
    workers.ranges(first, least, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t results_each = result_count / first;
      std::fill(results + begin * results_each, results + end * results_each, start_of<T>(combine));
      add_pieces(walk.pieces() / first * begin, walk.pieces() / first * end, results);
    });
    return;
  }
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / walk.piece_length());
  const std::int64_t parts = workers.parts(
      walk.pieces(), least, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
        T* const to = part == 0 ? results : scratch + part * result_count;
        std::fill(to, to + result_count, start_of<T>(combine));
        add_pieces(begin, end, to);
      });
  for (std::int64_t part = 1; part < parts; ++part) {
    combine_rows(combine, scratch + part * result_count, results, result_count);
  }
}

/// The same where row(offsets, length) gives pieces of terms, and has nothing to remember.
template <class T, class Row>
void reduce(const Workers& workers, const Walk& walk, std::size_t target, Combine combine,
            T* results, std::int64_t result_count, T* scratch, const Row& row) {
  const bool is_one = walk.step(target) == 0;
  reduce_parts(workers, walk, target, combine, results, result_count, scratch, [&] {
    return [&](const Walk::Offsets& offsets, std::int64_t length, T* to) {
      const T* const terms = row(offsets, length);
      if (is_one) {
        combine_row_into_one(combine, terms, to, length);
      } else {
        combine_rows(combine, terms, to, length);
      }
    };
  });
}

}  // namespace strata::cpu_training
