// SPDX-License-Identifier: Apache-2.0
#include "reference_simulator.hpp"
#include "strata/base/error.hpp"
#include "strata/predict/plan.hpp"
#include "strata/predict/policy.hpp"
#include "strata/training/random_program_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>
#include <random>

/// The fast planner and simulator against the slow ones, over random programs and hardware. A
/// disagreement names the seed: Case(seed) is all that it takes to see it again.
namespace strata {
namespace {

using random_programs::Shape;

struct Case {
  explicit Case(std::uint32_t number) : seed(number), random(number) {
    Shape shape;
    shape.most_steps = pick(2, 24);
    shape.most_values = pick(2, 16);
    shape.most_uses = pick(1, 6);
    shape.most_bytes = pick(1, 30);
    shape.most_flop = pick(0, 1) * pick(2, 300);  // every other program computes nothing at all
    program = random_programs::any_program(number, shape);

    std::int64_t all = 0;
    std::int64_t step_most = 0;
    for (const Value& value : program.values) all += value.bytes;
    for (StepId step = 0; step < program.steps.size(); ++step) {
      std::int64_t bytes = 0;
      for (const Use& use : program.uses_of(step)) bytes += program.values[use.value].bytes;
      step_most = std::max(step_most, bytes);
    }
    // Below one row up to above everything, and often about what the largest step needs.
    hardware.capacity_bytes = pick(0, 1) == 0 ? pick(1, static_cast<int>(all) + 2)
                                              : pick(1, 2 * static_cast<int>(step_most));
    const bool is_exact = pick(0, 1) == 0;  // powers of two: events often fall together
    const auto rate = [&] { return is_exact ? std::ldexp(1.0, pick(-2, 3)) : pick(1, 9999) * 1e-3; };
    hardware.bytes_per_s = rate();
    hardware.type_1_flop_per_s = rate();
    hardware.other_flop_per_s = pick(0, 1) == 0 ? hardware.type_1_flop_per_s : rate();
    hardware.mac_is_one = pick(0, 3) == 0;
    options.prefetch = static_cast<Prefetch>(pick(0, 3));
    options.offload = static_cast<Offload>(pick(0, 1));
    options.policy = pick(0, 3) == 0 ? Policy::belady : Policy::thesis;
    options.strict_minimum = pick(0, 3) == 0;
  }

  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random); }

  std::uint32_t seed;
  std::mt19937 random;
  Program program;
  Hardware hardware;
  PredictOptions options;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  out << "seed " << c.seed << ", capacity " << c.hardware.capacity_bytes << ", bytes/s "
      << c.hardware.bytes_per_s << ", prefetch " << static_cast<int>(c.options.prefetch)
      << ", offload " << static_cast<int>(c.options.offload) << ", policy "
      << static_cast<int>(c.options.policy) << '\n';
  for (std::size_t id = 0; id < c.program.values.size(); ++id) {
    const Value& value = c.program.values[id];
    out << "  v" << id << ' ' << value.bytes << " bytes, row " << value.row_bytes << ", kind "
        << static_cast<int>(value.kind) << (value.is_result ? ", result\n" : "\n");
  }
  for (StepId step = 0; step < c.program.steps.size(); ++step) {
    out << "  step " << step << (c.program.steps[step].layer_class == LayerClass::type_1 ? " I" : "")
        << ", flop " << c.program.steps[step].flop << ':';
    for (const Use& use : c.program.uses_of(step)) {
      out << " v" << use.value << (use.reads ? "r" : "") << (use.writes ? "w" : "");
    }
    out << '\n';
  }
  return out;
}

/// Runs `compare(seed)` until the first seed at which something differs: the rest says no more.
template <typename Compare>
void over_seeds(std::uint32_t count, Compare compare) {
  for (std::uint32_t seed = 0; seed < count && !testing::Test::HasFailure(); ++seed) compare(seed);
}

void expect_same_plan(const Case& c, const Plan& fast, const Plan& slow) {
  const reference::Uses uses(c.program);
  for (std::size_t use = 0; use < slow.uses.size(); ++use) {
    EXPECT_EQ(fast.uses[use].place, slow.uses[use].place) << "place of use " << use << ", " << c;
    EXPECT_EQ(fast.uses[use].stays, slow.uses[use].stays) << "use " << use << ", " << c;
    const bool leaves_at_matters = !slow.uses[use].stays && uses.is_read_again(use) &&
                                   slow.uses[use].place == Place::resident;
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

void expect_same_time(double fast_s, double slow_s, double scale_s, const Case& c,
                      const char* what) {
  EXPECT_NEAR(fast_s, slow_s, 1e-12 * scale_s) << what << ", " << c;
}

void expect_same_outcome(const Case& c, const Prediction& fast, const reference::Outcome& slow) {
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
    const auto slow = reference::farthest_next_use(c.program, c.hardware.capacity_bytes);
    if (!slow) return;
    PredictOptions options = c.options;
    options.strict_minimum = false;
    const AccessList list(c.program);
    expect_same_plan(c, farthest_next_use_plan(list, c.hardware.capacity_bytes, options), *slow);
  });
}

TEST(PredictionAgreement, TheSameCapacitiesAreRefused) {
  over_seeds(4000, [](std::uint32_t seed) {
    const Case c(seed);
    const auto slow = reference::farthest_next_use(c.program, c.hardware.capacity_bytes,
                                                   c.options.strict_minimum);
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

TEST(PredictionAgreement, PredictionsAreTheSameToTheByteAndTheNanosecond) {
  over_seeds(4000, [](std::uint32_t seed) {
    const Case c(seed);
    const auto plan = reference::farthest_next_use(c.program, c.hardware.capacity_bytes,
                                                   c.options.strict_minimum);
    if (!plan) return;
    const PredictOptions options = as_the_policy_says(c.options);
    const reference::Outcome slow = reference::simulate(c.program, *plan, c.hardware,
                                                        options.prefetch, options.offload);
    const AccessList list(c.program);
    expect_same_outcome(c, predict(list, c.hardware, c.options), slow);
  });
}

}  // namespace
}  // namespace strata
