// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/resize_by_two.hpp"

#include "strata/measure/cpu/loops/result_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace strata::cpu_training {
namespace {

/// How much place `from` of `in` weighs in output o, by centres of pixels that are aligned.
double weight_in_double(ResizeKind kind, std::int64_t o, std::int64_t from, std::int64_t in) {
  if (kind == ResizeKind::nearest) return o / 2 == from ? 1 : 0;
  const double centre = (static_cast<double>(o) + 0.5) / 2 - 0.5, low = std::floor(centre);
  double weight = 0;
  for (const double tap : {low, low + 1}) {
    const double place = std::clamp(tap, 0.0, static_cast<double>(in - 1));
    if (place == static_cast<double>(from)) weight += 1 - std::fabs(centre - tap);
  }
  return weight;
}

/// Both ways by the same weights.
void expect_doubled(const ResizeByTwo& r, const Workers& workers, std::mt19937& random) {
  const std::int64_t plane = r.height * r.width, count = r.planes * plane;
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(count)), dy(4 * x.size());
  for (float& number : x) number = normal(random);
  for (float& number : dy) number = normal(random);
  // Rows of results that are whole lines are written in another way.
  constexpr std::size_t line = 64;
  std::vector<float> room(dy.size() + 1 + line / sizeof(float), 77), dx(x.size() + 1, 77);
  const std::size_t ahead = reinterpret_cast<std::uintptr_t>(room.data()) % line;
  float* const y = room.data() + (ahead == 0 ? 0 : (line - ahead) / sizeof(float));
  resize_by_two(r, workers, x.data(), y);
  resize_by_two_backward(r, workers, dy.data(), dx.data());
  EXPECT_EQ(y[dy.size()], 77);
  EXPECT_EQ(dx.back(), 77);
  std::vector<double> wanted_dx(x.size());
  for (std::int64_t i = 0; i < 4 * count; ++i) {
    const std::int64_t row = i / (2 * r.width) % (2 * r.height), column = i % (2 * r.width);
    double wanted = 0;
    for (std::int64_t a = std::max<std::int64_t>(0, row / 2 - 1);
         a < std::min(r.height, row / 2 + 2); ++a) {
      for (std::int64_t b = std::max<std::int64_t>(0, column / 2 - 1);
           b < std::min(r.width, column / 2 + 2); ++b) {
        const double weight = weight_in_double(r.kind, row, a, r.height) *
                              weight_in_double(r.kind, column, b, r.width);
        const auto at = static_cast<std::size_t>(i / (4 * plane) * plane + a * r.width + b);
        wanted += weight * static_cast<double>(x[at]);
        wanted_dx[at] += weight * static_cast<double>(dy[static_cast<std::size_t>(i)]);
      }
    }
    ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(i)]), wanted, 1e-5) << i;
  }
  for (std::size_t i = 0; i < wanted_dx.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(dx[i]), wanted_dx[i], 1e-5) << i;
  }
}

TEST(ResizeByTwo, both_kinds_are_those_of_doubles) {
  const Workers workers(2);
  std::mt19937 random(31);
  for (const ResizeKind kind : {ResizeKind::nearest, ResizeKind::linear}) {
    for (std::int64_t width = 1; width < 90; width += 1 + width / 5) {
      const ResizeByTwo resize{kind, 3, 1 + width % 7, width};
      if (!can_resize_by_two(resize)) GTEST_SKIP() << "no vector code";
      const auto large = width % 2 == 0 ? std::make_unique<AsWithoutCaches>() : nullptr;
      SCOPED_TRACE(testing::Message() << resize.height << " x " << width);
      expect_doubled(resize, workers, random);
      if (HasFatalFailure()) return;
    }
    for (const std::int64_t width : {64, 77}) {  // more rows than are worked on at once
      expect_doubled({kind, 2, 71, width}, workers, random);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
