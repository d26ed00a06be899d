// SPDX-License-Identifier: Apache-2.0
// Shapes that are wide enough for whole vectors, several pieces and several threads, with odd ends;
// the tests of each family draw small ones.
#include "strata/measure/cpu/operator_check_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace strata::training_test {
namespace {

Trial wide_softmax(const Index& x, std::int64_t axis, bool is_log) {
  return {Softmax{.axis = axis, .log = is_log}, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers y(x), sums(naive::with(x, static_cast<std::size_t>(axis), 1));
            naive::for_each_index(x, [&](const Index& at) {
              sums(naive::with(at, static_cast<std::size_t>(axis), 0)) += std::exp(in[0](at));
            });
            naive::for_each_index(x, [&](const Index& at) {
              const double sum = sums(naive::with(at, static_cast<std::size_t>(axis), 0));
              y(at) = is_log ? in[0](at) - std::log(sum) : std::exp(in[0](at)) / sum;
            });
            return std::vector{y};
          }};
}

TEST(CpuKernelsOfWideShapes, softmax) {
  for (const bool is_log : {false, true}) {
    check(wide_softmax({37, 1031}, 1, is_log));
    check(wide_softmax({2, 2051}, 1, is_log));
    check(wide_softmax({3, 5, 601}, 1, is_log));
    check(wide_softmax({301, 17}, 0, is_log));
  }
}

Trial wide_pool(const Pool& op, const Index& x) {
  return {op, {{.shape = x, .is_distinct = true}}, [=](const std::vector<Numbers>& in) {
            Numbers y({x[0], x[1], 0, 0});
            for (const std::size_t axis : {2U, 3U}) {
              y.shape[axis] = (x[axis] + 2 * op.pad_begin[axis - 2] - op.kernel[axis - 2]) /
                                  op.stride[axis - 2] +
                              1;
            }
            y = Numbers(y.shape);
            const bool is_maximum = op.kind == PoolKind::maximum;
            naive::for_each_index(y.shape, [&](const Index& at) {
              double most = -std::numeric_limits<double>::infinity(), sum = 0, count = 0;
              for (std::int64_t i = 0; i < op.kernel[0]; ++i) {
                for (std::int64_t j = 0; j < op.kernel[1]; ++j) {
                  const std::int64_t row = at[2] * op.stride[0] + i - op.pad_begin[0];
                  const std::int64_t column = at[3] * op.stride[1] + j - op.pad_begin[1];
                  if (row < 0 || row >= x[2] || column < 0 || column >= x[3]) continue;
                  const double value = in[0]({at[0], at[1], row, column});
                  most = std::max(most, value);
                  sum += value;
                  ++count;
                }
              }
              y(at) = is_maximum ? most : sum / count;
            });
            return std::vector{y};
          }};
}

TEST(CpuKernelsOfWideShapes, pooling) {
  for (const PoolKind kind : {PoolKind::maximum, PoolKind::average}) {
    for (const std::int64_t kernel : {2, 3, 5}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        const std::int64_t pad = kernel / 2;
        check(wide_pool({.kind = kind,
                         .kernel = {kernel, kernel},
                         .stride = {stride, stride},
                         .pad_begin = {pad, pad},
                         .pad_end = {pad, pad}},
                        {2, 3, 13, 67}));
      }
    }
  }
}

// More than 256 offsets in a window: the argmax does not fit a byte.
TEST(CpuKernelsOfWideShapes, pooling_of_large_windows) {
  check(wide_pool({.kernel = {17, 17}, .stride = {2, 2}, .pad_begin = {0, 0}, .pad_end = {0, 0}},
                  {1, 2, 21, 40}));
}

TEST(CpuKernelsOfWideShapes, transpose) {
  for (const Index& x : {Index{3, 70, 133}, Index{1, 64, 32}, Index{2, 5, 300}}) {
    check(
        {Transpose{.permutation = {0, 2, 1}}, {{x}}, [=](const std::vector<Numbers>& in) {
           Numbers y({x[0], x[2], x[1]});
           naive::for_each_index(x, [&](const Index& at) { y({at[0], at[2], at[1]}) = in[0](at); });
           return std::vector{y};
         }});
  }
}

TEST(CpuKernelsOfWideShapes, product_with_a_repeated_factor) {
  for (const Index& b : {Index{1, 600}, Index{70, 1}, Index{1, 1}}) {
    check({Elementwise{ElementwiseKind::multiply},
           {{Index{70, 600}}, {b}},
           [=](const std::vector<Numbers>& in) {
             Numbers y({70, 600});
             naive::for_each_index(y.shape, [&](const Index& at) {
               y(at) = in[0](at) * in[1]({at[0] % b[0], at[1] % b[1]});
             });
             return std::vector{y};
           }});
    check({Elementwise{ElementwiseKind::multiply},
           {{b}, {Index{70, 600}}},
           [=](const std::vector<Numbers>& in) {
             Numbers y({70, 600});
             naive::for_each_index(y.shape, [&](const Index& at) {
               y(at) = in[0]({at[0] % b[0], at[1] % b[1]}) * in[1](at);
             });
             return std::vector{y};
           }});
  }
}

Trial wide_response(const Index& x) {
  return {LocalResponseNorm{.size = 5}, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers y(x);
            naive::for_each_index(x, [&](const Index& at) {
              double sum = 0;
              for (std::int64_t c = std::max<std::int64_t>(0, at[1] - 2);
                   c <= std::min<std::int64_t>(6, at[1] + 2); ++c) {
                sum += std::pow(in[0]({at[0], c, at[2], at[3]}), 2);
              }
              y(at) = in[0](at) / std::pow(1 + 1e-4 / 5 * sum, 0.75);
            });
            return std::vector{y};
          }};
}

// The second is longer than a stretch.
TEST(CpuKernelsOfWideShapes, local_response) {
  check(wide_response({2, 7, 1, 1501}));
  check(wide_response({1, 7, 1, 4099}));
}

Trial batch_norm_of_rows(const Index& x) {
  return {BatchNorm{}, {{x}}, [=](const std::vector<Numbers>& in) {
            Numbers y(x);
            for (std::int64_t c = 0; c < x[1]; ++c) {
              double sum = 0, squares = 0;
              for (std::int64_t n = 0; n < x[0]; ++n) sum += in[0]({n, c});
              const double mean = sum / static_cast<double>(x[0]);
              for (std::int64_t n = 0; n < x[0]; ++n) squares += std::pow(in[0]({n, c}) - mean, 2);
              const double deviation = std::sqrt(squares / static_cast<double>(x[0]) + 1e-5);
              for (std::int64_t n = 0; n < x[0]; ++n) {
                y({n, c}) = (in[0]({n, c}) - mean) / deviation * in[1]({c}) + in[2]({c});
              }
            }
            return std::vector{y};
          }};
}

// The second is too high for a cache to keep any strip of it.
TEST(CpuKernelsOfWideShapes, batch_norm_without_space) {
  check(batch_norm_of_rows({131, 45}));
  check(batch_norm_of_rows({3100, 7}));
}

Trial wide_look_up(std::int64_t picked, std::int64_t width, std::int64_t rows = 11) {
  const Embedding op{.vocabulary = rows, .width = width};
  Source picks{Index{picked}, DType::int64};
  picks.below = rows - 2;
  return {op, {picks}, [=](const std::vector<Numbers>& in) {
            Numbers y({picked, width});
            naive::for_each_index(y.shape, [&](const Index& at) {
              y(at) = in[1]({static_cast<std::int64_t>(in[0]({at[0]})), at[1]});
            });
            return std::vector{y};
          }};
}

// Rows of several pieces in the order of the table or, where few are picked, in that of the picks;
// rows of less than a piece; rows that are picked by none to half a dozen, several of which are
// made at once; and picks that several threads put in order.
TEST(CpuKernelsOfWideShapes, look_up_of_rows_that_are_picked_often_or_never) {
  check(wide_look_up(400, 70));
  check(wide_look_up(40, 301));
  check(wide_look_up(5, 301));
  check(wide_look_up(21, 150, 97));  // groups of rows, and some that are left
  check(wide_look_up(1, 301));
  check(wide_look_up(150, 131, 61));
  check(wide_look_up(150, 128, 90));
  check(wide_look_up(9000, 3, 29));
}

}  // namespace
}  // namespace strata::training_test
