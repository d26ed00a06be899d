// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/resize_by_two.hpp"

#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/moving/layout_loops.hpp"
#include "strata/measure/cpu/moving/pair_sums.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Calls work(begin, end) for planes, on all threads.
template <class Work>
void each_doubled_planes(const ResizeByTwo& r, const Workers& workers, const Work& work) {
  workers.ranges(r.planes, std::max<std::int64_t>(1, numbers_per_part / (4 * r.height * r.width)),
                 work);
}

bool is_large(std::int64_t numbers) {
  return is_beyond_caches(numbers * static_cast<std::int64_t>(sizeof(float)));
}

/// Rows of a plane at twice their width; some of them stay in the first cache.
class WidenedRows {
 public:
  explicit WidenedRows(const ResizeByTwo& r)
      : resize_(r), room_(static_cast<std::size_t>(slots * 2 * r.width)) {}

  void begin(const float* plane) {
    plane_ = plane;
    made_ = 0;
  }
  /// The nearest row that is there.
  const float* operator[](std::int64_t row) {
    row = std::clamp<std::int64_t>(row, 0, resize_.height - 1);
    for (; made_ <= row; ++made_) {
      layout_loops()->widen(plane_ + made_ * resize_.width, place(made_), resize_.width);
    }
    return place(row);
  }

 private:
  static constexpr std::int64_t slots = 4;  // three are read at a time

  float* place(std::int64_t row) { return room_.data() + row % slots * 2 * resize_.width; }

  ResizeByTwo resize_;
  const float* plane_ = nullptr;
  std::int64_t made_ = 0;
  std::vector<float> room_;
};

void double_planes(const ResizeByTwo& r, std::int64_t begin, std::int64_t end, const float* x,
                   ResultStream<float>& result) {
  for (std::int64_t row = begin * r.height; row < end * r.height; ++row) {
    for (int time = 0; time < 2; ++time) {
      layout_loops()->twice(x + row * r.width, 1.0F, result.next(2 * r.width), r.width);
    }
  }
}

void interpolate_planes(const ResizeByTwo& r, std::int64_t begin, std::int64_t end, const float* x,
                        ResultStream<float>& result) {
  WidenedRows rows(r);
  for (std::int64_t plane = begin; plane < end; ++plane) {
    rows.begin(x + plane * r.height * r.width);
    for (std::int64_t row = 0; row < r.height; ++row) {
      const float *const above = rows[row - 1], *const here = rows[row],
                         *const below = rows[row + 1];
      layout_loops()->mix(here, above, result.next(2 * r.width), 2 * r.width);
      layout_loops()->mix(here, below, result.next(2 * r.width), 2 * r.width);
    }
  }
}

/// Rows of twice the width become those of a plane, some at a time: what has only just been written
/// comes late when it is read at other places.
void narrow_planes(const ResizeByTwo& r, std::int64_t begin, std::int64_t end, const float* dy,
                   ResultStream<float>& result) {
  constexpr std::int64_t at_once = 4;
  const std::int64_t width = 2 * r.width;
  std::vector<float> room(static_cast<std::size_t>(at_once * width));
  for (std::int64_t plane = begin; plane < end; ++plane) {
    const float* const from = dy + plane * 4 * r.height * r.width;
    const auto row_of = [&](std::int64_t row) {
      return from + std::clamp<std::int64_t>(row, 0, 2 * r.height - 1) * width;
    };
    for (std::int64_t first = 0; first < r.height; first += at_once) {
      const std::int64_t count = std::min(at_once, r.height - first);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t row = 2 * (first + k);
        const float* const near[2] = {row_of(row), row_of(row + 1)};
        const float* const far[2] = {row_of(row - 1), row_of(row + 2)};
        layout_loops()->mix_pairs(near, far, room.data() + k * width, width);
      }
      for (std::int64_t k = 0; k < count; ++k) {
        layout_loops()->narrow(room.data() + k * width, result.next(r.width), r.width);
      }
    }
  }
}

/// Rows of a plane that are worked on at once where results go through the caches; they stay in the
/// first one.
std::int64_t rows_at_once(const ResizeByTwo& r) {
  constexpr std::int64_t numbers = 4096;
  return std::clamp<std::int64_t>(numbers / (2 * r.width), 1, r.height);
}

/// Planes [height, width] at x become planes of twice the size at y.
void interpolate_in_place(const ResizeByTwo& r, std::int64_t planes, const float* x, float* y) {
  const std::int64_t width = 2 * r.width, at_once = rows_at_once(r);
  std::vector<float> wide(static_cast<std::size_t>((at_once + 2) * width));
  for (std::int64_t plane = 0; plane < planes; ++plane, x += r.height * r.width) {
    for (std::int64_t first = 0; first < r.height; first += at_once) {
      const std::int64_t count = std::min(at_once, r.height - first);
      // With the row above and the one below, which are repeated outside.
      const std::int64_t from = std::max<std::int64_t>(first - 1, 0);
      const std::int64_t to = std::min(first + count + 1, r.height);
      float* const begin = wide.data() + (from - first + 1) * width;
      float* const end = begin + (to - from) * width;
      layout_loops()->widen_rows(x + from * r.width, begin, r.width, to - from);
      if (from == first) std::copy_n(begin, width, begin - width);
      if (to == first + count) std::copy_n(end - width, width, end);
      layout_loops()->mix_rows(wide.data(), y, width, count);
      y += 2 * count * width;
    }
  }
}

/// The way back.
void narrow_in_place(const ResizeByTwo& r, std::int64_t planes, const float* dy, float* dx) {
  const std::int64_t width = 2 * r.width, plane_rows = 2 * r.height;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const auto narrow = [&](std::int64_t row, std::int64_t count) {
      std::array<const float*, 4> rows{};
      for (std::int64_t k = 0; k < 4; ++k) {  // those outside are repeated
        const std::int64_t of = std::clamp<std::int64_t>(2 * row - 1 + k, 0, plane_rows - 1);
        rows[static_cast<std::size_t>(k)] = dy + (plane * plane_rows + of) * width;
      }
      layout_loops()->narrow_row_pairs(rows.data(), dx + (plane * r.height + row) * r.width,
                                       r.width, count);
    };
    narrow(0, 1);
    if (r.height > 2) narrow(1, r.height - 2);
    if (r.height > 1) narrow(r.height - 1, 1);
  }
}

}  // namespace

bool can_resize_by_two(const ResizeByTwo& r) {
  return layout_loops() != nullptr && 2 * r.width <= ResultStream<float>::longest &&
         (r.kind == ResizeKind::nearest || r.kind == ResizeKind::linear);
}

void resize_by_two(const ResizeByTwo& r, const Workers& workers, const float* x, float* y) {
  const bool is_past = is_large(4 * r.planes * r.height * r.width);
  each_doubled_planes(r, workers, [&](std::int64_t begin, std::int64_t end) {
    if (stream_of<float>() == nullptr) {
      const float* const from = x + begin * r.height * r.width;
      float* const to = y + begin * 4 * r.height * r.width;
      if (r.kind == ResizeKind::linear) return interpolate_in_place(r, end - begin, from, to);
      return layout_loops()->twice_rows(from, 1.0F, to, r.width, (end - begin) * r.height);
    }
    ResultStream<float> result(y, begin * 4 * r.height * r.width, is_past);
    (r.kind == ResizeKind::nearest ? double_planes : interpolate_planes)(r, begin, end, x, result);
  });
}

void resize_by_two_backward(const ResizeByTwo& r, const Workers& workers, const float* dy,
                            float* dx) {
  const bool is_past = is_large(r.planes * r.height * r.width);
  each_doubled_planes(r, workers, [&](std::int64_t begin, std::int64_t end) {
    if (layout_loops()->narrow_row_pairs != nullptr && r.kind == ResizeKind::linear) {
      return narrow_in_place(r, end - begin, dy + begin * 4 * r.height * r.width,
                             dx + begin * r.height * r.width);
    }
    ResultStream<float> result(dx, begin * r.height * r.width, is_past);
    if (r.kind == ResizeKind::linear) return narrow_planes(r, begin, end, dy, result);
    sum_pairs(dy + begin * 4 * r.height * r.width, 1.0F, r.width, (end - begin) * r.height, result);
  });
}

}  // namespace strata::cpu_training
