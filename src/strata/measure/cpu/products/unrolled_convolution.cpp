// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/products/unrolled_convolution.hpp"

#include <algorithm>
#include <vector>

namespace strata::cpu_training {
namespace {

// Unrolled windows of a block of outputs stay in the second cache.
constexpr std::int64_t most_unrolled = 131'072;

std::int64_t block_of(const Windows& w) {
  const std::int64_t rows = w.large_channels / w.groups * w.taps();
  return std::clamp<std::int64_t>(most_unrolled / rows, 1, w.small_space());
}

/// Calls f(row of columns, column, count, places) for every stretch of windows along the last axis
/// in positions first … last: `from` is the place in the channel's space of the first, others lie
/// `stride` apart; `skip` of them at either end are padding.
template <class F>
void each_window_row(const Windows& w, std::int64_t first, std::int64_t last, const F& f) {
  for (std::int64_t position = first; position < last;) {
    const std::int64_t x = position % w.small[2];
    const std::int64_t count = std::min(last - position, w.small[2] - x);
    const std::int64_t row = position / w.small[2];
    f(row / w.small[1], row % w.small[1], x, count, position - first);
    position += count;
  }
}

/// Moves the windows of one group of one image between `space` and columns [C/groups · taps,
/// last − first]: into them, or added back.
template <class T, bool is_back>
void move_windows(const Windows& w, T* space, std::int64_t first, std::int64_t last, T* columns) {
  const std::int64_t width = last - first;
  T* row = columns;
  for (std::int64_t c = 0; c < w.large_channels / w.groups; ++c) {
    T* const channel = space + c * w.large_space();
    for (std::int64_t tap = 0; tap < w.taps(); ++tap, row += width) {
      const std::int64_t kx = tap % w.kernel[2], ky = tap / w.kernel[2] % w.kernel[1],
                         kz = tap / w.kernel[2] / w.kernel[1];
      each_window_row(w, first, last, [&](auto z, auto y, auto x, auto count, auto at) {
        const std::int64_t lz = z * w.stride[0] + kz * w.dilation[0] - w.pad[0];
        const std::int64_t ly = y * w.stride[1] + ky * w.dilation[1] - w.pad[1];
        const bool is_row_inside = lz >= 0 && lz < w.large[0] && ly >= 0 && ly < w.large[1];
        T* const line = channel + (lz * w.large[1] + ly) * w.large[2];
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t lx = (x + i) * w.stride[2] + kx * w.dilation[2] - w.pad[2];
          const bool is_inside = is_row_inside && lx >= 0 && lx < w.large[2];
          if constexpr (is_back) {
            if (is_inside) line[lx] += row[at + i];
          } else {
            row[at + i] = is_inside ? line[lx] : T(0);
          }
        }
      });
    }
  }
}

/// One image and group at a time per thread: f(part, image, group).
template <class F>
std::int64_t each_group(const Workers& workers, const Windows& w, const F& f) {
  return workers.parts(w.batch * w.groups, 1, [&](auto part, auto begin, auto end) {
    for (std::int64_t unit = begin; unit < end; ++unit) f(part, unit / w.groups, unit % w.groups);
  });
}

struct GroupPlaces {
  std::int64_t rows, filters, large, small, weights;

  GroupPlaces(const Windows& w, std::int64_t image, std::int64_t group)
      : rows(w.large_channels / w.groups * w.taps()),
        filters(w.small_channels / w.groups),
        large((image * w.large_channels + group * (w.large_channels / w.groups)) * w.large_space()),
        small((image * w.small_channels + group * filters) * w.small_space()),
        weights(group * filters * rows) {}
};

}  // namespace

std::int64_t unrolled_scratch_elements(const Workers& workers, const Windows& w) {
  const std::int64_t columns = w.large_channels / w.groups * w.taps() * block_of(w);
  return workers.count() * (columns + w.weight_elements());
}

template <class T>
void large_to_small(const Workers& workers, const Windows& w, const T* large, const T* weights,
                    T* small, T* scratch) {
  const std::int64_t block = block_of(w);
  each_group(workers, w, [&](std::int64_t part, std::int64_t image, std::int64_t group) {
    const GroupPlaces at(w, image, group);
    T* const columns = scratch + part * at.rows * block;
    for (std::int64_t first = 0; first < w.small_space(); first += block) {
      const std::int64_t last = std::min(w.small_space(), first + block);
      // The same code moves back; this way it only reads.
      move_windows<T, false>(w, const_cast<T*>(large) + at.large, first, last, columns);
      multiply(Product<T>{.m = at.filters,
                          .n = last - first,
                          .k = at.rows,
                          .a = weights + at.weights,
                          .a_step = at.rows,
                          .b = columns,
                          .b_step = last - first,
                          .result = small + at.small + first,
                          .result_step = w.small_space()});
    }
  });
}

template <class T>
void small_to_large(const Workers& workers, const Windows& w, const T* small, const T* weights,
                    T* large, T* scratch) {
  const std::int64_t block = block_of(w);
  each_group(workers, w, [&](std::int64_t part, std::int64_t image, std::int64_t group) {
    const GroupPlaces at(w, image, group);
    T* const columns = scratch + part * at.rows * block;
    T* const to = large + at.large;
    std::fill(to, to + w.large_channels / w.groups * w.large_space(), T(0));
    for (std::int64_t first = 0; first < w.small_space(); first += block) {
      const std::int64_t last = std::min(w.small_space(), first + block);
      multiply(Product<T>{.m = at.rows,
                          .n = last - first,
                          .k = at.filters,
                          .a = weights + at.weights,
                          .a_step = at.rows,
                          .a_is_turned = true,
                          .b = small + at.small + first,
                          .b_step = w.small_space(),
                          .result = columns,
                          .result_step = last - first});
      move_windows<T, true>(w, to, first, last, columns);
    }
  });
}

template <class T>
void both_to_weights(const Workers& workers, const Windows& w, const T* large, const T* small,
                     T* weights, T* scratch) {
  const std::int64_t block = block_of(w), elements = w.weight_elements();
  T* const columns_of_all = scratch + workers.count() * elements;
  std::vector<char> is_begun(static_cast<std::size_t>(workers.count() * w.groups), 0);
  const std::int64_t parts = each_group(workers, w, [&](auto part, auto image, auto group) {
    const GroupPlaces at(w, image, group);
    T* const columns = columns_of_all + part * at.rows * block;
    T* const sums = scratch + part * elements + at.weights;
    char& adds = is_begun[static_cast<std::size_t>(part * w.groups + group)];
    for (std::int64_t first = 0; first < w.small_space(); first += block) {
      const std::int64_t last = std::min(w.small_space(), first + block);
      move_windows<T, false>(w, const_cast<T*>(large) + at.large, first, last, columns);
      multiply(Product<T>{.m = at.filters,
                          .n = at.rows,
                          .k = last - first,
                          .a = small + at.small + first,
                          .a_step = w.small_space(),
                          .b = columns,
                          .b_step = last - first,
                          .b_is_turned = true,
                          .result = sums,
                          .result_step = at.rows,
                          .adds = adds != 0});
      adds = 1;
    }
  });
  const std::int64_t per_group = elements / w.groups;
  workers.ranges(elements, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T sum = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const bool has_any = is_begun[static_cast<std::size_t>(part * w.groups + i / per_group)];
        if (has_any) sum += scratch[part * elements + i];
      }
      weights[i] = sum;
    }
  });
}

#define STRATA_FOR(T)                                                                          \
  template void large_to_small<T>(const Workers&, const Windows&, const T*, const T*, T*, T*); \
  template void small_to_large<T>(const Workers&, const Windows&, const T*, const T*, T*, T*); \
  template void both_to_weights<T>(const Workers&, const Windows&, const T*, const T*, T*, T*);
STRATA_FOR(float)
STRATA_FOR(double)
#undef STRATA_FOR

}  // namespace strata::cpu_training
