// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/strided_copy.hpp"

#include "strata/base/error.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/moving/turned_copy.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

namespace strata::cpu_training {
namespace {

std::int64_t written_bytes(const Walk& walk, std::size_t element) {
  return walk.rows() * walk.row_length() * static_cast<std::int64_t>(element);
}

/// Where the rows to come lie: rows that are short and far apart come too late otherwise, because
/// processors foresee only what lies in one page.
template <class Element>
class RowsAhead {
 public:
  RowsAhead(const Walk& walk, std::int64_t bytes_ahead) : length_(walk.row_length()) {
    const std::int64_t bytes = walk.row_length() * static_cast<std::int64_t>(sizeof(Element));
    if (walk.step(1) != 1 || bytes > bytes_ahead || walk.shape().size() < 2) return;
    // So many rows on, which may be past the end of the next axes.
    std::int64_t rows = bytes_ahead / bytes;
    for (std::size_t axis = walk.shape().size() - 1; axis-- > 0 && rows > 0;) {
      distance_ += rows % walk.shape()[axis] * walk.strides(1)[axis];
      rows /= walk.shape()[axis];
    }
  }
  std::int64_t distance() const { return distance_; }
  void fetch_after(const Element* row) const {
    if (distance_ != 0) fetch(row + distance_, length_);
  }

 private:
  std::int64_t length_, distance_ = 0;
};

/// Where something lies on both sides, in numbers.
struct Places {
  std::int64_t to = 0, from = 0;
};

/// Of an index of the first `axes` axes.
Places places_of(const Walk& walk, std::size_t axes, std::int64_t index) {
  Places places;
  for (std::size_t axis = axes; axis-- > 0;) {
    const std::int64_t extent = walk.shape()[axis];
    places.to += index % extent * walk.strides(0)[axis];
    places.from += index % extent * walk.strides(1)[axis];
    index /= extent;
  }
  return places;
}

/// Rows that lie side by side on both sides, by a loop over the last axis but one whose places stay
/// in registers: what is written between the rows of a result and read again soon, such as the
/// places of a walk, waits behind them on its way to the caches.
template <class Element>
void copy_short_rows(const Workers& workers, const Walk& walk, const Element* from, Element* to) {
  const Sizes& shape = walk.shape();
  const std::size_t along = shape.size() - 2;
  const std::int64_t rows = shape[along];
  const std::int64_t to_row = walk.strides(0)[along], from_row = walk.strides(1)[along];
  const auto bytes = walk.row_length() * static_cast<std::int64_t>(sizeof(Element));
  const std::int64_t ahead = RowsAhead<Element>(walk, bytes_asked_ahead).distance() *
                             static_cast<std::int64_t>(sizeof(Element));
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / walk.row_length());
  workers.ranges(walk.rows(), least, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t first = row % rows, count = std::min(rows - first, end - row);
      const Places outer = places_of(walk, along, row / rows);
      Element* y = to + outer.to + first * to_row;
      const Element* x = from + outer.from + first * from_row;
      // Copies of what the lambda refers to, which would be read anew for every row.
      const std::int64_t y_step = to_row, x_step = from_row, length = bytes, asked = ahead;
      for (std::int64_t i = 0; i < count; ++i, y += y_step, x += x_step) {
        copy_from_memory(y, x, length, asked);
      }
      row += count;
    }
  });
}

/// What lies side by side is best read so many bytes at a time, before what lies elsewhere.
constexpr std::int64_t bytes_at_a_time = 2048;

/// Short rows whose neighbours in what is read are far apart in what is written, where they have
/// neighbours of other rows: as attention's heads come together again. A few that are read one
/// after the other are written far apart, then the same of the next sequence, so that neither side
/// begins at a new place for each row.
template <class Element>
bool copy_sequences_of_rows(const Workers& workers, const Walk& walk, const Element* from,
                            Element* to) {
  const Sizes& shape = walk.shape();
  const std::int64_t length = walk.row_length();
  if (shape.size() < 3) return false;
  const std::size_t sequence = shape.size() - 2, along = sequence - 1;
  const std::int64_t group =
      bytes_at_a_time / (length * static_cast<std::int64_t>(sizeof(Element)));
  if (walk.strides(1)[along] != length || group < 2 || shape[along] < 2 * group) return false;
  const std::int64_t groups = (shape[along] + group - 1) / group, sequences = shape[sequence];
  const std::int64_t planes = walk.rows() / (shape[along] * sequences);
  const std::int64_t least =
      std::max<std::int64_t>(1, numbers_per_part / (group * sequences * length));
  workers.ranges(planes * groups, least, [&](std::int64_t begin, std::int64_t end) {
    // Copies of what the lambda refers to, which would be read anew for every row.
    const std::int64_t to_row = walk.strides(0)[along], to_next = walk.strides(0)[sequence];
    const std::int64_t from_next = walk.strides(1)[sequence], from_row = length;
    const auto bytes = length * static_cast<std::int64_t>(sizeof(Element));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % groups * group;
      const std::int64_t count = std::min(group, shape[along] - first);
      const Places outer = places_of(walk, along, i / groups);
      Element* y = to + outer.to + first * to_row;
      const Element* x = from + outer.from + first * from_row;
      for (std::int64_t k = 0; k < sequences; ++k, y += to_next, x += from_next) {
        Element* row_y = y;
        const Element* row_x = x;
        for (std::int64_t row = 0; row < count; ++row, row_y += to_row, row_x += from_row) {
          copy_from_memory(row_y, row_x, bytes, bytes_at_a_time);
        }
      }
    }
  });
  return true;
}

template <class Element>
void copy_rows(const Workers& workers, Walk walk, const Element* from, Element* to) {
  const std::int64_t to_step = walk.step(0), from_step = walk.step(1);
  const PastCaches past(written_bytes(walk, sizeof(Element)));
  constexpr std::int64_t short_row = 4096;  // bytes; there are many of them, then
  if (past.stream == nullptr && to_step == 1 && from_step == 1 && walk.shape().size() >= 2 &&
      walk.row_length() * static_cast<std::int64_t>(sizeof(Element)) <= short_row) {
    if (copy_sequences_of_rows(workers, walk, from, to)) return;
    return copy_short_rows(workers, walk, from, to);
  }
  constexpr std::int64_t bytes_ahead = 4096;
  const RowsAhead<Element> ahead(walk, bytes_ahead);
  if (past.stream == nullptr && to_step == 1 && (from_step == 0 || from_step == 1)) {
    walk.set_longest_piece(longest_result_piece<float>(false));
  }
  walk.each_part(workers, [&](std::int64_t begin, std::int64_t end) {
    walk.each_piece(begin, end, [&](const Walk::Offsets& at, std::int64_t length) {
      Element* const y = to + at[0];
      const Element* const x = from + at[1];
      if (to_step == 1 && from_step == 1) {
        const std::int64_t bytes = length * static_cast<std::int64_t>(sizeof(Element));
        if (past.stream == nullptr) return copy_from_memory(y, x, bytes, bytes_asked_ahead);
        ahead.fetch_after(x);
        past.copy(y, x, bytes);
      } else if (to_step == 1 && from_step == 0) {
        if (past.stream == nullptr) {
          fill_numbers(y, length, *x);
          return;
        }
        std::array<Element, static_cast<std::size_t>(longest_piece)> same;
        std::fill_n(same.begin(), length, *x);
        past.copy(y, same.data(), length * static_cast<std::int64_t>(sizeof(Element)));
      } else if (to_step == 1) {
        std::array<Element, static_cast<std::size_t>(longest_piece)> row;
        for (std::int64_t i = 0; i < length; ++i)
          row[static_cast<std::size_t>(i)] = x[i * from_step];
        past.copy(y, row.data(), length * static_cast<std::int64_t>(sizeof(Element)));
      } else {
        for (std::int64_t i = 0; i < length; ++i) y[i * to_step] = x[i * from_step];
      }
    });
  });
}

/// The axes in the order in which one of both lies in memory.
Walk walk_in_order_of(const Sizes& by, const Sizes& shape, const Placed& from, const Placed& to) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(by[a]) > std::abs(by[b]); });
  Sizes extents, to_strides, from_strides;
  for (const std::size_t axis : order) {
    extents.push_back(shape[axis]);
    to_strides.push_back(to.strides[axis]);
    from_strides.push_back(from.strides[axis]);
  }
  return {extents, {to_strides, from_strides}};
}

/// `to` is written in order; or `from` is read in order, where rows are copied as they are and the
/// other side then has fewer places at which it goes on.
Walk walk_of(const Sizes& shape, const Placed& from, const Placed& to, std::int64_t element) {
  Walk written = walk_in_order_of(to.strides, shape, from, to);
  constexpr std::int64_t whole_lines = 256;
  if (written.step(0) != 1 || written.step(1) != 1 || written.shape().size() < 2 ||
      written.row_length() * element < whole_lines) {
    return written;
  }
  Walk read = walk_in_order_of(from.strides, shape, from, to);
  const auto places = [](const Walk& walk) { return walk.shape()[walk.shape().size() - 2]; };
  if (read.shape().size() < 2 || read.row_length() != written.row_length()) return written;
  return places(read) < places(written) ? read : written;
}

template <class Element>
void copy_elements(const Workers& workers, const Sizes& shape, const Placed& from,
                   const Placed& to) {
  const Walk walk = walk_of(shape, from, to, sizeof(Element));
  const Element* const x = static_cast<const Element*>(from.numbers) + from.offset;
  Element* const y = static_cast<Element*>(to.numbers) + to.offset;
  if (const auto axis = axis_to_turn(walk)) {
    copy_turned(workers, walk, *axis, x, y);
  } else {
    copy_rows(workers, walk, x, y);
  }
}

}  // namespace

void copy_strided(const Workers& workers, std::int64_t element_bytes, const Sizes& shape,
                  const Placed& from, const Placed& to) {
  for (const std::int64_t extent : shape) {
    if (extent <= 0) return;
  }
  switch (element_bytes) {
    case 1: return copy_elements<std::uint8_t>(workers, shape, from, to);
    case 2: return copy_elements<std::uint16_t>(workers, shape, from, to);
    case 4: return copy_elements<std::uint32_t>(workers, shape, from, to);
    case 8: return copy_elements<std::uint64_t>(workers, shape, from, to);
    default: fail(ErrorKind::internal, "elements of {} bytes", element_bytes);
  }
}

}  // namespace strata::cpu_training
