// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/matrix/packed_product.hpp"

#ifdef __aarch64__

#include <arm_neon.h>

#include <algorithm>
#include <memory>

// As Goto and van de Geijn do it (Anatomy of High-Performance Matrix Multiplication, 2008): a block
// of b and a block of a are packed, panel after panel, so that the innermost loop reads both in
// order: a panel of b from the first cache, those of a from the second.
namespace strata::cpu {
namespace {

/// A panel of a has so many rows, one of b so many columns; a tile of the result is both. The last
/// panel of b has up to four columns more: alone, they would take as long as sixteen.
constexpr std::int64_t tile_rows = 4, tile_columns = 16, most_columns = 20;
/// How much is packed at once, as measured: 128 KB of a in the second cache, 1 MB of b.
constexpr std::int64_t block_rows = 128, block_depth = 256, block_columns = 1024;

struct Packed {
  alignas(64) float a[block_rows * block_depth];
  alignas(64) float b[block_depth * block_columns];
};

/// result = panel of a · panel of b, of 4 · vectors columns. One step at a time, and no more: a
/// core starts four of these instructions a clock while what they multiply has come from memory a
/// moment ago, and half as many once it has been in registers for longer, as when compilers load
/// for several steps at once.
template <int vectors>
void multiply_panels(const float* a, const float* b, std::int64_t depth, float* result,
                     std::int64_t step, bool adds) {
  float32x4_t sums[tile_rows][vectors];
#pragma GCC unroll 4
  for (int row = 0; row < tile_rows; ++row) {
    __builtin_prefetch(result + row * step, 1, 3);
#pragma GCC unroll 5
    for (int v = 0; v < vectors; ++v) sums[row][v] = vdupq_n_f32(0);
  }
#pragma GCC unroll 1
  for (; depth > 0; --depth, a += tile_rows, b += 4 * vectors) {
    const float32x4_t column = vld1q_f32(a);
    float32x4_t row[vectors];
#pragma GCC unroll 5
    for (int v = 0; v < vectors; ++v) row[v] = vld1q_f32(b + 4 * v);
#pragma GCC unroll 5
    for (int v = 0; v < vectors; ++v) {
      sums[0][v] = vfmaq_laneq_f32(sums[0][v], row[v], column, 0);
      sums[1][v] = vfmaq_laneq_f32(sums[1][v], row[v], column, 1);
      sums[2][v] = vfmaq_laneq_f32(sums[2][v], row[v], column, 2);
      sums[3][v] = vfmaq_laneq_f32(sums[3][v], row[v], column, 3);
    }
  }
  if (adds) {
#pragma GCC unroll 4
    for (int row = 0; row < tile_rows; ++row) {
#pragma GCC unroll 5
      for (int v = 0; v < vectors; ++v) {
        sums[row][v] = vaddq_f32(vld1q_f32(result + row * step + 4 * v), sums[row][v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int row = 0; row < tile_rows; ++row) {
#pragma GCC unroll 5
    for (int v = 0; v < vectors; ++v) vst1q_f32(result + row * step + 4 * v, sums[row][v]);
  }
}

/// Some columns of a panel are not in the result, or some rows.
template <int vectors>
void multiply_rest(const float* a, const float* b, std::int64_t depth, float* result,
                   std::int64_t step, bool adds, std::int64_t rows, std::int64_t columns) {
  float whole[tile_rows * 4 * vectors];
  multiply_panels<vectors>(a, b, depth, whole, 4 * vectors, false);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float& number = result[i * step + j];
      number = (adds ? number : 0.0F) + whole[i * 4 * vectors + j];
    }
  }
}

/// Panels of a, one behind the other.
struct Panels {
  const float* first;
  std::int64_t step;
};

/// All of a's panels with one of b's.
template <int vectors>
void multiply_with_vectors(const Panels& panels, const float* b, std::int64_t depth, float* result,
                           std::int64_t step, bool adds, std::int64_t rows, std::int64_t columns) {
  const float* a = panels.first;
  for (std::int64_t i = 0; i < rows; i += tile_rows, a += panels.step) {
    const std::int64_t height = std::min(tile_rows, rows - i);
    if (height == tile_rows && columns == 4 * vectors) {
      multiply_panels<vectors>(a, b, depth, result + i * step, step, adds);
    } else {
      multiply_rest<vectors>(a, b, depth, result + i * step, step, adds, height, columns);
    }
  }
}

void multiply_with_panel(const Panels& panels, const float* b, std::int64_t depth, float* result,
                         std::int64_t step, bool adds, std::int64_t rows, std::int64_t columns) {
  const auto multiply = columns > 16   ? multiply_with_vectors<5>
                        : columns > 12 ? multiply_with_vectors<4>
                        : columns > 8  ? multiply_with_vectors<3>
                        : columns > 4  ? multiply_with_vectors<2>
                                       : multiply_with_vectors<1>;
  multiply(panels, b, depth, result, step, adds, rows, columns);
}

std::int64_t whole_fours(std::int64_t count) { return (count + 3) / 4 * 4; }

/// One of the factors: rows of a, or columns of b, are its lines.
struct Factor {
  const float* numbers;
  std::int64_t step;        // from one line to the next, or from numbers of all lines to the next
  bool is_line_after_line;  // else the first numbers of all lines, then the second ones

  Factor from(std::int64_t line, std::int64_t depth) const {
    Factor part = *this;
    part.numbers += is_line_after_line ? line * step + depth : depth * step + line;
    return part;
  }
};

/// Four numbers of four lines, those of all lines side by side, `pitch` apart.
inline void pack_four(const float* x, std::int64_t step, float* to, std::int64_t pitch) {
  const float32x4_t a = vld1q_f32(x), b = vld1q_f32(x + step);
  const float32x4_t c = vld1q_f32(x + 2 * step), d = vld1q_f32(x + 3 * step);
  const float32x4_t ac_low = vzip1q_f32(a, c), ac_high = vzip2q_f32(a, c);
  const float32x4_t bd_low = vzip1q_f32(b, d), bd_high = vzip2q_f32(b, d);
  vst1q_f32(to, vzip1q_f32(ac_low, bd_low));
  vst1q_f32(to + pitch, vzip2q_f32(ac_low, bd_low));
  vst1q_f32(to + 2 * pitch, vzip1q_f32(ac_high, bd_high));
  vst1q_f32(to + 3 * pitch, vzip2q_f32(ac_high, bd_high));
}

/// A panel of so many lines, with zeros for those that are not there.
void pack_some(const Factor& x, std::int64_t lines, std::int64_t depth, std::int64_t width,
               float* to) {
  const std::int64_t fours = lines / 4 * 4;
  std::int64_t packed = 0;  // numbers of those lines
  if (x.is_line_after_line) {
    packed = depth / 4 * 4;
    for (std::int64_t l = 0; l < packed; l += 4) {
      for (std::int64_t line = 0; line < fours; line += 4) {
        pack_four(x.numbers + line * x.step + l, x.step, to + l * width + line, width);
      }
    }
  } else {
    packed = depth;
    for (std::int64_t l = 0; l < packed; ++l) {
      for (std::int64_t line = 0; line < fours; line += 4) {
        vst1q_f32(to + l * width + line, vld1q_f32(x.numbers + l * x.step + line));
      }
    }
  }
  for (std::int64_t l = 0; l < depth; ++l) {
    for (std::int64_t line = l < packed ? fours : 0; line < width; ++line) {
      to[l * width + line] = line < lines ? *x.from(line, l).numbers : 0.0F;
    }
  }
}

/// Sixteen lines, which are whole lines of the cache where they lie side by side.
template <std::int64_t width>
void pack_sixteen(const Factor& x, std::int64_t depth, float* to) {
  const auto place = [=](std::int64_t line, std::int64_t l) {
    return to + line / width * width * depth + l * width + line % width;
  };
  if (!x.is_line_after_line) {
    for (std::int64_t l = 0; l < depth; ++l) {
      const float* const numbers = x.numbers + l * x.step;
      __builtin_prefetch(numbers + 16, 0, 3);  // of the next sixteen
#pragma GCC unroll 4
      for (std::int64_t line = 0; line < 16; line += 4) {
        vst1q_f32(place(line, l), vld1q_f32(numbers + line));
      }
    }
    return;
  }
  std::int64_t l = 0;
  for (; l + 4 <= depth; l += 4) {
#pragma GCC unroll 4
    for (std::int64_t line = 0; line < 16; line += 4) {
      pack_four(x.numbers + line * x.step + l, x.step, place(line, l), width);
    }
  }
  for (; l < depth; ++l) {
    for (std::int64_t line = 0; line < 16; ++line) {
      *place(line, l) = x.numbers[line * x.step + l];
    }
  }
}

/// Calls work(column, width) for panels of columns: whole ones, but for the last.
template <class Work>
void for_each_panel(std::int64_t columns, const Work& work) {
  std::int64_t column = 0;
  for (; columns - column > most_columns || columns - column == tile_columns;
       column += tile_columns) {
    work(column, tile_columns);
  }
  if (column < columns) work(column, columns - column);
}

void pack_panel(const Factor& x, std::int64_t columns, std::int64_t depth, float* to) {
  if (columns == tile_columns) return pack_sixteen<tile_columns>(x, depth, to);
  pack_some(x, columns, depth, whole_fours(columns), to);
}

void pack_rows(const Factor& x, std::int64_t rows, std::int64_t depth, float* to) {
  std::int64_t row = 0;
  for (; row + 16 <= rows; row += 16)
    pack_sixteen<tile_rows>(x.from(row, 0), depth, to + row * depth);
  for (; row < rows; row += tile_rows) {
    pack_some(x.from(row, 0), std::min(tile_rows, rows - row), depth, tile_rows, to + row * depth);
  }
}

/// Parts of equal size, of at most `most`.
std::int64_t part_of(std::int64_t count, std::int64_t most) {
  const std::int64_t parts = (count + most - 1) / most;
  return (count + parts - 1) / parts;
}

/// panels_of(row, rows, l, depth): those of some rows and terms.
template <class PanelsOf>
void multiply_by_blocks(const Product<float>& p, float* packed_b, const PanelsOf& panels_of) {
  if (p.k == 0 && !p.adds) {
    for (std::int64_t i = 0; i < p.m; ++i) std::fill_n(p.result + i * p.result_step, p.n, 0.0F);
  }
  if (p.m <= 0 || p.n <= 0 || p.k <= 0) return;
  const Factor b{p.b, p.b_step, p.b_is_turned};
  const std::int64_t depth_at_once = part_of(p.k, block_depth);
  for (std::int64_t column = 0; column < p.n; column += block_columns) {
    const std::int64_t columns = std::min(block_columns, p.n - column);
    for (std::int64_t l = 0; l < p.k; l += depth_at_once) {
      const std::int64_t depth = std::min(depth_at_once, p.k - l);
      const bool adds = p.adds || l > 0;
      for (std::int64_t row = 0; row < p.m; row += block_rows) {
        const std::int64_t rows = std::min(block_rows, p.m - row);
        const Panels panels = panels_of(row, rows, l, depth);
        float* const result = p.result + row * p.result_step + column;
        for_each_panel(columns, [&](std::int64_t j, std::int64_t width) {
          // Just before it is used: it is in the first cache then, and the next is on its way.
          float* const panel = packed_b + (p.m > block_rows ? j * depth : 0);
          if (row == 0) pack_panel(b.from(column + j, l), width, depth, panel);
          multiply_with_panel(panels, panel, depth, result + j, p.result_step, adds, rows, width);
        });
      }
    }
  }
}

Packed& packed_of_thread() {
  thread_local const auto packed = std::make_unique<Packed>();
  return *packed;
}

}  // namespace

bool has_packed_products() { return true; }

/// Few rows are not worth packing b for them, unless it would be turned anyway.
bool is_packed_faster(const Product<float>& p) { return p.m >= 16 || p.b_is_turned; }

void multiply_packed(const Product<float>& p) {
  Packed& packed = packed_of_thread();
  const Factor a{p.a, p.a_step, !p.a_is_turned};
  multiply_by_blocks(p, packed.b,
                     [&](std::int64_t row, std::int64_t rows, std::int64_t l, std::int64_t depth) {
                       pack_rows(a.from(row, l), rows, depth, packed.a);
                       const std::int64_t count = p.alpha == 1 ? 0 : whole_fours(rows) * depth;
                       for (std::int64_t i = 0; i < count; ++i) packed.a[i] *= p.alpha;
                       return Panels{packed.a, tile_rows * depth};
                     });
}

void multiply_panels_of_four(const Product<float>& p) {
  multiply_by_blocks(p, packed_of_thread().b,
                     [&](std::int64_t row, std::int64_t, std::int64_t l, std::int64_t) {
                       return Panels{p.a + row * p.k + l * tile_rows, tile_rows * p.k};
                     });
}

}  // namespace strata::cpu

#else

#include "strata/base/error.hpp"

namespace strata::cpu {

bool has_packed_products() { return false; }
bool is_packed_faster(const Product<float>&) { return false; }
void multiply_packed(const Product<float>& product) { multiply_by_blas(product); }
void multiply_panels_of_four(const Product<float>&) {
  fail(ErrorKind::unsupported, "products are packed for NEON only");
}

}  // namespace strata::cpu

#endif
