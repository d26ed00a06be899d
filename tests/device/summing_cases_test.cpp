// SPDX-License-Identifier: Apache-2.0
// Sums over axes in every order, repeated operands and their gradients, statistics of channels:
// shapes for each way of sharing the work, with whole packs and without.
#include "tests/device/training_cases.hpp"

namespace strata::test {
namespace {

using Cases = std::vector<TrainingCase>;
using Sizes = std::vector<std::int64_t>;

void add_reductions(Cases& cases) {
  struct Reduced {
    Sizes shape;
    Axes axes;
  };
  const std::vector<Reduced> all = {
      {{300, 72}, {0}},       {{300, 70}, {0}},                          // columns
      {{4100, 24}, {1}},      {{4100, 23}, {1}},      {{4100, 3}, {1}},  // lanes for each row
      {{9, 1200}, {1}},       {{9, 1203}, {1}},                          // blocks for each row
      {{9000}, {}},           {{8999}, {}},                              // one result of everything
      {{40, 6, 64}, {0, 2}},  {{40, 6, 49}, {0, 2}},                     // planes of channels
      {{12, 40, 136}, {1}},   {{12, 41, 7}, {1}},                        // columns of batches
      {{5, 6, 7, 8}, {1, 3}}, {{4, 5, 6, 7}, {0, 2}},                    // no layout, and one
  };
  for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::maximum,
                                ReduceKind::minimum, ReduceKind::l2}) {
    for (const Reduced& one : all)
      cases.push_back({"sums", Reduce{.kind = kind, .axes = one.axes}, {{one.shape, 0.5, 1.5}}});
  }
}

void add_repeated(Cases& cases) {
  const std::vector<std::pair<Sizes, Sizes>> all = {{{300, 72}, {72}},
                                                    {{300, 70}, {70}},
                                                    {{4100, 24}, {4100, 1}},
                                                    {{9, 1203}, {9, 1}},
                                                    {{6, 5, 64}, {5, 1}},
                                                    {{6, 5, 49}, {1, 5, 1}},
                                                    {{12, 40, 136}, {12, 1, 136}},
                                                    {{12, 41, 7}, {12, 1, 7}},
                                                    {{40, 50, 3}, {1}},
                                                    {{4, 5, 6, 8}, {4, 1, 6, 1}}};
  for (const ElementwiseKind kind :
       {ElementwiseKind::add, ElementwiseKind::subtract, ElementwiseKind::multiply,
        ElementwiseKind::divide, ElementwiseKind::maximum, ElementwiseKind::mean}) {
    for (const auto& [whole, repeated] : all) {
      const CaseInput a{whole, 0.5, 1.5}, b{repeated, 0.6, 1.4};
      cases.push_back({"repeated on the right", Elementwise{kind}, {a, b}});
      cases.push_back({"repeated on the left", Elementwise{kind}, {b, a}});
    }
    // Neither is like the result.
    cases.push_back(
        {"pairs", Elementwise{kind}, {{{3, 12, 1, 40}, 0.5, 1.5}, {{3, 1, 16, 40}, 0.6, 1.4}}});
    cases.push_back({"pairs of odd rows",
                     Elementwise{kind},
                     {{{2, 7, 1, 9}, 0.5, 1.5}, {{2, 1, 5, 9}, 0.6, 1.4}}});
  }
  for (const ElementwiseKind kind : {ElementwiseKind::add, ElementwiseKind::multiply})
    cases.push_back(
        {"pairs and a row", Elementwise{kind}, {{{2, 6, 1, 24}}, {{2, 1, 5, 24}}, {{24}}}});
}

void add_channel_statistics(Cases& cases) {
  for (const Sizes& shape :
       {Sizes{300, 72}, Sizes{300, 70}, Sizes{40, 6, 8, 8}, Sizes{40, 6, 7, 7},
        Sizes{3, 200, 28, 28}, Sizes{2, 5, 1, 3}, Sizes{1, 4100, 2, 4}, Sizes{700, 3, 1, 1}})
    cases.push_back({"batch norm", BatchNorm{}, {{shape, -2, 3}}});
  for (const std::int64_t size : {3, 4, 5, 7, 9}) {
    cases.push_back({"local response", LocalResponseNorm{.size = size}, {{{2, 37, 5, 7}, -4, 4}}});
    cases.push_back({"local response", LocalResponseNorm{.size = size}, {{{3, 4, 6, 6}, -4, 4}}});
  }
}

}  // namespace

std::vector<TrainingCase> summing_cases() {
  Cases cases;
  add_reductions(cases);
  add_repeated(cases);
  add_channel_statistics(cases);
  return cases;
}

}  // namespace strata::test
