// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/planning_memory.hpp"

#include "strata/api/predict.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace strata {
namespace {

/// The most memory that a child process had in use; -1: it failed.
template <class Work>
std::int64_t peak_bytes_of(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  rusage usage{};
  if (::wait4(child, &status, 0, &usage) != child || status != 0) return -1;
  return std::int64_t{usage.ru_maxrss} * 1024;
}

PredictRequest request_with(std::initializer_list<std::pair<const char*, const char*>> options,
                            std::int64_t batch, std::int64_t seq) {
  PredictRequest request;
  request.framework = "none";
  request.sizes.batch = batch;
  if (seq > 0) request.sizes.dims = {{"seq", seq}};
  for (const auto& [name, value] : options) set_option(request, name, value);
  return request;
}

// Programs of recurrent layers, of micro-batches and of parts: other numbers of steps, uses and
// values, each.
TEST(PlanningMemory, is_known_before_within_a_factor_of_two) {
  const Machine machine = load_machine("rtx-2080-ti");
  const auto expect_near = [&](const char* model, const PredictRequest& request) {
    const Graph graph = load_model(model);
    std::int64_t estimate = 0;
    {
      const BoundGraph bound =
          bind_micro_batch(graph, request.sizes, request.training.micro_batches);
      estimate = planning_bytes(limit_program(bound, request));
    }
    ::malloc_trim(0);  // what the child would take again without its peak growing
    // Any prediction takes something once, such as pages of the program that it runs.
    const auto small = [&] {
      predict_model(load_model("lenet5"), machine, request_with({}, 1, 0));
    };
    const std::int64_t before = peak_bytes_of(small);
    const std::int64_t after = peak_bytes_of([&] {
      small();
      predict_model(graph, machine, request);
    });
    ASSERT_GT(after, before) << model;
    const double ratio = static_cast<double>(after - before) / static_cast<double>(estimate);
    EXPECT_GT(ratio, 0.5) << model << ": estimated " << estimate << ", took " << after - before;
    EXPECT_LT(ratio, 2) << model << ": estimated " << estimate << ", took " << after - before;
  };
  expect_near("lstm", request_with({}, 4, 8000));
  expect_near("lenet5", request_with({{"micro-batches", "6000"}}, 6000, 0));
  expect_near("resnet50", request_with({{"granularity", "256KiB"}}, 8, 0));
  expect_near("resnet50", request_with({{"micro-batches", "300"}}, 300, 0));
}

TEST(PlanningMemory, a_step_of_many_parts_counts_as_several) {
  Program program;
  program.values = {{.is_given = true, .bytes = 1000, .row_bytes = 1}};
  program.steps = {{.first_use = 0}};
  program.uses.assign(400, Use{0, true, false});
  EXPECT_EQ(planned_length(program), 100U);
  program.uses.resize(3, Use{0, true, false});
  EXPECT_EQ(planned_length(program), 1U);
}

}  // namespace
}  // namespace strata
