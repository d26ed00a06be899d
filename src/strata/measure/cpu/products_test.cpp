// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/measure/cpu/operator_check_test.hpp"
#include "strata/measure/engine/device.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::training_test {
namespace {

std::int64_t or_default(const Extents& extents, std::size_t axis, std::int64_t otherwise) {
  return extents.empty() ? otherwise : extents[axis];
}

/// Every product of the definition: small[n, k, o] with large[n, c, o·stride + offset·dilation −
/// pad].
std::vector<Numbers> convolve(const Convolution& op, const std::vector<Numbers>& in,
                              const Index& y_shape) {
  const Numbers &x = in[0], &w = in[1];
  Numbers y(y_shape);
  const Index& small = op.transposed ? x.shape : y_shape;
  const Index& large = op.transposed ? y_shape : x.shape;
  const std::int64_t small_each = small[1] / op.groups, large_each = large[1] / op.groups;
  naive::for_each_index(small, [&](const Index& at) {
    naive::for_each_index(naive::part(w.shape, 1, w.shape.size()), [&](const Index& rest) {
      Index place = {at[0], at[1] / small_each * large_each + rest[0]};
      for (std::size_t axis = 0; axis + 1 < rest.size(); ++axis) {
        place.push_back(at[axis + 2] * or_default(op.stride, axis, 1) +
                        rest[axis + 1] * or_default(op.dilation, axis, 1) -
                        or_default(op.pad_begin, axis, 0));
        if (place.back() < 0 || place.back() >= large[axis + 2]) return;
      }
      const double weight = w(naive::joined({at[1]}, rest));
      if (op.transposed) {
        y(place) += x(at) * weight;
      } else {
        y(at) += x(place) * weight;
      }
    });
  });
  naive::for_each_index(y_shape, [&](const Index& at) { y(at) += op.bias ? in[2]({at[1]}) : 0; });
  return {y};
}

Trial convolution_trial(Convolution op, Random& random) {
  const auto axes = static_cast<std::size_t>(random.between(1, 3));
  const std::int64_t most = axes == 3 ? 2 : 3;
  op.groups = random.between(1, 3);
  op.channels = op.groups * random.between(1, 2);
  op.bias = random.coin();
  Index x = {random.between(1, 2), op.groups * random.between(1, 2)};
  Index y = {x[0], op.channels};
  const bool is_strided = random.coin(), is_dilated = random.coin(), is_padded = random.coin();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    op.kernel.push_back(random.between(1, most));
    const std::int64_t stride = is_strided ? random.between(1, 3) : 1;
    const std::int64_t dilation = is_dilated ? random.between(1, 2) : 1;
    const std::int64_t begin = is_padded ? random.between(0, 2) : 0;
    const std::int64_t end = is_padded ? random.between(0, 2) : 0;
    const std::int64_t extra = op.transposed && stride > 1 ? random.between(0, stride - 1) : 0;
    if (is_strided) op.stride.push_back(stride);
    if (is_dilated) op.dilation.push_back(dilation);
    if (is_padded) op.pad_begin.push_back(begin), op.pad_end.push_back(end);
    if (op.transposed) op.output_padding.push_back(extra);
    const std::int64_t cover = dilation * (op.kernel[axis] - 1) + 1;
    const std::int64_t least = op.transposed ? (begin + end + stride - 1) / stride + 1
                                             : std::max<std::int64_t>(1, cover - begin - end);
    x.push_back(least + random.between(0, most));
    y.push_back(op.transposed ? (x.back() - 1) * stride - begin - end + cover + extra
                              : (x.back() + begin + end - cover) / stride + 1);
  }
  return {op, {{x}}, [=](const std::vector<Numbers>& in) { return convolve(op, in, y); }};
}

Trial linear_trial(Random& random) {
  const Linear op{.features = random.between(1, 5), .bias = random.coin()};
  const Index x = random.shape(static_cast<std::size_t>(random.between(1, 4)), 4);
  return {op, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers y(naive::with(x, x.size() - 1, op.features));
            naive::for_each_index(y.shape, [&](const Index& at) {
              y(at) = op.bias ? in[2]({at.back()}) : 0;
              for (std::int64_t i = 0; i < x.back(); ++i) {
                y(at) += in[0](naive::with(at, at.size() - 1, i)) * in[1]({at.back(), i});
              }
            });
            return std::vector{y};
          }};
}

Trial matmul_trial(Random& random) {
  const MatMul op{random.coin(), random.coin()};
  const std::int64_t m = random.between(1, 4), n = random.between(1, 4), k = random.between(1, 4);
  const Index lead = random.shape(static_cast<std::size_t>(random.between(0, 2)), 3);
  const auto narrowed = [&](Index shape) {
    for (std::int64_t& extent : shape) extent = random.rarely(3) ? 1 : extent;
    return random.rarely(4) ? Index{} : shape;
  };
  const Index a_lead = lead, b_lead = narrowed(lead);
  const bool swaps = random.coin();
  const Index a =
      naive::joined(swaps ? b_lead : a_lead, op.transpose_a ? Index{k, m} : Index{m, k});
  const Index b =
      naive::joined(swaps ? a_lead : b_lead, op.transpose_b ? Index{n, k} : Index{k, n});
  return {
      op, {{a}, {.shape = b, .is_parameter = random.coin()}}, [=](const std::vector<Numbers>& in) {
        Numbers y(naive::joined(lead, {m, n}));
        naive::for_each_index(y.shape, [&](const Index& at) {
          const Index outer = naive::part(at, 0, lead.size());
          const std::int64_t row = at[lead.size()], column = at[lead.size() + 1];
          for (std::int64_t i = 0; i < k; ++i) {
            const Index in_a = op.transpose_a ? Index{i, row} : Index{row, i};
            const Index in_b = op.transpose_b ? Index{column, i} : Index{i, column};
            y(at) += in[0](naive::joined(outer, in_a)) * in[1](naive::joined(outer, in_b));
          }
        });
        return std::vector{y};
      }};
}

std::vector<Numbers> attend(const Attention& op, const std::vector<Numbers>& in) {
  const std::int64_t kv_heads = op.kv_heads == 0 ? op.heads : op.kv_heads;
  const Numbers &q = in[0], &k = in[1], &v = in[2];
  const std::int64_t width = q[2] / op.heads, value_width = v[2] / kv_heads;
  Numbers y({q[0], q[1], op.heads * value_width});
  naive::for_each_index({q[0], op.heads, q[1]}, [&](const Index& row) {
    const std::int64_t n = row[0], head = row[1], i = row[2];
    const std::int64_t kv = head / (op.heads / kv_heads);
    std::vector<double> powers;
    double sum = 0;
    for (std::int64_t j = 0; j < k[1]; ++j) {
      double score = 0;
      for (std::int64_t e = 0; e < width; ++e) {
        score += q({n, i, head * width + e}) * k({n, j, kv * width + e});
      }
      score /= std::sqrt(static_cast<double>(width));
      if (in.size() == 4) score += in[3]({n, head, i, j});
      const bool is_seen = !op.causal || j <= i + k[1] - q[1];
      powers.push_back(is_seen ? std::exp(score) : 0);
      sum += powers.back();
    }
    for (std::int64_t e = 0; e < value_width && sum > 0; ++e) {
      for (std::int64_t j = 0; j < k[1]; ++j) {
        y({n, i, head * value_width + e}) +=
            powers[static_cast<std::size_t>(j)] / sum * v({n, j, kv * value_width + e});
      }
    }
  });
  return {y};
}

Trial attention_trial(Random& random, std::int64_t most_queries, std::int64_t most_keys) {
  const std::int64_t kv_heads = random.between(1, 2);
  Attention op{
      .heads = kv_heads * random.between(1, 3), .kv_heads = kv_heads, .causal = random.coin()};
  if (op.heads == op.kv_heads && random.coin()) op.kv_heads = 0;
  const std::int64_t batch = random.between(1, 2), queries = random.between(1, most_queries),
                     keys = random.between(1, most_keys), width = random.between(1, 3);
  std::vector<Source> sources = {{{batch, queries, op.heads * width}},
                                 {{batch, keys, kv_heads * width}},
                                 {{batch, keys, kv_heads * random.between(1, 3)}}};
  if (random.coin()) {
    const Index mask = random.pick<Index>({{queries, keys},
                                           {batch, 1, queries, keys},
                                           {1, op.heads, queries, keys},
                                           {batch, 1, 1, keys}});
    sources.push_back({.shape = mask, .wants_gradient = random.coin()});
  }
  return {op, sources, [op](const std::vector<Numbers>& in) { return attend(op, in); }};
}

TEST(CpuProducts, equal_loops_and_differences) {
  check_family("CpuProducts.equal_loops_and_differences", 25,
               [](const Operator& op, Random& random) {
                 if (const auto* convolution = std::get_if<Convolution>(&op)) {
                   return convolution_trial(*convolution, random);
                 }
                 if (std::holds_alternative<Linear>(op)) return linear_trial(random);
                 if (std::holds_alternative<MatMul>(op)) return matmul_trial(random);
                 return attention_trial(random, 5, 5);
               });
}

// More queries than one block holds, with few keys and with many.
TEST(CpuProducts, attention_in_blocks) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    check(attention_trial(random, 250, seed % 2 == 0 ? 5 : 250));
  }
}

TEST(CpuProducts, wrong_choices_are_refused) {
  const auto kind_of = [](const DeviceChoices& choices) {
    try {
      cpu_training_device(choices);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of({.convolution = "no such"}), ErrorKind::usage);
  EXPECT_EQ(kind_of({.dtype = DType::bf16}), ErrorKind::unsupported);
}

}  // namespace
}  // namespace strata::training_test
