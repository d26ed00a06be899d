// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/loops.hpp"
#include "strata/measure/engine/constants.hpp"

#include <algorithm>
#include <cmath>

namespace strata::cpu_training::plain {
namespace {

using namespace training_constants;

/// X is [N, C, space]; channel c is divided by a power of s[c] = k + α/size · Σ of the squares of
/// channels c − size/2 … c − size/2 + size − 1.
struct ResponseShape {
  std::int64_t batch = 0, channels = 0, space = 0, size = 0;

  std::int64_t place(std::int64_t n, std::int64_t c) const { return (n * channels + c) * space; }
  std::int64_t first(std::int64_t c) const { return std::max<std::int64_t>(0, c - size / 2); }
  std::int64_t last(std::int64_t c) const { return std::min(channels, c - size / 2 + size); }
  // The channels whose windows hold c.
  std::int64_t first_holding(std::int64_t c) const {
    return std::max<std::int64_t>(0, c + size / 2 - size + 1);
  }
  std::int64_t last_holding(std::int64_t c) const { return std::min(channels, c + size / 2 + 1); }
  double factor() const { return local_response_alpha / static_cast<double>(size); }
};

/// Leaves s in `sums`.
template <class T>
void response_forward(const ResponseShape& r, const T* x, T* sums, T* y) {
  parallel_for(r.batch * r.channels, r.size * r.space, [&](std::int64_t plane) {
    const std::int64_t n = plane / r.channels, c = plane % r.channels, at = plane * r.space;
    std::fill_n(sums + at, r.space, T(0));
    for (std::int64_t other = r.first(c); other < r.last(c); ++other) {
      const T* const from = x + r.place(n, other);
      for (std::int64_t i = 0; i < r.space; ++i) sums[at + i] += from[i] * from[i];
    }
    for (std::int64_t i = at; i < at + r.space; ++i) {
      sums[i] = T(local_response_k) + T(r.factor()) * sums[i];
      y[i] = x[i] * std::pow(sums[i], T(-local_response_beta));
    }
  });
}

/// dx[c] = dy[c] · s[c]^−β − 2 β α/size · x[c] · Σ over the c' whose window holds c of
/// dy[c'] · x[c'] · s[c']^(−β−1)
template <class T>
void response_backward(const ResponseShape& r, const T* x, const T* sums, const T* dy, T* dx) {
  const T slope = T(2 * local_response_beta * r.factor());
  parallel_for(r.batch * r.channels, r.size * r.space, [&](std::int64_t plane) {
    const std::int64_t n = plane / r.channels, c = plane % r.channels;
    for (std::int64_t i = 0; i < r.space; ++i) {
      T through = 0;
      for (std::int64_t other = r.first_holding(c); other < r.last_holding(c); ++other) {
        const std::int64_t at = r.place(n, other) + i;
        through += dy[at] * x[at] * std::pow(sums[at], T(-local_response_beta - 1));
      }
      const std::int64_t at = plane * r.space + i;
      dx[at] = dy[at] * std::pow(sums[at], T(-local_response_beta)) - slope * x[at] * through;
    }
  });
}

}  // namespace

KernelPairOrReason make_kernels(const LocalResponseNorm& op, const NodeContext& context) {
  const std::int64_t batch = context.input()[0], channels = context.input()[1];
  const ResponseShape shape{batch, channels, context.input().elements / (batch * channels),
                            op.size};
  return with_real(context.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool keeps = context.wants(0);
    const std::int64_t bytes = context.input().bytes;
    return KernelPair{.forward =
                          [=](const NodeMemory& m) {
                            response_forward<T>(shape, numbers<T>(m.inputs[0]),
                                                numbers<T>(keeps ? m.saved : m.scratch),
                                                numbers<T>(m.outputs[0]));
                          },
                      .backward =
                          [=](const NodeMemory& m) {
                            T* const dx = numbers<T>(m.input_gradients[0]);
                            if (dx == nullptr) return;
                            response_backward<T>(shape, numbers<T>(m.inputs[0]),
                                                 numbers<T>(m.saved),
                                                 numbers<T>(m.output_gradients[0]), dx);
                          },
                      .needs = {.inputs = true,
                                .saved_bytes = keeps ? bytes : 0,
                                .scratch_bytes = keeps ? 0 : bytes}};
  });
}

}  // namespace strata::cpu_training::plain
