// SPDX-License-Identifier: Apache-2.0
// Functions of numbers, of channels and of small windows: whole packs and what is left of one,
// packs that hold two channels, planes whose rows are a multiple of two, of four and of neither.
#include "tests/device/training_cases.hpp"

namespace strata::test {
namespace {

using Cases = std::vector<TrainingCase>;
using Sizes = std::vector<std::int64_t>;

std::string text_of(const Sizes& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

/// One pack and less, a block and a number more, several blocks.
void add_counts(Cases& cases) {
  for (const Sizes& shape : std::vector<Sizes>{
           {1, 1}, {1, 7}, {2, 4}, {3, 11}, {3, 64}, {1, 1024}, {3, 683}, {5, 1601}, {9, 4096}}) {
    const std::string name = " of " + text_of(shape);
    cases.push_back({"dropout" + name, Dropout{.probability = 0.3}, {{shape}}});
    cases.push_back({"mish" + name, Unary{UnaryKind::mish}, {{shape, -12, 12}}});
  }
  cases.push_back({"dropout of half", Dropout{.probability = 0.5}, {{{1, 4099}}}});
  cases.push_back({"dropout of nearly all", Dropout{.probability = 0.999}, {{{70, 100}}}});
  cases.push_back({"mish of large numbers", Unary{UnaryKind::mish}, {{{1, 997}, -80, 80}}});
}

/// Planes of a multiple of 8, of 4 and of neither, and of less than a pack.
void add_channels(Cases& cases) {
  for (const Sizes& plane : std::vector<Sizes>{{1, 1},
                                               {1, 2},
                                               {3, 1},
                                               {2, 2},
                                               {5, 1},
                                               {7, 1},
                                               {2, 4},
                                               {3, 4},
                                               {7, 7},
                                               {8, 8},
                                               {33, 31},
                                               {32, 36}}) {
    const auto with_plane = [&](std::int64_t rows, std::int64_t channels) {
      return Sizes{rows, channels, plane[0], plane[1]};
    };
    const std::string name = " of planes of " + text_of(plane);
    cases.push_back({"prelu" + name, Unary{UnaryKind::prelu}, {{with_plane(3, 5)}}});
    cases.push_back({"yolo" + name, Yolo{.boxes = 3, .classes = 2}, {{with_plane(2, 21), -4, 4}}});
  }
  cases.push_back({"prelu of vectors", Unary{UnaryKind::prelu}, {{{37, 24}}}});
  cases.push_back({"prelu of odd vectors", Unary{UnaryKind::prelu}, {{{37, 11}}}});
}

void add_rotary(Cases& cases) {
  for (const std::int64_t pairs : {1, 2, 3, 4, 6, 8, 16, 32, 40}) {
    for (const std::int64_t heads : {1, 3, 4}) {
      cases.push_back({"rotary of " + std::to_string(pairs) + " pairs",
                       RotaryEmbedding{.heads = heads},
                       {{{3, 7, heads * 2 * pairs}}}});
    }
  }
  cases.push_back({"rotary of several blocks", RotaryEmbedding{.heads = 4}, {{{2, 67, 256}}}});
}

/// Around what a thread takes: 4 or 7 rows, 1, 2 or 4 columns.
void add_planes(Cases& cases, const Pool& op, const std::string& name) {
  for (const Sizes& plane : std::vector<Sizes>{{3, 3},
                                               {4, 4},
                                               {7, 7},
                                               {8, 8},
                                               {5, 16},
                                               {9, 13},
                                               {13, 6},
                                               {14, 14},
                                               {15, 12},
                                               {17, 17},
                                               {28, 28},
                                               {35, 35}}) {
    const std::string full_name = name + " of planes of " + text_of(plane);
    cases.push_back({full_name, op, {{{2, 5, plane[0], plane[1]}}}});
  }
}

void add_pools(Cases& cases) {
  struct Window {
    std::int64_t size, stride, pad;
  };
  for (const PoolKind kind : {PoolKind::maximum, PoolKind::average}) {
    for (const Window& window :
         std::vector<Window>{{2, 2, 0}, {3, 1, 0}, {3, 1, 1}, {3, 2, 0}, {3, 2, 1}}) {
      Pool op{.kind = kind};
      op.kernel = {window.size, window.size};
      op.stride = {window.stride, window.stride};
      op.pad_begin = op.pad_end = {window.pad, window.pad};
      const std::string name = (kind == PoolKind::maximum ? "maximum " : "average ") +
                               std::to_string(window.size) + " stride " +
                               std::to_string(window.stride) + " pad " + std::to_string(window.pad);
      add_planes(cases, op, name);
      op.ceil_mode = true;
      op.count_include_pad = true;
      add_planes(cases, op, name + " ceil");
    }
  }
  Pool uneven{.kind = PoolKind::maximum};
  uneven.kernel = {3, 3};
  uneven.stride = {2, 2};
  uneven.pad_begin = {1, 0};
  uneven.pad_end = {0, 1};
  add_planes(cases, uneven, "maximum 3 stride 2 uneven");
  uneven.stride = {1, 1};
  add_planes(cases, uneven, "maximum 3 stride 1 uneven");
}

/// One thread of a plane, several, a warp; planes that begin within a pack.
void add_global_pools(Cases& cases) {
  for (const Sizes& plane : std::vector<Sizes>{{1, 1},
                                               {2, 1},
                                               {3, 3},
                                               {4, 4},
                                               {7, 7},
                                               {8, 8},
                                               {13, 13},
                                               {14, 14},
                                               {31, 33},
                                               {64, 64}}) {
    const std::string name = "global average of " + text_of(plane);
    cases.push_back({name, AdaptivePool{}, {{{3, 23, plane[0], plane[1]}}}});
  }
  cases.push_back({"global average of many planes", AdaptivePool{}, {{{41, 50, 7, 7}}}});
}

}  // namespace

std::vector<TrainingCase> pointwise_cases() {
  Cases cases;
  add_counts(cases);
  add_channels(cases);
  add_rotary(cases);
  add_pools(cases);
  add_global_pools(cases);
  return cases;
}

}  // namespace strata::test
