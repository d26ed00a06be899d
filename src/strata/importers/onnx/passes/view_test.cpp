// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/view.hpp"

#include <gtest/gtest.h>

namespace strata::onnx {
namespace {

class OnnxView : public testing::Test {
 protected:
  View of(const Shape& shape) { return view_of(0, shape); }
  View split(const View& view, const Shape& shape) {
    return regrouped(view, shape, symbols).value();
  }

  Symbols symbols;
  Dim batch = symbols.parameter("batch");
};

TEST_F(OnnxView, of_a_tensor_is_in_order) {
  const View view = of({batch, 1, 12});
  EXPECT_TRUE(view.is_in_order());
  EXPECT_EQ(view.atoms.size(), 2U);  // an extent of 1 has no atom
  EXPECT_TRUE(view.axes[1].empty());
}

TEST_F(OnnxView, heads_split_and_turned_and_back_are_in_order) {
  View view = split(of({batch, 5, 12}), {batch, 5, 3, 4});
  view = permuted(view, {0, 2, 1, 3});
  EXPECT_FALSE(view.is_in_order());
  view = permuted(view, {0, 2, 1, 3});
  view = split(view, {batch, 5, 12});
  EXPECT_TRUE(view.is_in_order());
}

// [S, N, 12] → [S, 3·N, 4] → [3·N, S, 4] → [N, 3, S, 4] → [N, S, 3, 4] → [N, S, 12]: PyTorch's way
// of splitting heads is a swap of S and N, and nothing else.
TEST_F(OnnxView, axes_may_be_joined_across_others) {
  View view = of({5, batch, 12});
  view = split(view, {5, symbols.multiply(3, batch), 4});
  view = permuted(view, {1, 0, 2});
  view = split(view, {batch, 3, 5, 4});
  view = permuted(view, {0, 2, 1, 3});
  view = split(view, {batch, 5, 12});
  EXPECT_EQ(view.order(), (std::vector<int>{1, 0, 2, 3}));
}

TEST_F(OnnxView, a_shape_that_cuts_elsewhere_is_none) {
  const View transposed = permuted(of({6, 4}), {1, 0});
  EXPECT_FALSE(regrouped(transposed, {3, 8}, symbols).has_value());  // 3 does not divide 4
  EXPECT_TRUE(regrouped(transposed, {2, 2, 6}, symbols).has_value());
  EXPECT_TRUE(regrouped(transposed, {8, 3}, symbols).has_value());  // 4·2 and 3
}

TEST_F(OnnxView, quotients_are_exact_or_none) {
  EXPECT_EQ(exact_quotient(symbols, 12, 4), Dim(3));
  EXPECT_EQ(exact_quotient(symbols, 12, 5), std::nullopt);
  EXPECT_EQ(exact_quotient(symbols, symbols.multiply(batch, 12), batch), Dim(12));
  EXPECT_EQ(exact_quotient(symbols, 12, batch), std::nullopt);
}

}  // namespace
}  // namespace strata::onnx
