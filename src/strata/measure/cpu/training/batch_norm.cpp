// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/vector_loops.hpp"
#include "strata/measure/training/constants.hpp"

#include <cmath>
#include <vector>

namespace strata::cpu_training {
namespace {

using namespace training_constants;

/// X is [N, C, space]. Inputs after X: scale, shift (where there are such), running mean, running
/// variance.
struct BatchPlan {
  std::int64_t batch = 0, channels = 0, space = 0;
  bool has_scale = false, has_shift = false;

  std::size_t scale_input() const { return 1; }
  std::size_t shift_input() const { return has_scale ? 2 : 1; }
  std::size_t mean_input() const { return 1 + (has_scale ? 1U : 0U) + (has_shift ? 1U : 0U); }
  double count() const { return static_cast<double>(batch * space); }
  std::int64_t place(std::int64_t n, std::int64_t c) const { return (n * channels + c) * space; }
  std::int64_t channels_per_part() const {
    // Without space the numbers of a channel lie apart: threads then take whole lines of the cache.
    constexpr std::int64_t numbers_per_line = 16;
    return std::max<std::int64_t>(space == 1 ? numbers_per_line : 1,
                                  numbers_per_part / (batch * space));
  }
};

template <class T>
const T* own_of(const NodeMemory& m, bool is_there, std::size_t input) {
  return is_there ? real<T>(m.inputs[input]) : nullptr;
}

/// Both sums over the batch of what pair(place) gives for a channel's stretch of space.
template <class T, class Pair>
PairOfSums<double> channel_sums(const BatchPlan& plan, std::int64_t c, const Pair& pair) {
  PairOfSums<double> total;
  for (std::int64_t n = 0; n < plan.batch; ++n) {
    const PairOfSums<T> sums = pair(plan.place(n, c));
    total.first += static_cast<double>(sums.first);
    total.second += static_cast<double>(sums.second);
  }
  return total;
}

/// y[i] = x[i] · a[c] + b[c] for channels begin … end
template <class T>
void apply_lines(const BatchPlan& plan, std::int64_t begin, std::int64_t end, const T* x,
                 const T* a, const T* b, T* y) {
  if (plan.space == 1) {
    for (std::int64_t n = 0; n < plan.batch; ++n) {
      for (std::int64_t c = begin; c < end; ++c) {
        const std::int64_t at = n * plan.channels + c;
        y[at] = x[at] * a[c - begin] + b[c - begin];
      }
    }
    return;
  }
  for (std::int64_t c = begin; c < end; ++c) {
    const T slope = a[c - begin], offset = b[c - begin];
    for (std::int64_t n = 0; n < plan.batch; ++n) {
      const std::int64_t at = plan.place(n, c);
      vector_loops<T>().line(x + at, slope, offset, nullptr, nullptr, y + at, plan.space);
    }
  }
}

template <class T>
void update_running(const BatchPlan& plan, const NodeMemory& m, std::int64_t c, double mean,
                    double variance) {
  constexpr double momentum = batch_norm_momentum;
  const double n = plan.count();
  const double unbiased = n > 1 ? variance * n / (n - 1) : variance;
  T* const running_mean = real<T>(m.inputs[plan.mean_input()]) + c;
  T* const running_variance = real<T>(m.inputs[plan.mean_input() + 1]) + c;
  *running_mean =
      static_cast<T>((1 - momentum) * static_cast<double>(*running_mean) + momentum * mean);
  *running_variance =
      static_cast<T>((1 - momentum) * static_cast<double>(*running_variance) + momentum * unbiased);
}

struct Statistics {
  double mean = 0, variance = 0;
};

template <class T>
Statistics batch_statistics(const BatchPlan& plan, const T* x, std::int64_t c) {
  // Around the first number, so that a large mean does not eat the digits of the variance.
  const T base = x[plan.place(0, c)];
  const PairOfSums<double> sums = channel_sums<T>(plan, c, [&](std::int64_t place) {
    return vector_loops<T>().moments(x + place, base, plan.space);
  });
  const double moved = sums.first / plan.count();
  return {static_cast<double>(base) + moved,
          std::max(0.0, sums.second / plan.count() - moved * moved)};
}

template <class T>
void batch_norm_forward(const BatchPlan& plan, const Workers& workers, bool is_training,
                        const NodeMemory& m) {
  const T* const x = real<T>(m.inputs[0]);
  const T* const scale = own_of<T>(m, plan.has_scale, plan.scale_input());
  const T* const shift = own_of<T>(m, plan.has_shift, plan.shift_input());
  T* const saved = real<T>(m.saved);
  const auto line_of = [&](std::int64_t c, T& a, T& b) {
    Statistics s;
    if (is_training) {
      s = batch_statistics(plan, x, c);
      update_running<T>(plan, m, c, s.mean, s.variance);
    } else {
      s.mean = static_cast<double>(real<T>(m.inputs[plan.mean_input()])[c]);
      s.variance = static_cast<double>(real<T>(m.inputs[plan.mean_input() + 1])[c]);
    }
    const double factor = 1 / std::sqrt(s.variance + batch_norm_epsilon);
    const double slope = factor * (scale != nullptr ? static_cast<double>(scale[c]) : 1);
    a = static_cast<T>(slope);
    b = static_cast<T>((shift != nullptr ? static_cast<double>(shift[c]) : 0) - s.mean * slope);
    if (saved == nullptr) return;
    saved[2 * c] = static_cast<T>(s.mean);
    saved[2 * c + 1] = static_cast<T>(factor);
  };
  workers.ranges(
      plan.channels, plan.channels_per_part(), [&](std::int64_t begin, std::int64_t end) {
        // One channel at a time is still in the cache when it is normalised; without space those of
        // a line are taken together.
        const std::int64_t together = plan.space == 1 ? end - begin : 1;
        std::vector<T> a(static_cast<std::size_t>(together)), b(a);
        for (std::int64_t c = begin; c < end; c += together) {
          for (std::int64_t k = 0; k < together; ++k) {
            line_of(c + k, a[static_cast<std::size_t>(k)], b[static_cast<std::size_t>(k)]);
          }
          apply_lines(plan, c, c + together, x, a.data(), b.data(), real<T>(m.outputs[0]));
        }
      });
}

/// dx = factor·scale·(dy − mean(dy) − hat·mean(dy·hat))
template <class T>
void batch_norm_backward(const BatchPlan& plan, const Workers& workers, const NodeMemory& m) {
  const T *const x = real<T>(m.inputs[0]), *const dy = real<T>(m.output_gradients[0]);
  const T* const scale = own_of<T>(m, plan.has_scale, plan.scale_input());
  const T* const saved = real<T>(m.saved);
  T* const dx = real<T>(m.input_gradients[0]);
  T* const d_scale = plan.has_scale ? real<T>(m.input_gradients[plan.scale_input()]) : nullptr;
  T* const d_shift = plan.has_shift ? real<T>(m.input_gradients[plan.shift_input()]) : nullptr;
  workers.ranges(
      plan.channels, plan.channels_per_part(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t c = begin; c < end; ++c) {
          const T mean = saved[2 * c], factor = saved[2 * c + 1];
          const PairOfSums<double> sums = channel_sums<T>(plan, c, [&](std::int64_t place) {
            return vector_loops<T>().with_normalized(dy + place, nullptr, x + place, mean, factor,
                                                     plan.space);
          });
          if (d_shift != nullptr) d_shift[c] = static_cast<T>(sums.first);
          if (d_scale != nullptr) d_scale[c] = static_cast<T>(sums.second);
          if (dx == nullptr) continue;
          const T slope = static_cast<T>(static_cast<double>(factor) * sums.second / plan.count());
          const T offset = static_cast<T>(sums.first / plan.count());
          const T scaled = factor * (scale != nullptr ? scale[c] : T(1));
          for (std::int64_t n = 0; n < plan.batch; ++n) {
            const std::int64_t at = plan.place(n, c);
            vector_loops<T>().centred(dy + at, nullptr, x + at, T(1), mean, slope, offset, scaled,
                                      dx + at, plan.space);
          }
        }
      });
}

}  // namespace

KernelsOrReason make_kernels(const BatchNorm& op, const Setting& s) {
  BatchPlan plan{.batch = s.input()[0],
                 .channels = s.input()[1],
                 .has_scale = op.scale,
                 .has_shift = op.shift};
  plan.space = s.input().elements / (plan.batch * plan.channels);
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const Workers& workers = s.workers;
    const bool is_training = s.is_training;
    const std::int64_t saved =
        s.wants_any() ? 2 * plan.channels * static_cast<std::int64_t>(sizeof(T)) : 0;
    return kernels_by(
        {[=, &workers](const NodeMemory& m) {
           batch_norm_forward<T>(plan, workers, is_training, m);
         },
         [=, &workers](const NodeMemory& m) { batch_norm_backward<T>(plan, workers, m); },
         {.inputs = true, .saved_bytes = saved, .backward_is_one = true}},
        s);
  });
}

}  // namespace strata::cpu_training
