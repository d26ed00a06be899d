// SPDX-License-Identifier: Apache-2.0
#include "strata/report/json_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace strata {
namespace {

TEST(JsonText, one_line_per_entry_and_item) {
  const auto itself = [](const auto& item) { return nlohmann::ordered_json(item); };
  JsonText text;
  text.add("a", 1);
  text.add_list("b", std::vector<int>{1, 2}, itself);
  text.add_list("c", std::vector<int>{}, itself);
  text.add("d", {{"e", {1, 2}}});
  EXPECT_EQ(
      std::move(text).finish(),
      "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": [],\n  \"d\": {\"e\":[1,2]}\n}\n");
}

TEST(JsonText, an_empty_document_is_one) { EXPECT_EQ(JsonText().finish(), "{\n}\n"); }

TEST(JsonText, what_is_not_known_is_null) {
  EXPECT_EQ(number_or_null(std::nullopt), nullptr);
  EXPECT_EQ(number_or_null(0.5), 0.5);
}

TEST(JsonText, what_is_no_utf8_does_no_harm) {
  JsonText text;
  text.add("a", "x\xFFy");
  EXPECT_EQ(nlohmann::json::parse(std::move(text).finish())["a"], "x\xEF\xBF\xBDy");
}

}  // namespace
}  // namespace strata
