// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/calibration/case_graph.hpp"

namespace strata {
namespace {

// From what the caches hold to what they do not, in rows of 1024.
constexpr std::int64_t few_rows[] = {4, 128, 1024, 4096};
constexpr std::int64_t more_rows[] = {1, 32, 512, 2048, 8192};

std::span<const std::int64_t> rows_of_cases(bool is_more) {
  return is_more ? std::span<const std::int64_t>(more_rows)
                 : std::span<const std::int64_t>(few_rows);
}

Graph pointwise_graph(const CaseSizes& sizes, const Operator& op, bool is_more) {
  CaseGraph graph("pointwise", sizes);
  for (const std::int64_t rows : rows_of_cases(is_more))
    graph.measure(op, {graph.activation({graph.samples(rows), 1024})});
  return std::move(graph).finish();
}

Graph pair_graph(const CaseSizes& sizes, ElementwiseKind kind, bool is_more) {
  CaseGraph graph("pairs", sizes);
  for (const std::int64_t rows : rows_of_cases(is_more)) {
    const TensorId a = graph.activation({graph.samples(rows), 1024});
    const TensorId b = graph.activation({graph.samples(rows), 1024});
    graph.measure(Elementwise{kind}, {a, b});
  }
  return std::move(graph).finish();
}

/// Positions that are added to every sample, as transformers do.
Graph added_positions_graph(const CaseSizes& sizes) {
  CaseGraph graph("positions", sizes);
  struct Positions {
    std::int64_t samples, steps, width;
  };
  for (const auto& [samples, steps, width] :
       {Positions{4, 64, 256}, Positions{6, 128, 768}, Positions{12, 196, 512}}) {
    const TensorId x = graph.activation({graph.samples(samples), steps, width});
    graph.measure(Elementwise{ElementwiseKind::add}, {x, graph.activation({1, steps, width})});
  }
  return std::move(graph).finish();
}

/// Channels that are scaled, as squeeze and excitation does.
Graph scaled_channels_graph(const CaseSizes& sizes) {
  CaseGraph graph("scaled channels", sizes);
  struct Scaled {
    std::int64_t samples, channels, extent;
  };
  for (const auto& [samples, channels, extent] :
       {Scaled{6, 96, 56}, Scaled{6, 240, 28}, Scaled{12, 672, 14}, Scaled{6, 1152, 7}}) {
    const TensorId x = graph.activation({graph.samples(samples), channels, extent, extent});
    graph.measure(Elementwise{ElementwiseKind::multiply},
                  {x, graph.activation({graph.samples(samples), channels, 1, 1})});
  }
  return std::move(graph).finish();
}

/// A tensor with two readers: its gradients are added.
Graph gradient_sum_graph(const CaseSizes& sizes) {
  CaseGraph graph("gradient sums", sizes);
  for (const std::int64_t rows : {16, 256, 768, 1536, 6144}) {
    const TensorId x =
        graph.add_measured(Unary{UnaryKind::relu}, {graph.activation({graph.samples(rows), 1024})});
    graph.end(graph.relu(x));
    graph.end(graph.relu(x));
  }
  return std::move(graph).finish();
}

Graph rotary_graph(const CaseSizes& sizes) {
  CaseGraph graph("rotary", sizes);
  for (const std::int64_t steps : {32, 128, 512})
    graph.measure(RotaryEmbedding{.heads = 8}, {graph.activation({graph.samples(4), steps, 512})});
  return std::move(graph).finish();
}

}  // namespace

void add_pointwise_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes,
                         bool is_more) {
  struct Function {
    const char* name;
    Operator op;
  };
  const std::vector<Function> functions = {{"relu", Unary{UnaryKind::relu}},
                                           {"relu6", Unary{UnaryKind::relu6}},
                                           {"gelu", Unary{UnaryKind::gelu}},
                                           {"gelu tanh", Unary{UnaryKind::gelu_tanh}},
                                           {"silu", Unary{UnaryKind::silu}},
                                           {"hard swish", Unary{UnaryKind::hard_swish}},
                                           {"sigmoid", Unary{UnaryKind::sigmoid}},
                                           {"tanh", Unary{UnaryKind::tanh}},
                                           {"dropout", Dropout{0.1}}};
  const std::string ending = is_more ? ", more sizes" : "";
  for (const Function& one : functions)
    cases.push_back({one.name + ending, [sizes, op = one.op, is_more] {
                       return pointwise_graph(sizes, op, is_more);
                     }});
  cases.push_back({"add" + ending,
                   [sizes, is_more] { return pair_graph(sizes, ElementwiseKind::add, is_more); }});
  cases.push_back({"multiply" + ending, [sizes, is_more] {
                     return pair_graph(sizes, ElementwiseKind::multiply, is_more);
                   }});
  if (is_more) return;
  cases.push_back({"add to each sample", [sizes] { return added_positions_graph(sizes); }});
  cases.push_back({"multiply channels", [sizes] { return scaled_channels_graph(sizes); }});
  cases.push_back({"gradient sum", [sizes] { return gradient_sum_graph(sizes); }});
  cases.push_back({"rotary embedding", [sizes] { return rotary_graph(sizes); }});
}

}  // namespace strata
