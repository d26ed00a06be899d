// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Which convolutions are looked at: sweeps along one size, layers of benchmarks and networks,
/// single shapes. Text that cannot be read is an error (usage); a convolution that cannot be (a
/// kernel larger than the input) is a point like any other, which refusal_of refuses.
namespace strata {

struct ConvPoint {
  std::string label;               ///< "k = 5", "conv3", the name of a layer
  std::optional<std::int64_t> at;  ///< where on the axis of a sweep
  ConvShape shape;
  std::array<std::int64_t, 3> counts = {1, 1, 1};  ///< how often an iteration has it, by ConvPass

  friend bool operator==(const ConvPoint&, const ConvPoint&) = default;
};

/// Points that belong on one picture.
struct ConvSeries {
  std::string name;  ///< "k", "layers", "shapes", "resnet50"
  bool is_sweep = false;
  std::vector<ConvPoint> points;

  friend bool operator==(const ConvSeries&, const ConvSeries&) = default;
};

/// "64,128,64,11,1": batch, side of the input, filters, side of the kernel, stride.
ConvShape conv_base(std::string_view text, std::int64_t channels);

/// "k=2:13", "b=32:512:32" or "k=3,5,11": the base with one of b, i, f, k, s, c, p, d, g changed.
ConvSeries conv_sweep(const ConvShape& base, std::string_view text);

/// "b64,c3,h128,w96,f64,k3x5,s1x2,p1,d2,g1". What is left out is 1, padding 0; i sets h and w.
ConvPoint conv_point(std::string_view text);

/// conv1 to conv5: the benchmark layers of "Performance Analysis of GPU-based Convolutional Neural
/// Networks" (2016), table I.
ConvPoint conv_layer(std::string_view name);
std::span<const std::string_view> conv_layer_names();

/// "paper": the five sweeps and five layers of that study. "cpu": the same with 1/32 of the batch.
std::vector<ConvSeries> conv_suite(std::string_view name);

/// Every valid shape of the series once, in order.
std::vector<ConvPoint> distinct_points(std::span<const ConvSeries> series);

}  // namespace strata
