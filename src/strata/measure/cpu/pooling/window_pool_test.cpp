// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/pooling/window_pool.hpp"

#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/pooling/window_loops.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <new>
#include <random>
#include <vector>

namespace strata::cpu_training {
namespace {

constexpr double no_end = std::numeric_limits<double>::infinity();

struct PoolCase {
  std::int64_t kernel, stride, pad, height, width;
  bool is_maximum;
};

PoolPlan window_plan(const PoolCase& c, std::mt19937& random) {
  PoolPlan plan{.planes = 1 + static_cast<std::int64_t>(random() % 6),
                .in = {1, c.height, c.width},
                .kernel = {1, c.kernel, c.kernel},
                .stride = {1, c.stride, c.stride},
                .pad = {0, c.pad, c.pad},
                .is_maximum = c.is_maximum,
                .counts_padding = random() % 2 == 0,
                .is_beyond = random() % 2 == 0};
  for (const std::size_t axis : {1U, 2U}) {
    // Up or down; the last window must begin inside.
    const std::int64_t more = random() % 2 == 0 ? c.stride - 1 : 0;
    plan.out[axis] = (plan.in[axis] + 2 * c.pad - c.kernel + more) / c.stride + 1;
    if (plan.begin(axis, plan.out[axis] - 1) >= plan.in[axis]) --plan.out[axis];
  }
  return plan;
}

/// Calls f(place in the plane, tap) for what of an output's window lies inside.
void each_inside(const PoolPlan& plan, std::int64_t output,
                 const std::function<void(std::size_t, std::int64_t)>& f) {
  const std::int64_t oy = output / plan.out[2], ox = output % plan.out[2];
  for (std::int64_t tap = 0; tap < plan.window(); ++tap) {
    const std::int64_t y = plan.begin(1, oy) + tap / plan.kernel[2];
    const std::int64_t x = plan.begin(2, ox) + tap % plan.kernel[2];
    if (y < 0 || y >= plan.in[1] || x < 0 || x >= plan.in[2]) continue;
    f(static_cast<std::size_t>(y * plan.in[2] + x), tap);
  }
}

/// Memory that begins with a line: rows that are whole lines are written in another way.
template <class T>
struct FromLines {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), line));
  }
  void deallocate(T* numbers, std::size_t) { ::operator delete(numbers, line); }
  bool operator==(const FromLines&) const = default;
};

struct Tensors {
  std::vector<float> x, y, dy;
  std::vector<float, FromLines<float>> dx;
  std::vector<std::uint8_t> taps;
  NodeMemory m;

  Tensors(const PoolPlan& plan, std::mt19937& random, bool has_odd_numbers)
      : x(static_cast<std::size_t>(plan.planes * plan.in_plane())),
        y(static_cast<std::size_t>(plan.planes * plan.out_plane()) + 1, 77),
        dy(y.size() - 1),
        dx(x.size() + 1, 77),
        taps(y.size(), 77) {
    const std::vector<float> some = {-1,           0, 1, 2, -std::numeric_limits<float>::infinity(),
                                     std::nanf("")};
    std::discrete_distribution<std::size_t> any(
        {5, 5, 5, 5, has_odd_numbers ? 60.0 : 0.0, has_odd_numbers ? 1.0 : 0.0});
    for (float& number : x) number = some[any(random)];
    for (float& number : dy) number = static_cast<float>(random() % 1000) / 8;
    m.inputs = {x.data()};
    m.outputs = {y.data()};
    m.saved = taps.data();
    m.output_gradients = {dy.data()};
    m.input_gradients = {dx.data()};
  }
};

/// The largest by PyTorch's rule, in order, and where its gradient goes.
void expect_largest_windows(const PoolPlan& plan, const Tensors& t) {
  std::vector<double> wanted(t.x.size());
  for (std::int64_t i = 0; i < plan.planes * plan.out_plane(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto plane = static_cast<std::size_t>(i / plan.out_plane() * plan.in_plane());
    double best = -no_end;
    std::int64_t best_tap = -1;
    std::size_t best_place = 0;
    each_inside(plan, i % plan.out_plane(), [&](std::size_t place, std::int64_t tap) {
      const auto value = static_cast<double>(t.x[plane + place]);
      if (best_tap >= 0 && !(value > best || std::isnan(value))) return;
      best = value, best_tap = tap, best_place = place;
    });
    ASSERT_EQ(static_cast<std::int64_t>(t.taps[at]), best_tap) << "output " << i;
    ASSERT_TRUE(std::isnan(best) ? std::isnan(t.y[at]) : static_cast<double>(t.y[at]) == best);
    wanted[plane + best_place] += static_cast<double>(t.dy[at]);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(static_cast<double>(t.dx[i]), wanted[i]) << "place " << i;
  }
  EXPECT_EQ(t.y.back(), 77);
  EXPECT_EQ(t.dx.back(), 77);
  EXPECT_EQ(t.taps.back(), 77);
}

void assert_near(float number, double wanted, double tolerance) {
  if (std::isnan(wanted)) {
    ASSERT_TRUE(std::isnan(number));
  } else if (std::isinf(wanted)) {
    ASSERT_EQ(static_cast<double>(number), wanted);
  } else {
    ASSERT_NEAR(static_cast<double>(number), wanted, tolerance);
  }
}

void expect_means(const PoolPlan& plan, const Tensors& t) {
  std::vector<double> wanted(t.x.size());
  for (std::int64_t i = 0; i < plan.planes * plan.out_plane(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto plane = static_cast<std::size_t>(i / plan.out_plane() * plan.in_plane());
    double sum = 0, count = 0;
    each_inside(plan, i % plan.out_plane(), [&](std::size_t place, std::int64_t) {
      sum += static_cast<double>(t.x[plane + place]);
      count += 1;
    });
    if (plan.counts_padding) count = static_cast<double>(plan.window());
    ASSERT_NO_FATAL_FAILURE(assert_near(t.y[at], sum / count, 1e-5)) << "output " << i;
    each_inside(plan, i % plan.out_plane(), [&](std::size_t place, std::int64_t) {
      wanted[plane + place] += static_cast<double>(t.dy[at]) / count;
    });
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NO_FATAL_FAILURE(assert_near(t.dx[i], wanted[i], 1e-4)) << "place " << i;
  }
  EXPECT_EQ(t.y.back(), 77);
  EXPECT_EQ(t.dx.back(), 77);
}

std::vector<PoolCase> cases_of_threes(bool is_maximum) {
  std::vector<PoolCase> cases;
  for (const std::int64_t stride : {1, 2}) {
    for (const std::int64_t pad : {0, 1}) {
      for (std::int64_t width = 3; width < 75; width += 1 + width / 9) {
        cases.push_back({3, stride, pad, 3 + width % 14, width, is_maximum});
      }
      cases.push_back({3, stride, pad, 61, 200, is_maximum});   // several bands
      cases.push_back({3, stride, pad, 150, 230, is_maximum});  // several threads
      cases.push_back({3, stride, pad, 5, 1023, is_maximum});
      cases.push_back({3, stride, pad, 3, 33, is_maximum});  // few outputs in a plane
      if (pad == 0) continue;
      for (const std::int64_t width : {32, 40, 56, 64, 120, 32, 40, 56}) {  // windows of no ends
        cases.push_back({3, stride, pad, 2 + width / 4, width, is_maximum});
      }
      for (const std::int64_t width : {1, 16, 20, 41}) {  // a row or two
        cases.push_back({3, stride, pad, 1, width, is_maximum});
        cases.push_back({3, stride, pad, 2, width, is_maximum});
      }
    }
  }
  return cases;
}

std::vector<PoolCase> cases_of_twos(bool is_maximum) {
  std::vector<PoolCase> cases;
  for (const std::int64_t stride : {1, 2}) {
    for (std::int64_t width = 2; width < 75; width += 1 + width / 9) {
      cases.push_back({2, stride, 0, 2 + width % 9, width, is_maximum});
    }
    for (const std::int64_t width : {32, 64}) {  // whole lines
      cases.push_back({2, stride, 0, 6, width, is_maximum});
    }
  }
  return cases;
}

TEST(WindowPool, the_largest_are_those_of_plain_loops) {
  const Workers workers(2);
  std::mt19937 random(11);
  std::vector<PoolCase> cases = cases_of_threes(true);
  for (const PoolCase& c : cases) {
    // Without vector code the plain loops do it, which other tests look at.
    ASSERT_EQ(has_windows_of_three(window_plan(c, random)), window_loops() != nullptr);
  }
  for (const PoolCase& c : cases_of_twos(true)) cases.push_back(c);
  for (const PoolCase& c : cases) {
    const PoolPlan plan = window_plan(c, random);
    for (const bool has_odd_numbers : {false, true}) {
      Tensors t(plan, random, has_odd_numbers);
      max_pool_forward<float>(plan, workers, t.m);
      max_pool_backward<float>(plan, workers, t.m);
      SCOPED_TRACE(testing::Message() << c.height << " x " << c.width << ", stride " << c.stride
                                      << ", padding " << c.pad);
      expect_largest_windows(plan, t);
      if (HasFatalFailure()) return;
      const std::vector<float> with_taps = t.y;
      t.m.saved = nullptr;  // as where nothing is trained
      std::fill(t.y.begin(), t.y.end() - 1, 0.0F);
      max_pool_forward<float>(plan, workers, t.m);
      for (std::size_t i = 0; i < with_taps.size(); ++i) {
        ASSERT_TRUE(std::isnan(with_taps[i]) ? std::isnan(t.y[i]) : t.y[i] == with_taps[i]);
      }
    }
  }
}

TEST(WindowPool, gradients_without_end_go_where_they_belong) {
  const Workers workers(2);
  std::mt19937 random(14);
  std::vector<PoolCase> cases = cases_of_threes(true);
  for (const PoolCase& c : cases_of_twos(true)) cases.push_back(c);
  for (const PoolCase& c : cases) {
    const PoolPlan plan = window_plan(c, random);
    Tensors t(plan, random, false);
    // One of them, anywhere: nothing else may change, on either side of it.
    t.dy[random() % t.dy.size()] = std::numeric_limits<float>::infinity();
    max_pool_forward<float>(plan, workers, t.m);
    max_pool_backward<float>(plan, workers, t.m);
    SCOPED_TRACE(testing::Message() << c.kernel << ": " << c.height << " x " << c.width
                                    << ", stride " << c.stride << ", padding " << c.pad);
    expect_largest_windows(plan, t);
    if (HasFatalFailure()) return;
  }
}

TEST(WindowPool, means_are_those_of_plain_loops) {
  const Workers workers(2);
  std::mt19937 random(12);
  std::vector<PoolCase> cases = cases_of_threes(false);
  for (const PoolCase& c : cases_of_twos(false)) cases.push_back(c);
  for (std::int64_t width = 2; width < 75; width += 1 + width / 9) {
    cases.push_back({2, 2, 0, 2 * (width % 5) + 2, width, false});
  }
  for (const PoolCase& c : cases) {
    const PoolPlan plan = window_plan(c, random);
    Tensors t(plan, random, false);
    average_pool_forward<float>(plan, workers, t.m);
    average_pool_backward<float>(plan, workers, t.m);
    SCOPED_TRACE(testing::Message() << c.kernel << ": " << c.height << " x " << c.width
                                    << ", stride " << c.stride << ", padding " << c.pad);
    expect_means(plan, t);
    if (HasFatalFailure()) return;
  }
}

TEST(WindowPool, what_is_not_finite_stays_in_its_windows) {
  const Workers workers(2);
  std::mt19937 random(15);
  for (const PoolCase& c : cases_of_threes(false)) {
    const PoolPlan plan = window_plan(c, random);
    Tensors t(plan, random, false);
    t.x[random() % t.x.size()] = std::numeric_limits<float>::infinity();
    t.x[random() % t.x.size()] = std::nanf("");
    t.dy[random() % t.dy.size()] = -std::numeric_limits<float>::infinity();
    average_pool_forward<float>(plan, workers, t.m);
    average_pool_backward<float>(plan, workers, t.m);
    SCOPED_TRACE(testing::Message() << c.height << " x " << c.width << ", stride " << c.stride
                                    << ", padding " << c.pad);
    expect_means(plan, t);
    if (HasFatalFailure()) return;
  }
}

TEST(WindowPool, means_of_short_planes_are_those_of_doubles) {
  const Workers workers(2);
  std::mt19937 random(13);
  for (std::int64_t width = 1; width < 256; width += 1 + width / 6) {
    const PoolPlan plan{.planes = 1 + static_cast<std::int64_t>(random() % 70),
                        .in = {1, 1, width},
                        .is_adaptive = true,
                        .is_maximum = false,
                        .is_beyond = random() % 2 == 0};
    if (!has_short_planes(plan)) GTEST_SKIP() << "no vector code";
    Tensors t(plan, random, false);
    mean_of_planes(plan, workers, t.m);
    mean_of_planes_backward(plan, workers, t.m);
    for (std::int64_t i = 0; i < plan.planes * width; i += width) {
      const auto at = static_cast<std::size_t>(i / width);
      double sum = 0;
      for (std::int64_t k = 0; k < width; ++k) {
        sum += static_cast<double>(t.x[static_cast<std::size_t>(i + k)]);
        ASSERT_NEAR(static_cast<double>(t.dx[static_cast<std::size_t>(i + k)]),
                    static_cast<double>(t.dy[at]) / static_cast<double>(width), 1e-4);
      }
      ASSERT_NEAR(static_cast<double>(t.y[at]), sum / static_cast<double>(width), 1e-5);
    }
    EXPECT_EQ(t.y.back(), 77);
    EXPECT_EQ(t.dx.back(), 77);
  }
}

/// One of a few numbers, so that many are equal, and now and then what is not a number or −∞.
float pooled_number(std::mt19937& random) {
  const auto which = random() % 40;
  if (which == 0) return std::numeric_limits<float>::quiet_NaN();
  if (which < 6) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(which % 5) - 2;
}

TEST(WindowLoops, maxima_of_pairs_are_the_first_and_take_their_gradients_back) {
  if (window_loops() == nullptr) GTEST_SKIP() << "no vector code";
  std::mt19937 random(7);
  for (std::size_t width = 1; width <= 40; ++width) {
    for (const std::size_t rows : {1U, 3U}) {
      const std::size_t count = rows * width;
      std::vector<float> x(4 * count), most(count + 1, -9), alone(most), dy(count);
      for (float& number : x) number = pooled_number(random);
      for (float& number : dy) number = static_cast<float>(random() % 100);
      std::vector<std::uint8_t> which(count + 1, 99);
      const auto w = static_cast<std::int64_t>(width), r = static_cast<std::int64_t>(rows);
      window_loops()->largest_of_pairs(x.data(), most.data(), which.data(), w, r);
      window_loops()->largest_of_pairs(x.data(), alone.data(), nullptr, w, r);
      std::vector<float> dx(4 * count + 1, -9);
      window_loops()->spread_pairs(dy.data(), which.data(), dx.data(), w, r);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = i / width, place = row * 4 * width + 2 * (i % width);
        const std::size_t taps[] = {place, place + 1, place + 2 * width, place + 2 * width + 1};
        std::size_t best = 0;
        for (std::size_t k = 1; k < 4; ++k) {
          if (x[taps[k]] > x[taps[best]] || std::isnan(x[taps[k]])) best = k;
        }
        ASSERT_EQ(which[i], best) << width << ' ' << i;
        for (const float found : {most[i], alone[i]}) {
          ASSERT_TRUE(found == x[taps[best]] || (std::isnan(found) && std::isnan(x[taps[best]])));
        }
        for (std::size_t k = 0; k < 4; ++k) ASSERT_EQ(dx[taps[k]], k == best ? dy[i] : 0);
      }
      EXPECT_EQ(most[count], -9) << "wrote behind its numbers";
      EXPECT_EQ(which[count], 99) << "wrote behind its numbers";
      EXPECT_EQ(dx[4 * count], -9) << "wrote behind its numbers";
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
