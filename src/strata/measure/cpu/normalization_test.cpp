// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operator_check_test.hpp"
#include "strata/measure/engine/constants.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace strata::training_test {
namespace {

using namespace training_constants;

/// (x − mean)/√(variance + ε) over the numbers that share a row, then scale and shift.
struct NaiveNorm {
  double epsilon;
  bool takes_mean = true, has_scale = false, has_shift = false;
  std::function<Index(const Index&)> row_of, entry_of;

  std::vector<Numbers> operator()(const std::vector<Numbers>& in) const {
    struct Row {
      double count = 0, sum = 0, squares = 0;
    };
    std::map<Index, Row> rows;
    const Numbers& x = in[0];
    naive::for_each_index(x.shape, [&](const Index& at) {
      Row& row = rows[row_of(at)];
      row.count += 1;
      row.sum += x(at);
    });
    const auto mean_of = [&](const Row& row) { return takes_mean ? row.sum / row.count : 0; };
    naive::for_each_index(x.shape, [&](const Index& at) {
      Row& row = rows[row_of(at)];
      row.squares += std::pow(x(at) - mean_of(row), 2);
    });
    Numbers y(x.shape);
    naive::for_each_index(x.shape, [&](const Index& at) {
      const Row& row = rows[row_of(at)];
      double value = (x(at) - mean_of(row)) / std::sqrt(row.squares / row.count + epsilon);
      if (has_scale) value *= in[1](entry_of(at));
      if (has_shift) value += in[has_scale ? 2 : 1](entry_of(at));
      y(at) = value;
    });
    return {y};
  }
};

// Wide, so that the variance of two or three numbers is not small beside ε.
Source wide(const Index& shape) {
  return {.shape = shape, .low = -4, .high = 4, .is_distinct = true};
}

Index at_channel(const Index& at) { return {at[1]}; }

Trial batch_norm_trial(Random& random) {
  const BatchNorm op{.scale = random.coin(), .shift = random.coin()};
  Index x = random.shape(static_cast<std::size_t>(random.between(2, 5)), 4);
  x[0] += 1;  // one number alone has no variance
  return {op,
          {wide(x)},
          NaiveNorm{batch_norm_epsilon, true, op.scale, op.shift, at_channel, at_channel}};
}

template <class Op>
Trial trailing_trial(Op op, double epsilon, bool takes_mean, bool has_shift, Random& random) {
  const Index x = naive::joined(random.shape(static_cast<std::size_t>(random.between(1, 3)), 4),
                                {random.between(2, 9)});
  op.axis = random.between(0, static_cast<std::int64_t>(x.size()) - 1);
  const auto axis = static_cast<std::size_t>(op.axis);
  if (random.coin()) op.axis -= static_cast<std::int64_t>(x.size());
  op.scale = random.coin();
  Trial trial{op,
              {wide(x)},
              NaiveNorm{epsilon, takes_mean, op.scale, has_shift,
                        [axis](const Index& at) { return naive::part(at, 0, axis); },
                        [axis](const Index& at) { return naive::part(at, axis, at.size()); }}};
  trial.rounding = 2;  // two numbers become ±1 whatever they are: their gradient is all rounding
  return trial;
}

Trial group_norm_trial(GroupNorm op, Random& random) {
  Index x = random.shape(static_cast<std::size_t>(random.between(2, 4)), 3);
  if (op.groups > 0) op.groups = random.between(1, 3);
  op.scale = random.coin(), op.shift = random.coin();
  x[1] = std::max<std::int64_t>(1, op.groups) * random.between(2, 3);
  if (op.groups == 0) x.push_back(random.between(2, 3));  // a channel alone needs some space
  const std::int64_t each = op.groups == 0 ? 1 : x[1] / op.groups;
  return {op,
          {wide(x)},
          NaiveNorm{group_norm_epsilon, true, op.scale, op.shift,
                    [each](const Index& at) {
                      return Index{at[0], at[1] / each};
                    },
                    at_channel}};
}

Trial local_response_trial(Random& random) {
  const LocalResponseNorm op{.size = random.between(1, 6)};
  Index x = random.shape(static_cast<std::size_t>(random.between(2, 4)), 3);
  x[1] = random.between(1, 7);
  Source source{x};
  source.low = -90, source.high = 90;  // so that α is felt
  return {op, {source}, [=](const std::vector<Numbers>& in) {
            Numbers y(x);
            naive::for_each_index(x, [&](const Index& at) {
              double sum = 0;
              for (std::int64_t j = 0; j < op.size; ++j) {
                const std::int64_t c = at[1] + j - op.size / 2;
                if (c >= 0 && c < x[1]) sum += std::pow(in[0](naive::with(at, 1, c)), 2);
              }
              const double scaled = local_response_alpha / static_cast<double>(op.size) * sum;
              y(at) = in[0](at) / std::pow(local_response_k + scaled, local_response_beta);
            });
            return std::vector{y};
          }};
}

TEST(CpuNormalization, equal_loops_and_differences) {
  check_family("CpuNormalization.equal_loops_and_differences", 12,
               [](const Operator& op, Random& random) {
                 if (std::holds_alternative<BatchNorm>(op)) return batch_norm_trial(random);
                 if (const auto* group = std::get_if<GroupNorm>(&op))
                   return group_norm_trial(*group, random);
                 if (std::holds_alternative<LayerNorm>(op)) {
                   const bool has_shift = random.coin();
                   return trailing_trial(LayerNorm{.shift = has_shift}, layer_norm_epsilon, true,
                                         has_shift, random);
                 }
                 if (std::holds_alternative<RmsNorm>(op)) {
                   return trailing_trial(RmsNorm{}, rms_norm_epsilon, false, false, random);
                 }
                 return local_response_trial(random);
               });
}

Trial layer_norm_of(const Source& x) {
  return {
      LayerNorm{},
      {x},
      NaiveNorm{layer_norm_epsilon, true, true, true, [](const Index& at) { return Index{at[0]}; },
                [](const Index& at) { return Index{at[1]}; }}};
}
/// 0 groups: each channel is one.
Trial group_norm_of(std::int64_t groups, const Source& x) {
  const std::int64_t each = groups == 0 ? 1 : x.shape[1] / groups;
  return {GroupNorm{.groups = groups},
          {x},
          NaiveNorm{group_norm_epsilon, true, true, true,
                    [each](const Index& at) {
                      return Index{at[0], at[1] / each};
                    },
                    at_channel}};
}

// Many rows, long rows, many channels: several threads take part.
TEST(CpuNormalization, of_many_numbers) {
  // Few samples and many, with space of whole vectors, less than one, and some numbers left over.
  for (const Index& x : {Index{2, 9, 7, 7}, Index{11, 5, 7, 7}, Index{301, 3, 1, 3},
                         Index{13, 6, 14, 14}, Index{8, 3, 33, 33}}) {
    check({BatchNorm{},
           {wide(x)},
           NaiveNorm{batch_norm_epsilon, true, true, true, at_channel, at_channel}});
  }
  // A mean far from zero, of rows and of channels with space.
  for (const Index& x : {Index{40, 37}, Index{9, 5, 7, 7}, Index{4, 3, 17, 18}}) {
    Source far = wide(x);
    far.low = 56, far.high = 64;
    Trial trial{BatchNorm{},
                {far},
                NaiveNorm{batch_norm_epsilon, true, true, true, at_channel, at_channel}};
    // In fp32 a mean of 60 is off by up to 0.8e-6 of such a deviation, either way that it is taken.
    trial.rounding = 2;
    check(trial);
  }
  check({BatchNorm{},
         {wide({3, 40, 33, 31})},
         NaiveNorm{batch_norm_epsilon, true, true, true, at_channel, at_channel}});
  check({BatchNorm{},
         {wide({20, 2100})},
         NaiveNorm{batch_norm_epsilon, true, true, true, at_channel, at_channel}});
  // More rows than are summed up at once, and some that are left over.
  check({BatchNorm{},
         {wide({131, 150})},
         NaiveNorm{batch_norm_epsilon, true, true, true, at_channel, at_channel}});
  check(layer_norm_of(wide({300, 150})));
  // Whole cache lines and an odd number of rows.
  check(
      {RmsNorm{},
       {wide({301, 96})},
       NaiveNorm{rms_norm_epsilon, false, true, false, [](const Index& at) { return Index{at[0]}; },
                 [](const Index& at) { return Index{at[1]}; }}});
}

// Planes of whole vectors, less than one, and with some numbers left over.
TEST(CpuNormalization, of_many_planes) {
  for (const Index& x : {Index{5, 8, 16, 16}, Index{3, 6, 33, 31}, Index{40, 4, 3, 3}}) {
    for (const std::int64_t groups : {0, 2}) check(group_norm_of(groups, wide(x)));
  }
}

// The variance is a small difference of large squares: in fp32 nothing would be left of it.
TEST(CpuNormalization, of_numbers_far_from_zero) {
  const auto far = [](const Index& shape) {
    return Source{.shape = shape, .low = 396, .high = 404, .is_distinct = true};
  };
  const auto check_far = [](Trial trial) {
    trial.rounding = 20;  // of the mean, some hundred deviations large
    check(trial);
  };
  check_far(layer_norm_of(far({61, 150})));
  for (const std::int64_t groups : {0, 2}) check_far(group_norm_of(groups, far({5, 8, 15, 15})));
  for (const Index& x : {Index{11, 5, 7, 7}, Index{8, 3, 33, 33}, Index{131, 150}}) {
    check_far({BatchNorm{},
               {far(x)},
               NaiveNorm{batch_norm_epsilon, true, true, true, at_channel, at_channel}});
  }
}

/// Calls f(place in X, whether it lies inside) for every offset of the window of an output.
void each_tap(const Pool& op, const Index& x, const Index& at,
              const std::function<void(const Index&, bool)>& f) {
  naive::for_each_index(Index(op.kernel.begin(), op.kernel.end()), [&](const Index& offset) {
    Index place = {at[0], at[1]};
    bool is_inside = true;
    for (std::size_t axis = 0; axis < offset.size(); ++axis) {
      place.push_back(at[axis + 2] * op.stride[axis] + offset[axis] * op.dilation[axis] -
                      op.pad_begin[axis]);
      is_inside = is_inside && place.back() >= 0 && place.back() < x[axis + 2];
    }
    f(place, is_inside);
  });
}

std::int64_t pooled_extent(const Pool& op, std::size_t axis, std::int64_t in) {
  std::int64_t count = 0;
  const std::int64_t reach = op.dilation[axis] * (op.kernel[axis] - 1) + 1;
  for (;; ++count) {  // as many windows as begin inside and, unless rounded up, end inside
    const std::int64_t begin = count * op.stride[axis] - op.pad_begin[axis];
    const std::int64_t beyond = begin + reach - in - op.pad_end[axis];
    if (op.ceil_mode ? beyond >= op.stride[axis] || begin >= in : beyond > 0) return count;
  }
}

Trial pool_trial(Pool op, Random& random) {
  op.ceil_mode = random.coin();
  op.count_include_pad = random.coin();
  Index x = random.shape(2, 2);
  Index y = x;
  const auto axes = static_cast<std::size_t>(random.between(1, 3));
  const bool is_padded = random.coin();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    op.kernel.push_back(random.between(1, 3));
    op.stride.push_back(random.between(1, 3));
    const std::int64_t most_pad = is_padded ? op.kernel[axis] / 2 : 0;
    op.pad_begin.push_back(random.between(0, most_pad));
    op.pad_end.push_back(random.between(0, most_pad));
    op.dilation.push_back(most_pad > 0 ? 1 : random.between(1, 2));
    x.push_back(random.between(5, 7));
    y.push_back(pooled_extent(op, axis, x.back()));
  }
  Source source{x};
  source.is_distinct = true;
  return {op, {source}, [=](const std::vector<Numbers>& in) {
            Numbers result(y);
            naive::for_each_index(y, [&](const Index& at) {
              double most = -1e9, sum = 0, inside = 0, all = 0;
              each_tap(op, x, at, [&](const Index& place, bool is_inside) {
                all += 1;
                if (!is_inside) return;
                inside += 1;
                most = std::max(most, in[0](place));
                sum += in[0](place);
              });
              const double divisor = op.count_include_pad ? all : inside;
              result(at) = op.kind == PoolKind::maximum ? most : sum / divisor;
            });
            return std::vector{result};
          }};
}

Trial adaptive_trial(AdaptivePool op, Random& random) {
  const auto axes = static_cast<std::size_t>(random.between(1, 3));
  const Index x = naive::joined(random.shape(2, 2), random.shape(axes, 6));
  Index y = x;
  const bool is_global = random.coin(), is_divisor = random.coin();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::int64_t& extent = y[axis + 2];
    if (is_global) {
      extent = 1;
      continue;
    }
    if (!is_divisor) extent = random.between(1, 7);
    if (is_divisor && extent % 2 == 0 && random.coin()) extent /= 2;
    op.output.push_back(extent);
  }
  Source source{x};
  source.is_distinct = true;
  return {op, {source}, [=](const std::vector<Numbers>& in) {
            Numbers result(y);
            naive::for_each_index(y, [&](const Index& at) {
              double most = -1e9, sum = 0, count = 0;
              naive::for_each_index(naive::part(x, 2, x.size()), [&](const Index& place) {
                for (std::size_t axis = 0; axis < place.size(); ++axis) {
                  const std::int64_t in_extent = x[axis + 2], out = y[axis + 2], o = at[axis + 2];
                  if (place[axis] < o * in_extent / out ||
                      place[axis] >= ((o + 1) * in_extent + out - 1) / out) {
                    return;
                  }
                }
                const double value = in[0](naive::joined({at[0], at[1]}, place));
                most = std::max(most, value), sum += value, count += 1;
              });
              result(at) = op.kind == PoolKind::maximum ? most : sum / count;
            });
            return std::vector{result};
          }};
}

TEST(CpuPooling, equal_loops_and_differences) {
  check_family("CpuPooling.equal_loops_and_differences", 30,
               [](const Operator& op, Random& random) {
                 if (const auto* pool = std::get_if<Pool>(&op)) return pool_trial(*pool, random);
                 return adaptive_trial(std::get<AdaptivePool>(op), random);
               });
}

}  // namespace
}  // namespace strata::training_test
