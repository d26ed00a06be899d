// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operations.hpp"
#include "strata/graph/builder.hpp"
#include "strata/training/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

/// Networks of a few nodes, and what a framework launches for them as lines of text that a person
/// can count by hand.
namespace strata::small_network {

/// "linear.forward fp32 1 2 10 64"
inline std::string line_of(const FrameworkOperation& operation) {
  const std::size_t dims = dims_of(form_of(operation.kernel_class)).size();
  return fmt::format("{} {} {}", name_of(operation.kernel_class), name_of(operation.precision),
                     fmt::join(std::span(operation.dims).first(dims), " "));
}

struct Net {
  std::string framework = "pytorch-eager";
  GraphBuilder builder{"net"};
  Graph graph;
  BoundGraph bound;
  Program program;
  FrameworkOperations operations;

  void finish(const FrameworkOptions& options = {}, TrainingOptions training = {},
              std::optional<DType> dtype = std::nullopt) {
    training.unroll_recurrent = false;
    graph = std::move(builder).finish();
    bound = bind_graph(graph, {}, dtype);
    program = make_program(bound, training);
    operations = operations_of(program, framework_named(framework), options, training.optimizer);
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const FrameworkOperation& one : operations.operations) all.push_back(line_of(one));
    return all;
  }

  /// Of the step of that name: "fc forward".
  std::vector<std::string> lines(const std::string& step) const {
    std::vector<std::string> all;
    for (const FrameworkOperation& one : operations.operations) {
      if (name_of(program, one.step) == step) all.push_back(line_of(one));
    }
    return all;
  }

  /// Of one class, in order.
  std::vector<std::string> lines_of_class(std::string_view name) const {
    std::vector<std::string> all;
    for (const FrameworkOperation& one : operations.operations) {
      if (name_of(one.kernel_class) == name) all.push_back(line_of(one));
    }
    return all;
  }
};

using Lines = std::vector<std::string>;

}  // namespace strata::small_network
