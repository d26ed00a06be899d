// SPDX-License-Identifier: Apache-2.0
#include "strata/training/batch_programs.hpp"

#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <list>

namespace strata {
namespace {

/// Programs of a network at several batches; keeps what they refer to.
class AtBatches {
 public:
  AtBatches(const std::string& network, TrainingOptions training)
      : graph_(build_network(network)), training_(training) {}

  const BoundGraph& bound(std::int64_t batch) {
    return bound_.emplace_back(bind_graph(graph_, {{"batch", batch}}));
  }
  Program made(std::int64_t batch) { return make_program(bound(batch), training_); }
  std::optional<BatchPrograms> all() {
    return BatchPrograms::from({{{3, made(3)}, {2, made(2)}, {7, made(7)}}});
  }

 private:
  Graph graph_;
  TrainingOptions training_;
  std::list<BoundGraph> bound_;
};

TEST(BatchPrograms, are_what_make_program_makes) {
  const std::vector<TrainingOptions> trainings = {
      {.unroll_recurrent = false},
      {.optimizer = Optimizer::adam, .recompute = Recompute::blocks, .unroll_recurrent = false},
      {.micro_batches = 3, .separate_backward = true, .unroll_recurrent = false},
      {.inference = true, .unroll_recurrent = false}};
  for (const char* network : {"lenet5", "resnet18", "mobilenet_v2", "densenet121", "lstm_stack"}) {
    for (const TrainingOptions& training : trainings) {
      AtBatches at(network, training);
      const auto all = at.all();
      ASSERT_TRUE(all) << network;
      for (const std::int64_t batch : {1, 3, 8, 100, 1000}) {
        const Program wanted = at.made(batch);
        const Program scaled = all->at(at.bound(batch), batch);
        ASSERT_EQ(scaled.samples, wanted.samples);
        ASSERT_EQ(scaled.uses.size(), wanted.uses.size());
        ASSERT_EQ(scaled.values.size(), wanted.values.size());
        for (std::size_t i = 0; i < wanted.values.size(); ++i)
          ASSERT_EQ(scaled.values[i].bytes, wanted.values[i].bytes) << network << " " << batch;
        for (StepId step = 0; step < wanted.steps.size(); ++step) {
          ASSERT_EQ(scaled.steps[step].flop, wanted.steps[step].flop) << network << " " << batch;
          ASSERT_EQ(scaled.steps[step].mac, wanted.steps[step].mac) << network << " " << batch;
          ASSERT_EQ(scaled.read_bytes(step), wanted.read_bytes(step)) << network << " " << batch;
        }
      }
    }
  }
}

TEST(BatchPrograms, are_none_where_sizes_do_not_grow_with_the_batch_alone) {
  AtBatches at("lenet5", {});
  Program curved = at.made(7);
  curved.values.back().bytes += 1;
  EXPECT_FALSE(BatchPrograms::from({{{3, at.made(3)}, {2, at.made(2)}, {7, curved}}}));
  Program other = at.made(2);
  other.steps.pop_back();
  EXPECT_FALSE(BatchPrograms::from({{{3, at.made(3)}, {2, other}, {7, at.made(7)}}}));
  AtBatches resnet("resnet18", {});
  EXPECT_FALSE(BatchPrograms::from({{{3, at.made(3)}, {2, resnet.made(2)}, {7, at.made(7)}}}));
}

}  // namespace
}  // namespace strata
