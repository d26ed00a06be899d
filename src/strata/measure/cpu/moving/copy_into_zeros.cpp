// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/copy_into_zeros.hpp"

#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/moving/padded_planes.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace strata::cpu_training {
namespace {

/// Rows of the whole in order: where each lies in what is copied, if it does.
class RowsOfBox {
 public:
  RowsOfBox(const Box& box, const Placed& from, std::int64_t row)
      : box_(box), from_(from), last_(box.whole.size() - 1), index_(box.whole) {
    for (std::size_t axis = last_; axis-- > 0;) {
      index_[axis] = row % box.whole[axis];
      row /= box.whole[axis];
    }
  }
  /// Of the row that is next; null where there is none.
  const float* next() {
    std::int64_t place = from_.offset;
    bool is_there = box_.shape[last_] > 0;
    for (std::size_t axis = 0; axis < last_; ++axis) {
      const std::int64_t at = index_[axis] - box_.begin[axis];
      is_there = is_there && at >= 0 && at < box_.shape[axis];
      place += at * from_.strides[axis];
    }
    for (std::size_t axis = last_; axis-- > 0;) {
      if (++index_[axis] < box_.whole[axis]) break;
      index_[axis] = 0;
    }
    return is_there ? static_cast<const float*>(from_.numbers) + place : nullptr;
  }

 private:
  const Box& box_;
  const Placed& from_;
  std::size_t last_;
  Sizes index_;
};

/// The rows from begin on, each written where it belongs. Places stay in registers for the rows of
/// a plane: see copy_short_rows (strided_copy.cpp).
void copy_rows_into_zeros(const Box& box, const Placed& from, std::int64_t begin, std::int64_t end,
                          float* to) {
  const std::size_t last = box.whole.size() - 1, along = last - 1;
  const std::int64_t height = box.whole[along], width = box.whole[last];
  const std::int64_t left = box.begin[last], length = box.shape[last];
  const std::int64_t step = from.strides[along];
  const auto zeros = [](float* y, std::int64_t count) {
    std::memset(y, 0, static_cast<std::size_t>(count) * sizeof(float));
  };
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t first = row % height, stop = std::min(height, first + end - row);
    std::int64_t rest = row / height, place = from.offset;
    bool is_there = length > 0;
    for (std::size_t axis = along; axis-- > 0;) {
      const std::int64_t at = rest % box.whole[axis] - box.begin[axis];
      is_there = is_there && at >= 0 && at < box.shape[axis];
      place += at * from.strides[axis];
      rest /= box.whole[axis];
    }
    // Rows of this plane that hold something.
    const std::int64_t top = is_there ? std::clamp(box.begin[along], first, stop) : stop;
    const std::int64_t low =
        is_there ? std::clamp(box.begin[along] + box.shape[along], top, stop) : stop;
    float* y = to + row * width;
    zeros(y, (top - first) * width);
    y += (top - first) * width;
    if (top < low) {
      const float* x =
          static_cast<const float*>(from.numbers) + place + (top - box.begin[along]) * step;
      if (length == width && step == width) {
        copy_from_memory(y, x, (low - top) * width * 4, bytes_asked_ahead);
        y += (low - top) * width;
      } else {
        // What is left of one row and what is right of the last lie side by side.
        zeros(y, left);
        y += left;
        for (std::int64_t i = top; i < low; ++i, x += step) {
          copy_from_memory(y, x, length * 4, bytes_asked_ahead);
          y += length;
          const std::int64_t between = width - length - (i + 1 < low ? 0 : left);
          for (std::int64_t k = 0; k < between; ++k) y[k] = 0.0F;
          y += between;
        }
      }
    }
    zeros(y, (stop - low) * width);
    row += stop - first;
  }
}

/// Planes with zeros around them, one behind the other; nothing where other axes have zeros as
/// well, or rows are short.
std::optional<PaddedPlanes> padded_planes_of(const Box& box, const Placed& from) {
  const std::size_t last = box.whole.size() - 1;
  if (last == 0) return {};
  const std::size_t along = last - 1;
  constexpr std::int64_t line = 16;
  PaddedPlanes planes{.x = static_cast<const float*>(from.numbers) + from.offset,
                      .planes = 1,
                      .rows = box.shape[along],
                      .length = box.shape[last],
                      .row_step = from.strides[along],
                      .plane_step = box.shape[along] * from.strides[along],
                      .row_width = box.whole[last],
                      .plane_width = box.whole[along] * box.whole[last]};
  if (planes.rows < 1 || planes.length < line || planes.row_step < line) return {};
  for (const std::size_t axis : {along, last}) {
    const bool is_inside =
        box.begin[axis] >= 0 && box.begin[axis] + box.shape[axis] <= box.whole[axis];
    if (!is_inside) return {};
  }
  for (std::size_t axis = along; axis-- > 0;) {
    if (box.shape[axis] != box.whole[axis]) return {};
    if (box.shape[axis] > 1 && from.strides[axis] != planes.planes * planes.plane_step) return {};
    planes.planes *= box.shape[axis];
  }
  return planes;
}

/// Planes begin … end of those, with all their zeros.
void copy_planes_into_zeros(PaddedPlanes planes, const Box& box, std::int64_t begin,
                            std::int64_t end, float* to) {
  const std::size_t last = box.whole.size() - 1;
  planes.x += begin * planes.plane_step;
  planes.planes = end - begin;
  float* const first =
      to + begin * planes.plane_width + box.begin[last - 1] * planes.row_width + box.begin[last];
  std::fill(to + begin * planes.plane_width, first, 0.0F);
  copy_between_zeros(planes, first);
  std::fill(first + planes.written(), to + end * planes.plane_width, 0.0F);
}

}  // namespace

void copy_into_zeros(const Workers& workers, const Box& box, const Placed& from, void* to) {
  const std::size_t last = box.whole.size() - 1;
  const std::int64_t width = box.whole[last], left = box.begin[last], length = box.shape[last];
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < last; ++axis) rows *= box.whole[axis];
  const bool is_beyond = is_beyond_caches(rows * width * 4);
  const auto write_row = [&](ResultStream<float>& result, const float* x) {
    if (x == nullptr) return result.fill(0.0F, width);
    if (width > ResultStream<float>::longest) {
      result.fill(0.0F, left);
      result.copy(x, length);
      return result.fill(0.0F, width - left - length);
    }
    constexpr std::int64_t ahead = 1024;  // a page: processors foresee no more
    fetch(x + ahead, length);
    float* const row = result.next(width);
    std::fill_n(row, left, 0.0F);
    std::memcpy(row + left, x, static_cast<std::size_t>(length) * sizeof(float));
    std::fill_n(row + left + length, width - left - length, 0.0F);
  };
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / width);
  const auto planes = padded_planes_of(box, from);
  if (vector_loops<float>().stream == nullptr && planes) {
    const std::int64_t least_planes =
        std::max<std::int64_t>(1, numbers_per_part / planes->plane_width);
    return workers.ranges(planes->planes, least_planes, [&](std::int64_t begin, std::int64_t end) {
      copy_planes_into_zeros(*planes, box, begin, end, static_cast<float*>(to));
    });
  }
  if (vector_loops<float>().stream == nullptr && last > 0) {
    return workers.ranges(rows, least, [&](std::int64_t begin, std::int64_t end) {
      copy_rows_into_zeros(box, from, begin, end, static_cast<float*>(to));
    });
  }
  workers.ranges(rows, least, [&](std::int64_t begin, std::int64_t end) {
    ResultStream<float> result(static_cast<float*>(to), begin * width, is_beyond);
    RowsOfBox sources(box, from, begin);
    for (std::int64_t row = begin; row < end; ++row) write_row(result, sources.next());
  });
}

void fill_bytes_with_zero(const Workers& workers, void* to, std::int64_t bytes) {
  const bool is_beyond = is_beyond_caches(bytes) && bytes % 4 == 0;
  if (is_beyond) {
    return workers.ranges(bytes / 4, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      ResultStream<float>(static_cast<float*>(to), begin, true).fill(0.0F, end - begin);
    });
  }
  workers.ranges(bytes, 4 * numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<char*>(to) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace strata::cpu_training
