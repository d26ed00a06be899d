// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/elements/elementwise_plan.hpp"
#include "strata/measure/cpu/elements/row_operand.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace strata::cpu_training {
namespace {

/// y = f(a, b) by vectors, where those are written. One of both may be the same for many rows: it
/// is in a cache.
template <class T, class F>
void combine_vectors(const T* a, const T* b, T* y, std::int64_t count, bool is_a_near,
                     bool is_b_near, F f) {
  const auto each = [=](auto load_a, auto load_b) {
    numbers_of<T>(count, [=](auto at) {
      typename decltype(at)::Number p, q;
      load_a(at, p, a);
      load_b(at, q, b);
      at.store(f(p, q), y);
    });
  };
  const auto load = [](auto at, auto& to, const T* from) { at.load(to, from); };
  const auto load_near = [](auto at, auto& to, const T* from) { at.load_near(to, from); };
  if (is_a_near) return each(load_near, load);
  is_b_near ? each(load, load_near) : each(load, load);
}

template <class T>
void combine_two(ElementwiseKind kind, const T* a, const T* b, T* y, std::int64_t count,
                 bool is_a_near = false, bool is_b_near = false) {
  const auto each = [&](auto f) {
    while_asking(
        count,
        [=](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) y[i] = f(a[i], b[i]);
        },
        a, b);
  };
  const auto by_vectors = [&](auto f) {
    if (!is_a_near && !is_b_near) return each(f);
    combine_vectors(a, b, y, count, is_a_near, is_b_near, f);
  };
  switch (kind) {
    case ElementwiseKind::add:
    case ElementwiseKind::mean: return by_vectors([](auto p, auto q) { return p + q; });
    case ElementwiseKind::subtract: return by_vectors([](auto p, auto q) { return p - q; });
    case ElementwiseKind::multiply: return by_vectors([](auto p, auto q) { return p * q; });
    case ElementwiseKind::divide: return each([](T p, T q) { return p / q; });
    case ElementwiseKind::power: return each([](T p, T q) { return std::pow(p, q); });
    case ElementwiseKind::maximum: return each([](T p, T q) { return p > q ? p : q; });
    case ElementwiseKind::minimum: return each([](T p, T q) { return p < q ? p : q; });
    case ElementwiseKind::modulo: return each([](T p, T q) { return p - q * std::floor(p / q); });
    case ElementwiseKind::equal: return each([](T p, T q) { return p == q ? T(1) : T(0); });
    case ElementwiseKind::greater: return each([](T p, T q) { return p > q ? T(1) : T(0); });
    case ElementwiseKind::less: return each([](T p, T q) { return p < q ? T(1) : T(0); });
    case ElementwiseKind::logical_and:
      return each([](T p, T q) { return p != T(0) && q != T(0) ? T(1) : T(0); });
    case ElementwiseKind::logical_or:
      return each([](T p, T q) { return p != T(0) || q != T(0) ? T(1) : T(0); });
    case ElementwiseKind::select: break;  // has three operands
  }
}

// Inputs first … end are added to what is there, or begin it. The walk's operand 0 is the output.
template <class T>
void fold(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m,
          std::size_t first, std::size_t end) {
  std::vector<Sizes> strides = {strides_of(plan.shape)};
  strides.insert(strides.end(), plan.strides.begin() + static_cast<std::ptrdiff_t>(first),
                 plan.strides.begin() + static_cast<std::ptrdiff_t>(end));
  const Walk walk(plan.shape, strides);
  const bool is_plain = plan.result_type == dtype_of<T>();
  const bool is_last = end == plan.types.size();
  const T share = T(1) / static_cast<T>(plan.types.size());
  const bool is_beyond = plan.is_beyond && first == 0 && is_last;
  each_result_piece<T>(walk, workers, is_plain ? real<T>(m.outputs[0]) : nullptr, 0, is_beyond,
                       [&](const Walk::Offsets& at, std::int64_t length, T* result) {
                         PieceBuffer<T> room_a, room_b, room_y;
                         const auto piece = [&](std::size_t i, PieceBuffer<T>& room) {
                           return piece_of(plan.source(m, i), at[i - first + 1],
                                           walk.step(i - first + 1), length, room);
                         };
                         T* const y = is_plain ? result : room_y.data();
                         const T* so_far = first == 0 ? piece(0, room_a) : y;
                         for (std::size_t i = first == 0 ? 1 : first; i < end; ++i) {
                           combine_two(plan.kind, so_far, piece(i, room_b), y, length);
                           so_far = y;
                         }
                         if (plan.kind == ElementwiseKind::mean && is_last) {
                           for (std::int64_t i = 0; i < length; ++i) y[i] *= share;
                         }
                         if (!is_plain) write_row(plan.result_type, m.outputs[0], at[0], length, y);
                       });
}

/// y = a·x + b, where one of two operands is the same number all along a row; none for other kinds.
template <class T>
struct RowLine {
  T a, b;
};
template <class T>
std::optional<RowLine<T>> line_of(ElementwiseKind kind, T same, bool is_same_first) {
  switch (kind) {
    case ElementwiseKind::add: return RowLine<T>{T(1), same};
    case ElementwiseKind::subtract:
      return is_same_first ? RowLine<T>{T(-1), same} : RowLine<T>{T(1), -same};
    case ElementwiseKind::multiply: return RowLine<T>{same, T(0)};
    default: return {};
  }
}

/// Of two operands one is whole, the other a row of it, where vectors are written.
template <class T>
bool run_with_row(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m) {
  if constexpr (writes_vectors<T>) {
    const std::size_t near = plan.is_repeated(0) ? 0 : 1, whole = 1 - near;
    const std::int64_t rows = plan.rows_of(near);
    if (plan.is_repeated(whole) || rows < 2) return false;
    const auto by = [&](auto f) {
      combine_with_row(workers, WideRows(rows, plan.count_of(near)), real<T>(m.inputs[whole]),
                       real<T>(m.inputs[near]), real<T>(m.outputs[0]), f);
      return true;
    };
    switch (plan.kind) {
      case ElementwiseKind::add: return by([](auto x, auto row) { return x + row; });
      case ElementwiseKind::multiply: return by([](auto x, auto row) { return x * row; });
      case ElementwiseKind::subtract:
        return near == 1 ? by([](auto x, auto row) { return x - row; })
                         : by([](auto x, auto row) { return row - x; });
      default: return false;
    }
  }
  return false;
}

/// Of two operands one is whole, the other a short row: several of it side by side, so that a call
/// is worth its while.
template <class T>
bool run_with_short_row(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m) {
  constexpr std::int64_t most = 4096;  // which stay in the first cache
  const std::size_t near = plan.is_repeated(0) ? 0 : 1, whole = 1 - near;
  if (plan.is_repeated(whole)) return false;
  const std::int64_t longest = std::min(most, longest_result_piece<T>(plan.is_beyond));
  const std::int64_t rows = plan.rows_of(near), length = plan.count_of(near);
  if (rows < 2 || 2 * length > longest) return false;
  const std::int64_t at_once = longest / length;
  const T *const x = real<T>(m.inputs[whole]), *const row = real<T>(m.inputs[near]);
  T* const results = real<T>(m.outputs[0]);
  std::vector<T> side_by_side;
  for (std::int64_t k = 0; k < std::min(at_once, rows); ++k) {
    side_by_side.insert(side_by_side.end(), row, row + length);
  }
  const T* const beside = side_by_side.data();
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / length);
  workers.ranges(rows, least, [&](std::int64_t begin, std::int64_t end) {
    ResultPieces<T> pieces(results, plan.is_beyond);
    for (std::int64_t r = begin; r < end; r += at_once) {
      const std::int64_t first = r * length, count = std::min(at_once, end - r) * length;
      const T* const own = x + first;
      combine_two(plan.kind, near == 0 ? beside : own, near == 1 ? beside : own,
                  pieces.next(first, count), count, near == 0, near == 1);
    }
  });
  return true;
}

/// Of two operands one is whole, the other has one number for each row of it, side by side: many
/// rows are one call.
template <class T>
bool run_with_number_per_row(const ElementwisePlan& plan, const Workers& workers,
                             const NodeMemory& m) {
  constexpr std::int64_t rows_at_once = 64;
  const std::size_t near = plan.is_repeated(0) ? 0 : 1, whole = 1 - near;
  if (plan.is_repeated(whole) || !line_of(plan.kind, T(0), near == 0)) return false;
  if (plan.is_beyond && stream_of<T>() != nullptr) return false;  // pieces are short
  const Walk walk(plan.shape, {strides_of(plan.shape), plan.strides[near]});
  if (walk.step(1) != 0 || walk.shape().size() != 2 || walk.strides(1)[0] != 1) return false;
  const std::int64_t length = walk.row_length();
  const T *const x = real<T>(m.inputs[whole]), *const numbers = real<T>(m.inputs[near]);
  T* const y = real<T>(m.outputs[0]);
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / length);
  workers.ranges(walk.rows(), least, [&](std::int64_t begin, std::int64_t end) {
    std::array<T, rows_at_once> a, b;
    for (std::int64_t row = begin; row < end; row += rows_at_once) {
      const std::int64_t count = std::min(rows_at_once, end - row);
      for (std::int64_t k = 0; k < count; ++k) {
        const RowLine<T> line = *line_of(plan.kind, numbers[row + k], near == 0);
        a[static_cast<std::size_t>(k)] = line.a;
        b[static_cast<std::size_t>(k)] = line.b;
      }
      vector_loops<T>().stretch_lines(x + row * length, {.count = count, .length = length},
                                      a.data(), b.data(), y + row * length);
    }
  });
  return true;
}

/// Two operands that lie along the rows of the result as they are, or of which one is the same
/// number all along a row: nothing is copied, and pieces can be long.
template <class T>
bool run_two(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m) {
  if (plan.types.size() != 2 || plan.kind == ElementwiseKind::mean) return false;
  if (!plan.is_all_of(dtype_of<T>())) return false;
  if (run_with_row<T>(plan, workers, m)) return true;
  if (run_with_short_row<T>(plan, workers, m)) return true;
  if (run_with_number_per_row<T>(plan, workers, m)) return true;
  Walk walk(plan.shape, {strides_of(plan.shape), plan.strides[0], plan.strides[1]});
  walk.set_longest_piece(longest_result_piece<T>(plan.is_beyond));
  const T *const first = real<T>(m.inputs[0]), *const second = real<T>(m.inputs[1]);
  T* const results = real<T>(m.outputs[0]);
  if (walk.step(1) == walk.step(2)) {
    const bool is_first_near = plan.is_repeated(0), is_second_near = plan.is_repeated(1);
    each_result_piece<T>(walk, workers, results, 0, plan.is_beyond,
                         [&](const Walk::Offsets& at, std::int64_t length, T* y) {
                           combine_two(plan.kind, first + at[1], second + at[2], y, length,
                                       is_first_near, is_second_near);
                         });
    return true;
  }
  const bool is_same_first = walk.step(1) == 0;
  const T *const same = is_same_first ? first : second, *const x = is_same_first ? second : first;
  const std::size_t same_place = is_same_first ? 1 : 2, x_place = 3 - same_place;
  if (!line_of(plan.kind, T(0), is_same_first)) return false;
  const bool is_whole = !plan.is_repeated(x_place - 1);
  const std::int64_t count = plan.count();
  const VectorLoops<T>& loops = vector_loops<T>();
  each_result_piece<T>(walk, workers, results, 0, plan.is_beyond,
                       [&](const Walk::Offsets& at, std::int64_t length, T* y) {
                         if (is_whole) fetch_ahead(x, at[x_place], length, count);
                         const RowLine<T> line =
                             *line_of(plan.kind, same[at[same_place]], is_same_first);
                         loops.line(x + at[x_place], line.a, line.b, nullptr, nullptr, y, length);
                       });
  return true;
}

template <class T>
void run_select(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m) {
  const Walk walk(plan.shape,
                  {strides_of(plan.shape), plan.strides[0], plan.strides[1], plan.strides[2]});
  const bool is_plain = plan.result_type == dtype_of<T>();
  walk.each_piece(workers, [&](const Walk::Offsets& at, std::int64_t length) {
    std::array<PieceBuffer<T>, 4> rooms;
    const auto piece = [&](std::size_t i) {
      return piece_of(plan.source(m, i), at[i + 1], walk.step(i + 1), length, rooms[i]);
    };
    const T *condition = piece(0), *yes = piece(1), *no = piece(2);
    T* const y = is_plain ? real<T>(m.outputs[0]) + at[0] : rooms[3].data();
    for (std::int64_t i = 0; i < length; ++i) y[i] = condition[i] != T(0) ? yes[i] : no[i];
    if (!is_plain) write_row(plan.result_type, m.outputs[0], at[0], length, y);
  });
}

}  // namespace

template <class T>
void elementwise_forward(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m) {
  if (plan.kind == ElementwiseKind::select) return run_select<T>(plan, workers, m);
  if (run_two<T>(plan, workers, m)) return;
  std::size_t done = 0;
  do {
    const std::size_t end = std::min(plan.types.size(), done + operands_at_once);
    fold<T>(plan, workers, m, done, end);
    done = end;
  } while (done < plan.types.size());
}

template void elementwise_forward<float>(const ElementwisePlan&, const Workers&, const NodeMemory&);
template void elementwise_forward<double>(const ElementwisePlan&, const Workers&,
                                          const NodeMemory&);

}  // namespace strata::cpu_training
