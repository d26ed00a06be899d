// SPDX-License-Identifier: Apache-2.0
#include "random_case.hpp"
#include "reference_simulator.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/plan.hpp"
#include "strata/predict/policy.hpp"
#include "strata/training/split.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <string>

/// The fast planner and simulator against the slow ones, over random programs and hardware.
namespace strata {
namespace {

/// Runs `compare(seed)` until the first seed at which something differs: the rest says no more.
template <typename Compare>
void over_seeds(std::uint32_t count, Compare compare) {
  for (std::uint32_t seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) compare(seed);
}

reference::Refuses refuses_as(const Case& c) {
  return {.slices = c.options.strict_minimum, .rows = !c.hardware.is_cache};
}

void expect_same_plan(const Case& c, const Plan& fast, const Plan& slow) {
  const reference::Uses uses(c.program);
  for (std::size_t use = 0; use < slow.uses.size(); ++use) {
    EXPECT_EQ(fast.uses[use].residency, slow.uses[use].residency)
        << "residency of use " << use << ", " << c;
    EXPECT_EQ(fast.uses[use].stays, slow.uses[use].stays) << "use " << use << ", " << c;
    const bool leaves_at_matters = !slow.uses[use].stays && uses.is_read_again(use) &&
                                   slow.uses[use].residency == Residency::resident;
    if (leaves_at_matters && c.options.offload == Offload::on_demand) {
      EXPECT_EQ(fast.uses[use].leaves_at, slow.uses[use].leaves_at) << "use " << use << ", " << c;
    }
    if (testing::Test::HasFailure()) return;
  }
  for (StepId step = 0; step < c.program.steps.size(); ++step) {
    const std::int64_t refetch = fast.refetch_bytes.empty() ? 0 : fast.refetch_bytes[step];
    EXPECT_EQ(refetch, slow.refetch_bytes[step]) << "step " << step << ", " << c;
  }
}

template <typename Subject>
void expect_same_time(double fast_s, double slow_s, double scale_s, const Subject& c,
                      const char* what) {
  EXPECT_NEAR(fast_s, slow_s, 1e-12 * scale_s) << what << ", " << c;
}

template <typename Subject>  // a Case, or what else says on what they differ
void expect_same_outcome(const Subject& c, const Prediction& fast, const reference::Outcome& slow) {
  EXPECT_EQ(fast.in_bytes, slow.in_bytes) << c;
  EXPECT_EQ(fast.out_bytes, slow.out_bytes) << c;
  ASSERT_EQ(fast.steps.size(), slow.steps.size()) << c;
  for (std::size_t step = 0; step < slow.steps.size() && !testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const StepResult& quick = fast.steps[step];
    const reference::StepTime& exact = slow.steps[step];
    expect_same_time(quick.start_s, exact.start_s, slow.time_s, c, "start");
    expect_same_time(quick.end_s, exact.end_s, slow.time_s, c, "end");
    expect_same_time(quick.wait_s, exact.wait_s, slow.time_s, c, "wait");
    if (exact.wait_s > 0) {
      EXPECT_EQ(quick.cause, exact.cause.value_or(~ValueId{0})) << "cause, " << c;
    }
  }
  expect_same_time(fast.time_s, slow.time_s, slow.time_s, c, "time");
}

/// What `belady` does whatever the options say; the page: "with loads and write-backs on demand
/// only".
PredictOptions as_the_policy_says(PredictOptions options) {
  if (options.policy == Policy::belady) {
    options.prefetch = Prefetch::none;
    options.offload = Offload::on_demand;
  }
  return options;
}

TEST(PredictionAgreement, PlansOfFarthestNextUseAreTheSame) {
  over_seeds(4000, [](std::uint32_t seed) {
    const Case c(seed);
    const auto slow = reference::farthest_next_use(c.program, c.hardware.capacity_bytes,
                                                   {.rows = !c.hardware.is_cache});
    if (!slow) return;
    PredictOptions options = c.options;
    options.strict_minimum = false;
    const AccessList list(c.program);
    expect_same_plan(c, farthest_next_use_plan(list, c.hardware.capacity_bytes, options), *slow);
  });
}

// Whatever else plans: the simulators agree on plans that neither of them would make, and on
// hardware that is larger than the plan.
TEST(PredictionAgreement, AnyPlanTakesTheSameTime) {
  over_seeds(4000, [](std::uint32_t seed) {
    Case c(seed);
    c.options.strict_minimum = false;
    const AccessList list(c.program);
    const Plan plan = packed_plan(list, c.hardware.capacity_bytes, c.options, c.any_worth());
    if (c.pick(0, 1) == 0) c.hardware.capacity_bytes += c.pick(1, 20);
    expect_same_outcome(c, simulate(list, plan, c.hardware, c.options),
                        reference::simulate(c.program, plan, c.hardware, *c.options.prefetch,
                                            *c.options.offload, c.options.channel));
  });
}

TEST(PredictionAgreement, TheSameCapacitiesAreRefused) {
  over_seeds(4000, [](std::uint32_t seed) {
    const Case c(seed);
    const auto slow =
        reference::farthest_next_use(c.program, c.hardware.capacity_bytes, refuses_as(c));
    const AccessList list(c.program);
    bool is_refused = false;
    try {
      (void)predict(list, c.hardware, c.options);
    } catch (const Error& error) {
      is_refused = true;
      EXPECT_EQ(error.kind(), ErrorKind::input) << c;
    }
    EXPECT_EQ(is_refused, !slow) << c;
  });
}

/// "The capacity is used to seven binary digits".
Hardware as_it_is_used(const Case& c) {
  Hardware used = c.hardware;
  used.capacity_bytes =
      reference::used_capacity(c.program, used.capacity_bytes, c.options.strict_minimum);
  return used;
}

TEST(PredictionAgreement, PredictionsAreTheSameToTheByteAndTheNanosecond) {
  int rounded = 0;
  over_seeds(4000, [&](std::uint32_t seed) {
    Case c(seed);
    if (seed % 4 == 0) c.make_larger();
    const Hardware used = as_it_is_used(c);
    rounded += used.capacity_bytes < c.hardware.capacity_bytes;
    const auto plan = reference::farthest_next_use(c.program, used.capacity_bytes, refuses_as(c));
    if (!plan) return;
    const PredictOptions options = as_the_policy_says(c.options);
    const reference::Outcome slow = reference::simulate(c.program, *plan, used, *options.prefetch,
                                                        *options.offload, options.channel);
    const AccessList list(c.program);
    expect_same_outcome(c, predict(list, c.hardware, c.options), slow);
  });
  EXPECT_GT(rounded, 500);
}

// Values cut into parts: most parts need no row, and a step that streams one still waits until it
// was written back.
TEST(PredictionAgreement, PartsOfValuesTakeTheSameTime) {
  int streamed_without_row = 0;
  over_seeds(1500, [&](std::uint32_t seed) {
    Case c(seed);
    c.program = split_values(c.program, c.pick(1, 8));
    const Hardware used = as_it_is_used(c);
    const auto plan = reference::farthest_next_use(c.program, used.capacity_bytes, refuses_as(c));
    if (!plan) return;
    const PredictOptions options = as_the_policy_says(c.options);
    const AccessList list(c.program);
    expect_same_outcome(c, predict(list, c.hardware, c.options),
                        reference::simulate(c.program, *plan, used, *options.prefetch,
                                            *options.offload, options.channel));
    for (std::size_t use = 0; use < plan->uses.size(); ++use)
      streamed_without_row += c.program.uses[use].reads && list.previous[use] != no_use &&
                              c.program.uses[list.previous[use]].writes &&
                              plan->uses[use].residency == Residency::streamed &&
                              list.facts[use].least_bytes == 0;
  });
  EXPECT_GT(streamed_without_row, 90);
}

// Agreement says little about what never happened.
TEST(PredictionAgreement, RandomProgramsMeetEveryRule) {
  int refused = 0, rows = 0, slices = 0, below_rows = 0, stays = 0, leavers = 0;
  int ahead = 0, write_backs = 0, streams = 0, waits = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const Case c(seed);
    const auto plan = reference::farthest_next_use(c.program, c.hardware.capacity_bytes,
                                                   {.rows = !c.hardware.is_cache});
    if (!plan) ++refused;
    if (!plan) continue;
    const reference::Uses uses(c.program);
    for (StepId step = 0; step < c.program.steps.size(); ++step) {
      const auto holding = reference::holding_of(uses, step, c.hardware.capacity_bytes);
      rows += holding.fits == 2;
      slices += holding.fits == 3;
      below_rows += holding.is_below_rows;
    }
    for (std::size_t use = 0; use < plan->uses.size(); ++use) {
      stays += plan->uses[use].stays;
      leavers += plan->uses[use].leaves_at > uses.step_of[use] + 1;
    }
    const Prediction prediction =
        simulate(AccessList(c.program), *plan, c.hardware, c.options, Record::transfers);
    for (const Transfer& transfer : prediction.transfers) {
      const bool is_load = transfer.kind == TransferKind::load;
      write_backs += transfer.kind == TransferKind::write_back;
      streams += transfer.kind == TransferKind::stream;
      ahead += is_load && transfer.step > 0 &&
               transfer.start_s < prediction.steps[transfer.step - 1].end_s;
    }
    for (const StepResult& step : prediction.steps) waits += step.wait_s > 0;
  }
  for (const int count :
       {refused, rows, slices, below_rows, stays, leavers, ahead, write_backs, streams, waits})
    EXPECT_GT(count, 90);
}

const PredictOptions ways_to_time[] = {
    {.prefetch = Prefetch::listing, .offload = Offload::on_demand},
    {.prefetch = Prefetch::listing, .offload = Offload::look_ahead},
    {.prefetch = Prefetch::soonest, .offload = Offload::on_demand},
    {.prefetch = Prefetch::soonest, .offload = Offload::look_ahead},
    {.prefetch = Prefetch::listing_printed, .offload = Offload::look_ahead},
    {.prefetch = Prefetch::listing_printed,
     .offload = Offload::look_ahead,
     .channel = ChannelOrder::offload_first}};

// Real orders and sizes; small networks, because the slow one looks at everything at every event.
TEST(PredictionAgreement, NetworksTakeTheSameTime) {
  for (const char* name : {"alexnet", "mobilenet_v2", "resnet50"}) {
    const Graph graph = build_network(name);
    const BoundGraph bound = bind_graph(graph, {{"batch", 32}});
    const Program program = make_program(bound);
    const AccessList list(program);
    for (const std::int64_t megabytes : {24, 128}) {
      const Hardware hardware{megabytes << 20, 616e9, 13.45e12, 13.45e12, false};
      const auto plan = reference::farthest_next_use(program, hardware.capacity_bytes);
      ASSERT_TRUE(plan);
      for (const PredictOptions& how : ways_to_time) {
        SCOPED_TRACE(std::string(name) + " at " + std::to_string(megabytes) + " MB");
        PredictOptions options = how;
        options.policy = Policy::thesis;
        expect_same_outcome("", predict(list, hardware, options),
                            reference::simulate(program, *plan, hardware, *how.prefetch,
                                                *how.offload, how.channel));
      }
    }
  }
}

}  // namespace
}  // namespace strata
