// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/moving/layout_loops.hpp"
#include "strata/measure/cpu/moving/strided_copy.hpp"

#include <array>

namespace strata::cpu_training {
namespace {

/// Calls work(n, first channel, last channel) for parts of all planes, on all threads.
template <class Work>
void each_pair_planes(const Workers& workers, const PairPlanes& p, const Work& work) {
  const std::int64_t numbers = 4 * p.height * p.width;
  workers.ranges(p.batch * p.channels, std::max<std::int64_t>(1, numbers_per_part / numbers),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t plane = begin; plane < end;) {
                     const std::int64_t n = plane / p.channels, first = plane % p.channels;
                     const std::int64_t last = std::min(p.channels, first + end - plane);
                     work(n, first, last);
                     plane += last - first;
                   }
                 });
}

bool is_beyond(const PairPlanes& p) {
  return is_beyond_caches(p.batch * p.channels * 4 * p.height * p.width * 4);
}

/// Where the plane of channel c with places (by, bx) of each block begins in deep.
std::int64_t place_in_deep(const PairPlanes& p, std::int64_t n, std::int64_t block,
                           std::int64_t c) {
  return ((n * 4 + block) * p.channels + c) * p.height * p.width;
}

/// Where the planes of a channel, and those of the channels behind it, begin.
template <class Number>
std::array<Number*, 4> planes_of(const PairPlanes& p, std::int64_t n, std::int64_t c,
                                 Number* deep) {
  return {deep + place_in_deep(p, n, 0, c), deep + place_in_deep(p, n, 1, c),
          deep + place_in_deep(p, n, 2, c), deep + place_in_deep(p, n, 3, c)};
}

}  // namespace

bool can_move_pairs(const PairPlanes& p) {
  constexpr std::int64_t shortest = 8;  // rows that vectors pay for
  return layout_loops() != nullptr && p.width >= shortest &&
         2 * p.width <= ResultStream<float>::longest;
}

void split_into_planes(const Workers& workers, const PairPlanes& p, const void* wide, void* deep) {
  const bool is_past = is_beyond(p);
  auto* const to = static_cast<float*>(deep);
  each_pair_planes(workers, p, [&](std::int64_t n, std::int64_t first, std::int64_t last) {
    const auto* x =
        static_cast<const float*>(wide) + (n * p.channels + first) * 4 * p.height * p.width;
    if (stream_of<float>() == nullptr) {
      const std::array planes = planes_of(p, n, first, to);
      return layout_loops()->split_rows(x, planes.data(), p.width, (last - first) * p.height);
    }
    ResultStream<float> top_left(to, place_in_deep(p, n, 0, first), is_past);
    ResultStream<float> top_right(to, place_in_deep(p, n, 1, first), is_past);
    ResultStream<float> low_left(to, place_in_deep(p, n, 2, first), is_past);
    ResultStream<float> low_right(to, place_in_deep(p, n, 3, first), is_past);
    for (std::int64_t row = 0; row < (last - first) * p.height; ++row, x += 4 * p.width) {
      layout_loops()->split_pairs(x, top_left.next(p.width), top_right.next(p.width), p.width);
      layout_loops()->split_pairs(x + 2 * p.width, low_left.next(p.width), low_right.next(p.width),
                                  p.width);
    }
  });
}

void join_planes(const Workers& workers, const PairPlanes& p, const void* deep, void* wide) {
  const bool is_past = is_beyond(p);
  const auto* const from = static_cast<const float*>(deep);
  each_pair_planes(workers, p, [&](std::int64_t n, std::int64_t first, std::int64_t last) {
    if (stream_of<float>() == nullptr) {
      const std::array planes = planes_of(p, n, first, from);
      return layout_loops()->join_rows(
          planes.data(),
          static_cast<float*>(wide) + (n * p.channels + first) * 4 * p.height * p.width, p.width,
          (last - first) * p.height);
    }
    ResultStream<float> result(static_cast<float*>(wide),
                               (n * p.channels + first) * 4 * p.height * p.width, is_past);
    for (std::int64_t row = 0; row < (last - first) * p.height; ++row) {
      for (const std::int64_t block : {0, 2}) {
        const float* const left = from + place_in_deep(p, n, block, first) + row * p.width;
        const float* const right = from + place_in_deep(p, n, block + 1, first) + row * p.width;
        layout_loops()->join_pairs(left, right, result.next(2 * p.width), p.width);
      }
    }
  });
}

}  // namespace strata::cpu_training
