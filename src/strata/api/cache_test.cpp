// SPDX-License-Identifier: Apache-2.0
// Caches of GPUs are managed by nobody: whatever does not fit into them, there is an answer.
#include "strata/api/predict.hpp"
#include "strata/api/sweep.hpp"
#include "strata/base/error.hpp"
#include "strata/graph/builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

constexpr std::int64_t row_numbers = 4'000'000;  // 16 MB in fp32, more than an L2 of 6 MiB

/// One row that no L2 holds, and a product over many short ones.
Graph graph_of_a_wide_row() {
  GraphBuilder builder("wide");
  const TensorId x = builder.input("x", {3, row_numbers});
  const TensorId y = builder.add("softmax", Softmax{}, {x});
  builder.add("fc", Linear{.features = 8}, {y});
  return std::move(builder).finish();
}

Machine rtx_3090_with_cache(std::string_view bytes) {
  Machine machine = load_machine("rtx-3090");
  set_field(machine, fmt::format("machine.memory.l2.capacity_bytes={}", bytes));
  return machine;
}

std::string refusal_of_limit(const Graph& graph, const Machine& machine,
                             const PredictRequest& request = {}) {
  try {
    predict_model(graph, machine, request);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(CacheOfAGpu, lets_rows_stream_through_that_it_cannot_hold) {
  const Graph graph = graph_of_a_wide_row();
  const PredictedIteration iteration = predict_model(graph, load_machine("rtx-3090"));
  const PredictionSummary& summary = iteration.summary;
  EXPECT_TRUE(summary.expected.has_value());
  EXPECT_EQ(summary.cut_row_steps.front(), "softmax forward");
  EXPECT_GE(summary.widest.bytes, 2 * 4 * row_numbers);
  // Input and output of the softmax cross the channel, forward and backward, at least once.
  constexpr std::int64_t tensor_bytes = 3 * 4 * row_numbers;
  EXPECT_GE(summary.totals.traffic_in_bytes, 2 * tensor_bytes);
  EXPECT_GE(summary.totals.traffic_out_bytes, tensor_bytes);
  EXPECT_LE(summary.totals.peak_on_chip_bytes, 6 << 20);
  EXPECT_GE(summary.totals.time_s, summary.bounds->time_s * (1 - 1e-9));
  EXPECT_GE(summary.totals.traffic_bytes(), summary.bounds->traffic_model_bytes);
}

TEST(CacheOfAGpu, that_a_person_chose_or_software_manages_is_refused_below_a_row) {
  const Graph graph = graph_of_a_wide_row();
  PredictRequest typed;
  typed.hardware.capacity_bytes = 6 << 20;
  EXPECT_NE(refusal_of_limit(graph, load_machine("rtx-3090"), typed).find("is too small"),
            std::string::npos);
  Machine scratchpad = load_machine("rtx-3090");
  scratchpad.kind = "tpu";
  EXPECT_NE(refusal_of_limit(graph, scratchpad).find("is too small"), std::string::npos);
}

TEST(CacheOfAGpu, never_changes_the_expected_time) {
  for (const char* name : {"lenet5", "resnet18", "bert_base"}) {
    const Graph graph = load_model(name);
    const auto expected_s = [&](const Machine& machine) {
      PredictRequest request;
      request.wants_alternatives = false;
      return predict_model(graph, machine, request).summary.expected.value().time_s;
    };
    EXPECT_EQ(expected_s(rtx_3090_with_cache("2KiB")), expected_s(load_machine("rtx-3090")));
  }
}

// A point of a sweep is what one prediction says, whatever was asked before it.
TEST(CacheOfAGpu, in_a_sweep_is_as_in_one_prediction) {
  const std::string sizes[] = {"8KiB", "16KiB", "4KiB", "256KiB", "12KiB"};
  const Sweep sweep({.models = {"lenet5"},
                     .parameters = {{"on", "rtx-3090"},
                                    {"machine.memory.l2.capacity_bytes",
                                     fmt::format("{}", fmt::join(sizes, ","))}}});
  const std::unique_ptr<PointWorker> worker = sweep.worker();
  const Graph graph = load_model("lenet5");
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    const PointResult point = worker->at(static_cast<std::int64_t>(i));
    EXPECT_EQ(point.error, "");
    EXPECT_EQ(point.totals.time_s, predicted_time_s(graph, rtx_3090_with_cache(sizes[i]), {}))
        << sizes[i];
  }
}

}  // namespace
}  // namespace strata
