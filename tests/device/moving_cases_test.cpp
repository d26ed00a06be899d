// SPDX-License-Identifier: Apache-2.0
// Numbers that go elsewhere: tiles with their ends, packs and what is in none, short axes, padding,
// repeated numbers, rows that are picked several times, and resizing in all directions.
#include "tests/device/training_cases.hpp"

namespace strata::test {
namespace {

using Cases = std::vector<TrainingCase>;
using Sizes = std::vector<std::int64_t>;

void add_transposes(Cases& cases) {
  // Whole tiles and ends; packs on both sides, on one of them, on none.
  for (const Sizes& matrix :
       std::vector<Sizes>{{128, 192}, {100, 132}, {100, 131}, {131, 100}, {67, 129}, {33, 35}})
    cases.push_back({"transpose of a matrix", Transpose{}, {{matrix}}});
  // Long and short matrices, for which there are other tiles, and those that are too short.
  for (const Sizes& batch : std::vector<Sizes>{{3, 64, 68},
                                               {2, 12, 300},
                                               {2, 300, 12},
                                               {2, 9, 261},
                                               {2, 261, 9},
                                               {3, 8, 100},
                                               {3, 100, 8},
                                               {3, 4, 60},
                                               {3, 60, 4},
                                               {5, 2, 33},
                                               {5, 33, 2},
                                               {5, 3, 50},
                                               {5, 50, 3},
                                               {90, 5, 6},
                                               {40, 16, 16},
                                               {9, 1, 7}})
    cases.push_back({"transpose of batches", Transpose{.permutation = {0, 2, 1}}, {{batch}}});
  for (const Sizes& image :
       std::vector<Sizes>{{2, 20, 9, 9}, {2, 64, 8, 8}, {2, 3, 20, 20}, {3, 4, 7, 7}}) {
    cases.push_back({"channels last", Transpose{.permutation = {0, 2, 3, 1}}, {{image}}});
    cases.push_back({"channels first", Transpose{.permutation = {0, 3, 1, 2}}, {{image}}});
  }
  for (const Sizes& heads : std::vector<Sizes>{{2, 9, 3, 16}, {2, 9, 3, 6}, {2, 9, 3, 5}})
    cases.push_back({"transpose of heads", Transpose{.permutation = {0, 2, 1, 3}}, {{heads}}});
  // Tiles among several axes.
  cases.push_back({"transpose", Transpose{.permutation = {3, 1, 0, 2}}, {{{3, 40, 2, 36}}}});
  cases.push_back({"transpose", Transpose{.permutation = {2, 3, 1, 0}}, {{{37, 5, 3, 41}}}});
  for (const DType dtype : {DType::boolean, DType::int32, DType::int64}) {
    const double high = dtype == DType::boolean ? 2 : 100;
    cases.push_back(
        {"transpose of other types", Transpose{}, {{{100, 132}, 0, high, dtype, 0, false}}});
    cases.push_back(
        {"transpose of other types", Transpose{}, {{{67, 129}, 0, high, dtype, 0, false}}});
  }
}

Slice slice_of(std::int64_t axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  Slice slice;
  slice.axes = {axis};
  slice.begin = {begin};
  slice.end = {end};
  slice.step = {step};
  return slice;
}

void add_parts(Cases& cases) {
  // Lines that begin at any address, of any length.
  for (const std::int64_t begin : {0, 1, 2, 4, 8}) {
    for (const std::int64_t length : {1, 5, 8, 16}) {
      cases.push_back({"slice", slice_of(2, begin, begin + length, 1), {{{3, 7, 24}}}});
      cases.push_back(
          {"slice of odd lines", slice_of(2, begin, begin + length, 1), {{{3, 7, 25}}}});
    }
  }
  cases.push_back({"slice of rows", slice_of(1, 2, 5, 1), {{{3, 7, 24}}}});
  cases.push_back({"slice by steps", slice_of(2, 1, 24, 2), {{{3, 7, 24}}}});
  cases.push_back({"slice backwards", slice_of(2, -1, -25, -1), {{{3, 7, 24}}}});
  cases.push_back({"slice of a vector", slice_of(0, 3, 1000, 3), {{{1003}}}});
  for (const std::int64_t last : {1, 2, 4, 6, 8}) {
    cases.push_back({"concat", Concat{.axis = -1}, {{{9, 8}}, {{9, last}}, {{9, 4}}}});
    cases.push_back({"split", Split{.axis = -1, .sizes = {8, last, 3}}, {{{9, 11 + last}}}});
  }
  for (const std::int64_t plane : {1, 4, 7})
    cases.push_back({"channel shuffle", ChannelShuffle{.groups = 3}, {{{2, 12, plane, plane}}}});
}

void add_pads(Cases& cases) {
  cases.push_back(
      {"pad around", Pad{.begin = {0, 0, 1, 1}, .end = {0, 0, 1, 1}}, {{{2, 3, 8, 8}}}});
  cases.push_back(
      {"pad around", Pad{.begin = {0, 0, 3, 2}, .end = {0, 0, 0, 1}}, {{{2, 3, 5, 7}}}});
  cases.push_back(
      {"pad by packs", Pad{.begin = {0, 0, 1, 8}, .end = {0, 0, 1, 8}}, {{{2, 3, 8, 16}}}});
  cases.push_back(
      {"pad channels", Pad{.begin = {0, 2, 0, 0}, .end = {0, 3, 0, 0}}, {{{2, 3, 8, 8}}}});
  cases.push_back(
      {"pad channels", Pad{.begin = {0, 1, 0, 0}, .end = {0, 0, 0, 0}}, {{{2, 3, 5, 5}}}});
  cases.push_back({"pad rows", Pad{.begin = {1, 0}, .end = {2, 0}}, {{{5, 9}}}});
  cases.push_back({"pad a vector", Pad{.begin = {5}, .end = {6}}, {{{1000}}}});
  cases.push_back({"pad short lines", Pad{.begin = {0, 1}, .end = {0, 1}}, {{{50, 1}}}});
  cases.push_back({"crop", Pad{.begin = {0, 0, -1, -1}, .end = {0, 0, -1, -1}}, {{{2, 3, 8, 8}}}});
  cases.push_back({"pad and crop", Pad{.begin = {1, -2, 3}, .end = {0, 1, -4}}, {{{3, 6, 20}}}});
}

void add_blocks(Cases& cases) {
  for (const std::int64_t block : {2, 3, 4}) {
    for (const std::int64_t width : {5, 8, 33}) {
      const std::int64_t height = 3, channels = 2;
      cases.push_back({"space to depth",
                       SpaceToDepth{block, false},
                       {{{3, channels, height * block, width * block}}}});
      cases.push_back({"depth to space",
                       SpaceToDepth{block, true},
                       {{{3, channels * block * block, height, width}}}});
    }
  }
}

void add_repeated(Cases& cases) {
  const auto expand = [&](const Sizes& from, const Shape& to) {
    cases.push_back({"expand", Expand{.shape = to}, {{from}}});
  };
  expand({6, 5, 1, 1}, {6, 5, 8, 8});
  expand({6, 5, 1, 1}, {6, 5, 7, 7});
  expand({1, 5, 8, 8}, {6, 5, 8, 8});
  expand({5, 7}, {6, 5, 7});
  expand({4, 1, 6}, {4, 9, 6});
  expand({4, 1, 8}, {4, 9, 8});
  expand({3, 1}, {40, 3, 64});
  expand({4, 1}, {40, 4, 64});
  expand({70, 1}, {70, 2});
  expand({70, 1}, {70, 3});
  expand({1}, {33});
  expand({1}, {1024});
}

void add_lookups(Cases& cases) {
  for (const std::int64_t width : {1, 2, 3, 4, 8, 36, 64, 130}) {
    cases.push_back({"embedding",
                     Embedding{.vocabulary = 9, .width = width},
                     {{{7, 11}, 0, 1, DType::int64, 9}}});
    cases.push_back({"embedding of few",
                     Embedding{.vocabulary = 300, .width = width},
                     {{{13}, 0, 1, DType::int32, 300}}});
  }
  // A table that is larger than half of a cache is filled part by part.
  cases.push_back({"large embedding",
                   Embedding{.vocabulary = 4000, .width = 2048},
                   {{{4001}, 0, 1, DType::int64, 4000}}});
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    for (const std::int64_t last : {5, 8})
      cases.push_back(
          {"gather", Gather{.axis = axis}, {{{6, 7, last}}, {{3, 4}, 0, 1, DType::int64, 5}}});
  }
}

void add_resizes(Cases& cases) {
  for (const ResizeKind kind : {ResizeKind::nearest, ResizeKind::linear, ResizeKind::cubic}) {
    const auto scale = [&](const Sizes& from, const Extents& by) {
      cases.push_back({"resize up", Resize{.kind = kind, .scale = by}, {{from}}});
    };
    const auto resize = [&](const Sizes& from, const Extents& to) {
      cases.push_back({"resize to", Resize{.kind = kind, .output = to}, {{from}}});
    };
    scale({2, 3, 6, 8}, {2, 2});  // by two: even and odd heights, rows of one pair
    scale({2, 3, 7, 10}, {2, 2});
    scale({3, 1, 1, 2}, {2, 2});
    scale({2, 3, 5, 7}, {2, 2});  // and odd rows, which are for the general way
    scale({2, 3, 4, 6}, {1, 2});
    scale({2, 3, 4, 6}, {2, 1});
    scale({2, 3, 4, 5}, {3, 4});
    scale({2, 3, 3, 4}, {8, 7});
    scale({2, 3, 2, 3}, {17, 16});
    scale({2, 2, 1, 1}, {9, 33});
    scale({3, 2, 9}, {2});
    scale({3, 2, 5}, {40});
    scale({2, 2, 3, 4, 6}, {2, 2, 2});
    scale({2, 2, 3, 2, 4}, {1, 2, 2});
    scale({1, 2, 2, 3, 2}, {5, 1, 3});
    resize({2, 3, 9, 11}, {4, 5});
    resize({2, 3, 9, 11}, {13, 6});
    resize({2, 3, 9, 11}, {1, 1});
    resize({1, 5, 24, 20}, {18, 31});
    resize({3, 2, 30}, {7});
    resize({3, 2, 30}, {1});
    resize({2, 2, 5, 6, 4}, {3, 9, 4});
  }
}

}  // namespace

std::vector<TrainingCase> moving_cases() {
  Cases cases;
  add_transposes(cases);
  add_parts(cases);
  add_pads(cases);
  add_blocks(cases);
  add_repeated(cases);
  add_lookups(cases);
  add_resizes(cases);
  return cases;
}

}  // namespace strata::test
