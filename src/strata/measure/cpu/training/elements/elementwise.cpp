// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/loops/piece.hpp"
#include "strata/measure/cpu/training/loops/reduction.hpp"
#include "strata/measure/cpu/training/loops/result_stream.hpp"

#include <algorithm>
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

/// What all passes of one node know.
struct ElementwisePlan {
  ElementwiseKind kind;
  std::vector<DType> types;  // of the inputs
  std::vector<Sizes> strides;
  Sizes shape;
  DType result_type;
  bool is_beyond = false;  // the result, and gradients of its size

  PieceSource source(const NodeMemory& m, std::size_t i) const { return {m.inputs[i], types[i]}; }
  bool is_repeated(std::size_t i) const { return strides[i] != strides_of(shape); }
  std::int64_t count() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : shape) product *= extent;
    return product;
  }
  /// Of input i.
  std::int64_t count_of(std::size_t i) const {
    std::int64_t product = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (strides[i][axis] != 0) product *= shape[axis];
    }
    return product;
  }
};

constexpr std::size_t operands_at_once = 6;

/// Calls f(offsets, length, place of the results) for all pieces, on all threads. The results lie
/// in the order of the walk, `operand` is their place in it; null: there are none.
template <class T, class F>
void each_result_piece(const Walk& walk, const Workers& workers, T* results, std::size_t operand,
                       bool is_beyond, const F& f) {
  walk.each_part(workers, [&](std::int64_t begin, std::int64_t end) {
    ResultPieces<T> pieces(results, is_beyond);
    walk.each_piece(begin, end, [&](const Walk::Offsets& at, std::int64_t length) {
      f(at, length, results != nullptr ? pieces.next(at[operand], length) : nullptr);
    });
  });
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

bool are_all(const ElementwisePlan& plan, DType dtype) {
  return plan.result_type == dtype &&
         std::all_of(plan.types.begin(), plan.types.end(), [&](DType t) { return t == dtype; });
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

/// How many rows the result has of those that an operand is one of, which is short. 0: it is no
/// such row.
std::int64_t rows_of(const ElementwisePlan& plan, std::size_t operand, std::int64_t longest) {
  const std::int64_t length = plan.count_of(operand);
  if (2 * length > longest || length == 1) return 0;
  std::size_t axis = plan.shape.size();
  std::int64_t along = 1;
  while (axis > 0 && along < length) {
    if (plan.strides[operand][--axis] != along && plan.shape[axis] != 1) return 0;
    along *= plan.shape[axis];
  }
  return along == length ? plan.count() / length : 0;
}

/// Of two operands one is whole, the other a short row: several of it side by side, so that a call
/// is worth its while.
template <class T>
bool run_with_short_row(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m) {
  constexpr std::int64_t most = 4096;  // which stay in the first cache
  const std::size_t near = plan.is_repeated(0) ? 0 : 1, whole = 1 - near;
  if (plan.is_repeated(whole)) return false;
  const std::int64_t longest = std::min(most, longest_result_piece<T>(plan.is_beyond));
  const std::int64_t rows = rows_of(plan, near, longest);
  if (rows < 2) return false;
  const std::int64_t length = plan.count_of(near), at_once = longest / length;
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

/// Two operands that lie along the rows of the result as they are, or of which one is the same
/// number all along a row: nothing is copied, and pieces can be long.
template <class T>
bool run_two(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m) {
  if (plan.types.size() != 2 || plan.kind == ElementwiseKind::mean) return false;
  if (!are_all(plan, dtype_of<T>())) return false;
  if (run_with_short_row<T>(plan, workers, m)) return true;
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

// dy times the slope towards input i, given pieces of the inputs and of the output.
template <class T, class Piece>
void gradient_terms(const ElementwisePlan& plan, std::size_t i, const T* dy, const Piece& piece,
                    T* terms, std::int64_t count) {
  const auto each = [&](auto f) {
    for (std::int64_t k = 0; k < count; ++k) terms[k] = f(k);
  };
  const std::size_t output = plan.types.size();
  switch (plan.kind) {
    case ElementwiseKind::subtract:
      return i == 0 ? each([&](auto k) { return dy[k]; }) : each([&](auto k) { return -dy[k]; });
    case ElementwiseKind::multiply: {
      const T* so_far = dy;
      for (std::size_t other = 0; other < plan.types.size(); ++other) {
        if (other == i) continue;
        const T* x = piece(other);
        each([&](auto k) { return so_far[k] * x[k]; });
        so_far = terms;
      }
      return;
    }
    case ElementwiseKind::divide: {
      const T* b = piece(1);
      if (i == 0) return each([&](auto k) { return dy[k] / b[k]; });
      const T* y = piece(output);
      return each([&](auto k) { return -(dy[k] * y[k] / b[k]); });
    }
    case ElementwiseKind::power: {
      const T *a = piece(0), *b = piece(1);
      if (i == 0) return each([&](auto k) { return dy[k] * b[k] * std::pow(a[k], b[k] - T(1)); });
      const T* y = piece(output);
      return each([&](auto k) { return dy[k] * y[k] * std::log(a[k]); });
    }
    case ElementwiseKind::maximum:
    case ElementwiseKind::minimum: {
      const T *x = piece(i), *y = piece(output);
      return each([&](auto k) {
        const T slope = dy[k];  // read in any case, so that it becomes a vector
        return x[k] == y[k] ? slope : T(0);
      });
    }
    case ElementwiseKind::mean: {
      const T share = T(1) / static_cast<T>(plan.types.size());
      return each([&](auto k) { return dy[k] * share; });
    }
    case ElementwiseKind::modulo: {
      if (i == 0) return each([&](auto k) { return dy[k]; });
      const T *a = piece(0), *b = piece(1);
      return each([&](auto k) { return -(dy[k] * std::floor(a[k] / b[k])); });
    }
    case ElementwiseKind::select: {
      const T* condition = piece(0);
      return each([&](auto k) { return (condition[k] != T(0)) == (i == 1) ? dy[k] : T(0); });
    }
    default: return each([&](auto k) { return dy[k]; });
  }
}

/// Whether the slope towards input i is 1 everywhere.
bool is_slope_one(ElementwiseKind kind, std::size_t i) {
  return kind == ElementwiseKind::add ||
         ((kind == ElementwiseKind::subtract || kind == ElementwiseKind::modulo) && i == 0);
}

// Which operands the slope towards input i depends on; the output is the last.
std::vector<std::size_t> operands_of_gradient(const ElementwisePlan& plan, std::size_t i) {
  const std::size_t output = plan.types.size();
  switch (plan.kind) {
    case ElementwiseKind::multiply: {
      std::vector<std::size_t> others;
      for (std::size_t k = 0; k < output; ++k) {
        if (k != i) others.push_back(k);
      }
      return others;
    }
    case ElementwiseKind::divide:
      return i == 0 ? std::vector<std::size_t>{1} : std::vector<std::size_t>{1, output};
    case ElementwiseKind::power:
      return i == 0 ? std::vector<std::size_t>{0, 1} : std::vector<std::size_t>{0, 1, output};
    case ElementwiseKind::maximum:
    case ElementwiseKind::minimum: return {i, output};
    case ElementwiseKind::modulo:
      return i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{0, 1};
    case ElementwiseKind::select: return {0};
    default: return {};
  }
}

template <class T>
void elementwise_gradient(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m,
                          std::size_t i) {
  const std::vector<std::size_t> operands = operands_of_gradient(plan, i);
  const std::size_t output = plan.types.size();
  const Sizes whole = strides_of(plan.shape);
  std::vector<Sizes> strides = {whole, plan.strides[i]};  // of dy and dx
  for (const std::size_t k : operands) strides.push_back(k == output ? whole : plan.strides[k]);
  const Walk walk(plan.shape, strides);
  const T* const dy = real<T>(m.output_gradients[0]);
  T* const dx = real<T>(m.input_gradients[i]);

  const auto terms_of = [&](const Walk::Offsets& at, std::int64_t length, T* terms) {
    PieceBuffer<T> room_dy;
    std::array<PieceBuffer<T>, 3> rooms;
    std::size_t used = 0;
    const T* const dy_piece =
        piece_of<T>({dy, dtype_of<T>()}, at[0], walk.step(0), length, room_dy);
    const auto piece = [&](std::size_t k) {
      const auto place = static_cast<std::size_t>(std::find(operands.begin(), operands.end(), k) -
                                                  operands.begin());
      const PieceSource source =
          k == output ? PieceSource{m.outputs[0], dtype_of<T>()} : plan.source(m, k);
      return piece_of<T>(source, at[place + 2], walk.step(place + 2), length,
                         rooms[used++ % rooms.size()]);
    };
    gradient_terms<T>(plan, i, dy_piece, piece, terms, length);
  };

  if (!plan.is_repeated(i)) {
    return each_result_piece<T>(walk, workers, dx, 1, plan.is_beyond, terms_of);
  }
  // One row at a time per thread; the row is read before the next is made.
  thread_local PieceBuffer<T> terms;
  reduce(workers, walk, 1, Combine::add, dx, plan.count_of(i), real<T>(m.scratch),
         [&](const Walk::Offsets& at, std::int64_t length) -> const T* {
           terms_of(at, length, terms.data());
           return terms.data();
         });
}

/// The gradient of an operand that is repeated, where its terms are dy itself.
template <class T>
void sum_of_output_gradient(const ElementwisePlan& plan, const Workers& workers,
                            const NodeMemory& m, std::size_t i) {
  Walk walk(plan.shape, {strides_of(plan.shape), plan.strides[i]});
  walk.set_longest_piece(longest_result_piece<T>(false));
  const T* const dy = real<T>(m.output_gradients[0]);
  reduce(workers, walk, 1, Combine::add, real<T>(m.input_gradients[i]), plan.count_of(i),
         real<T>(m.scratch),
         [dy](const Walk::Offsets& at, std::int64_t) -> const T* { return dy + at[0]; });
}

/// Both gradients of a product of two of which one is repeated, in one walk: dy is read once.
template <class T>
void gradients_with_one_repeated(const ElementwisePlan& plan, const Workers& workers,
                                 const NodeMemory& m) {
  const std::size_t repeated = plan.is_repeated(0) ? 0 : 1, whole = 1 - repeated;
  Walk walk(plan.shape, {strides_of(plan.shape), plan.strides[repeated]});
  walk.set_longest_piece(longest_result_piece<T>(plan.is_beyond));
  const T* const dy = real<T>(m.output_gradients[0]);
  const T *const of_whole = real<T>(m.inputs[whole]), *const factors = real<T>(m.inputs[repeated]);
  T* const dx = real<T>(m.input_gradients[whole]);
  const bool is_one = walk.step(1) == 0;  // factor all along a row
  const std::int64_t count = plan.count();
  const VectorLoops<T>& loops = vector_loops<T>();
  const auto make_adder = [&] {
    return [&, pieces = ResultPieces<T>(dx, plan.is_beyond)](const Walk::Offsets& at,
                                                             std::int64_t length, T* sums) mutable {
      const T *const x = of_whole + at[0], *const slopes = dy + at[0];
      fetch_ahead(dy, at[0], length, count);
      fetch_ahead(of_whole, at[0], length, count);
      T* const place = pieces.next(at[0], length);
      if (is_one) {
        *sums += loops.factor_gradient(slopes, factors[at[1]], x, place, length);
      } else {
        loops.factor_gradients(slopes, factors + at[1], x, place, sums, length);
      }
    };
  };
  reduce_parts(workers, walk, 1, Combine::add, real<T>(m.input_gradients[repeated]),
               plan.count_of(repeated), real<T>(m.scratch), make_adder);
}

/// Both gradients of a product of two tensors of the same shape, piece by piece: dy is read once.
template <class T>
void gradients_of_two_whole(const ElementwisePlan& plan, const Workers& workers,
                            const NodeMemory& m) {
  const T *const a = real<T>(m.inputs[0]), *const b = real<T>(m.inputs[1]);
  const T* const dy = real<T>(m.output_gradients[0]);
  T *const da = real<T>(m.input_gradients[0]), *const db = real<T>(m.input_gradients[1]);
  const std::int64_t piece = longest_result_piece<T>(plan.is_beyond);
  const VectorLoops<T>& loops = vector_loops<T>();
  workers.ranges(plan.count(), numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
    ResultStream<T> to_a(da, begin, plan.is_beyond), to_b(db, begin, plan.is_beyond);
    for (std::int64_t at = begin; at < end; at += piece) {
      const std::int64_t length = std::min(piece, end - at);
      loops.product_gradients(dy + at, a + at, b + at, to_a.next(length), to_b.next(length),
                              length);
    }
  });
}

/// Both gradients of a product of two at once, if they are what is asked for.
template <class T>
bool run_product_gradients(const ElementwisePlan& plan, const Workers& workers,
                           const NodeMemory& m) {
  if (plan.kind != ElementwiseKind::multiply || plan.types.size() != 2) return false;
  if (!are_all(plan, dtype_of<T>())) return false;
  if (m.input_gradients[0] == nullptr || m.input_gradients[1] == nullptr) return false;
  if (plan.is_repeated(0) && plan.is_repeated(1)) return false;
  if (plan.is_repeated(0) || plan.is_repeated(1)) {
    gradients_with_one_repeated<T>(plan, workers, m);
  } else {
    gradients_of_two_whole<T>(plan, workers, m);
  }
  return true;
}

template <class T>
KernelsOrReason elementwise_kernels(const ElementwisePlan& plan, const Setting& s) {
  NodeNeeds needs;
  for (std::size_t i = 0; i < s.input_count(); ++i) {
    if (!s.wants(i)) continue;
    for (const std::size_t k : operands_of_gradient(plan, i)) {
      (k == plan.types.size() ? needs.outputs : needs.inputs) = true;
    }
    if (!plan.is_repeated(i)) continue;
    needs.scratch_bytes = std::max<std::int64_t>(
        needs.scratch_bytes, reduction_scratch_elements(s.workers, s.input(i).elements) *
                                 static_cast<std::int64_t>(sizeof(T)));
  }
  const Workers& workers = s.workers;
  return kernels_by(
      {.forward = [=, &workers](const NodeMemory& m) { elementwise_forward<T>(plan, workers, m); },
       .backward =
           [=, &workers](const NodeMemory& m) {
             if (run_product_gradients<T>(plan, workers, m)) return;
             for (std::size_t i = 0; i < plan.types.size(); ++i) {
               if (m.input_gradients[i] == nullptr) continue;
               const bool is_dy = plan.kind == ElementwiseKind::add && !plan.is_repeated(i);
               if (is_dy && m.input_gradients[i] == m.output_gradients[0]) continue;
               if (plan.is_repeated(i) && is_slope_one(plan.kind, i)) {
                 sum_of_output_gradient<T>(plan, workers, m, i);
               } else {
                 elementwise_gradient<T>(plan, workers, m, i);
               }
             }
           },
       .needs = needs},
      s);
}

}  // namespace

KernelsOrReason make_kernels(const Elementwise& op, const Setting& s) {
  if (s.input_count() == 1) return alias_kernels(s);
  ElementwisePlan plan{.kind = op.kind,
                       .shape = s.output().shape,
                       .result_type = s.output().dtype,
                       .is_beyond = is_beyond_caches(s.output().bytes)};
  // Whole numbers are exact in fp64 up to 2⁵³.
  bool is_fp32 = false;
  for (std::size_t i = 0; i < s.input_count(); ++i) {
    plan.types.push_back(s.input(i).dtype);
    plan.strides.push_back(broadcast_strides(s.input(i).shape, plan.shape));
    is_fp32 = is_fp32 || s.input(i).dtype == DType::fp32;
    if (s.wants(i) && s.output().dtype != s.input(i).dtype) {
      return NoKernels{"its gradient would change the data type"};
    }
  }
  if (op.kind == ElementwiseKind::multiply && s.input_count() > operands_at_once && s.wants_any()) {
    return NoKernels{"the gradient of a product of more than six factors"};
  }
  return is_fp32 ? elementwise_kernels<float>(plan, s) : elementwise_kernels<double>(plan, s);
}

}  // namespace strata::cpu_training
