// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/piece.hpp"
#include "strata/measure/cpu/training/reduction.hpp"
#include "strata/measure/cpu/training/result_stream.hpp"

#include <cmath>
#include <optional>

namespace strata::cpu_training {
namespace {

template <class T>
void combine_two(ElementwiseKind kind, const T* a, const T* b, T* y, std::int64_t count) {
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
  };
  switch (kind) {
    case ElementwiseKind::add:
    case ElementwiseKind::mean: return each([](T p, T q) { return p + q; });
    case ElementwiseKind::subtract: return each([](T p, T q) { return p - q; });
    case ElementwiseKind::multiply: return each([](T p, T q) { return p * q; });
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
};

constexpr std::size_t operands_at_once = 6;

/// Calls f(offsets, length, place of the results) for all pieces, on all threads. The results lie
/// in the order of the walk, `operand` is their place in it; null: there are none.
template <class T, class F>
void each_result_piece(const Walk& walk, const Workers& workers, T* results, std::size_t operand,
                       bool is_beyond, const F& f) {
  walk.each_part(workers, [&](std::int64_t begin, std::int64_t end) {
    std::optional<ResultStream<T>> stream;
    walk.each_piece(begin, end, [&](const Walk::Offsets& at, std::int64_t length) {
      if (results == nullptr) return f(at, length, results);
      if (!stream) stream.emplace(results, at[operand], is_beyond);
      f(at, length, stream->next(length));
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

/// A product of two of which one is the same number all along a row.
template <class T>
bool run_scaled_rows(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m) {
  if (plan.kind != ElementwiseKind::multiply || plan.types.size() != 2) return false;
  for (const DType type : {plan.types[0], plan.types[1], plan.result_type}) {
    if (type != dtype_of<T>()) return false;
  }
  const Walk walk(plan.shape, {strides_of(plan.shape), plan.strides[0], plan.strides[1]});
  const std::size_t same = walk.step(1) == 0 ? 0 : 1, whole = 1 - same;
  if (walk.step(same + 1) != 0 || walk.step(whole + 1) != 1 || plan.is_repeated(whole))
    return false;
  const T *const x = real<T>(m.inputs[whole]), *const factors = real<T>(m.inputs[same]);
  const std::int64_t count = plan.count();
  each_result_piece<T>(walk, workers, real<T>(m.outputs[0]), 0, plan.is_beyond,
                       [&](const Walk::Offsets& at, std::int64_t length, T* y) {
                         fetch_ahead(x, at[0], length, count);
                         vector_loops<T>().line(x + at[0], factors[at[same + 1]], T(0), nullptr,
                                                nullptr, y, length);
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
  if (run_scaled_rows<T>(plan, workers, m)) return;
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
      each([&](auto k) { return dy[k]; });
      for (std::size_t other = 0; other < plan.types.size(); ++other) {
        if (other == i) continue;
        const T* x = piece(other);
        each([&](auto k) { return terms[k] * x[k]; });
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
  std::int64_t results = 1;
  for (std::size_t axis = 0; axis < plan.shape.size(); ++axis) {
    if (plan.strides[i][axis] != 0) results *= plan.shape[axis];
  }
  // One row at a time per thread; the row is read before the next is made.
  thread_local PieceBuffer<T> terms;
  reduce(workers, walk, 1, Combine::add, dx, results, real<T>(m.scratch),
         [&](const Walk::Offsets& at, std::int64_t length) -> const T* {
           terms_of(at, length, terms.data());
           return terms.data();
         });
}

/// Both gradients of a product of two of which one is repeated, in one walk: dy is read once.
template <class T>
void product_gradients(const ElementwisePlan& plan, const Workers& workers, const NodeMemory& m) {
  const std::size_t repeated = plan.is_repeated(0) ? 0 : 1, whole = 1 - repeated;
  const Sizes strides = strides_of(plan.shape);
  const Walk walk(plan.shape, {strides, plan.strides[repeated]});
  const T* const dy = real<T>(m.output_gradients[0]);
  const T* const of_whole = real<T>(m.inputs[whole]);
  T* const dx = real<T>(m.input_gradients[whole]);
  std::int64_t results = 1;
  for (std::size_t axis = 0; axis < plan.shape.size(); ++axis) {
    if (plan.strides[repeated][axis] != 0) results *= plan.shape[axis];
  }
  const std::int64_t count = plan.count();
  const auto make_row = [&] {
    return [&, stream = std::optional<ResultStream<T>>(), terms = PieceBuffer<T>()](
               const Walk::Offsets& at, std::int64_t length) mutable -> const T* {
      if (!stream) stream.emplace(dx, at[0], plan.is_beyond);
      PieceBuffer<T> room;
      const VectorLoops<T>& loops = vector_loops<T>();
      const T* const other =
          piece_of<T>(plan.source(m, repeated), at[1], walk.step(1), length, room);
      fetch_ahead(dy, at[0], length, count);
      fetch_ahead(of_whole, at[0], length, count);
      loops.multiply(dy + at[0], other, stream->next(length), length);
      loops.multiply(dy + at[0], of_whole + at[0], terms.data(), length);
      return terms.data();
    };
  };
  reduce_parts(workers, walk, 1, Combine::add, real<T>(m.input_gradients[repeated]), results,
               real<T>(m.scratch), make_row);
}

/// Whether product_gradients computes what is asked for.
bool is_product_with_one_repeated(const ElementwisePlan& plan, const NodeMemory& m, DType dtype) {
  return plan.kind == ElementwiseKind::multiply && plan.types.size() == 2 &&
         plan.is_repeated(0) != plan.is_repeated(1) && plan.types[0] == dtype &&
         plan.types[1] == dtype && m.input_gradients[0] != nullptr &&
         m.input_gradients[1] != nullptr;
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
             if (is_product_with_one_repeated(plan, m, dtype_of<T>())) {
               return product_gradients<T>(plan, workers, m);
             }
             for (std::size_t i = 0; i < plan.types.size(); ++i) {
               if (m.input_gradients[i] == nullptr) continue;
               const bool is_dy = plan.kind == ElementwiseKind::add && !plan.is_repeated(i);
               if (is_dy && m.input_gradients[i] == m.output_gradients[0]) continue;
               elementwise_gradient<T>(plan, workers, m, i);
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
