// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/number_rows.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"

#include <algorithm>
#include <array>

namespace strata::cpu_training {
namespace {

bool has_slope(UnaryKind kind) { return kind < UnaryKind::floor; }

template <class T>
KernelsOrReason unary_kernels(UnaryKind kind, const Setting& s) {
  const Workers& workers = s.workers;
  const std::int64_t count = s.output().elements;
  const auto apply = vector_loops<T>().apply[static_cast<std::size_t>(kind)];
  const auto gradient = vector_loops<T>().gradient[static_cast<std::size_t>(kind)];
  const SlopeFrom from = slope_from(kind);
  const bool is_beyond = is_beyond_caches(s.output().bytes);
  const auto forward = [=, &workers](const NodeMemory& m) {
    workers.ranges(count, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      const T* const x = real<T>(m.inputs[0]) + begin;
      ResultStream<T>(real<T>(m.outputs[0]), begin, is_beyond)
          .pieces(end - begin, [&](std::int64_t at, std::int64_t length, T* y) {
            fetch_ahead(x, at, length, end - begin);
            apply(x + at, y, length);
          });
    });
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    T* const dx = real<T>(m.input_gradients[0]);
    if (dx == nullptr) return;
    const T* const dy = real<T>(m.output_gradients[0]);
    const T* const known = from == SlopeFrom::input    ? real<T>(m.inputs[0])
                           : from == SlopeFrom::output ? real<T>(m.outputs[0])
                                                       : dy;
    workers.ranges(count, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      ResultStream<T> result(dx, begin, is_beyond);
      if (!has_slope(kind)) return result.fill(T(0), end - begin);
      result.pieces(end - begin, [&](std::int64_t at, std::int64_t length, T* to) {
        fetch_ahead(dy + begin, at, length, end - begin);
        if (known != dy) fetch_ahead(known + begin, at, length, end - begin);
        gradient(known + begin + at, dy + begin + at, to, length);
      });
    });
  };
  return kernels_by({forward,
                     backward,
                     {.inputs = from == SlopeFrom::input, .outputs = from == SlopeFrom::output}},
                    s);
}

// Numbers that are not of the type in which one computes: no gradient, and no hurry.
KernelsOrReason converting_unary_kernels(UnaryKind kind, const Setting& s) {
  const std::int64_t count = s.output().elements;
  const DType from = s.input().dtype, to = s.output().dtype;
  const auto apply = vector_loops<double>().apply[static_cast<std::size_t>(kind)];
  const Workers& workers = s.workers;
  const auto forward = [=, &workers](const NodeMemory& m) {
    workers.ranges(count, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      std::array<double, 256> numbers;
      for (std::int64_t at = begin; at < end;) {
        const std::int64_t length = std::min(end - at, static_cast<std::int64_t>(numbers.size()));
        read_row(from, m.inputs[0], at, 1, length, numbers.data());
        apply(numbers.data(), numbers.data(), length);
        write_row(to, m.outputs[0], at, length, numbers.data());
        at += length;
      }
    });
  };
  return kernels_by({forward, [](const NodeMemory&) {}}, s);
}

/// One slope per channel: x is [N, C, …].
template <class T>
KernelsOrReason prelu_kernels(const Setting& s) {
  const std::int64_t batch = s.input()[0], channels = s.input()[1];
  const std::int64_t space = s.input().elements / (batch * channels);
  const Workers& workers = s.workers;
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / space);
  const bool is_beyond = is_beyond_caches(s.output().bytes);
  const auto forward = [=, &workers](const NodeMemory& m) {
    const T* const slopes = real<T>(m.inputs[1]);
    workers.ranges(batch * channels, least, [&](std::int64_t begin, std::int64_t end) {
      ResultStream<T> y(real<T>(m.outputs[0]), begin * space, is_beyond);
      for (std::int64_t row = begin; row < end; ++row) {
        const T slope = slopes[row % channels];
        const T* const x = real<T>(m.inputs[0]) + row * space;
        y.pieces(space, [&](std::int64_t at, std::int64_t length, T* to) {
          fetch_ahead(x, at, length, (end - row) * space);
          vector_loops<T>().prelu(x + at, slope, to, length);
        });
      }
    });
  };
  // Rows in the order of memory, so each thread has sums of its own for all channels.
  const auto backward = [=, &workers](const NodeMemory& m) {
    const T* const slopes = real<T>(m.inputs[1]);
    T* const dx = real<T>(m.input_gradients[0]);
    T* const d_slopes = real<T>(m.input_gradients[1]);
    T* const all_sums = real<T>(m.scratch);
    const auto gradient = vector_loops<T>().prelu_gradient;
    const auto add_rows = [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      T* const sums = all_sums + part * channels;
      std::fill_n(sums, channels, T(0));
      ResultStream<T> result(dx, begin * space, is_beyond);
      for (std::int64_t row = begin; row < end; ++row) {
        const T* const x = real<T>(m.inputs[0]) + row * space;
        const T* const dy = real<T>(m.output_gradients[0]) + row * space;
        const T slope = slopes[row % channels];
        T sum = 0;
        if (dx == nullptr) {
          sum = gradient(x, dy, slope, nullptr, space);
        } else {
          result.pieces(space, [&](std::int64_t at, std::int64_t length, T* to) {
            fetch_ahead(x, at, length, (end - row) * space);
            fetch_ahead(dy, at, length, (end - row) * space);
            sum += gradient(x + at, dy + at, slope, to, length);
          });
        }
        sums[row % channels] += sum;
      }
    };
    const std::int64_t parts = workers.parts(batch * channels, least, add_rows);
    if (d_slopes == nullptr) return;
    std::copy_n(all_sums, channels, d_slopes);
    for (std::int64_t part = 1; part < parts; ++part) {
      vector_loops<T>().add_row(all_sums + part * channels, d_slopes, channels);
    }
  };
  const auto bytes_of_sums = workers.count() * channels * static_cast<std::int64_t>(sizeof(T));
  return kernels_by({forward, backward, {.inputs = true, .scratch_bytes = bytes_of_sums}}, s);
}

template <class T>
KernelsOrReason dropout_kernels(double probability, const Setting& s) {
  using namespace training_constants;
  const Workers& workers = s.workers;
  const std::int64_t count = s.output().elements;
  const NodeId node = s.id;
  const std::uint64_t threshold = dropout_threshold(probability);
  const T scale = T(dropout_scale(probability));
  const bool is_beyond = is_beyond_caches(s.output().bytes);
  const auto forward = [=, &workers](const NodeMemory& m) {
    workers.ranges(count, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      const VectorLoops<T>& loops = vector_loops<T>();
      std::array<std::uint8_t, 1024> unused;
      const std::int64_t piece = m.saved != nullptr ? longest_result_piece<T>(is_beyond)
                                                    : static_cast<std::int64_t>(unused.size());
      ResultStream<T> result(real<T>(m.outputs[0]), begin, is_beyond);
      for (std::int64_t at = begin; at < end;) {
        // Up to where the lower half of a hash's number begins anew.
        constexpr std::int64_t same_key = std::int64_t{2} << 32U;
        const std::int64_t length = std::min({end - at, piece, same_key - at % same_key});
        T* const y = result.next(length);
        fetch_ahead(real<T>(m.inputs[0]), at, length, end);
        std::uint8_t* const mask =
            m.saved != nullptr ? real<std::uint8_t>(m.saved) + at : unused.data();
        if (threshold >> 32U != 0) {  // nothing is kept
          std::fill(y, y + length, T(0));
          std::fill(mask, mask + length, std::uint8_t{0});
        } else {
          loops.drop(real<T>(m.inputs[0]) + at,
                     dropout_key(node, static_cast<std::uint32_t>(at / same_key)),
                     static_cast<std::uint64_t>(at), static_cast<std::uint32_t>(threshold), scale,
                     y, mask, length);
        }
        at += length;
      }
    });
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    if (m.input_gradients[0] == nullptr) return;
    workers.ranges(count, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      const T* const dy = real<T>(m.output_gradients[0]) + begin;
      const std::uint8_t* const mask = real<std::uint8_t>(m.saved) + begin;
      ResultStream<T>(real<T>(m.input_gradients[0]), begin, is_beyond)
          .pieces(end - begin, [&](std::int64_t at, std::int64_t length, T* dx) {
            fetch_ahead(dy, at, length, end - begin);
            vector_loops<T>().keep(dy + at, mask + at, scale, dx, length);
          });
    });
  };
  return kernels_by({forward, backward, {.saved_bytes = s.wants(0) ? count : 0}}, s);
}

template <class T>
void turn_pairs(const T* __restrict__ a, const T* __restrict__ cosine, const T* __restrict__ sine,
                T direction, std::int64_t pairs, T* __restrict__ y) {
  if constexpr (writes_vectors<T>) {  // a line of each half in turn, as both are of the same
    return numbers_of<T>(pairs, [=](auto at) {
      typename decltype(at)::Number first, second, c, s;
      at.load(first, a);
      at.load(second, a + pairs);
      at.load_near(c, cosine);
      at.load_near(s, sine);
      s = direction * s;
      at.store(first * c - second * s, y);
      at.store(first * s + second * c, y + pairs);
    });
  }
  // One half after the other, so that memory is written in order.
  for (std::int64_t k = 0; k < pairs; ++k) {
    y[k] = a[k] * cosine[k] - a[k + pairs] * (direction * sine[k]);
  }
  for (std::int64_t k = 0; k < pairs; ++k) {
    y[k + pairs] = a[k] * (direction * sine[k]) + a[k + pairs] * cosine[k];
  }
}

/// All heads of a row; `left` numbers of it and of the rows behind it are read. Its places stay in
/// registers.
template <class T>
void turn_heads(const T* a, const T* cosine, const T* sine, T direction, std::int64_t pairs,
                std::int64_t heads, std::int64_t left, T* y) {
  for (std::int64_t head = 0; head < heads; ++head) {
    fetch_ahead(a, 0, 2 * pairs, left);
    turn_pairs(a, cosine, sine, direction, pairs, y);
    a += 2 * pairs, y += 2 * pairs, left -= 2 * pairs;
  }
}

/// Features k and k + d/2 of a head are a pair, turned by the angle of their position.
template <class T>
KernelsOrReason rotary_kernels(const RotaryEmbedding& op, const Setting& s) {
  const std::int64_t rows = s.input()[0] * s.input()[1], positions = s.input()[1];
  const std::int64_t width = s.input()[2], heads = op.heads, pairs = width / heads / 2;
  const Workers& workers = s.workers;
  const bool is_past = stream_of<T>() != nullptr && is_beyond_caches(s.output().bytes) &&
                       2 * pairs <= ResultStream<T>::longest;
  const auto rotate = [=, &workers](const NodeMemory& m, const T* from, T* to, T direction) {
    workers.ranges(rows, std::max<std::int64_t>(1, numbers_per_part / width),
                   [&](std::int64_t begin, std::int64_t end) {
                     ResultStream<T> result(to, begin * width, is_past);
                     for (std::int64_t row = begin; row < end; ++row) {
                       const T* const cosine = real<T>(m.inputs[1]) + row % positions * pairs;
                       const T* const sine = real<T>(m.inputs[2]) + row % positions * pairs;
                       const T* const x = from + row * width;
                       const std::int64_t left = (end - row) * width;
                       if (!is_past) {
                         turn_heads(x, cosine, sine, direction, pairs, heads, left,
                                    to + row * width);
                         continue;
                       }
                       for (std::int64_t at = 0; at < width; at += 2 * pairs) {
                         turn_heads(x + at, cosine, sine, direction, pairs, 1, left - at,
                                    result.next(2 * pairs));
                       }
                     }
                   });
  };
  return kernels_by(
      {[=](const NodeMemory& m) { rotate(m, real<T>(m.inputs[0]), real<T>(m.outputs[0]), T(1)); },
       [=](const NodeMemory& m) {
         if (m.input_gradients[0] == nullptr) return;
         rotate(m, real<T>(m.output_gradients[0]), real<T>(m.input_gradients[0]), T(-1));
       }},
      s);
}

template <class T>
KernelsOrReason yolo_kernels(const Yolo& op, const Setting& s) {
  const std::int64_t planes = s.input()[0] * s.input()[1], entries = op.classes + 5;
  const std::int64_t space = s.input()[2] * s.input()[3];
  const VectorLoops<T>& loops = vector_loops<T>();
  constexpr auto sigmoid = static_cast<std::size_t>(UnaryKind::sigmoid);
  const auto apply = loops.apply[sigmoid];
  const auto gradient = loops.gradient[sigmoid];
  const auto is_size = [entries](std::int64_t plane) {
    return plane % entries == 2 || plane % entries == 3;
  };
  const Workers& workers = s.workers;
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / space);
  const bool is_beyond = is_beyond_caches(s.output().bytes);
  const auto forward = [=, &workers](const NodeMemory& m) {
    workers.ranges(planes, least, [&](std::int64_t begin, std::int64_t end) {
      ResultStream<T> y(real<T>(m.outputs[0]), begin * space, is_beyond);
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const T* const x = real<T>(m.inputs[0]) + plane * space;
        if (is_size(plane)) {
          y.copy(x, space);
          continue;
        }
        y.pieces(space, [&](std::int64_t at, std::int64_t length, T* to) {
          fetch_ahead(x, at, length, (end - plane) * space);
          apply(x + at, to, length);
        });
      }
    });
  };
  const auto backward = [=, &workers](const NodeMemory& m) {
    if (m.input_gradients[0] == nullptr) return;
    workers.ranges(planes, least, [&](std::int64_t begin, std::int64_t end) {
      ResultStream<T> dx(real<T>(m.input_gradients[0]), begin * space, is_beyond);
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const T* const y = real<T>(m.outputs[0]) + plane * space;
        const T* const dy = real<T>(m.output_gradients[0]) + plane * space;
        if (is_size(plane)) {
          dx.copy(dy, space);
          continue;
        }
        dx.pieces(space, [&](std::int64_t at, std::int64_t length, T* to) {
          fetch_ahead(y, at, length, (end - plane) * space);
          fetch_ahead(dy, at, length, (end - plane) * space);
          gradient(y + at, dy + at, to, length);
        });
      }
    });
  };
  return kernels_by({forward, backward, {.outputs = true}}, s);
}

}  // namespace

KernelsOrReason make_kernels(const Unary& op, const Setting& s) {
  if (op.kind == UnaryKind::identity) return alias_kernels(s);
  if (!is_floating(s.input().dtype) || s.output().dtype != s.input().dtype) {
    return converting_unary_kernels(op.kind, s);
  }
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    return op.kind == UnaryKind::prelu ? prelu_kernels<T>(s) : unary_kernels<T>(op.kind, s);
  });
}

KernelsOrReason make_kernels(const Dropout& op, const Setting& s) {
  if (!s.is_training || op.probability == 0) return alias_kernels(s);
  return with_real(s.input().dtype,
                   [&](auto zero) { return dropout_kernels<decltype(zero)>(op.probability, s); });
}

KernelsOrReason make_kernels(const RotaryEmbedding& op, const Setting& s) {
  return with_real(s.input().dtype,
                   [&](auto zero) { return rotary_kernels<decltype(zero)>(op, s); });
}

KernelsOrReason make_kernels(const Yolo& op, const Setting& s) {
  return with_real(s.input().dtype, [&](auto zero) { return yolo_kernels<decltype(zero)>(op, s); });
}

KernelsOrReason make_kernels(const Cast&, const Setting& s) {
  const DType from = s.input().dtype, to = s.output().dtype;
  if (from == to) return alias_kernels(s);
  for (const DType dtype : {from, to}) {
    if (!is_stored(dtype)) return NoKernels{"the CPU does not hold " + std::string(name_of(dtype))};
  }
  const std::int64_t count = s.output().elements;
  const Workers& workers = s.workers;
  const auto convert = [=, &workers](DType source, const void* x, DType target, void* y) {
    workers.ranges(count, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      with_stored(target, [&](auto stored) {
        read_row(source, x, begin, 1, end - begin, static_cast<decltype(stored)*>(y) + begin);
      });
    });
  };
  return kernels_by({[=](const NodeMemory& m) { convert(from, m.inputs[0], to, m.outputs[0]); },
                     [=](const NodeMemory& m) {
                       if (m.input_gradients[0] == nullptr) return;
                       convert(to, m.output_gradients[0], from, m.input_gradients[0]);
                     }},
                    s);
}

}  // namespace strata::cpu_training
