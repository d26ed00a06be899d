// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/result_stream.hpp"
#include "strata/measure/training/constants.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace strata::cpu_training {
namespace {

using namespace training_constants;

/// X is [N, C, space]. Inputs after X: scale, shift (where there are such), running mean, running
/// variance.
struct BatchPlan {
  std::int64_t batch = 0, channels = 0, space = 0, threads = 1;
  bool has_scale = false, has_shift = false;

  std::size_t scale_input() const { return 1; }
  std::size_t shift_input() const { return has_scale ? 2 : 1; }
  std::size_t mean_input() const { return 1 + (has_scale ? 1U : 0U) + (has_shift ? 1U : 0U); }
  double count() const { return static_cast<double>(batch * space); }
  std::int64_t place(std::int64_t n, std::int64_t c) const { return (n * channels + c) * space; }
  /// How far ahead numbers are asked for where each sample has `width` of them: a page of them.
  std::int64_t ahead(std::int64_t width) const {
    return place(std::max<std::int64_t>(1, 1024 / width), 0);
  }
  bool is_beyond = false;  // the result is larger than the caches

  /// Channels that are worked on together, so that what of a sample lies side by side is long; few
  /// enough to be still in the second cache when they are normalised, if that can be.
  std::int64_t together() const {
    constexpr std::int64_t least_run = 256, numbers_in_cache = 192 * 1024;
    const std::int64_t wanted = (least_run + space - 1) / space;
    const std::int64_t fits = std::max<std::int64_t>(1, numbers_in_cache / (batch * space));
    // Without space the numbers of a channel lie apart: several lines of each sample are taken, and
    // where no cache keeps them for the second reading anyway, a page.
    if (space == 1) {
      constexpr std::int64_t lines = 64, page = 1024;
      const std::int64_t width =
          fits < lines ? std::clamp(channels / threads, lines, page) : std::min(wanted, fits);
      return std::min(channels, std::max(lines, width));
    }
    return std::min({channels, wanted, fits});
  }
  /// Whether stretches are long enough to go around the caches.
  bool goes_past() const { return is_beyond && together() * space >= 128; }
  std::int64_t strips() const { return (channels + together() - 1) / together(); }
  /// Calls work(begin, end) for strips of channels, on all threads.
  template <class Work>
  void each_strip(const Workers& workers, const Work& work) const {
    const std::int64_t width = together();
    workers.ranges(strips(), std::max<std::int64_t>(1, numbers_per_part / (batch * space * width)),
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t i = first; i < last; ++i) {
                       work(i * width, std::min(channels, (i + 1) * width));
                     }
                   });
  }
};

template <class T>
const T* own_of(const NodeMemory& m, bool is_there, std::size_t input) {
  return is_there ? real<T>(m.inputs[input]) : nullptr;
}

/// Two sums for each channel of a strip.
struct StripSums {
  explicit StripSums(std::int64_t width) : first(static_cast<std::size_t>(width)), second(first) {}
  std::vector<double> first, second;
};

/// Sums over the batch: pair(place, c) gives those of a channel's stretch of space.
template <class T, class Pair>
StripSums sums_by_stretch(const BatchPlan& plan, std::int64_t begin, std::int64_t end,
                          const Pair& pair) {
  StripSums sums(end - begin);
  for (std::int64_t n = 0; n < plan.batch; ++n) {
    for (std::int64_t c = begin; c < end; ++c) {
      const PairOfSums<T> of_stretch = pair(plan.place(n, c), c);
      sums.first[static_cast<std::size_t>(c - begin)] += static_cast<double>(of_stretch.first);
      sums.second[static_cast<std::size_t>(c - begin)] += static_cast<double>(of_stretch.second);
    }
  }
  return sums;
}

/// Calls work(first, length) for short pieces of a sample: what comes later is asked for meanwhile.
template <class Work>
void in_pieces(std::int64_t count, const Work& work) {
  constexpr std::int64_t longest = 256;
  for (std::int64_t k = 0; k < count; k += longest) work(k, std::min(longest, count - k));
}

/// The same without space: add(place, first, second) adds a sample's numbers of all channels to
/// sums in T, which are kept short.
template <class T, class Add>
StripSums sums_by_sample(const BatchPlan& plan, std::int64_t begin, std::int64_t end,
                         const Add& add) {
  constexpr std::int64_t samples_per_sum = 64;
  const std::int64_t ahead = plan.ahead(end - begin);
  StripSums sums(end - begin);
  std::vector<T> first(sums.first.size()), second(first);
  for (std::int64_t n = 0; n < plan.batch; ++n) {
    add(plan.place(n, begin), first.data(), second.data(), ahead);
    if ((n + 1) % samples_per_sum != 0 && n + 1 != plan.batch) continue;
    for (std::size_t k = 0; k < first.size(); ++k) {
      sums.first[k] += static_cast<double>(std::exchange(first[k], T(0)));
      sums.second[k] += static_cast<double>(std::exchange(second[k], T(0)));
    }
  }
  return sums;
}

/// y = x · a + b for channels begin … end, each with its own.
template <class T>
void apply_lines(const BatchPlan& plan, std::int64_t begin, std::int64_t end, const T* x,
                 const std::vector<T>& a, const std::vector<T>& b, T* y) {
  const VectorLoops<T>& loops = vector_loops<T>();
  const bool is_past = plan.goes_past();
  const std::int64_t ahead = plan.ahead(end - begin);
  for (std::int64_t n = 0; n < plan.batch; ++n) {
    ResultStream<T> result(y, plan.place(n, begin), is_past);
    if (plan.space == 1) {
      const T* const from = x + plan.place(n, begin);
      result.pieces(end - begin, [&](std::int64_t at, std::int64_t length, T* to) {
        fetch(from + ahead + at, length);
        loops.line(from + at, T(1), T(0), a.data() + at, b.data() + at, to, length);
      });
      continue;
    }
    for (std::int64_t c = begin; c < end; ++c) {
      const T slope = a[static_cast<std::size_t>(c - begin)];
      const T offset = b[static_cast<std::size_t>(c - begin)];
      const T* const from = x + plan.place(n, c);
      result.pieces(plan.space, [&](std::int64_t at, std::int64_t length, T* to) {
        loops.line(from + at, slope, offset, nullptr, nullptr, to, length);
      });
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

/// Of channels begin … end. Around the first number of each, so that a large mean does not eat the
/// digits of the variance.
template <class T>
std::vector<Statistics> batch_statistics(const BatchPlan& plan, const T* x, std::int64_t begin,
                                         std::int64_t end) {
  const VectorLoops<T>& loops = vector_loops<T>();
  const auto base = [&](std::int64_t c) { return x[plan.place(0, c)]; };
  const StripSums sums =
      plan.space == 1
          ? sums_by_sample<T>(plan, begin, end,
                              [&](std::int64_t place, T* first, T* second, std::int64_t ahead) {
                                in_pieces(end - begin, [&](std::int64_t k, std::int64_t length) {
                                  fetch(x + place + ahead + k, length);
                                  loops.add_moments(x + place + k, x + plan.place(0, begin) + k,
                                                    first + k, second + k, length);
                                });
                              })
          : sums_by_stretch<T>(plan, begin, end, [&](std::int64_t place, std::int64_t c) {
              fetch(x + place + plan.place(1, 0), std::min<std::int64_t>(256, plan.space));
              return loops.moments(x + place, base(c), plan.space);
            });
  std::vector<Statistics> all(sums.first.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    const double moved = sums.first[k] / plan.count();
    all[k].mean = static_cast<double>(base(begin + static_cast<std::int64_t>(k))) + moved;
    all[k].variance = std::max(0.0, sums.second[k] / plan.count() - moved * moved);
  }
  return all;
}

template <class T>
void batch_norm_forward(const BatchPlan& plan, const Workers& workers, bool is_training,
                        const NodeMemory& m) {
  const T* const x = real<T>(m.inputs[0]);
  const T* const scale = own_of<T>(m, plan.has_scale, plan.scale_input());
  const T* const shift = own_of<T>(m, plan.has_shift, plan.shift_input());
  T* const saved = real<T>(m.saved);
  const auto line_of = [&](std::int64_t c, const Statistics& s, T& a, T& b) {
    const double factor = 1 / std::sqrt(s.variance + batch_norm_epsilon);
    const double slope = factor * (scale != nullptr ? static_cast<double>(scale[c]) : 1);
    a = static_cast<T>(slope);
    b = static_cast<T>((shift != nullptr ? static_cast<double>(shift[c]) : 0) - s.mean * slope);
    if (saved == nullptr) return;
    saved[2 * c] = static_cast<T>(s.mean);
    saved[2 * c + 1] = static_cast<T>(factor);
  };
  plan.each_strip(workers, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Statistics> statistics(static_cast<std::size_t>(end - begin));
    if (is_training) statistics = batch_statistics(plan, x, begin, end);
    std::vector<T> a(statistics.size()), b(a);
    for (std::int64_t c = begin; c < end; ++c) {
      const auto k = static_cast<std::size_t>(c - begin);
      if (is_training) {
        update_running<T>(plan, m, c, statistics[k].mean, statistics[k].variance);
      } else {
        statistics[k] = {static_cast<double>(real<T>(m.inputs[plan.mean_input()])[c]),
                         static_cast<double>(real<T>(m.inputs[plan.mean_input() + 1])[c])};
      }
      line_of(c, statistics[k], a[k], b[k]);
    }
    apply_lines(plan, begin, end, x, a, b, real<T>(m.outputs[0]));
  });
}

/// What backward of a strip needs of each channel: dx = a·dy − b − c·(x − mean).
template <class T>
struct StripGradient {
  std::vector<T> mean, scaled, slope, offset;

  explicit StripGradient(std::size_t width)
      : mean(width), scaled(width), slope(width), offset(width) {}

  void write(const BatchPlan& plan, std::int64_t begin, const T* x, const T* dy, T* dx) const {
    const VectorLoops<T>& loops = vector_loops<T>();
    const auto width = static_cast<std::int64_t>(mean.size());
    const bool is_past = plan.goes_past();
    const std::int64_t ahead = plan.ahead(width);
    for (std::int64_t n = 0; n < plan.batch; ++n) {
      ResultStream<T> result(dx, plan.place(n, begin), is_past);
      if (plan.space == 1) {
        const std::int64_t at = plan.place(n, begin);
        result.pieces(width, [&](std::int64_t first, std::int64_t length, T* to) {
          fetch(x + at + ahead + first, length);
          fetch(dy + at + ahead + first, length);
          loops.centred_columns(dy + at + first, x + at + first, mean.data() + first,
                                slope.data() + first, offset.data() + first, scaled.data() + first,
                                to, length);
        });
        continue;
      }
      for (std::int64_t k = 0; k < width; ++k) {
        const auto c = static_cast<std::size_t>(k);
        const std::int64_t at = plan.place(n, begin + k);
        result.pieces(plan.space, [&](std::int64_t first, std::int64_t length, T* to) {
          loops.centred(dy + at + first, nullptr, x + at + first, T(1), mean[c], slope[c],
                        offset[c], scaled[c], to, length);
        });
      }
    }
  }
};

/// dx = factor·scale·(dy − mean(dy) − hat·mean(dy·hat))
template <class T>
void batch_norm_backward(const BatchPlan& plan, const Workers& workers, const NodeMemory& m) {
  const T *const x = real<T>(m.inputs[0]), *const dy = real<T>(m.output_gradients[0]);
  const T* const scale = own_of<T>(m, plan.has_scale, plan.scale_input());
  const T* const saved = real<T>(m.saved);
  T* const dx = real<T>(m.input_gradients[0]);
  T* const d_scale = plan.has_scale ? real<T>(m.input_gradients[plan.scale_input()]) : nullptr;
  T* const d_shift = plan.has_shift ? real<T>(m.input_gradients[plan.shift_input()]) : nullptr;
  const VectorLoops<T>& loops = vector_loops<T>();
  plan.each_strip(workers, [&](std::int64_t begin, std::int64_t end) {
    StripGradient<T> gradient(static_cast<std::size_t>(end - begin));
    for (std::int64_t c = begin; c < end; ++c) {
      gradient.mean[static_cast<std::size_t>(c - begin)] = saved[2 * c];
    }
    // Σ dy and Σ dy·(x − mean)
    const StripSums sums =
        plan.space == 1
            ? sums_by_sample<T>(plan, begin, end,
                                [&](std::int64_t at, T* first, T* second, std::int64_t ahead) {
                                  in_pieces(end - begin, [&](std::int64_t k, std::int64_t length) {
                                    fetch(x + at + ahead + k, length);
                                    fetch(dy + at + ahead + k, length);
                                    loops.add_centred(dy + at + k, x + at + k,
                                                      gradient.mean.data() + k, first + k,
                                                      second + k, length);
                                  });
                                })
            : sums_by_stretch<T>(plan, begin, end, [&](std::int64_t at, std::int64_t c) {
                const std::int64_t next = at + plan.place(1, 0);
                fetch(x + next, std::min<std::int64_t>(256, plan.space));
                fetch(dy + next, std::min<std::int64_t>(256, plan.space));
                return loops.with_normalized(dy + at, nullptr, x + at, saved[2 * c], T(1),
                                             plan.space);
              });
    for (std::int64_t c = begin; c < end; ++c) {
      const auto k = static_cast<std::size_t>(c - begin);
      const auto factor = static_cast<double>(saved[2 * c + 1]);
      if (d_shift != nullptr) d_shift[c] = static_cast<T>(sums.first[k]);
      if (d_scale != nullptr) d_scale[c] = static_cast<T>(sums.second[k] * factor);
      gradient.slope[k] = static_cast<T>(factor * factor * sums.second[k] / plan.count());
      gradient.offset[k] = static_cast<T>(sums.first[k] / plan.count());
      gradient.scaled[k] = saved[2 * c + 1] * (scale != nullptr ? scale[c] : T(1));
    }
    if (dx != nullptr) gradient.write(plan, begin, x, dy, dx);
  });
}

}  // namespace

KernelsOrReason make_kernels(const BatchNorm& op, const Setting& s) {
  BatchPlan plan{.batch = s.input()[0],
                 .channels = s.input()[1],
                 .threads = s.workers.count(),
                 .has_scale = op.scale,
                 .has_shift = op.shift};
  plan.space = s.input().elements / (plan.batch * plan.channels);
  plan.is_beyond = is_beyond_caches(s.output().bytes);
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
