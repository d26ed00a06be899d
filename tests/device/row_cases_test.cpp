// SPDX-License-Identifier: Apache-2.0
// Softmax, its loss and normalisations of rows, columns and planes: lengths from one number to more
// than a block has threads, whole warps and not.
#include "tests/device/training_cases.hpp"

namespace strata::test {
namespace {

using Cases = std::vector<TrainingCase>;
using Sizes = std::vector<std::int64_t>;

/// [rows, length]; many short ones, so that blocks have several and the last is partly filled.
std::vector<Sizes> row_shapes() {
  return {{37, 3},   {517, 4},  {37, 8},   {37, 31},   {131, 32},  {300, 64},  {67, 128},
          {67, 129}, {33, 256}, {9, 260},  {9, 512},   {9, 516},   {37, 768},  {5, 1000},
          {9, 1024}, {5, 1028}, {5, 1031}, {5, 2052},  {5, 4096},  {3, 4099},  {5, 5000},
          {3, 8192}, {3, 8200}, {2, 9001}, {2, 20000}, {2, 32768}, {2, 33000}, {2, 33001}};
}

/// Along axis 1.
std::vector<Sizes> column_shapes() {
  return {{4, 1, 6},   {70, 3, 5},  {9, 3, 64},   {3, 40, 5},  {3, 40, 64}, {2, 40, 300},
          {3, 130, 8}, {2, 300, 5}, {2, 300, 64}, {1, 700, 8}, {2, 700, 3}, {1, 1500, 40}};
}

void add_softmax(Cases& cases) {
  for (const bool log : {false, true}) {
    cases.push_back({"softmax of single numbers", Softmax{.log = log}, {{{37, 1}, -4, 4}}});
    for (const Sizes& shape : row_shapes())
      cases.push_back({"softmax of rows of " + std::to_string(shape[1]),
                       Softmax{.log = log},
                       {{shape, -4, 4}}});
    for (const Sizes& shape : column_shapes())
      cases.push_back({"softmax of columns of " + std::to_string(shape[1]),
                       Softmax{.axis = 1, .log = log},
                       {{shape, -4, 4}}});
  }
}

void add_cross_entropy(Cases& cases) {
  for (const Sizes& shape : row_shapes())
    cases.push_back({"cross-entropy of rows of " + std::to_string(shape[1]),
                     SoftmaxCrossEntropy{},
                     {{shape, -3, 3}, {{shape[0]}, 0, 1, DType::int64, shape[1]}}});
  for (const Sizes& shape : column_shapes())
    cases.push_back({"cross-entropy of columns of " + std::to_string(shape[1]),
                     SoftmaxCrossEntropy{.axis = 1},
                     {{shape, -3, 3}, {{shape[0], shape[2]}, 0, 1, DType::int64, shape[1]}}});
}

void add_row_norms(Cases& cases) {
  // Not of single numbers: their gradient is 0, and only rounding would be compared.
  for (const Sizes& shape : row_shapes()) {
    const std::string rows = " of rows of " + std::to_string(shape[1]);
    // A mean beside which the differences are small.
    cases.push_back({"layer norm" + rows, LayerNorm{}, {{shape, 1, 4}}});
    cases.push_back(
        {"plain layer norm" + rows, LayerNorm{.scale = false, .shift = false}, {{shape, -2, 2}}});
    cases.push_back({"rms norm" + rows, RmsNorm{}, {{shape, -2, 2}}});
  }
  cases.push_back({"layer norm without a shift", LayerNorm{.shift = false}, {{{700, 24}}}});
  cases.push_back({"layer norm of many rows", LayerNorm{}, {{{4001, 20}}}});
}

void add_plane_norms(Cases& cases) {
  struct Grouped {
    Sizes shape;
    std::int64_t groups;  ///< 0: a plane each
  };
  const std::vector<Grouped> all = {
      {{70, 5, 4, 9}, 0},    {{9, 5, 7, 7}, 0},     {{3, 5, 13, 13}, 0},  // parts of warps
      {{3, 5, 33, 32}, 0},   {{2, 3, 64, 64}, 0},   {{2, 3, 61, 61}, 0},  // warps
      {{2, 2, 160, 120}, 0}, {{1, 2, 200, 200}, 0},                       // beside, too long
      {{3, 6, 8, 8}, 2},     {{3, 10, 7, 7}, 2},    {{5, 40, 6, 6}, 1},   // small planes
      {{2, 6, 32, 32}, 2},   {{2, 4, 31, 31}, 2},   {{2, 16, 24, 24}, 2},
      {{2, 8, 128, 64}, 2},  {{2, 3, 200, 200}, 1},  // beside, too long
      {{3, 96, 7, 7}, 1},    {{2, 12, 2, 3}, 3},     // too many, too small
  };
  for (const Grouped& one : all) {
    const std::string name = "norm of groups of " + std::to_string(one.shape[2]) + " rows";
    cases.push_back({name, GroupNorm{.groups = one.groups}, {{one.shape, -2, 3}}});
    cases.push_back({"plain " + name, GroupNorm{one.groups, false, false}, {{one.shape, -2, 3}}});
  }
}

}  // namespace

std::vector<TrainingCase> row_cases() {
  Cases cases;
  add_softmax(cases);
  add_cross_entropy(cases);
  add_row_norms(cases);
  add_plane_norms(cases);
  return cases;
}

}  // namespace strata::test
