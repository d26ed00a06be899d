// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/class_groups.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace strata {
namespace {

std::string_view group_of(std::string_view name) {
  return class_group_names()[class_group_of(*operation_class_named(name))];
}

TEST(ClassGroups, have_every_class_once_and_none_is_empty) {
  std::set<std::size_t> used;
  for (std::size_t i = 0; i < operation_class_names().size(); ++i) {
    const std::size_t group = class_group_of(static_cast<OperationClass>(i));
    ASSERT_LT(group, class_group_names().size()) << operation_class_names()[i];
    used.insert(group);
  }
  EXPECT_EQ(used.size(), class_group_names().size());
}

TEST(ClassGroups, tell_layouts_and_kinds_of_convolutions_apart) {
  EXPECT_EQ(group_of("convolution.forward"), "convolution");
  EXPECT_EQ(group_of("convolution_nhwc.backward_input"), "convolution, channels last");
  EXPECT_EQ(group_of("grouped_nhwc.forward"), "grouped, channels last");
  EXPECT_EQ(group_of("linear.backward_weight"), "products");
  EXPECT_EQ(group_of("batched.tn"), "products");
  EXPECT_EQ(group_of("relu.backward"), "point-wise");
  EXPECT_EQ(group_of("stream.sum"), "sums");
  EXPECT_EQ(group_of("stream.cast"), "copies");
}

TEST(ClassGroups, know_which_class_a_table_would_have) {
  const auto siblings = tabulated_siblings(*operation_class_named("linear.backward_weight"));
  ASSERT_FALSE(siblings.empty());
  EXPECT_EQ(name_of(siblings.front()), "linear.forward_no_bias");
  EXPECT_EQ(name_of(tabulated_siblings(*operation_class_named("attention.backward")).front()),
            "attention.forward");
  EXPECT_TRUE(tabulated_siblings(*operation_class_named("relu.forward")).empty());
}

}  // namespace
}  // namespace strata
