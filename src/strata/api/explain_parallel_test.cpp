// SPDX-License-Identifier: Apache-2.0
#include "strata/api/explain_parallel.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace strata {
namespace {

PredictRequest explained_request() {
  PredictRequest request;
  request.sizes.batch = 32;
  request.sizes.dtype = DType::bf16;
  request.training.optimizer = Optimizer::adam;
  return request;
}

struct ExplainedCase {
  Graph graph = load_model("gpt2:layers=4");
  Cluster cluster = load_cluster("2x4xh200");
  PredictRequest request = explained_request();
  ParallelModel model{graph, cluster, request};
  Strategy strategy;
  ParallelSummary summary;
  std::vector<ParallelChange> changes;

  explicit ExplainedCase(const char* split)
      : strategy(parse_strategy(split)),
        summary(model.predict(strategy)),
        changes(parallel_changes(graph, cluster, request, model, strategy)) {}

  const ParallelChange* change(const std::string& text) const {
    const auto found = std::find_if(changes.begin(), changes.end(),
                                    [&](const ParallelChange& one) { return one.text == text; });
    return found == changes.end() ? nullptr : &*found;
  }
};

std::set<std::string> texts_of(const char* split, bool keeps_scores,
                               const NetworkChoices& network = {}) {
  std::set<std::string> texts;
  for (const ChangedStrategy& one :
       strategy_changes(parse_strategy(split), keeps_scores, network)) {
    EXPECT_NE(one.strategy, parse_strategy(split)) << one.text;
    EXPECT_EQ(one.strategy.devices(), parse_strategy(split).devices());
    EXPECT_TRUE(texts.insert(one.text).second) << one.text;
  }
  return texts;
}

TEST(ParallelChanges, are_those_that_a_strategy_can_have) {
  using Texts = std::set<std::string>;
  EXPECT_EQ(texts_of("dp=1", true), (Texts{"micro=2", "recompute=selective", "recompute=full"}));
  EXPECT_EQ(texts_of("dp=4,zero=1,micro=4", false),
            (Texts{"zero=0", "zero=2", "zero=3", "micro=8", "micro=2", "recompute=full"}));
  EXPECT_EQ(
      texts_of("tp=2,sp=yes,pp=2,micro=2,recompute=full", false),
      (Texts{"micro=4", "micro=1", "recompute=none", "sp=no", "v=2", "schedule=zero-bubble"}));
  EXPECT_EQ(texts_of("dp=2,pp=2,micro=4,v=2,overlap=no,recompute=full", false),
            (Texts{"zero=1", "zero=2", "zero=3", "micro=8", "micro=2", "recompute=none",
                   "overlap=yes", "v=4", "schedule=1f1b", "schedule=zero-bubble"}));
}

TEST(ParallelChanges, share_sequences_and_experts_where_the_network_has_them) {
  const auto has = [](const char* split, const NetworkChoices& network, const char* text) {
    return texts_of(split, false, network).contains(text);
  };
  const NetworkChoices network{.context = {1, 2, 4}, .experts = 8};
  EXPECT_TRUE(has("dp=8", network, "ep=2"));
  EXPECT_TRUE(has("dp=8,ep=4", network, "ep=8"));
  EXPECT_TRUE(has("dp=8,ep=4", network, "ep=2"));
  EXPECT_FALSE(has("dp=8,ep=8", network, "ep=16"));  // there are 8
  EXPECT_FALSE(has("dp=2,ep=2", network, "ep=4"));   // of 2 ranks
  EXPECT_TRUE(has("dp=4,cp=2", network, "cp=4,dp=2"));
  EXPECT_FALSE(has("dp=4,cp=4", network, "cp=8,dp=2"));
  EXPECT_TRUE(has("dp=4,cp=2", network, "exchange=all-to-all"));
  EXPECT_TRUE(has("dp=4,cp=2,exchange=all-to-all", network, "exchange=ring"));
  EXPECT_FALSE(has("dp=8", network, "exchange=all-to-all"));
  EXPECT_FALSE(has("dp=8", {}, "ep=2"));
  EXPECT_FALSE(has("dp=8", {}, "cp=2,dp=4"));
}

TEST(ParallelChanges, of_a_cluster_are_its_links) {
  const Cluster cluster = load_cluster("4x8xh100-sxm");
  const auto changes = cluster_changes(cluster);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes[0].text, "twice the network");
  EXPECT_EQ(changes[0].cluster.between->bytes_per_s, 2 * cluster.between->bytes_per_s);
  EXPECT_EQ(changes[0].cluster.inside, cluster.inside);
  EXPECT_EQ(changes[1].cluster.inside.reached_bytes_per_s, 2 * cluster.inside.reached_bytes_per_s);
  EXPECT_EQ(changes[1].cluster.between, cluster.between);
  EXPECT_EQ(changes[2].cluster.devices_per_node, 16);
  EXPECT_EQ(changes[2].cluster.devices(), cluster.devices());
  EXPECT_EQ(cluster_changes(load_cluster("8xh100-sxm")).size(), 1U);
  EXPECT_EQ(cluster_changes(load_cluster("3x8xh100-sxm")).size(), 2U);  // three nodes have no half
  EXPECT_TRUE(cluster_changes(load_cluster("1xh100-sxm")).empty());
}

// What a change says is what predict says of it.
TEST(ParallelChanges, are_predicted_as_if_they_had_been_asked_for) {
  const ExplainedCase pipeline("dp=2,tp=2,pp=2,micro=4");
  for (const ParallelChange& change : pipeline.changes) {
    if (!change.reason.empty() || change.is_of_cluster) continue;
    ExplainedCase fresh("dp=8");
    const StrategyTime alone = fresh.model.planner().time_of(change.strategy);
    EXPECT_NEAR(*change.time_s, alone.time_s, 1e-9 * alone.time_s) << change.text;
    EXPECT_EQ(change.memory_bytes, alone.most_memory().total_bytes()) << change.text;
  }
  ASSERT_NE(pipeline.change("twice the network"), nullptr);
  EXPECT_LE(*pipeline.change("twice the network")->time_s, pipeline.summary.result.time_s);
  ASSERT_NE(pipeline.change("zero=2"), nullptr);
  EXPECT_NE(pipeline.change("zero=2")->reason.find("pp=2"), std::string::npos);
  EXPECT_FALSE(pipeline.change("zero=2")->time_s.has_value());
}

TEST(ParallelChanges, come_in_the_order_of_what_they_gain) {
  const ExplainedCase pipeline("dp=2,pp=4,micro=4,recompute=full");
  EXPECT_TRUE(pipeline.changes.front().is_search);  // none is faster than the best of all
  std::size_t at = 0;
  for (double before_s = 0; at < pipeline.changes.size() && pipeline.changes[at].fits; ++at) {
    EXPECT_GE(*pipeline.changes[at].time_s, before_s);
    before_s = *pipeline.changes[at].time_s;
  }
  for (bool is_refused = false; at < pipeline.changes.size(); ++at) {
    EXPECT_FALSE(pipeline.changes[at].fits);
    EXPECT_TRUE(!is_refused || !pipeline.changes[at].reason.empty());
    is_refused = !pipeline.changes[at].reason.empty();
  }
}

const ProfileFinding* finding_of(const Explanation& explanation, FindingCode code) {
  for (const ProfileFinding& finding : explanation.findings) {
    if (finding.code == code) return &finding;
  }
  return nullptr;
}

TEST(ExplainParallel, findings_cost_the_parts_of_the_time) {
  const ExplainedCase pipeline("dp=2,pp=4,micro=4,recompute=full");
  const Explanation answer = explain_parallel(pipeline.summary, pipeline.cluster, pipeline.changes);
  const RankTime mean = pipeline.summary.result.iteration.mean();
  ASSERT_NE(finding_of(answer, FindingCode::pipeline_bubble), nullptr);
  EXPECT_DOUBLE_EQ(finding_of(answer, FindingCode::pipeline_bubble)->cost_s, mean.bubble_s);
  ASSERT_NE(finding_of(answer, FindingCode::recomputation), nullptr);
  EXPECT_DOUBLE_EQ(finding_of(answer, FindingCode::recomputation)->cost_s, mean.recompute_s);
  const ProfileFinding* host = finding_of(answer, FindingCode::host_bound);
  EXPECT_EQ(host != nullptr, mean.host_s >= 0.01 * answer.time_s);
  // 3 of 4 + 3 slots.
  EXPECT_DOUBLE_EQ(finding_of(answer, FindingCode::pipeline_bubble)->evidence[3].value, 3.0 / 7);
  double lost = 0;
  for (const LostShare& share : answer.expected->lost_to) lost += share.time_s;
  EXPECT_NEAR(lost, answer.time_s, 1e-9 * answer.time_s);
  EXPECT_EQ(answer.strategy, to_text(pipeline.strategy));
}

TEST(ExplainParallel, what_ifs_gain_what_they_save_and_what_does_not_fit_gains_nothing) {
  ExplainedCase small("dp=8");
  std::vector<ParallelChange> changes = {
      {.text = "micro=2",
       .strategy = small.strategy,
       .reason = {},
       .time_s = small.summary.result.time_s / 2,
       .memory_bytes = 1,
       .fits = true},
      {.text = "zero=1",
       .strategy = small.strategy,
       .reason = {},
       .time_s = small.summary.result.time_s / 4,
       .memory_bytes = 1'000'000'000'000,
       .fits = false},
      {.text = "sp=yes", .strategy = small.strategy, .reason = "tp is 1"}};
  const Explanation answer = explain_parallel(small.summary, small.cluster, changes);
  ASSERT_EQ(answer.what_ifs.size(), 2U);
  EXPECT_DOUBLE_EQ(answer.what_ifs[0].gain_share(), 0.5);
  EXPECT_EQ(answer.what_ifs[1].gain_s(), 0);
  EXPECT_NE(answer.what_ifs[1].reason.find("out of memory"), std::string::npos);
  EXPECT_EQ(changed_by(answer.what_ifs[0]), ChangedBy::user);
  EXPECT_TRUE(std::any_of(answer.notes.begin(), answer.notes.end(), [](const std::string& note) {
    return note == "not possible, sp=yes: tp is 1";
  }));
}

TEST(ExplainParallel, out_of_memory_comes_first_with_what_needs_less) {
  const Graph graph = load_model("llama3_8b:layers=8");
  const Cluster cluster = load_cluster("4xl4");
  PredictRequest request = explained_request();
  request.sizes.batch = 4;
  ParallelModel model(graph, cluster, request);
  const ParallelSummary summary = model.predict(parse_strategy("dp=4"));
  ASSERT_FALSE(summary.fits());
  const Explanation answer = explain_strategy(graph, cluster, request, model, summary);
  ASSERT_FALSE(answer.findings.empty());
  EXPECT_EQ(answer.findings.front().code, FindingCode::out_of_memory);
  double kinds = 0;
  for (const EvidenceNumber& number : answer.findings.front().evidence) kinds += number.value;
  EXPECT_DOUBLE_EQ(kinds, static_cast<double>(summary.result.most_memory().total_bytes()));
  ASSERT_TRUE(answer.memory.has_value());
  EXPECT_FALSE(answer.memory->changes.empty());
  for (const MemoryChange& change : answer.memory->changes)
    EXPECT_LT(change.needed_bytes, answer.memory->needed_bytes) << change.change;
}

}  // namespace
}  // namespace strata
