// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operator_check_test.hpp"
#include "strata/measure/engine/constants.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace strata::training_test {
namespace {

/// Y[at] = X[source_of(at)], or zero where there is no source.
template <class Op>
Trial move_trial(const Op& op, const Index& x, const Index& y,
                 std::function<std::optional<Index>(const Index&)> source_of) {
  return {op, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers result(y);
            naive::for_each_index(y, [&](const Index& at) {
              const std::optional<Index> source = source_of(at);
              result(at) = source ? in[0](*source) : 0;
            });
            return std::vector{result};
          }};
}

Trial transpose_trial(Random& random, const Index& x) {
  std::vector<std::size_t> axes(x.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = axes.size() - 1 - i;
  Transpose op;
  if (random.coin()) {
    for (std::size_t i = axes.size(); i-- > 1;) {
      std::swap(axes[i],
                axes[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
    }
    for (const std::size_t axis : axes) op.permutation.push_back(static_cast<std::int64_t>(axis));
  }
  Index y;
  for (const std::size_t axis : axes) y.push_back(x[axis]);
  return move_trial(op, x, y, [axes](const Index& at) {
    Index source(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) source[axes[i]] = at[i];
    return source;
  });
}

Trial shuffle_trial(Random& random) {
  const ChannelShuffle op{random.between(1, 3)};
  const std::int64_t each = random.between(1, 3);
  const Index x = naive::joined({random.between(1, 2), op.groups * each}, random.shape(2, 3));
  return move_trial(op, x, x, [=](const Index& at) {
    return naive::with(at, 1, at[1] % op.groups * each + at[1] / op.groups);
  });
}

Trial depth_trial(SpaceToDepth op, Random& random) {
  op.block = random.between(1, 3);
  const std::int64_t b = op.block, channels = random.between(1, 2);
  const Index deep = {random.between(1, 2), channels * b * b, random.between(1, 3), 2};
  const Index wide = {deep[0], channels, deep[2] * b, deep[3] * b};
  return move_trial(
      op, op.inverse ? deep : wide, op.inverse ? wide : deep, [=](const Index& at) -> Index {
        if (op.inverse) {
          const std::int64_t block = at[2] % b * b + at[3] % b;
          return {at[0], block * channels + at[1], at[2] / b, at[3] / b};
        }
        const std::int64_t block = at[1] / channels;
        return {at[0], at[1] % channels, at[2] * b + block / b, at[3] * b + block % b};
      });
}

Trial slice_trial(Random& random) {
  const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 6);
  Slice op;
  Index first(x.size(), 0), step(x.size(), 1), y = x;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    if (random.coin()) continue;
    const std::int64_t from = random.between(0, x[axis] - 1), to = random.between(0, x[axis] - 1);
    const std::int64_t stride = random.between(1, 3);
    first[axis] = from;
    step[axis] = to >= from ? stride : -stride;
    y[axis] = std::abs(to - from) / stride + 1;
    op.axes.push_back(static_cast<std::int64_t>(axis));
    op.begin.push_back(random.coin() ? from : from - x[axis]);
    op.end.push_back(to >= from ? to + 1 : to == 0 ? -x[axis] - 1 : to - 1);
    op.step.push_back(step[axis]);
  }
  return move_trial(op, x, y, [=](const Index& at) {
    Index source = first;
    for (std::size_t axis = 0; axis < at.size(); ++axis) source[axis] += at[axis] * step[axis];
    return source;
  });
}

Trial pad_trial(Random& random) {
  const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
  Pad op;
  Index y;
  for (const std::int64_t extent : x) {
    op.begin.push_back(random.between(-extent - 1, 3));
    op.end.push_back(std::max(random.between(-extent - 1, 3), 1 - extent - op.begin.back()));
    y.push_back(extent + op.begin.back() + op.end.back());
  }
  return move_trial(op, x, y, [=](const Index& at) -> std::optional<Index> {
    Index source = at;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      source[axis] -= op.begin[axis];
      if (source[axis] < 0 || source[axis] >= x[axis]) return std::nullopt;
    }
    return source;
  });
}

Trial expand_trial(Random& random) {
  Index x = random.shape(static_cast<std::size_t>(random.between(1, 3)), 3);
  Expand op;
  Index y;
  if (random.coin()) y.push_back(random.between(1, 3));  // a new leading axis
  const std::size_t lead = y.size();
  for (std::int64_t& extent : x) {
    y.push_back(extent);
    extent = random.coin() ? 1 : extent;
  }
  for (const std::int64_t extent : y) op.shape.push_back(extent);
  return move_trial(op, x, y, [=](const Index& at) { return naive::part(at, lead, at.size()); });
}

Trial concat_trial(Random& random) {
  const Index shape = random.shape(static_cast<std::size_t>(random.between(1, 4)), 3);
  const auto axis = random.between(0, static_cast<std::int64_t>(shape.size()) - 1);
  const auto along = static_cast<std::size_t>(axis);
  std::vector<Source> sources;
  Index y = naive::with(shape, along, 0);
  for (std::int64_t i = random.between(1, 4); i > 0; --i) {
    sources.push_back({naive::with(shape, along, random.between(1, 3))});
    y[along] += sources.back().shape[along];
  }
  return {Concat{axis}, sources, [=](const std::vector<Numbers>& in) {
            Numbers result(y);
            std::int64_t begin = 0;
            for (const Numbers& each : in) {
              naive::for_each_index(each.shape, [&](const Index& at) {
                result(naive::with(at, along, begin + at[along])) = each(at);
              });
              begin += each[along];
            }
            return std::vector{result};
          }};
}

Trial split_trial(Random& random) {
  Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 3);
  const auto axis = random.between(0, static_cast<std::int64_t>(x.size()) - 1);
  const auto along = static_cast<std::size_t>(axis);
  Split op{.axis = axis};
  x[along] = 0;
  for (std::int64_t i = random.between(1, 4); i > 0; --i) {
    op.sizes.push_back(random.between(1, 3));
    x[along] += op.sizes.back();
  }
  return {op, {{x}}, [=](const std::vector<Numbers>& in) {
            std::vector<Numbers> results;
            std::int64_t begin = 0;
            for (const std::int64_t size : op.sizes) {
              Numbers part(naive::with(x, along, size));
              naive::for_each_index(part.shape, [&](const Index& at) {
                part(at) = in[0](naive::with(at, along, begin + at[along]));
              });
              begin += size;
              results.push_back(part);
            }
            return results;
          }};
}

/// The same numbers in another shape.
template <class Op>
Trial same_trial(const Op& op, const Index& x, const Index& y) {
  return {op, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers result(y);
            result.values = in[0].values;
            return std::vector{result};
          }};
}

TEST(CpuMovement, equal_loops_and_differences) {
  check_family("CpuMovement.equal_loops_and_differences", 12,
               [](const Operator& op, Random& random) {
                 if (std::holds_alternative<Transpose>(op)) {
                   return transpose_trial(
                       random, random.shape(static_cast<std::size_t>(random.between(1, 4)), 4));
                 }
                 if (std::holds_alternative<ChannelShuffle>(op)) return shuffle_trial(random);
                 if (const auto* depth = std::get_if<SpaceToDepth>(&op))
                   return depth_trial(*depth, random);
                 if (std::holds_alternative<Slice>(op)) return slice_trial(random);
                 if (std::holds_alternative<Pad>(op)) return pad_trial(random);
                 if (std::holds_alternative<Expand>(op)) return expand_trial(random);
                 if (std::holds_alternative<Concat>(op)) return concat_trial(random);
                 if (std::holds_alternative<Split>(op)) return split_trial(random);
                 const Index x = random.shape(3, 4);
                 if (std::holds_alternative<Flatten>(op))
                   return same_trial(Flatten{1}, x, {x[0], x[1] * x[2]});
                 return same_trial(Reshape{Shape{-1, x[2]}}, x, {x[0] * x[1], x[2]});
               });
}

// Large enough for tiles and several threads.
TEST(CpuMovement, turns_large_matrices) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    Random random(seed);
    check(transpose_trial(random, {3, 150, 70}));
  }
}

double resize_weight(ResizeKind kind, double distance) {
  const double d = std::fabs(distance), a = training_constants::cubic_resize_a;
  if (kind == ResizeKind::linear) return std::max(0.0, 1 - d);
  return d <= 1  ? (a + 2) * d * d * d - (a + 3) * d * d + 1
         : d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a
                 : 0;
}

/// How much place i of `in` weighs in output o: every place is asked.
double axis_weight(ResizeKind kind, std::int64_t in, std::int64_t out, std::int64_t o,
                   std::int64_t i) {
  if (in == out) return i == o ? 1 : 0;
  if (kind == ResizeKind::nearest) return i == o * in / out ? 1 : 0;
  const double centre =
      (static_cast<double>(o) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
  double weight = 0;
  for (std::int64_t place = -3; place < in + 3; ++place) {  // edges are repeated
    if (std::clamp<std::int64_t>(place, 0, in - 1) != i) continue;
    weight += resize_weight(kind, centre - static_cast<double>(place));
  }
  return weight;
}

Trial resize_trial(Resize op, Random& random) {
  const auto axes = static_cast<std::size_t>(random.between(1, 3));
  const Index x = naive::joined(random.shape(2, 2), random.shape(axes, 4));
  Index y = x;
  const bool has_scale = random.coin();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t given = random.between(1, has_scale ? 3 : 5);
    (has_scale ? op.scale : op.output).push_back(given);
    y[axis + 2] = has_scale ? x[axis + 2] * given : given;
  }
  return {op, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers result(y);
            naive::for_each_index(y, [&](const Index& at) {
              naive::for_each_index(naive::part(x, 2, x.size()), [&](const Index& place) {
                double weight = 1;
                for (std::size_t axis = 0; axis < place.size(); ++axis) {
                  weight *=
                      axis_weight(op.kind, x[axis + 2], y[axis + 2], at[axis + 2], place[axis]);
                }
                result(at) += weight * in[0](naive::joined({at[0], at[1]}, place));
              });
            });
            return std::vector{result};
          }};
}

Trial embedding_trial(Random& random) {
  const Embedding op{.vocabulary = random.between(1, 9), .width = random.between(1, 4)};
  Source numbers{random.shape(static_cast<std::size_t>(random.between(1, 3)), 4),
                 random.pick({DType::int64, DType::int32})};
  numbers.below = op.vocabulary;
  return {op, {numbers}, [=](const std::vector<Numbers>& in) {
            Numbers y(naive::joined(numbers.shape, {op.width}));
            naive::for_each_index(y.shape, [&](const Index& at) {
              const double row = in[0](naive::part(at, 0, at.size() - 1));
              y(at) = in[1]({static_cast<std::int64_t>(row), at.back()});
            });
            return std::vector{y};
          }};
}

Trial gather_trial(Random& random) {
  const Index data = random.shape(static_cast<std::size_t>(random.between(1, 3)), 4);
  const Gather op{random.between(0, static_cast<std::int64_t>(data.size()) - 1)};
  const auto axis = static_cast<std::size_t>(op.axis);
  Source numbers{random.shape(static_cast<std::size_t>(random.between(0, 2)), 3), DType::int64};
  numbers.below = data[axis];
  const std::size_t end = axis + numbers.shape.size();
  const Index y = naive::joined(naive::joined(naive::part(data, 0, axis), numbers.shape),
                                naive::part(data, axis + 1, data.size()));
  return {op, {{data}, numbers}, [=](const std::vector<Numbers>& in) {
            Numbers result(y);
            naive::for_each_index(y, [&](const Index& at) {
              const auto chosen = static_cast<std::int64_t>(in[1](naive::part(at, axis, end)));
              result(at) = in[0](naive::joined(naive::joined(naive::part(at, 0, axis), {chosen}),
                                               naive::part(at, end, at.size())));
            });
            return std::vector{result};
          }};
}

TEST(CpuLookup, equal_loops_and_differences) {
  check_family("CpuLookup.equal_loops_and_differences", 10, [](const Operator& op, Random& random) {
    if (const auto* resize = std::get_if<Resize>(&op)) {
      return resize_trial(*resize, random);
    }
    return std::holds_alternative<Embedding>(op) ? embedding_trial(random) : gather_trial(random);
  });
}

}  // namespace
}  // namespace strata::training_test
