// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/operator_names.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace strata {
namespace {

TEST(OperatorNames, every_name_gives_an_operator_of_that_name) {
  for (const std::string_view name : operator_names()) {
    const std::optional<Operator> op = operator_named(name);
    ASSERT_TRUE(op) << name;
    EXPECT_EQ(name_of(*op), name);
  }
}

TEST(OperatorNames, no_name_is_given_twice) {
  const auto names = operator_names();
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
}

TEST(OperatorNames, every_struct_has_a_name_and_they_come_in_order) {
  std::size_t last = 0;
  std::set<std::size_t> structs;
  for (const std::string_view name : operator_names()) {
    const std::size_t index = operator_named(name)->index();
    EXPECT_GE(index, last) << name;
    structs.insert(last = index);
  }
  EXPECT_EQ(structs.size(), std::variant_size_v<AnyOperator>);
}

template <class Kind, class MakeOperator>
void expect_round_trip(Kind last, const MakeOperator& make) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const Operator op = make(static_cast<Kind>(i));
    EXPECT_EQ(operator_named(name_of(op)), std::optional(op)) << name_of(op);
  }
}

TEST(OperatorNames, every_kind_comes_back) {
  expect_round_trip(CellKind::gru, [](CellKind cell) { return Recurrent{.cell = cell}; });
  expect_round_trip(PoolKind::average, [](PoolKind kind) { return Pool{.kind = kind}; });
  expect_round_trip(PoolKind::average, [](PoolKind kind) { return AdaptivePool{.kind = kind}; });
  expect_round_trip(UnaryKind::logical_not, [](UnaryKind kind) { return Unary{kind}; });
  expect_round_trip(ElementwiseKind::select,
                    [](ElementwiseKind kind) { return Elementwise{kind}; });
  expect_round_trip(ReduceKind::l2, [](ReduceKind kind) { return Reduce{.kind = kind}; });
  expect_round_trip(ResizeKind::cubic, [](ResizeKind kind) { return Resize{.kind = kind}; });
}

TEST(OperatorNames, switches_are_names) {
  EXPECT_EQ(name_of(Convolution{.transposed = true}), "transposed_convolution");
  EXPECT_EQ(name_of(Softmax{.log = true}), "log_softmax");
  EXPECT_EQ(name_of(SpaceToDepth{.inverse = true}), "depth_to_space");
  EXPECT_EQ(name_of(GroupNorm{.groups = 0}), "instance_norm");
  EXPECT_EQ(name_of(GroupNorm{.groups = 8}), "group_norm");
}

TEST(OperatorNames, names_that_people_expect) {
  for (const char* name :
       {"convolution", "linear", "lstm", "max_pool", "adaptive_average_pool", "relu", "add",
        "batch_norm", "softmax_cross_entropy", "reduce_mean", "resize_nearest"}) {
    EXPECT_TRUE(operator_named(name)) << name;
  }
}

TEST(OperatorNames, unknown_names_give_nothing) {
  EXPECT_FALSE(operator_named(""));
  EXPECT_FALSE(operator_named("Convolution"));
  EXPECT_FALSE(operator_named("convolution "));
}

}  // namespace
}  // namespace strata
