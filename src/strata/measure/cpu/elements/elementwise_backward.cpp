// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/elements/elementwise_plan.hpp"
#include "strata/measure/cpu/elements/row_operand.hpp"
#include "strata/measure/cpu/loops/reduction.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace strata::cpu_training {

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

namespace {

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
  if constexpr (writes_vectors<T>) {
    if (const std::int64_t rows = plan.rows_of(repeated); rows >= 2) {
      return factor_gradients_of_rows(workers, WideRows(rows, plan.count_of(repeated)), dy, factors,
                                      of_whole, dx, real<T>(m.input_gradients[repeated]));
    }
  }
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
      for (const T* from : {dy, a, b}) fetch_ahead(from, at, length, end);
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
  if (!plan.is_all_of(dtype_of<T>())) return false;
  if (m.input_gradients[0] == nullptr || m.input_gradients[1] == nullptr) return false;
  if (plan.is_repeated(0) && plan.is_repeated(1)) return false;
  if (plan.is_repeated(0) || plan.is_repeated(1)) {
    gradients_with_one_repeated<T>(plan, workers, m);
  } else {
    gradients_of_two_whole<T>(plan, workers, m);
  }
  return true;
}

}  // namespace

template <class T>
void elementwise_backward(const ElementwisePlan& plan, const Workers& workers,
                          const NodeMemory& m) {
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
}

template void elementwise_backward<float>(const ElementwisePlan&, const Workers&,
                                          const NodeMemory&);
template void elementwise_backward<double>(const ElementwisePlan&, const Workers&,
                                           const NodeMemory&);

}  // namespace strata::cpu_training
