// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/training/constants.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata::cpu_training {
namespace {

using namespace training_constants;
static_assert(local_response_beta == 0.75, "power_of computes with roots");

/// t^−¾ by roots, which vectors have.
template <class T>
T power_of(T t) {
  const T root = std::sqrt(t);
  return T(1) / (root * std::sqrt(root));
}

/// X is [N, C, space]; a stretch of space at a time, all channels of it, so that the window of
/// channels stays in the cache.
struct ResponsePlan {
  std::int64_t batch = 0, channels = 0, space = 0, size = 0;
  static constexpr std::int64_t stretch = 256;

  std::int64_t stretches() const { return (space + stretch - 1) / stretch; }
  template <class T>
  T factor() const {
    return T(local_response_alpha / static_cast<double>(size));
  }
};

/// sum[i] = Σ over the channels first … last of rows[channel][i]
template <class T>
void window_sum(const ResponsePlan& plan, std::int64_t first, std::int64_t last,
                const std::vector<T>& rows, T* sum) {
  std::fill(sum, sum + ResponsePlan::stretch, T(0));
  for (std::int64_t c = std::max<std::int64_t>(0, first); c <= std::min(last, plan.channels - 1);
       ++c) {
    const T* const row = rows.data() + c * ResponsePlan::stretch;
    for (std::int64_t i = 0; i < ResponsePlan::stretch; ++i) sum[i] += row[i];
  }
}

template <class T, class Work>
void each_stretch(const ResponsePlan& plan, const Workers& workers, const Work& work) {
  workers.ranges(plan.batch * plan.stretches(), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> rows(static_cast<std::size_t>(plan.channels * plan.stretch));
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t left = unit % plan.stretches() * plan.stretch;
      const std::int64_t at = unit / plan.stretches() * plan.channels * plan.space + left;
      work(at, std::min(plan.stretch, plan.space - left), rows);
    }
  });
}

template <class T>
void response_forward(const ResponsePlan& plan, const Workers& workers, const NodeMemory& m) {
  const T* const x = real<T>(m.inputs[0]);
  T *const y = real<T>(m.outputs[0]), *const saved = real<T>(m.saved);
  each_stretch<T>(plan, workers, [&](std::int64_t at, std::int64_t length, std::vector<T>& rows) {
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const T* const from = x + at + c * plan.space;
      T* const squares = rows.data() + c * plan.stretch;
      for (std::int64_t i = 0; i < length; ++i) squares[i] = from[i] * from[i];
    }
    T sum[ResponsePlan::stretch];
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const std::int64_t first = c - plan.size / 2;
      window_sum(plan, first, first + plan.size - 1, rows, sum);
      const std::int64_t place = at + c * plan.space;
      for (std::int64_t i = 0; i < length; ++i) {
        const T t = T(local_response_k) + plan.factor<T>() * sum[i];
        sum[i] = t;
        y[place + i] = x[place + i] * power_of(t);
      }
      if (saved != nullptr) std::copy(sum, sum + length, saved + place);
    }
  });
}

/// dx = dy·t^−β − 2αβ/size · x · Σ over the windows that hold the channel of dy·y/t
template <class T>
void response_backward(const ResponsePlan& plan, const Workers& workers, const NodeMemory& m) {
  T* const dx = real<T>(m.input_gradients[0]);
  if (dx == nullptr) return;
  const T *const x = real<T>(m.inputs[0]), *const saved = real<T>(m.saved);
  const T *const y = real<T>(m.outputs[0]), *const dy = real<T>(m.output_gradients[0]);
  const T factor = T(2 * local_response_beta) * plan.factor<T>();
  each_stretch<T>(plan, workers, [&](std::int64_t at, std::int64_t length, std::vector<T>& rows) {
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const std::int64_t place = at + c * plan.space;
      T* const ratios = rows.data() + c * plan.stretch;
      for (std::int64_t i = 0; i < length; ++i) {
        ratios[i] = dy[place + i] * y[place + i] / saved[place + i];
      }
    }
    T sum[ResponsePlan::stretch];
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const std::int64_t last = c + plan.size / 2;
      window_sum(plan, last - plan.size + 1, last, rows, sum);
      const std::int64_t place = at + c * plan.space;
      for (std::int64_t i = place; i < place + length; ++i) {
        dx[i] = dy[i] * power_of(saved[i]) - factor * x[i] * sum[i - place];
      }
    }
  });
}

}  // namespace

KernelsOrReason make_kernels(const LocalResponseNorm& op, const Setting& s) {
  ResponsePlan plan{.batch = s.input()[0], .channels = s.input()[1], .size = op.size};
  plan.space = s.input().elements / (plan.batch * plan.channels);
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const Workers& workers = s.workers;
    return kernels_by(
        {[=, &workers](const NodeMemory& m) { response_forward<T>(plan, workers, m); },
         [=, &workers](const NodeMemory& m) { response_backward<T>(plan, workers, m); },
         {.inputs = true, .outputs = true, .saved_bytes = s.wants(0) ? s.input().bytes : 0}},
        s);
  });
}

}  // namespace strata::cpu_training
