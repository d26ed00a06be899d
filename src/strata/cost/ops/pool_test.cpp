// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"

#include <limits>

namespace strata::naive {
namespace {

/// What the two kinds of pooling share, given the places that each output takes in. Places outside
/// the input are padding.
template <class T, class WindowOf>
void pool_forward(Run<T>& run, PoolKind kind, std::int64_t largest_window, WindowOf window_of) {
  const bool keeps_places = kind == PoolKind::maximum && run.has_backward();
  const std::size_t places =
      keeps_places ? run.save("indices", run.output().shape(), largest_window <= 256 ? 1 : 4) : 0;
  for_each_index(run.output().shape(), [&](const Index& at) {
    const auto window = window_of(at);
    T result = kind == PoolKind::maximum ? -std::numeric_limits<double>::infinity() : 0.0;
    std::size_t best = 0;
    for (std::size_t k = 0; k < window.places.size(); ++k) {
      const bool is_inside = window.is_inside[k];
      if (kind == PoolKind::average) {
        result += is_inside ? run.input(0)(window.places[k]) : T(0);
      } else if (const T x = is_inside ? run.input(0)(window.places[k]) : T(-1e9); x > result) {
        result = x;
        best = k;
      }
    }
    run.output().set(at, kind == PoolKind::average ? result / T(window.divisor) : result);
    if (keeps_places) run.saved(places).set(at, static_cast<double>(best));
  });
}

template <class T, class WindowOf>
void pool_backward(Run<T>& run, PoolKind kind, WindowOf window_of) {
  if (!run.wants(0)) return;
  Buffer<T> dx(run.input(0).shape());
  T padding = 0;
  for_each_index(run.output().shape(), [&](const Index& at) {
    const auto window = window_of(at);
    const T dy = run.output_gradient()(at);
    if (kind == PoolKind::maximum) {
      dx[window.places[static_cast<std::size_t>(whole(run.saved(0)(at)))]] += dy;
      return;
    }
    const T share = dy / T(window.divisor);
    for (std::size_t k = 0; k < window.places.size(); ++k) {
      (window.is_inside[k] ? dx[window.places[k]] : padding) += share;
    }
  });
  run.input_gradient(0).set_all(dx);
}

struct Window {
  std::vector<Index> places;
  std::vector<bool> is_inside;
  double divisor = 0;
};

std::int64_t extent_or(const Extents& extents, std::size_t axis, std::int64_t otherwise) {
  return extents.empty() ? otherwise : extents[axis];
}

struct NaivePool {
  Pool op;

  template <class T>
  void forward(Run<T>& run) const {
    const Index x = run.input(0).shape();
    const Index kernel(op.kernel.begin(), op.kernel.end());
    pool_forward(run, op.kind, elements_of(kernel),
                 [&](const Index& at) { return window(x, kernel, at); });
  }
  template <class T>
  void backward(Run<T>& run) const {
    const Index x = run.input(0).shape();
    const Index kernel(op.kernel.begin(), op.kernel.end());
    pool_backward(run, op.kind, [&](const Index& at) { return window(x, kernel, at); });
  }

 private:
  Window window(const Index& x, const Index& kernel, const Index& at) const {
    Window result;
    for_each_index(kernel, [&](const Index& tap) {
      Index place = {at[0], at[1]};
      bool is_inside = true;
      for (std::size_t axis = 0; axis < tap.size(); ++axis) {
        place.push_back(at[axis + 2] * extent_or(op.stride, axis, 1) +
                        tap[axis] * extent_or(op.dilation, axis, 1) -
                        extent_or(op.pad_begin, axis, 0));
        is_inside = is_inside && place.back() >= 0 && place.back() < x[axis + 2];
      }
      result.places.push_back(place);
      result.is_inside.push_back(is_inside);
      if (is_inside || op.count_include_pad) result.divisor += 1;
    });
    return result;
  }
};

TEST(PoolCost, equals_the_loops) {
  for_random_cases(200, [](Random& random) {
    Pool op{.kind = random.pick({PoolKind::maximum, PoolKind::average})};
    op.ceil_mode = random.coin();
    op.count_include_pad = random.coin();
    Index x = random.shape(2, 2);
    const auto axes = static_cast<std::size_t>(random.between(1, 3));
    const bool is_dilated = random.coin(), is_padded = random.coin();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      op.kernel.push_back(random.between(1, 3));
      op.stride.push_back(random.between(1, 3));
      // Padding less than half the window, so that every window holds a real number.
      const std::int64_t most_pad = is_padded ? op.kernel[axis] / 2 : 0;
      op.pad_begin.push_back(random.between(0, most_pad));
      op.pad_end.push_back(random.between(0, most_pad));
      if (is_dilated) op.dilation.push_back(most_pad > 0 ? 1 : random.between(1, 2));
      x.push_back(random.between(2, 3) * (is_dilated ? 2 : 1) + 1);
    }
    check(NaivePool{op}, {{x, any_role(random)}},
          {.touch = Touch::gaps, .dtype = any_dtype(random)});
  });
}

TEST(PoolCost, places_of_a_large_window_need_more_than_a_byte) {
  for (const std::int64_t side : {16, 17}) {
    const Pool op{.kernel = {side, side}, .stride = {16, 16}};
    check(NaivePool{op}, {{{1, 1, side, side}}});
    const Subject subject(op, {{{1, 1, side, side}}}, {});
    EXPECT_EQ(cost_of(subject.bound, subject.node).saved[0].bytes, side == 16 ? 1 : 4);
  }
}

/// Output i of O along an axis takes in ⌊i·I/O⌋ … ⌈(i+1)·I/O⌉ − 1.
struct NaiveAdaptivePool {
  AdaptivePool op;

  template <class T>
  void forward(Run<T>& run) const {
    std::size_t largest = 0;
    for_each_index(run.output().shape(), [&](const Index& at) {
      largest = std::max(largest, window(run, at).places.size());
    });
    pool_forward(run, op.kind, static_cast<std::int64_t>(largest),
                 [&](const Index& at) { return window(run, at); });
  }
  template <class T>
  void backward(Run<T>& run) const {
    pool_backward(run, op.kind, [&](const Index& at) { return window(run, at); });
  }

 private:
  template <class T>
  Window window(Run<T>& run, const Index& at) const {
    const Index& x = run.input(0).shape();
    const Index& y = run.output().shape();
    Index begin(x.size() - 2), extent(x.size() - 2);
    for (std::size_t axis = 0; axis < begin.size(); ++axis) {
      const std::int64_t in = x[axis + 2], out = y[axis + 2], i = at[axis + 2];
      begin[axis] = i * in / out;
      extent[axis] = ((i + 1) * in + out - 1) / out - begin[axis];
    }
    Window result;
    for_each_index(extent, [&](const Index& tap) {
      Index place = {at[0], at[1]};
      for (std::size_t axis = 0; axis < tap.size(); ++axis)
        place.push_back(begin[axis] + tap[axis]);
      result.places.push_back(place);
    });
    result.is_inside.assign(result.places.size(), true);
    result.divisor = static_cast<double>(result.places.size());
    return result;
  }
};

TEST(AdaptivePoolCost, equals_the_loops) {
  for_random_cases(150, [](Random& random) {
    AdaptivePool op{.kind = random.pick({PoolKind::maximum, PoolKind::average})};
    const auto axes = static_cast<std::size_t>(random.between(1, 3));
    const Index x = joined(random.shape(2, 2), random.shape(axes, axes == 1 ? 20 : 6));
    if (random.coin()) {
      for (std::size_t axis = 0; axis < axes; ++axis)
        op.output.push_back(random.between(1, 7));  // also larger than the input
    }
    check(NaiveAdaptivePool{op}, {{x, any_role(random)}}, {.dtype = any_dtype(random)});
  });
}

TEST(AdaptivePoolCost, byte_or_word_by_the_longest_window) {
  for (const std::int64_t extent : {256, 257, 770, 771}) {
    const AdaptivePool op{.kind = PoolKind::maximum, .output = {extent > 300 ? 3 : 1}};
    check(NaiveAdaptivePool{op}, {{{1, 1, extent}}});
  }
}

}  // namespace
}  // namespace strata::naive
