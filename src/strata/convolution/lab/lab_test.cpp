// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/lab.hpp"

#include "strata/base/error.hpp"
#include "strata/convolution/lab/fake_device_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace strata {
namespace {

using test::FakeDevice;
using test::Fault;

ConvPlan plan_of(std::vector<ConvSeries> series, DType dtype = DType::fp32) {
  ConvPlan plan;
  plan.dtype = dtype;
  plan.passes.assign(all_conv_passes.begin(), all_conv_passes.end());
  plan.series = std::move(series);
  plan.samples = 5;
  return plan;
}

std::vector<ConvCell> cells_of(FakeDevice& device, const ConvPlan& plan) {
  const auto strategies = chosen_strategies(device, {}, {});
  const auto tasks = conv_tasks(plan, strategies);
  return run_conv_lab(device, plan, tasks, 0, {});
}

ConvSeries small_shapes() {
  return {"shapes",
          false,
          {conv_point("b2,c4,h7,w6,f6,k3x2,s2x1,p1,d1,g2"), conv_point("b1,c1,i5,f1,k5")}};
}

TEST(ConvLab, measures_what_is_right_in_every_pass_and_type) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    FakeDevice device({{.name = "right"}});
    const auto cells = cells_of(device, plan_of({small_shapes()}, dtype));
    ASSERT_EQ(cells.size(), 6U);
    for (const ConvCell& cell : cells) {
      EXPECT_EQ(cell.status, ConvStatus::measured) << cell.reason;
      EXPECT_EQ(cell.samples_s, std::vector<double>(5, 1.0));
      EXPECT_GT(cell.error, 0) << "rounding to the type of the result";
      EXPECT_EQ(cell.checked, result_elements(cell.shape, cell.pass));
      EXPECT_EQ(cell.flop, direct_flop(cell.shape));
      EXPECT_EQ(cell.kernels.size(), 1U);
      EXPECT_EQ(cell.roles.size(), 2U);
      EXPECT_EQ(cell.tensor_bytes, (cell.shape.input_elements() + cell.shape.weight_elements() +
                                    cell.shape.output_elements()) *
                                       bytes_per_element(dtype));
    }
    EXPECT_EQ(*device.used_bytes, 0) << "everything is given back";
  }
}

TEST(ConvLab, kernels_of_libraries_have_the_roles_of_their_names) {
  FakeDevice device({{.name = "own"}, {.name = "library", .is_vendor = true}});
  device.traced = {{.name = "fft", .registers_per_thread = 40, .seconds = 2},
                   {.name = "product", .registers_per_thread = 96, .seconds = 5},
                   {.name = "fft of weights", .seconds = 1}};
  ConvPlan plan = plan_of({small_shapes()});
  plan.has_efficiencies = true;
  const ConvLabHooks hooks{.role_of_kernel = [](std::string_view name) {
    return name == "product" ? KernelRole::gemm : KernelRole::transform;
  }};
  const auto strategies = chosen_strategies(device, {}, {});
  const auto cells = run_conv_lab(device, plan, conv_tasks(plan, strategies), 0, hooks);
  ASSERT_EQ(cells.size(), 12U);
  for (const ConvCell& cell : cells) {
    if (cell.strategy == "own") {
      EXPECT_EQ(cell.kernels[0].name, "fake_kernel");
      EXPECT_EQ(cell.roles[1].seconds, 0.5) << "by its own marks";
      continue;
    }
    ASSERT_EQ(cell.kernels.size(), 3U);
    EXPECT_EQ(cell.kernels[1].role, KernelRole::gemm);
    EXPECT_EQ(cell.kernels[1].registers_per_thread, 96);
    ASSERT_EQ(cell.roles.size(), 2U);
    EXPECT_EQ(cell.roles[0].role, KernelRole::transform);
    EXPECT_EQ(cell.roles[0].seconds, 3);
    EXPECT_EQ(cell.roles[1].seconds, 5);
  }
  device.trace_problem = "no CUPTI";
  std::vector<std::string> reasons;
  ConvLabHooks told = hooks;
  told.on_no_traces = [&](std::string_view reason) { reasons.emplace_back(reason); };
  device.has_counted = false;
  for (const ConvCell& cell : run_conv_lab(device, plan, conv_tasks(plan, strategies), 0, told)) {
    EXPECT_EQ(cell.status, ConvStatus::measured);
    EXPECT_EQ(cell.kernels[0].name, "fake_kernel");
  }
  EXPECT_EQ(reasons, std::vector<std::string>{"no CUPTI"}) << "once";
  plan.has_efficiencies = false;  // tracing disturbs the times that come after
  for (const ConvCell& cell : run_conv_lab(device, plan, conv_tasks(plan, strategies), 0, hooks))
    EXPECT_EQ(cell.kernels[0].name, "fake_kernel");
}

TEST(ConvLab, roles_are_found_by_their_names) {
  EXPECT_EQ(kernel_role_named("inverse_transform"), KernelRole::inverse_transform);
  EXPECT_EQ(kernel_role_named("other"), KernelRole::other);
  EXPECT_EQ(kernel_role_named("unroll"), std::nullopt);
}

TEST(ConvLab, finds_what_is_wrong_and_goes_on) {
  FakeDevice device({{.name = "off", .fault = Fault::wrong_last},
                     {.name = "short", .fault = Fault::unwritten_last},
                     {.name = "dead", .fault = Fault::throws},
                     {.name = "right"}});
  const auto cells = cells_of(device, plan_of({small_shapes()}));
  ASSERT_EQ(cells.size(), 24U);
  for (const ConvCell& cell : cells) {
    const ConvStatus expected = cell.strategy == "right"  ? ConvStatus::measured
                                : cell.strategy == "dead" ? ConvStatus::failed
                                                          : ConvStatus::wrong;
    EXPECT_EQ(cell.status, expected) << cell.strategy << ": " << cell.reason;
    EXPECT_EQ(cell.is_timed(), cell.strategy == "right");
    EXPECT_EQ(cell.reason.empty(), cell.strategy == "right");
    if (cell.strategy == "short") {
      EXPECT_NE(cell.reason.find("not written"), std::string::npos);
    }
  }
  EXPECT_EQ(device.timed, 6);
}

TEST(ConvLab, refuses_with_the_reason_of_the_strategy_or_of_the_memory) {
  FakeDevice device(
      {{.name = "picky",
        .refusal = [](const ConvProblem& problem) -> std::optional<std::string> {
          if (problem.shape.kernel_height == 3) return std::nullopt;
          return "only 3×3";
        }},
       {.name = "greedy",
        .scratch = [](const ConvProblem& problem) { return problem.shape.kernel_height * 1000; }}},
      10000);
  ConvPlan plan = plan_of({conv_sweep(conv_base("1,16,1,3,1", 1), "k=3:11:4")});
  plan.passes = {ConvPass::forward};
  auto cells = cells_of(device, plan);
  ASSERT_EQ(cells.size(), 6U);
  EXPECT_EQ(cells[0].status, ConvStatus::measured);
  EXPECT_EQ(cells[2].reason, "only 3×3");
  // 1024 + 36 + 784 bytes of tensors at k = 3: k = 7 fits in 10,000 bytes, 11 does not.
  EXPECT_EQ(cells[1].status, ConvStatus::measured) << cells[1].reason;
  EXPECT_EQ(cells[3].status, ConvStatus::measured) << cells[3].reason;
  EXPECT_EQ(cells[5].status, ConvStatus::refused);
  EXPECT_NE(cells[5].reason.find("the device has"), std::string::npos);

  plan.memory_limit_bytes = 4844;  // exactly what k = 3 takes
  cells = cells_of(device, plan);
  EXPECT_EQ(cells[1].status, ConvStatus::measured) << cells[1].reason;
  EXPECT_EQ(cells[3].status, ConvStatus::refused);
  EXPECT_NE(cells[3].reason.find("the limit is"), std::string::npos);
}

TEST(ConvLab, does_each_convolution_once_and_only_passes_that_are_there) {
  FakeDevice device({{.name = "right"}});
  ConvPoint again = conv_point("b1,c1,i5,f1,k5");
  ConvPoint first = conv_point("b1,c1,i6,f1,k5");
  first.counts = {1, 0, 2};  // the first layer of a network has no input gradient
  const auto cells =
      cells_of(device, plan_of({small_shapes(), {"net", false, {first, again, again}}}));
  EXPECT_EQ(cells.size(), 3U + 3U + 2U);
}

TEST(ConvLab, stops_when_asked_and_goes_on_where_it_was) {
  FakeDevice device({{.name = "right"}, {.name = "other"}});
  const ConvPlan plan = plan_of({small_shapes()});
  const auto strategies = chosen_strategies(device, {}, {});
  const auto tasks = conv_tasks(plan, strategies);
  ASSERT_EQ(tasks.size(), 12U);
  std::size_t filled = 0;
  const ConvLabHooks hooks{.is_interrupted = [&] { return filled == 5; },
                           .on_cell =
                               [&](std::size_t task, const ConvCell&) {
                                 EXPECT_EQ(task, filled);
                                 ++filled;
                               }};
  EXPECT_EQ(run_conv_lab(device, plan, tasks, 0, hooks).size(), 5U);
  const auto rest = run_conv_lab(device, plan, tasks, 5, {});
  ASSERT_EQ(rest.size(), 7U);
  EXPECT_EQ(rest[0].strategy, tasks[5].strategy->name());
  EXPECT_EQ(rest[0].pass, tasks[5].pass);
}

TEST(ConvLab, chooses_strategies_by_name) {
  const FakeDevice device({{.name = "direct"}, {.name = "fft"}, {.name = "unroll"}});
  const std::string names[] = {"unroll", "direct"};
  const auto chosen = chosen_strategies(device, {}, names);
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_EQ(chosen[0]->name(), "direct");
  const std::string misspelt[] = {"unrol"};
  try {
    chosen_strategies(device, {}, misspelt);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("did you mean unroll?"), std::string::npos);
  }
}

TEST(ConvLab, checks_all_of_what_is_small_and_a_spread_of_what_is_large) {
  const ConvShape base = conv_base("64,128,64,11,1", 3);
  for (const ConvPass pass : all_conv_passes) {
    const auto indices = checked_indices(base, pass, 1);
    EXPECT_GE(indices.size(), 48U);
    EXPECT_LE(indices.size(), 512U);
    EXPECT_EQ(indices.front(), 0);
    EXPECT_EQ(indices.back(), result_elements(base, pass) - 1);
    EXPECT_EQ(std::set(indices.begin(), indices.end()).size(), indices.size());
    EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
  }
  const ConvShape small = conv_base("2,9,3,3,1", 2);
  const auto all = checked_indices(small, ConvPass::forward, 1);
  ASSERT_EQ(static_cast<std::int64_t>(all.size()), small.output_elements());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<std::int64_t>(i));
}

// Large enough that only some numbers are looked at, one by one.
TEST(ConvLab, checks_samples_of_what_is_large) {
  FakeDevice device({{.name = "right"}, {.name = "short", .fault = Fault::unwritten_last}});
  ConvPlan plan = plan_of({{"shapes", false, {conv_point("b1,c24,i24,f64,k5,p2")}}});
  plan.passes = {ConvPass::forward};
  const auto cells = cells_of(device, plan);
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].status, ConvStatus::measured) << cells[0].reason;
  EXPECT_LT(cells[0].checked, cells[0].shape.output_elements());
  EXPECT_EQ(cells[1].status, ConvStatus::wrong);
}

TEST(ConvLab, cells_know_what_other_programs_had_meanwhile) {
  FakeDevice device({{.name = "right"}});
  ConvPlan plan = plan_of({{"shapes", false, {conv_point("b1,c3,i8,f4,k3")}}});
  plan.passes = {ConvPass::forward};
  const auto strategies = chosen_strategies(device, {}, {});
  const auto tasks = conv_tasks(plan, strategies);
  const ConvLabHooks hooks{.is_interrupted = {}, .on_cell = {}, .others_share = [] { return 0.5; }};
  const auto cells = run_conv_lab(device, plan, tasks, 0, hooks);
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].others_share, 0.5);
}

TEST(ConvLab, shares_of_copies_follow_from_their_times) {
  ConvCell cell;
  EXPECT_FALSE(transfer_shares(cell));
  cell.samples_s = {1, 1, 1};
  cell.transfers = HostTransfers{.pinned_s = 4, .pageable_s = 3};
  EXPECT_DOUBLE_EQ(transfer_shares(cell)->pageable, 0.75);
  EXPECT_DOUBLE_EQ(transfer_shares(cell)->pinned, 0.75);  // 3 of 4 seconds are not hidden
  cell.transfers->pinned_s = 0.5;
  EXPECT_DOUBLE_EQ(transfer_shares(cell)->pinned, 0);
}

TEST(ConvLab, results_of_several_passes_are_joined_unless_of_different_devices) {
  const auto results_of = [](ConvPass pass, std::string strategy) {
    ConvResults results;
    results.device = "Imagined 1";
    results.passes = {pass};
    results.strategies = {{"direct"}, {std::move(strategy), true}};
    for (const ConvStrategyName& each : results.strategies) {
      ConvCell& cell = results.cells.emplace_back();
      cell.pass = pass;
      cell.strategy = each.name;
    }
    return results;
  };
  const ConvResults both = joined(results_of(ConvPass::forward, "cudnn:gemm"),
                                  results_of(ConvPass::weight_gradient, "cudnn:algo_0"));
  EXPECT_EQ(both.passes.size(), 2U);
  EXPECT_EQ(both.strategies.size(), 3U);
  EXPECT_EQ(both.cells.size(), 4U);
  ConvResults newer = results_of(ConvPass::forward, "cudnn:gemm");
  newer.cells[1].reason = "newer";
  const ConvResults all = joined(newer, both);
  ASSERT_EQ(all.cells.size(), 4U) << "what both have is the first's";
  EXPECT_EQ(all.cells[1].reason, "newer");
  ConvResults other = results_of(ConvPass::weight_gradient, "x");
  other.device = "Imagined 2";
  EXPECT_THROW(joined(both, other), Error);
}

TEST(ConvLab, a_cell_has_the_median_of_its_samples) {
  ConvCell cell;
  EXPECT_EQ(cell.time_s(), 0);
  EXPECT_EQ(cell.deviation_s(), 0);
  cell.samples_s = {3, 1, 100};
  EXPECT_DOUBLE_EQ(cell.time_s(), 3);
  EXPECT_DOUBLE_EQ(cell.deviation_s(), 2);
}

}  // namespace
}  // namespace strata
