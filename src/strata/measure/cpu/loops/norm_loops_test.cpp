// SPDX-License-Identifier: Apache-2.0
// Loops of norms: sums of rows, planes, channels and stretches, and what is written from them.
#include "strata/measure/cpu/loops/vector_loops_test.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strata::cpu_training {
namespace {

TEST(NormLoops, a_row_is_written_and_the_next_one_summed_up) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t n : row_lengths) {
      const std::vector<float> x = some_numbers(n, 1), next = some_numbers(n, 2);
      const std::vector<float> scales = some_numbers(n, 3), shifts = some_numbers(n, 4);
      for (int which = 0; which < 4; ++which) {
        const float* const scale = (which & 1) != 0 ? scales.data() : nullptr;
        const float* const shift = (which & 2) != 0 ? shifts.data() : nullptr;
        std::vector<float> y(n + 1, -9);
        const PairOfSums<float> sums =
            loops.line_and_moments(x.data(), 1.5F, -0.25F, scale, shift, y.data(),
                                   {.x = next.data(), .base = 2}, static_cast<std::int64_t>(n));
        double first = 0, second = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const double line = x[i] * 1.5 - 0.25;
          const double wanted = line * (scale != nullptr ? static_cast<double>(scale[i]) : 1) +
                                (shift != nullptr ? static_cast<double>(shift[i]) : 0);
          ASSERT_NEAR(static_cast<double>(y[i]), wanted, 1e-5) << n << ' ' << which << ' ' << i;
          const double moved = static_cast<double>(next[i]) - 2;
          first += moved;
          second += moved * moved;
        }
        EXPECT_EQ(y[n], -9) << "wrote behind its numbers";
        std::vector<float> again(n + 1, -9);
        loops.line_while_fetching(x.data(), 1.5F, -0.25F, scale, shift, again.data(), next.data(),
                                  static_cast<std::int64_t>(n));
        for (std::size_t i = 0; i <= n; ++i) ASSERT_NEAR(again[i], y[i], 1e-5F) << n << ' ' << i;
        EXPECT_NEAR(static_cast<double>(sums.first), first, 1e-5 * static_cast<double>(n));
        EXPECT_NEAR(static_cast<double>(sums.second), second, 1e-5 * static_cast<double>(n));
      }
    }
  }
}

TEST(NormLoops, a_gradient_is_written_and_the_next_ones_summed_up) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t n : row_lengths) {
      const std::vector<float> x = some_numbers(n, 1), dy = some_numbers(n, 0.5F);
      const std::vector<float> next_x = some_numbers(n, 2), next_dy = some_numbers(n, 0.25F);
      const std::vector<float> scales = some_numbers(n, 3), next_scales = some_numbers(n, 4);
      for (const bool has_scale : {false, true}) {
        std::vector<float> dx(n + 1, -9);
        const GradientRow<float> row{.dy = dy.data(),
                                     .scale = has_scale ? scales.data() : nullptr,
                                     .x = x.data(),
                                     .a = 0.75F,
                                     .mean = 1.25F,
                                     .slope = 0.5F,
                                     .offset = 0.125F,
                                     .factor = 2};
        const NextRow<float> next{.x = next_x.data(),
                                  .dy = next_dy.data(),
                                  .scale = has_scale ? next_scales.data() : nullptr,
                                  .base = 2};
        const PairOfSums<float> sums =
            loops.centred_and_sums(row, dx.data(), next, static_cast<std::int64_t>(n));
        double first = 0, second = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const double d = dy[i], moved = x[i] - 1.25;
          const double scale = has_scale ? static_cast<double>(scales[i]) : 1;
          ASSERT_NEAR(static_cast<double>(dx[i]), (d * scale * 0.75 - 0.125 - moved * 0.5) * 2,
                      2e-5)
              << n << ' ' << has_scale << ' ' << i;
          const double next_d = static_cast<double>(next_dy[i]) *
                                (has_scale ? static_cast<double>(next_scales[i]) : 1);
          first += next_d;
          second += next_d * (static_cast<double>(next_x[i]) - 2);
        }
        EXPECT_EQ(dx[n], -9) << "wrote behind its numbers";
        EXPECT_NEAR(static_cast<double>(sums.first), first, 2e-5 * static_cast<double>(n));
        EXPECT_NEAR(static_cast<double>(sums.second), second, 2e-5 * static_cast<double>(n));
      }
    }
  }
}

TEST(NormLoops, rows_give_their_gradients_and_those_of_parameters) {
  using P = NormParameters<float>;
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t n : row_lengths) {
      for (const std::size_t rows : {1U, 2U, 5U}) {
        for (const float mean : {0.0F, 0.25F, 5.0F}) {  // none; near and far from zero
          const bool takes_mean = mean != 0;
          const std::vector<float> x = some_numbers(rows * n, 1), dy = some_numbers(rows * n, 0.5F);
          const std::vector<float> scales = some_numbers(n, 3);
          std::vector<float> statistics;
          for (std::size_t row = 0; row < rows; ++row) {
            statistics.insert(statistics.end(), {mean, 2.0F + static_cast<float>(row)});
          }
          const auto length = static_cast<std::int64_t>(n);
          std::vector<float> parameters(static_cast<std::size_t>(P::room(length)), 0.5F);
          const auto parameter = [&](std::size_t i, std::int64_t kind) -> float& {
            return parameters[static_cast<std::size_t>(P::place(static_cast<std::int64_t>(i)) +
                                                       kind)];
          };
          for (std::size_t i = 0; i < n; ++i) parameter(i, P::scale) = scales[i];
          std::vector<float> dx(rows * n + 1, -9);
          loops.norm_gradient_rows({.x = x.data(),
                                    .dy = dy.data(),
                                    .statistics = statistics.data(),
                                    .dx = dx.data(),
                                    .count = static_cast<std::int64_t>(rows),
                                    .length = length},
                                   takes_mean, parameters.data());
          std::vector<double> d_scale(n, 0.5), d_shift(n, 0.5), sizes(n, 1);
          for (std::size_t row = 0; row < rows; ++row) {
            const double factor = statistics[2 * row + 1], all = static_cast<double>(n);
            const auto moved = [&](std::size_t i) {
              return static_cast<double>(x[row * n + i]) - static_cast<double>(mean);
            };
            double first = 0, second = 0, terms = 0;
            for (std::size_t i = 0; i < n; ++i) {
              const double d = dy[row * n + i], scale = scales[i];
              first += d * scale;
              second += d * scale * moved(i);
              terms += std::abs(d * scale * moved(i));
              d_scale[i] += d * moved(i) * factor;
              sizes[i] += std::abs(d * moved(i) * factor);
              d_shift[i] += d;
            }
            // As norms define it: what is left of dy·scale without its mean and without its share
            // of the normalized numbers.
            for (std::size_t i = 0; i < n; ++i) {
              const double d =
                  static_cast<double>(dy[row * n + i]) * static_cast<double>(scales[i]);
              const double hat = moved(i) * factor;
              const double mean_of_d = takes_mean ? first / all : 0;
              const double wanted = factor * (d - mean_of_d - hat * second * factor / all);
              const double size = factor * (std::abs(d) + std::abs(hat) * terms * factor / all);
              ASSERT_NEAR(static_cast<double>(dx[row * n + i]), wanted, 2e-6 * (size + factor))
                  << i;
            }
          }
          for (std::size_t i = 0; i < n; ++i) {
            ASSERT_NEAR(static_cast<double>(parameter(i, P::d_scale)), d_scale[i], 1e-6 * sizes[i])
                << i;
            if (takes_mean) {
              ASSERT_NEAR(static_cast<double>(parameter(i, P::d_shift)), d_shift[i], 2e-5) << i;
            }
          }
          EXPECT_EQ(dx[rows * n], -9) << "wrote behind its numbers";
        }
      }
    }
  }
}

TEST(NormLoops, some_rows_are_summed_up_at_once) {
  using P = NormParameters<float>;
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t n : row_lengths) {
      for (std::size_t rows = 1; rows <= norm_rows_at_once; ++rows) {
        for (const bool takes_mean : {false, true}) {
          const std::vector<float> x = some_numbers(rows * n, 1), dy = some_numbers(rows * n, 0.5F);
          std::vector<float> statistics;
          for (std::size_t row = 0; row < rows; ++row) {
            const auto number = static_cast<float>(row);
            statistics.insert(statistics.end(), {takes_mean ? 0.25F + number : 0, 2 + number});
          }
          const auto length = static_cast<std::int64_t>(n);
          std::vector<float> parameters(static_cast<std::size_t>(P::room(length)), 0.5F);
          std::vector<PairOfSums<float>> sums(rows);
          loops.norm_row_sums({.x = x.data(),
                               .dy = dy.data(),
                               .statistics = statistics.data(),
                               .dx = nullptr,
                               .count = static_cast<std::int64_t>(rows),
                               .length = length},
                              takes_mean, parameters.data(), sums.data());
          std::vector<double> first(rows), second(rows), terms(rows, 1);
          for (std::size_t i = 0; i < n; ++i) {
            double d_scale = 0.5, d_shift = 0.5, size = 1;
            for (std::size_t row = 0; row < rows; ++row) {
              const double d = dy[row * n + i], factor = statistics[2 * row + 1];
              const double product = d * (static_cast<double>(x[row * n + i]) -
                                          static_cast<double>(statistics[2 * row]));
              first[row] += 0.5 * d;  // 0.5 is every scale
              second[row] += 0.5 * product;
              terms[row] += std::abs(d) + std::abs(product);
              d_shift += d;
              d_scale += product * factor;
              size += std::abs(product * factor);
            }
            const auto at = static_cast<std::size_t>(P::place(static_cast<std::int64_t>(i)));
            EXPECT_EQ(parameters[at + P::scale], 0.5F);
            ASSERT_NEAR(static_cast<double>(parameters[at + P::d_scale]), d_scale, 1e-6 * size);
            ASSERT_NEAR(static_cast<double>(parameters[at + P::d_shift]),
                        takes_mean ? d_shift : 0.5, 1e-5);
          }
          for (std::size_t row = 0; row < rows; ++row) {
            if (takes_mean) {
              EXPECT_NEAR(static_cast<double>(sums[row].first), first[row], 2e-6 * terms[row]);
            }
            EXPECT_NEAR(static_cast<double>(sums[row].second), second[row], 2e-6 * terms[row]);
          }
        }
      }
    }
  }
}

void expect_sums_of(const GradientPlane<float>& plane, std::size_t n, PairOfSums<float> sums) {
  double first = 0, second = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double d = plane.dy[i];
    first += d;
    second += d * (static_cast<double>(plane.x[i]) - static_cast<double>(plane.base));
  }
  EXPECT_NEAR(static_cast<double>(sums.first), first, 2e-5 * static_cast<double>(n));
  EXPECT_NEAR(static_cast<double>(sums.second), second, 2e-5 * static_cast<double>(n));
}

TEST(NormLoops, planes_give_their_sums_and_gradients) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t n : row_lengths) {
      for (const int bases : {0, 1, 2, 3}) {
        const std::vector<float> x = some_numbers(n, 1), dy = some_numbers(n, 0.5F);
        const auto count = static_cast<std::int64_t>(n);
        const GradientPlane<float> plane{dy.data(), x.data(), (bases & 1) != 0 ? 1.25F : 0};
        const GradientPlane<float> next{x.data(), dy.data(), (bases & 2) != 0 ? 0.5F : 0};
        const PlaneGradient<float> gradient{{plane}, 2, 0.75F, -0.25F};
        std::vector<float> alone(n + 1, -9), dx(n + 1, -9);
        loops.plane_gradient(gradient, alone.data(), count);
        expect_sums_of(next, n, loops.plane_gradient_and_sums(gradient, dx.data(), next, count));
        expect_sums_of(plane, n, loops.plane_sums(plane, count));
        for (std::size_t i = 0; i < n; ++i) {
          const double moved = static_cast<double>(x[i]) - static_cast<double>(plane.base);
          const double wanted = static_cast<double>(dy[i]) * 2 + moved * 0.75 - 0.25;
          ASSERT_NEAR(static_cast<double>(alone[i]), wanted, 1e-5) << i;
          ASSERT_NEAR(static_cast<double>(dx[i]), wanted, 1e-5) << i;
        }
        EXPECT_EQ(alone[n], -9) << "wrote behind its numbers";
        EXPECT_EQ(dx[n], -9) << "wrote behind its numbers";
      }
    }
  }
}

TEST(NormLoops, rows_of_channels_are_summed_up_and_written) {
  using S = ChannelSums<float>;
  using L = ChannelLines<float>;
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t channels : row_lengths) {
      for (const std::size_t rows : {1U, 4U, 11U}) {
        for (const int form : {0, 1, 2, 3}) {
          const bool has_dy = form % 2 == 1, has_base = form / 2 == 1;
          const std::vector<float> x = some_numbers(rows * channels, 1);
          const std::vector<float> dys = some_numbers(rows * channels, 0.5F);
          const float* const dy = has_dy ? dys.data() : nullptr;
          const auto count = static_cast<std::int64_t>(channels);
          std::vector<float> sums(static_cast<std::size_t>(S::room(count)), 0.5F);
          // In sequences, and what is left.
          const auto all = static_cast<std::int64_t>(rows);
          const std::int64_t sequences = std::min<std::int64_t>(all, summed_rows_at_once(has_dy));
          const std::int64_t each = all / sequences, added = sequences * each;
          loops.add_channel_rows(x.data(), dy, {sequences, each, each * count}, count, has_base,
                                 sums.data());
          loops.add_channel_rows(x.data() + added * count, has_dy ? dy + added * count : nullptr,
                                 {.rows = all - added}, count, has_base, sums.data());
          std::vector<float> lines(static_cast<std::size_t>(L::room(count)));
          std::vector<float> y(rows * channels + 1, -9);
          for (std::size_t c = 0; c < channels; ++c) {
            double first = 0.5, second = 0.5;
            for (std::size_t row = 0; row < rows; ++row) {
              const double moved =
                  static_cast<double>(x[row * channels + c]) - (has_base ? 0.5 : 0);
              const double d = has_dy ? static_cast<double>(dys[row * channels + c]) : moved;
              first += d;
              second += d * moved;
            }
            const auto place = S::place(static_cast<std::int64_t>(c));
            const auto at = [&](std::int64_t kind) {
              return static_cast<std::size_t>(place + kind);
            };
            ASSERT_NEAR(static_cast<double>(sums[at(S::first)]), first, 2e-5) << c;
            ASSERT_NEAR(static_cast<double>(sums[at(S::second)]), second, 2e-5) << c;
            lines[at(L::slope)] = 1 + static_cast<float>(c);
            lines[at(L::offset)] = 2;
            lines[at(L::d_slope)] = -static_cast<float>(c);
          }
          loops.channel_lines(x.data(), dy, lines.data(), y.data(), static_cast<std::int64_t>(rows),
                              count);
          for (std::size_t i = 0; i < rows * channels; ++i) {
            const auto slope = static_cast<double>(i % channels);
            const double wanted = (1 + slope) * static_cast<double>(x[i]) + 2 -
                                  (has_dy ? slope * static_cast<double>(dys[i]) : 0);
            ASSERT_NEAR(static_cast<double>(y[i]), wanted, 1e-6 * (10 + 3 * slope)) << i;
          }
          EXPECT_EQ(y[rows * channels], -9) << "wrote behind its numbers";
        }
      }
    }
  }
}

const std::vector<std::size_t> stretch_lengths = {1, 2, 3, 4, 15, 16, 18, 49, 255, 256, 259, 784};

/// The sum that is in `lanes` numbers behind others.
double total_of(const std::vector<float>& sums, std::size_t others) {
  double total = 0;
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes<float>); ++lane) {
    total += static_cast<double>(sums[others * static_cast<std::size_t>(lanes<float>) + lane]);
  }
  return total;
}

TEST(NormLoops, stretches_are_written) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t length : stretch_lengths) {
      for (const std::size_t count : {1U, 3U}) {
        const std::size_t n = count * length;
        const std::vector<float> x = some_numbers(n, 1), dy = some_numbers(n, 0.5F);
        const std::vector<float> slope = {2, 3, -1.5F}, offset = {0.5F, -0.25F, 1},
                                 d_slope = {1, -1, 0.5F};
        const Stretches s{static_cast<std::int64_t>(count), static_cast<std::int64_t>(length)};
        std::vector<float> y(n + 1, -9), dx(y);
        loops.stretch_lines(x.data(), s, slope.data(), offset.data(), y.data());
        loops.stretch_gradients(dy.data(), x.data(), s,
                                {slope.data(), offset.data(), d_slope.data()}, dx.data());
        for (std::size_t i = 0; i < n; ++i) {
          const std::size_t k = i / length;
          const double line = static_cast<double>(x[i]) * static_cast<double>(slope[k]) +
                              static_cast<double>(offset[k]);
          ASSERT_NEAR(static_cast<double>(y[i]), line, 1e-5) << i;
          ASSERT_NEAR(static_cast<double>(dx[i]),
                      line + static_cast<double>(dy[i]) * static_cast<double>(d_slope[k]), 1e-5)
              << i;
        }
        EXPECT_EQ(y[n], -9) << "wrote behind its numbers";
        EXPECT_EQ(dx[n], -9) << "wrote behind its numbers";
      }
    }
  }
}

TEST(NormLoops, stretches_of_samples_are_summed_up) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t length : stretch_lengths) {
      for (const std::size_t samples : {1U, 2U, 7U}) {
        const std::vector<float> base = {0.5F, 0, 1};
        const std::size_t count = base.size(), step = count * length + 5;
        const std::vector<float> x = some_numbers(samples * step, 1),
                                 dy = some_numbers(samples * step, 0.5F);
        const Stretches s{static_cast<std::int64_t>(count), static_cast<std::int64_t>(length),
                          static_cast<std::int64_t>(samples), static_cast<std::int64_t>(step)};
        const std::size_t room = count * static_cast<std::size_t>(lanes<float>);
        // What is there already stays in the sums.
        std::vector<float> moments(2 * room, 0.25F), products(moments);
        loops.stretch_moments(x.data(), s, base.data(), moments.data());
        loops.stretch_products(dy.data(), x.data(), s, base.data(), products.data());
        for (std::size_t k = 0; k < count; ++k) {
          const double before = 0.25 * static_cast<double>(lanes<float>);
          double sum = before, square = before, d_sum = before, product = before;
          for (std::size_t n = 0; n < samples; ++n) {
            for (std::size_t i = 0; i < length; ++i) {
              const std::size_t at = n * step + k * length + i;
              const double moved = static_cast<double>(x[at]) - static_cast<double>(base[k]);
              sum += moved;
              square += moved * moved;
              d_sum += static_cast<double>(dy[at]);
              product += static_cast<double>(dy[at]) * moved;
            }
          }
          const double tolerance = 1e-5 * (1 + square);
          EXPECT_NEAR(total_of(moments, 2 * k), sum, tolerance) << length;
          EXPECT_NEAR(total_of(moments, 2 * k + 1), square, tolerance) << length;
          EXPECT_NEAR(total_of(products, 2 * k), d_sum, tolerance) << length;
          EXPECT_NEAR(total_of(products, 2 * k + 1), product, tolerance) << length;
        }
      }
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
