// SPDX-License-Identifier: Apache-2.0
#include "tests/device/training_cases.hpp"

#include <gtest/gtest.h>

namespace strata::test {
namespace {

struct AttentionSizes {
  std::int64_t batch, queries, keys, heads, kv_heads, width, value_width;
};

std::vector<CaseInput> tensors_of(const AttentionSizes& s) {
  return {{{s.batch, s.queries, s.heads * s.width}},
          {{s.batch, s.keys, s.kv_heads * s.width}},
          {{s.batch, s.keys, s.kv_heads * s.value_width}}};
}

TrainingCase attention_case(const std::string& name, const AttentionSizes& s, bool causal) {
  return {"attention " + name,
          Attention{.heads = s.heads, .kv_heads = s.kv_heads, .causal = causal}, tensors_of(s)};
}

TrainingCase masked_case(const std::string& name, const AttentionSizes& s,
                         std::vector<std::int64_t> mask, bool causal, bool has_gradient) {
  TrainingCase one = attention_case("masked, " + name, s, causal);
  CaseInput in{std::move(mask), -2, 2};
  in.has_gradient = has_gradient;
  one.inputs.push_back(in);
  return one;
}

}  // namespace

std::vector<TrainingCase> attention_cases() {
  std::vector<TrainingCase> cases;
  cases.push_back(attention_case("small", {2, 5, 7, 4, 4, 3, 2}, false));
  cases.push_back(attention_case("of odd lengths", {2, 133, 197, 2, 2, 20, 24}, false));
  cases.push_back(attention_case("of odd lengths, causal", {1, 197, 197, 3, 3, 16, 16}, true));
  cases.push_back(attention_case("with an odd width", {1, 70, 65, 2, 2, 19, 33}, true));
  cases.push_back(attention_case("of later queries", {2, 37, 203, 2, 2, 32, 8}, true));
  cases.push_back(attention_case("of queries that see nothing", {1, 203, 70, 2, 2, 16, 16}, true));
  cases.push_back(attention_case("of one query", {2, 1, 130, 2, 2, 64, 64}, false));
  cases.push_back(attention_case("grouped", {2, 129, 66, 6, 2, 40, 40}, false));
  cases.push_back(attention_case("grouped, causal", {1, 140, 140, 4, 1, 64, 64}, true));
  for (const std::int64_t width : {32, 64, 80, 96, 128}) {
    cases.push_back(attention_case("of width " + std::to_string(width),
                                   {1, 67, 135, 2, 2, width, width}, false));
    cases.push_back(attention_case("of width " + std::to_string(width) + ", whole tiles, causal",
                                   {1, 128, 128, 2, 2, width, width}, true));
  }
  // All scores of a head in one tile of 64 × 64, and one side of it alone.
  for (const std::int64_t width : {24, 32, 64, 80, 128}) {
    cases.push_back(attention_case("of a sentence, width " + std::to_string(width),
                                   {3, 50, 61, 2, 2, width, width}, false));
    cases.push_back(attention_case("of 64, causal, width " + std::to_string(width),
                                   {2, 64, 64, 2, 2, width, width}, true));
  }
  cases.push_back(attention_case("of few queries that see nothing", {2, 63, 9, 2, 2, 16, 7}, true));
  cases.push_back(attention_case("of few keys", {2, 133, 60, 2, 2, 64, 64}, false));
  cases.push_back(attention_case("of a sentence, grouped", {2, 50, 61, 6, 2, 40, 48}, false));
  const AttentionSizes sentence{2, 33, 50, 4, 4, 64, 64};
  cases.push_back(masked_case("a sentence", sentence, {2, 1, 33, 50}, false, false));
  cases.push_back(masked_case("a sentence, causal", sentence, {4, 1, 50}, true, false));
  const AttentionSizes sizes{2, 69, 134, 4, 2, 24, 16};
  cases.push_back(masked_case("whole", sizes, {2, 4, 69, 134}, false, false));
  cases.push_back(masked_case("for keys", sizes, {2, 1, 1, 134}, false, false));
  cases.push_back(masked_case("for queries and keys", sizes, {69, 134}, true, false));
  cases.push_back(
      masked_case("whole tiles", {2, 128, 128, 4, 4, 64, 64}, {1, 1, 128, 128}, false, false));
  cases.push_back(masked_case("learnt", sizes, {1, 4, 69, 134}, false, true));
  cases.push_back(attention_case("of whole tiles", {2, 256, 128, 4, 4, 64, 64}, false));
  cases.push_back(attention_case("of whole tiles, grouped", {2, 128, 256, 8, 2, 64, 64}, false));
  return cases;
}

namespace {

TEST(AttentionCases, have_one_gradient_of_a_mask) {
  std::size_t learnt = 0;
  for (const TrainingCase& one : attention_cases()) {
    if (one.inputs.size() > 3 && one.inputs[3].has_gradient) ++learnt;
  }
  EXPECT_EQ(learnt, 1);
}

}  // namespace
}  // namespace strata::test
