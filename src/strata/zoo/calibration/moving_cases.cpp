// SPDX-License-Identifier: Apache-2.0
// Layers that only move data, and the optimizers.
#include "strata/zoo/calibration/case_graph.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

Graph concat_graph(const CaseSizes& sizes) {
  CaseGraph graph("concat", sizes);
  struct Joined {
    std::int64_t samples, channels, extent;
  };
  for (const auto& [n, c, e] :
       {Joined{6, 128, 28}, Joined{6, 64, 56}, Joined{6, 256, 14}, Joined{2, 16, 14}}) {
    const TensorId a = graph.activation({graph.samples(n), c, e, e});
    const TensorId b = graph.activation({graph.samples(n), c / 2, e, e});
    const TensorId d = graph.activation({graph.samples(n), c / 4, e, e});
    graph.measure(Concat{}, {a, b, d});
  }
  return std::move(graph).finish();
}

/// The first of many, as a class token is read; and a half.
Graph slice_graph(const CaseSizes& sizes) {
  CaseGraph graph("slice", sizes);
  for (const std::int64_t steps : {16, 128, 512}) {
    const TensorId x = graph.activation({graph.samples(6), steps, 512});
    graph.measure(Slice{.axes = {1}, .begin = {Dim(0)}, .end = {Dim(steps / 2)}}, {x});
  }
  return std::move(graph).finish();
}

Graph transpose_graph(const CaseSizes& sizes) {
  CaseGraph graph("transpose", sizes);
  for (const std::int64_t steps : {16, 128, 512}) {
    const TensorId x = graph.activation({graph.samples(6), steps, 8, 64});
    graph.measure(Transpose{.permutation = {0, 2, 1, 3}}, {x});
  }
  for (const std::int64_t channels : {32, 256})
    graph.measure(ChannelShuffle{.groups = 4},
                  {graph.activation({graph.samples(6), channels, 28, 28})});
  return std::move(graph).finish();
}

Graph resize_graph(const CaseSizes& sizes) {
  CaseGraph graph("resize", sizes);
  for (const std::int64_t channels : {32, 256})
    graph.measure(Resize{.scale = {2, 2}},
                  {graph.activation({graph.samples(4), channels, 14, 14})});
  return std::move(graph).finish();
}

Graph embedding_graph(const CaseSizes& sizes) {
  CaseGraph graph("embedding", sizes);
  struct Table {
    std::int64_t tokens, rows, width;
  };
  for (const auto& [tokens, rows, width] :
       {Table{768, 40000, 768}, Table{512, 512, 768}, Table{1024, 8000, 256}, Table{512, 2, 768},
        Table{2048, 20000, 256}}) {
    const TensorId indices =
        graph.builder().input("indices", case_shape({graph.samples(tokens)}), DType::int64);
    graph.measure(Embedding{.vocabulary = rows, .width = width}, {indices});
  }
  return std::move(graph).finish();
}

/// Queries, keys and values of one product, as attention has them.
Graph split_graph(const CaseSizes& sizes) {
  CaseGraph graph("split", sizes);
  for (const std::int64_t steps : {16, 128}) {
    const NodeId node = graph.builder().add_node(
        fmt::format("{}{}", measured_layer, steps), Split{.axis = 2, .parts = 3},
        std::vector<TensorId>{graph.activation({graph.samples(6), steps, 1536})});
    for (std::size_t i = 0; i < 3; ++i) graph.end(graph.relu(graph.builder().output_of(node, i)));
  }
  return std::move(graph).finish();
}

/// So many parameters of so many numbers; their gradients come from a ReLU.
Graph parameters_graph(const CaseSizes& sizes, std::int64_t tensors, std::int64_t rows) {
  CaseGraph graph("update", sizes);
  for (std::int64_t i = 0; i < tensors; ++i) graph.end(graph.activation({rows, 256}));
  return std::move(graph).finish();
}

}  // namespace

void add_moving_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes) {
  cases.push_back({"concat", [sizes] { return concat_graph(sizes); }});
  cases.push_back({"slice", [sizes] { return slice_graph(sizes); }});
  cases.push_back({"split", [sizes] { return split_graph(sizes); }});
  cases.push_back({"transpose", [sizes] { return transpose_graph(sizes); }});
  cases.push_back({"resize", [sizes] { return resize_graph(sizes); }});
  cases.push_back({"embedding", [sizes] { return embedding_graph(sizes); }});
}

void add_update_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes) {
  struct Optimized {
    const char* name;
    Optimizer optimizer;
  };
  struct Parameters {
    std::int64_t tensors, rows;
  };
  for (const auto& [name, optimizer] :
       {Optimized{"update momentum", Optimizer::momentum}, Optimized{"update sgd", Optimizer::sgd},
        Optimized{"update adam", Optimizer::adam}}) {
    for (const auto& [tensors, rows] :
         {Parameters{100, 4}, Parameters{12, 256}, Parameters{60, 512}, Parameters{24, 4096}}) {
      cases.push_back({name + std::string(" of ") + std::to_string(tensors),
                       [sizes, t = tensors, r = rows] { return parameters_graph(sizes, t, r); },
                       optimizer});
    }
  }
}

}  // namespace strata
