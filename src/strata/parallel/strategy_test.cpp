// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/strategy.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

Cluster devices(std::int64_t count) {
  Cluster cluster;
  cluster.name = "test";
  cluster.devices_per_node = count;
  return cluster;
}

TEST(Strategy, is_read_in_any_order_and_written_again) {
  const Strategy strategy = parse_strategy("zero=1, pp=2,micro=8,tp=4,dp=2,recompute=full,sp=yes");
  EXPECT_EQ(strategy.data, 2);
  EXPECT_EQ(strategy.tensor, 4);
  EXPECT_EQ(strategy.pipeline, 2);
  EXPECT_EQ(strategy.micro_batches, 8);
  EXPECT_EQ(strategy.zero, 1);
  EXPECT_TRUE(strategy.sequence_parallel);
  EXPECT_EQ(parse_strategy(to_text(strategy)), strategy);
  const Strategy experts = parse_strategy("dp=4,cp=2,ep=8,tp=2");
  EXPECT_EQ(experts.devices(), 16);
  EXPECT_EQ(experts.context, 2);
  EXPECT_EQ(experts.expert, 8);
  EXPECT_EQ(parse_strategy(to_text(experts)), experts);
  EXPECT_EQ(parse_strategy("pp=4,micro=8,v=2").schedule, PipelineSchedule::interleaved);
  for (const char* text :
       {"dp=2,pp=4,micro=8,schedule=gpipe", "pp=4,micro=8,v=2,overlap=no",
        "pp=2,micro=4,schedule=zero-bubble,balance=layers", "dp=2,cp=4,exchange=all-to-all"})
    EXPECT_EQ(parse_strategy(to_text(parse_strategy(text))), parse_strategy(text)) << text;
}

// Every rank belongs to one group of each kind, and neighbours of a group are its stride apart.
TEST(Strategy, ranks_of_every_kind_cover_the_devices) {
  const Strategy s = parse_strategy("dp=4,cp=2,ep=4,tp=2,pp=2");
  EXPECT_EQ(s.devices(), 32);
  EXPECT_EQ(s.tensor_group(), (RankGroup{2, 1}));
  EXPECT_EQ(s.context_group(), (RankGroup{2, 2}));
  EXPECT_EQ(s.expert_group(), (RankGroup{4, 2}));
  EXPECT_EQ(s.weight_group(), (RankGroup{8, 2}));
  EXPECT_EQ(s.expert_weight_group(), (RankGroup{2, 8}));
  EXPECT_EQ(s.pipeline_group(), (RankGroup{2, 16}));
  for (const RankGroup& group : {s.expert_weight_group(), s.weight_group()})
    EXPECT_LE(group.size * group.stride, s.pipeline_group().stride);
}

TEST(Strategy, says_which_part_is_wrong) {
  for (const auto& [text, part] :
       {std::pair{"dp=0", "dp expects a whole number from 1"}, std::pair{"dp=8x", "got '8x'"},
        std::pair{"zero=4", "from 0 to 3"}, std::pair{"dq=8", "no part named 'dq'"},
        std::pair{"dp", "expects parts as"}, std::pair{"schedule=1f2b", "1f1b"},
        std::pair{"", "expects parts as"}}) {
    try {
      parse_strategy(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  }
}

TEST(Strategy, must_use_all_devices_and_divide_the_batch) {
  const auto reason = [](const char* text, std::int64_t count = 8) {
    return reason_against(parse_strategy(text), devices(count), 32);
  };
  EXPECT_EQ(reason("dp=2,tp=2,pp=2,micro=4"), "");
  EXPECT_NE(reason("dp=2,tp=2,pp=1").find("are not the 8 devices"), std::string::npos);
  EXPECT_NE(reason("dp=8,micro=3").find("must divide the batch"), std::string::npos);
  EXPECT_NE(reason("dp=4,pp=2,zero=2").find("zero=1 goes with stages"), std::string::npos);
  EXPECT_NE(reason("tp=8,zero=1").find("dp and cp are 1"), std::string::npos);
  EXPECT_NE(reason("dp=8,sp=yes").find("tp is 1"), std::string::npos);
  EXPECT_EQ(reason("dp=2,cp=2,tp=2,ep=4"), "");
  EXPECT_EQ(reason("cp=8,zero=3"), "");
  EXPECT_EQ(reason("cp=8,exchange=all-to-all"), "");
  EXPECT_NE(reason("dp=8,exchange=all-to-all").find("cp is 1"), std::string::npos);
  EXPECT_NE(reason("dp=2,cp=2,tp=4").find("dp=2 x tp=4 x cp=2 x pp=1 are not"), std::string::npos);
  EXPECT_NE(reason("dp=4,tp=2,ep=8").find("ep=8 must divide dp x cp = 4"), std::string::npos);
  EXPECT_NE(reason("dp=2,pp=4,micro=2,v=2").find("must divide micro"), std::string::npos);
  EXPECT_NE(reason("dp=1048576,tp=1048576,pp=1048576").find("are not the"), std::string::npos);
}

}  // namespace
}  // namespace strata
