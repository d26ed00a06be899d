// SPDX-License-Identifier: Apache-2.0
#include "strata/cpu/line_room.hpp"
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/norms/batch_norm_rows.hpp"
#include "strata/measure/cpu/norms/batch_plan.hpp"
#include "strata/measure/cpu/norms/channel_moments.hpp"
#include "strata/measure/engine/constants.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace strata::cpu_training {
namespace {

using namespace training_constants;

template <class T>
const T* own_of(const NodeMemory& m, bool is_there, std::size_t input) {
  return is_there ? real<T>(m.inputs[input]) : nullptr;
}

/// Sums over the batch: pair(place, c) gives those of a channel's stretch of space.
template <class T, class Pair>
StripSums sums_by_stretch(const BatchPlan& plan, const ChannelStrip& strip, const Pair& pair) {
  StripSums sums(strip.width());
  for (std::int64_t n = 0; n < plan.batch; ++n) {
    for (std::int64_t c = strip.begin; c < strip.end; ++c) {
      sums.add<T>(c - strip.begin, pair(plan.place(n, c), c));
    }
  }
  return sums;
}

/// Writes the strip stretch by stretch, and returns the sums of another one of the same channels or
/// fewer: memory has something to read and something to write at any time.
/// write(place, c, first, length, to, next) does so for a piece of channel c's stretch, which
/// begins at `place`; next is the place of the other strip's stretch, or negative where it has no
/// such channel.
template <class T, class Write>
StripSums write_by_stretch(const BatchPlan& plan, const ChannelStrip& strip,
                           const ChannelStrip& other, T* y, const Write& write) {
  const bool is_past = plan.goes_past();
  StripSums sums(other.width());
  for (std::int64_t n = 0; n < plan.batch; ++n) {
    ResultStream<T> result(y, plan.place(n, strip.begin), is_past);
    for (std::int64_t k = 0; k < strip.width(); ++k) {
      const std::int64_t place = plan.place(n, strip.begin + k);
      const std::int64_t next = k < other.width() ? plan.place(n, other.begin + k) : -1;
      result.pieces(plan.space, [&](std::int64_t first, std::int64_t length, T* to) {
        const PairOfSums<T> part = write(place, strip.begin + k, first, length, to, next);
        if (next >= 0) sums.add(k, part);
      });
    }
  }
  return sums;
}

/// Calls work(part, begin, end) for parts of the samples; without workers for all of them.
template <class Work>
void share_samples(const BatchPlan& plan, const Workers* workers, const Work& work) {
  if (workers == nullptr) return work(0, 0, plan.batch);
  workers->parts(plan.batch, 1, work);
}

/// Adds samples begin … end to the sums of channels: add(n, samples, sums) adds some of them to
/// sums in T, of `lanes` numbers each, a channel's two behind each other.
template <class T, class Add>
void add_samples(const BatchPlan& plan, std::int64_t begin, std::int64_t end, StripSums& sums,
                 const Add& add) {
  constexpr std::int64_t width = lanes<T>;
  const auto channels = static_cast<std::int64_t>(sums.first.size());
  const cpu::LineRoom<T> room(2 * width * channels);
  const std::int64_t most = plan.samples_per_sum();
  for (std::int64_t n = begin; n < end; n += most) {
    std::fill_n(room.data(), 2 * width * channels, T(0));
    add(n, std::min(most, end - n), room.data());
    const T* own = room.data();
    for (std::size_t c = 0; c < sums.first.size(); ++c, own += 2 * width) {
      double first = 0, second = 0;
      for (std::int64_t lane = 0; lane < width; ++lane) {
        first += static_cast<double>(own[lane]);
        second += static_cast<double>(own[width + lane]);
      }
      sums.first[c] += first;
      sums.second[c] += second;
    }
  }
}

/// Means and variances, sample by sample.
template <class T>
ChannelMoments moments_of_samples(const BatchPlan& plan, const Workers* workers,
                                  const ChannelStrip& strip, const T* x) {
  std::vector<ChannelMoments> parts(static_cast<std::size_t>(plan.threads));
  share_samples(plan, workers, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(part)] = moments_around_bases<T>(
        strip.width(), begin, end, plan.samples_per_sum(), plan.space,
        [&](std::int64_t first, std::int64_t last, const std::vector<T>& base, StripSums& sums) {
          add_samples<T>(
              plan, first, last, sums, [&](std::int64_t n, std::int64_t samples, T* own) {
                vector_loops<T>().stretch_moments(x + plan.place(n, strip.begin),
                                                  plan.stretches(strip, samples), base.data(), own);
              });
        });
  });
  return all_of(std::move(parts));
}

/// Σ dy and Σ dy·(x − mean), sample by sample.
template <class T>
StripSums products_of_samples(const BatchPlan& plan, const Workers* workers,
                              const ChannelStrip& strip, const T* x, const T* dy, const T* saved) {
  const ProductBases<T> bases(plan.count(), saved + 2 * strip.begin);
  std::vector<T> base;
  for (std::int64_t c = 0; c < strip.width(); ++c) base.push_back(bases(c));
  std::vector<StripSums> parts(static_cast<std::size_t>(plan.threads));
  share_samples(plan, workers, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    StripSums& sums = parts[static_cast<std::size_t>(part)] = StripSums(strip.width());
    add_samples<T>(plan, begin, end, sums, [&](std::int64_t n, std::int64_t samples, T* own) {
      const std::int64_t at = plan.place(n, strip.begin);
      vector_loops<T>().stretch_products(dy + at, x + at, plan.stretches(strip, samples),
                                         base.data(), own);
    });
  });
  StripSums sums = all_of(std::move(parts));
  bases.take_off_means(sums);
  return sums;
}

/// Writes sample by sample: write(place, channel, stretches, to) does so for some channels of one,
/// from `channel` of the strip on.
template <class T, class Write>
void write_stretches(const BatchPlan& plan, const Workers* workers, const ChannelStrip& strip, T* y,
                     const Write& write) {
  const bool is_past = plan.goes_past() && stream_of<T>() != nullptr;
  const std::int64_t most = is_past ? ResultStream<T>::longest / plan.space : strip.width();
  share_samples(plan, workers, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      ResultStream<T> result(y, plan.place(n, strip.begin), is_past);
      for (std::int64_t k = 0; k < strip.width(); k += most) {
        const Stretches some{std::min(most, strip.width() - k), plan.space};
        write(plan.place(n, strip.begin + k), k, some, result.next(some.count * some.length));
      }
    }
  });
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

/// Numbers are taken around the first of their channel, so that a large mean does not eat the
/// digits of the variance.
template <class T>
T base_of(const BatchPlan& plan, const T* x, std::int64_t c) {
  return x[plan.place(0, c)];
}

template <class T>
StripSums moments_of(const BatchPlan& plan, const T* x, const ChannelStrip& strip) {
  return sums_by_stretch<T>(plan, strip, [&](std::int64_t place, std::int64_t c) {
    plan.fetch_start(x + place + plan.place(1, 0));
    return vector_loops<T>().moments(x + place, base_of(plan, x, c), plan.space);
  });
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
  const auto known = [&](std::int64_t c) -> Statistics {
    return {static_cast<double>(real<T>(m.inputs[plan.mean_input()])[c]),
            static_cast<double>(real<T>(m.inputs[plan.mean_input() + 1])[c])};
  };
  const auto found = [&](std::int64_t c, double mean, double variance) -> Statistics {
    const Statistics s{mean, std::max(0.0, variance)};
    update_running<T>(plan, m, c, s.mean, s.variance);
    return s;
  };
  const auto by_moments = [&](std::int64_t c, const ChannelMoments& moments, std::size_t k) {
    return is_training ? found(c, moments.mean[k], moments.variance(k)) : known(c);
  };
  const auto by_sums = [&](std::int64_t c, double first, double second) -> Statistics {
    if (!is_training) return known(c);
    const double moved = first / plan.count();
    return found(c, static_cast<double>(base_of(plan, x, c)) + moved,
                 second / plan.count() - moved * moved);
  };
  if (plan.goes_by_rows()) {
    const BatchRows<T> rows{workers, plan.batch, plan.channels, x};
    const ChannelMoments moments = is_training ? rows.moments() : ChannelMoments();
    RowLines<T> lines(plan.channels);
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      line_of(c, by_moments(c, moments, static_cast<std::size_t>(c)), lines.slope(c),
              lines.offset(c));
    }
    return rows.write(lines, nullptr, real<T>(m.outputs[0]));
  }
  const VectorLoops<T>& loops = vector_loops<T>();
  const Workers* const sharing = plan.shares_samples() ? &workers : nullptr;
  T* const y = real<T>(m.outputs[0]);
  const auto by_samples = [&](const ChannelStrip& strip) {
    ChannelMoments moments;
    if (is_training) moments = moments_of_samples(plan, sharing, strip, x);
    std::vector<T> a(static_cast<std::size_t>(strip.width())), b(a);
    for (std::size_t k = 0; k < a.size(); ++k) {
      const std::int64_t c = strip.begin + static_cast<std::int64_t>(k);
      line_of(c, by_moments(c, moments, k), a[k], b[k]);
    }
    write_stretches<T>(plan, sharing, strip, y,
                       [&](std::int64_t place, std::int64_t k, const Stretches& some, T* to) {
                         loops.stretch_lines(x + place, some, a.data() + k, b.data() + k, to);
                       });
  };
  plan.each_range(workers, [&](std::int64_t first_strip, std::int64_t last_strip) {
    StripSums sums;
    for (std::int64_t i = first_strip; i < last_strip; ++i) {
      const ChannelStrip strip = plan.strip(i);
      if (plan.goes_by_sample()) {
        by_samples(strip);
        continue;
      }
      if (!is_training) sums = StripSums(strip.width());
      if (is_training && i == first_strip) sums = moments_of(plan, x, strip);
      std::vector<T> a(sums.first.size()), b(a);
      for (std::size_t k = 0; k < a.size(); ++k) {
        const std::int64_t c = strip.begin + static_cast<std::int64_t>(k);
        line_of(c, by_sums(c, sums.first[k], sums.second[k]), a[k], b[k]);
      }
      const bool takes_next = is_training && i + 1 < last_strip;
      sums = write_by_stretch<T>(
          plan, strip, takes_next ? plan.strip(i + 1) : ChannelStrip{}, y,
          [&](std::int64_t place, std::int64_t c, std::int64_t first, std::int64_t length, T* to,
              std::int64_t next) -> PairOfSums<T> {
            const auto k = static_cast<std::size_t>(c - strip.begin);
            const T* const from = x + place + first;
            if (next < 0) {
              loops.line(from, a[k], b[k], nullptr, nullptr, to, length);
              return {};
            }
            return loops.line_and_moments(
                from, a[k], b[k], nullptr, nullptr, to,
                {.x = x + next + first, .base = base_of(plan, x, c + strip.width())}, length);
          });
    }
  });
}

/// What backward of a strip needs of each channel: dx = a·dy − b − c·(x − mean).
template <class T>
struct StripGradient {
  std::vector<T> mean, scaled, slope, offset;

  explicit StripGradient(std::size_t width)
      : mean(width), scaled(width), slope(width), offset(width) {}

  void write_samples(const BatchPlan& plan, const Workers* workers, const ChannelStrip& strip,
                     const T* x, const T* dy, T* dx) const {
    std::vector<T> x_slope(mean.size()), rest(mean.size());
    for (std::size_t k = 0; k < mean.size(); ++k) {
      const auto a = static_cast<double>(scaled[k]);
      x_slope[k] = static_cast<T>(-a * static_cast<double>(slope[k]));
      // Of the slope as it is rounded: x and its mean cancel in what they are multiplied with.
      rest[k] = static_cast<T>(-a * static_cast<double>(offset[k]) -
                               static_cast<double>(mean[k]) * static_cast<double>(x_slope[k]));
    }
    write_stretches<T>(plan, workers, strip, dx,
                       [&](std::int64_t place, std::int64_t k, const Stretches& some, T* to) {
                         vector_loops<T>().stretch_gradients(
                             dy + place, x + place, some,
                             {x_slope.data() + k, rest.data() + k, scaled.data() + k}, to);
                       });
  }

  /// With the sums of another strip, which follows.
  StripSums write_long(const BatchPlan& plan, const ChannelStrip& strip, const ChannelStrip& other,
                       const T* x, const T* dy, const T* saved, T* dx) const {
    const VectorLoops<T>& loops = vector_loops<T>();
    return write_by_stretch<T>(plan, strip, other, dx,
                               [&](std::int64_t place, std::int64_t c, std::int64_t first,
                                   std::int64_t length, T* to, std::int64_t next) -> PairOfSums<T> {
                                 const auto k = static_cast<std::size_t>(c - strip.begin);
                                 const GradientRow<T> row{.dy = dy + place + first,
                                                          .x = x + place + first,
                                                          .mean = mean[k],
                                                          .slope = slope[k],
                                                          .offset = offset[k],
                                                          .factor = scaled[k]};
                                 if (next < 0) {
                                   loops.centred(row, to, length);
                                   return {};
                                 }
                                 return loops.centred_and_sums(
                                     row, to,
                                     {.x = x + next + first,
                                      .dy = dy + next + first,
                                      .base = saved[2 * (c + strip.width())]},
                                     length);
                               });
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
  if (plan.goes_by_rows()) {
    const BatchRows<T> rows{workers, plan.batch, plan.channels, x};
    const StripSums sums = rows.products(dy, saved);
    RowLines<T> lines(plan.channels);
    for (std::int64_t c = 0; c < plan.channels; ++c) {
      const double first = sums.first[static_cast<std::size_t>(c)];
      const double second = sums.second[static_cast<std::size_t>(c)];
      const auto mean = static_cast<double>(saved[2 * c]),
                 factor = static_cast<double>(saved[2 * c + 1]);
      if (d_shift != nullptr) d_shift[c] = static_cast<T>(first);
      if (d_scale != nullptr) d_scale[c] = static_cast<T>(second * factor);
      const double scaled = factor * (scale != nullptr ? static_cast<double>(scale[c]) : 1);
      const double slope = -scaled * factor * factor * second / plan.count();
      lines.slope(c) = static_cast<T>(slope);
      // Of the slope as it is rounded: x and its mean cancel in what they are multiplied with.
      lines.offset(c) = static_cast<T>(-scaled * first / plan.count() -
                                       mean * static_cast<double>(lines.slope(c)));
      lines.d_slope(c) = static_cast<T>(scaled);
    }
    if (dx != nullptr) rows.write(lines, dy, dx);
    return;
  }
  const VectorLoops<T>& loops = vector_loops<T>();
  const Workers* const sharing = plan.shares_samples() ? &workers : nullptr;
  // Σ dy and Σ dy·(x − mean)
  const auto sums_of = [&](const ChannelStrip& strip) {
    if (plan.goes_by_sample()) {
      return products_of_samples(plan, sharing, strip, x, dy, saved);
    }
    return sums_by_stretch<T>(plan, strip, [&](std::int64_t at, std::int64_t c) {
      plan.fetch_start(x + at + plan.place(1, 0));
      plan.fetch_start(dy + at + plan.place(1, 0));
      return loops.with_normalized(dy + at, nullptr, x + at, saved[2 * c], T(1), plan.space);
    });
  };
  plan.each_range(workers, [&](std::int64_t first_strip, std::int64_t last_strip) {
    StripSums sums;
    for (std::int64_t i = first_strip; i < last_strip; ++i) {
      const ChannelStrip strip = plan.strip(i);
      StripGradient<T> gradient(static_cast<std::size_t>(strip.width()));
      for (std::size_t k = 0; k < gradient.mean.size(); ++k) {
        gradient.mean[k] = saved[2 * (strip.begin + static_cast<std::int64_t>(k))];
      }
      // The sums of a strip are taken while the one before it is written.
      const bool is_fused = dx != nullptr && !plan.goes_by_sample();
      if (i == first_strip || !is_fused) sums = sums_of(strip);
      for (std::size_t k = 0; k < gradient.mean.size(); ++k) {
        const std::int64_t c = strip.begin + static_cast<std::int64_t>(k);
        const auto factor = static_cast<double>(saved[2 * c + 1]);
        if (d_shift != nullptr) d_shift[c] = static_cast<T>(sums.first[k]);
        if (d_scale != nullptr) d_scale[c] = static_cast<T>(sums.second[k] * factor);
        gradient.slope[k] = static_cast<T>(factor * factor * sums.second[k] / plan.count());
        gradient.offset[k] = static_cast<T>(sums.first[k] / plan.count());
        gradient.scaled[k] = saved[2 * c + 1] * (scale != nullptr ? scale[c] : T(1));
      }
      if (is_fused) {
        const ChannelStrip next = i + 1 < last_strip ? plan.strip(i + 1) : ChannelStrip{};
        sums = gradient.write_long(plan, strip, next, x, dy, saved, dx);
      } else if (dx != nullptr) {
        gradient.write_samples(plan, sharing, strip, x, dy, dx);
      }
    }
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
