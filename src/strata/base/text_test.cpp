// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace strata {
namespace {

using Names = std::vector<std::string>;

const Names networks = {"alexnet",      "vgg16",         "vgg19",     "resnet18",
                        "resnet34",     "resnet50",      "resnet101", "resnet152",
                        "mobilenet_v2", "squeezenet1_1", "gpt2"};

TEST(Text, names_are_the_same_whatever_their_case_and_dashes) {
  EXPECT_TRUE(same_name("h100-sxm", "H100_SXM"));
  EXPECT_TRUE(same_name("", ""));
  EXPECT_FALSE(same_name("h100-sxm", "h100sxm"));
  EXPECT_FALSE(same_name("a", "ab"));
}

TEST(Text, split_keeps_empty_parts) {
  EXPECT_EQ(split("a,b", ','), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(split(",a,,", ','), (std::vector<std::string_view>{"", "a", "", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
}

RC_GTEST_PROP(Text, split_and_join_give_the_text_back, (const std::string& text)) {
  std::string joined;
  for (const std::string_view part : split(text, ',')) joined += std::string(part) + ',';
  RC_ASSERT(joined == text + ',');
}

TEST(Text, trimmed_takes_white_space_off_both_ends_only) {
  EXPECT_EQ(trimmed("  a b\t\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Text, lower_case_is_ascii_only) { EXPECT_EQ(lower_case("ResNet-50 Ä"), "resnet-50 Ä"); }

TEST(Text, nearest_finds_a_slip_and_orders_by_distance) {
  EXPECT_EQ(nearest("resnet5", networks), (Names{"resnet50", "resnet18", "resnet34"}));
  EXPECT_EQ(nearest("alxenet", networks), Names{"alexnet"});
  EXPECT_EQ(nearest("gtp2", networks), Names{"gpt2"});
}

TEST(Text, nearest_ignores_case_and_dashes) {
  EXPECT_EQ(nearest("MobileNet-v3", networks), Names{"mobilenet_v2"});
  EXPECT_EQ(nearest("squeezenet1.1", networks), Names{"squeezenet1_1"});
}

TEST(Text, nearest_finishes_a_word) {
  EXPECT_EQ(nearest("vgg", networks), (Names{"vgg16", "vgg19"}));
  EXPECT_EQ(nearest("mobile", networks), Names{"mobilenet_v2"});
}

TEST(Text, nearest_is_silent_when_nothing_is_near) {
  EXPECT_EQ(nearest("transformer", networks), Names{});
  EXPECT_EQ(nearest("", networks), Names{});
  EXPECT_EQ(nearest("x", networks), Names{});
  EXPECT_EQ(nearest(std::string(100000, 'r'), networks), Names{});
}

TEST(Text, nearest_gives_at_most_as_many_as_asked) {
  EXPECT_EQ(nearest("resnet", networks).size(), 3U);
  EXPECT_EQ(nearest("resnet", networks, 5).size(), 5U);
  EXPECT_EQ(nearest("resnet", networks, 0), Names{});
}

RC_GTEST_PROP(Text, nearest_finds_every_name_with_one_letter_lost, ()) {
  const std::string name = *rc::gen::elementOf(networks);
  const auto lost = *rc::gen::inRange<std::size_t>(0, name.size());
  const Names found = nearest(std::string(name).erase(lost, 1), networks, networks.size());
  RC_ASSERT(std::find(found.begin(), found.end(), name) != found.end());
}

TEST(Text, nearest_prefers_the_same_beginning) {
  const Names names = {"lenet5", "resnet18", "resnet50", "resnet50_keras"};
  EXPECT_EQ(nearest("resnet5", names), (Names{"resnet50", "resnet50_keras", "resnet18"}));
}

TEST(Text, alternatives_read_as_a_sentence) {
  const std::vector<std::string_view> words = {"man", "bash", "zsh"};
  EXPECT_EQ(alternatives(words), "man, bash or zsh");
  EXPECT_EQ(alternatives(std::span(words).first(2)), "man or bash");
  EXPECT_EQ(alternatives(std::span(words).first(1)), "man");
  EXPECT_EQ(alternatives({}), "");
}

TEST(Text, did_you_mean_is_the_tail_of_a_message) {
  EXPECT_EQ(did_you_mean("vgg61", networks), "; did you mean vgg16?");
  EXPECT_EQ(did_you_mean("nothing like it", networks), "");
}

}  // namespace
}  // namespace strata
