// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/operator_fields.hpp"

#include "strata/graph/operator_names.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace strata {
namespace {

std::vector<std::string> keys_of(std::string_view name) {
  std::vector<std::string> keys;
  for (const FieldDescription& field : fields_of(*operator_named(name))) keys.push_back(field.name);
  return keys;
}

bool has_key(std::string_view name, std::string_view key) {
  const std::vector<std::string> keys = keys_of(name);
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

TEST(OperatorFields, a_convolution_in_words) {
  const std::vector<std::string> expected = {"channels",  "kernel",  "stride", "dilation", "pad",
                                             "pad_begin", "pad_end", "groups", "bias"};
  EXPECT_EQ(keys_of("convolution"), expected);
  const FieldDescription channels = fields_of(Convolution{}).front();
  EXPECT_TRUE(channels.is_required);
  EXPECT_EQ(channels.type, "whole number");
  EXPECT_EQ(channels.default_value, "");
  const FieldDescription groups = fields_of(Convolution{})[7];
  EXPECT_EQ(groups.default_value, "1");
}

TEST(OperatorFields, fields_that_mean_nothing_are_not_offered) {
  EXPECT_TRUE(has_key("transposed_convolution", "output_padding"));
  EXPECT_FALSE(has_key("convolution", "output_padding"));
  EXPECT_TRUE(has_key("lstm", "projection"));
  EXPECT_FALSE(has_key("gru", "projection"));
  EXPECT_TRUE(has_key("average_pool", "count_include_pad"));
  EXPECT_FALSE(has_key("max_pool", "count_include_pad"));
  EXPECT_TRUE(has_key("group_norm", "groups"));
  EXPECT_FALSE(has_key("instance_norm", "groups"));
}

/// Converts to anything, to try how many members a struct can be initialised with.
struct Anything {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): never defined, never called
};

template <class Struct, class... Members>
constexpr std::size_t member_count() {
  if constexpr (requires { Struct{Members{}..., Anything{}}; }) {
    return member_count<Struct, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

std::size_t visited_members(const Operator& op) {
  std::size_t count = 0;
  visit_fields(op, [&count]<class Value>(const Field&, const Value&) {
    count += std::is_same_v<Value, Ends<const Extents>> ? 2 : 1;
  });
  return count;
}

// Members that the operator's name stands for: kind, cell, transposed, log, inverse.
template <class Op>
constexpr std::size_t named_members = requires(Op op) {
  op.kind;
}
|| requires(Op op) { op.cell; }
|| requires(Op op) { op.transposed; }
|| requires(Op op) { op.log; }
|| requires(Op op) { op.inverse; };

// A member that somebody adds to a struct and not to the table would be lost on the way through a
// file.
TEST(OperatorFields, the_table_knows_every_member_of_every_struct) {
  std::vector<std::size_t> most_visited(std::variant_size_v<AnyOperator>, 0);
  for (const std::string_view name : operator_names()) {
    const Operator op = *operator_named(name);
    most_visited[op.index()] = std::max(most_visited[op.index()], visited_members(op));
  }
  for (const std::string_view name : operator_names()) {
    std::visit(
        [&]<class Op>(const Op& op) {
          EXPECT_EQ(most_visited[Operator(op).index()] + named_members<Op>, member_count<Op>())
              << name;
        },
        *operator_named(name));
  }
}

TEST(OperatorFields, visiting_reaches_the_members) {
  Operator op = Convolution{};
  visit_fields(op, []<class Value>(const Field& field, Value&& value) {
    using Plain = std::remove_reference_t<Value>;
    if constexpr (std::is_same_v<Plain, std::int64_t>) value = field.name == "channels" ? 16 : 4;
    if constexpr (std::is_same_v<Plain, bool>) value = false;
    if constexpr (std::is_same_v<Plain, Extents>) value = {3, 3};
    if constexpr (std::is_same_v<Plain, Ends<Extents>>) value.begin = value.end = {1, 1};
  });
  const Convolution expected{.channels = 16,
                             .kernel = {3, 3},
                             .stride = {3, 3},
                             .dilation = {3, 3},
                             .pad_begin = {1, 1},
                             .pad_end = {1, 1},
                             .groups = 4,
                             .bias = false};
  EXPECT_EQ(op, Operator(expected));
}

TEST(OperatorFields, every_key_has_help_and_comes_once) {
  for (const std::string_view name : operator_names()) {
    EXPECT_FALSE(help_of(*operator_named(name)).empty()) << name;
    const std::vector<std::string> keys = keys_of(name);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size()) << name;
    for (const FieldDescription& field : fields_of(*operator_named(name))) {
      EXPECT_FALSE(field.help.empty()) << name << " " << field.name;
      EXPECT_FALSE(field.type.empty()) << name << " " << field.name;
      EXPECT_FALSE(field.is_required && !field.default_value.empty()) << name << " " << field.name;
    }
  }
}

}  // namespace
}  // namespace strata
