// SPDX-License-Identifier: Apache-2.0
// What documents and traces of many devices say of one another.
#include "strata/api/explain_parallel.hpp"
#include "strata/api/page.hpp"
#include "strata/report/explain_report.hpp"
#include "strata/report/parallel_timeline.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace strata {
namespace {

using Json = nlohmann::json;

PredictRequest small_request() {
  PredictRequest request;
  request.sizes.batch = 16;
  request.sizes.dtype = DType::bf16;
  request.training.optimizer = Optimizer::adam;
  return request;
}

struct SmallCluster {
  Graph graph = load_model("gpt2:layers=4");
  Cluster cluster = load_cluster("2x4xh200");
  PredictRequest request = small_request();
  ParallelModel model{graph, cluster, request};

  ParallelSummary predict(const char* split) {
    return model.predict(parse_strategy(split), WantEvents::yes);
  }
};

constexpr const char* shown_splits[] = {"dp=2,tp=2,pp=2,micro=4,zero=1", "dp=8,zero=3,micro=2",
                                        "dp=2,pp=4,micro=8,schedule=zero-bubble",
                                        "dp=4,pp=2,micro=4,v=2,recompute=full"};

TEST(ParallelDocuments, a_trace_is_json_whose_tracks_add_up_to_the_parts) {
  SmallCluster small;
  for (const char* split : shown_splits) {
    SCOPED_TRACE(split);
    const ParallelSummary summary = small.predict(split);
    const Json trace = Json::parse(to_trace(summary));  // throws unless it is strict JSON
    std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
    std::map<std::pair<int, std::string>, double> parts;
    std::set<std::pair<int, int>> named;
    for (const Json& event : trace.at("traceEvents")) {
      const int rank = event.at("pid");
      if (event.at("ph") == "M") {
        if (event.at("name") == "thread_name") named.emplace(rank, event.at("tid"));
        continue;
      }
      const double begin = event.at("ts"), length = event.at("dur");
      const int stream = event.at("tid");
      tracks[{rank, stream}].emplace_back(begin, begin + length);
      if (stream != static_cast<int>(RankEvent::Stream::communication))
        parts[{rank, event.at("cat")}] += length * 1e-6;
    }
    for (auto& [track, events] : tracks) {
      EXPECT_TRUE(named.contains(track)) << "a track without a name";
      std::sort(events.begin(), events.end());
      for (std::size_t i = 1; i < events.size(); ++i)
        EXPECT_GE(events[i].first, events[i - 1].second - 1e-6);
    }
    const std::vector<RankTime>& ranks = summary.result.iteration.ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      for (std::size_t i = 0; i < rank_time_parts.size(); ++i) {
        const double shown = parts[{static_cast<int>(rank), std::string(rank_time_names[i])}];
        EXPECT_NEAR(shown, ranks[rank].*rank_time_parts[i], 1e-6 * summary.result.time_s)
            << rank_time_names[i];
      }
    }
  }
}

/// Seconds of each key of the lanes of ranks.
std::map<std::string, double> seconds_by_key(const Json& timeline) {
  std::map<std::string, double> sums;
  for (const Json& lane : timeline.at("lanes")) {
    if (lane.at("stream") != "rank") continue;
    for (std::size_t i = 0; i < lane.at("start_s").size(); ++i) {
      const double span = lane["end_s"][i].get<double>() - lane["start_s"][i].get<double>();
      sums[timeline["keys"][lane["key"][i].get<std::size_t>()]] +=
          lane.contains("busy_s") ? lane["busy_s"][i].get<double>() : span;
    }
  }
  return sums;
}

TEST(ParallelDocuments, a_timeline_has_the_seconds_of_each_part_also_when_it_is_shortened) {
  SmallCluster small;
  for (const char* split : shown_splits) {
    SCOPED_TRACE(split);
    const ParallelSummary summary = small.predict(split);
    for (const std::size_t most : {48'000UL, 100UL}) {
      const Json timeline = parallel_timeline_json(summary.result.iteration, most, 32);
      auto sums = seconds_by_key(timeline);
      const double kernels = sums["forward"] + sums["backward"] + sums["weight gradients"];
      RankTime all;
      for (const RankTime& rank : summary.result.iteration.ranks) {
        for (double RankTime::*part : rank_time_parts) all.*part += rank.*part;
      }
      const double near = 1e-4 * summary.result.time_s;  // rounded to 0.1 ns, thousands of times
      EXPECT_NEAR(kernels, all.compute_s, near);
      EXPECT_NEAR(sums["bubble"], all.bubble_s, near);
      EXPECT_NEAR(sums["recomputation"], all.recompute_s, near);
      EXPECT_NEAR(sums["tensor parallel collectives"], all.tensor_s, near);
      EXPECT_NEAR(sums["host"], all.host_s, near);
      EXPECT_LE(timeline["slices"].get<std::size_t>(), timeline["events"].get<std::size_t>());
      for (const Json& lane : timeline["lanes"]) {
        EXPECT_LE(lane["start_s"].size(),
                  std::max<std::size_t>(100, most / summary.result.iteration.ranks.size()));
        EXPECT_TRUE(std::is_sorted(lane["end_s"].begin(), lane["end_s"].end()));
      }
    }
  }
}

TEST(ParallelDocuments, of_many_stages_some_are_there_from_the_first_to_the_last) {
  RankIteration iteration;
  iteration.time_s = 1;
  for (std::uint32_t stage = 0; stage < 100; ++stage) {
    iteration.ranks.emplace_back();
    iteration.events.push_back({stage, RankEvent::Stream::compute, 0, "forward 0", 0, 1});
  }
  const Json timeline = parallel_timeline_json(iteration, 48'000, 32);
  EXPECT_EQ(timeline["lanes"].size(), 32U);
  EXPECT_EQ(timeline["stages_left_out"], 68);
  EXPECT_EQ(timeline["lanes"].front()["stage"], 0);
  EXPECT_EQ(timeline["lanes"].back()["stage"], 99);
  EXPECT_TRUE(parallel_timeline_json({}).is_null());
}

TEST(ParallelDocuments, the_page_of_a_stored_document_is_the_document) {
  SmallCluster small;
  const Provenance provenance{.command = "strata predict"};
  const std::string document = to_json(small.predict("dp=8"), provenance);
  EXPECT_EQ(page_section("stored", document, {}, provenance).document, document);
  const std::string choice = to_json(small.model.choose(), provenance);
  EXPECT_EQ(page_section("stored", choice, {}, provenance).document, choice);
  EXPECT_THROW(page_section("bad", R"({"kind":"parallel_choice"})", {}, provenance), Error);
  // The same request, the same bytes.
  EXPECT_EQ(to_json(small.predict("dp=8"), provenance), document);
}

}  // namespace
}  // namespace strata
