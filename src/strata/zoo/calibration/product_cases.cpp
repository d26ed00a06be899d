// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/calibration/case_graph.hpp"

namespace strata {
namespace {

struct LinearShape {
  std::int64_t rows, inputs, features;
};

Graph linear_graph(const CaseSizes& sizes, const std::vector<LinearShape>& shapes) {
  CaseGraph graph("linear", sizes);
  for (const auto& [rows, inputs, features] : shapes)
    graph.measure(Linear{.features = features}, {graph.activation({graph.samples(rows), inputs})});
  return std::move(graph).finish();
}

struct BatchedShape {
  std::int64_t batch, m, n, k;
};
Graph matmul_graph(const CaseSizes& sizes, const std::vector<BatchedShape>& shapes) {
  CaseGraph graph("matmul", sizes);
  for (const auto& [batch, m, n, k] : shapes)
    graph.measure(MatMul{}, {graph.activation({graph.samples(batch), m, k}),
                             graph.activation({graph.samples(batch), k, n})});
  return std::move(graph).finish();
}

struct AttentionCase {
  std::int64_t samples, heads, queries, width;
  bool is_causal;
};
Graph attention_graph(const CaseSizes& sizes, const std::vector<AttentionCase>& shapes) {
  CaseGraph graph("attention", sizes);
  for (const auto& [samples, heads, queries, width, is_causal] : shapes) {
    const auto part = [&, n = samples, s = queries, w = heads * width] {
      return graph.activation({graph.samples(n), s, w});
    };
    const TensorId q = part(), k = part(), v = part();
    graph.measure(Attention{.heads = heads, .causal = is_causal}, {q, k, v});
  }
  return std::move(graph).finish();
}

struct RecurrentShape {
  std::int64_t samples, steps, width, hidden, layers;
};
Graph recurrent_graph(const CaseSizes& sizes, CellKind cell,
                      const std::vector<RecurrentShape>& shapes) {
  CaseGraph graph("recurrent", sizes);
  for (const auto& [samples, steps, width, hidden, layers] : shapes)
    graph.measure(Recurrent{.cell = cell, .hidden = hidden, .layers = layers},
                  {graph.activation({graph.samples(samples), steps, width})});
  return std::move(graph).finish();
}

void add_first_products(std::vector<CalibrationCase>& cases, const CaseSizes& sizes) {
  cases.push_back({"linear", [sizes] {
                     return linear_graph(sizes, {{512, 768, 768},
                                                 {1536, 512, 512},
                                                 {512, 768, 3072},
                                                 {512, 3072, 768},
                                                 {6, 512, 1000}});
                   }});
  cases.push_back(
      {"matmul", [sizes] {
         return matmul_graph(sizes, {{48, 128, 128, 64}, {48, 128, 64, 128}, {24, 256, 256, 64}});
       }});
  cases.push_back(
      {"attention", [sizes] {
         return attention_graph(sizes, {{4, 12, 128, 64, false}, {12, 8, 64, 64, false}});
       }});
  cases.push_back({"recurrent lstm", [sizes] {
                     return recurrent_graph(sizes, CellKind::lstm,
                                            {{8, 16, 64, 64, 1},
                                             {6, 16, 256, 256, 1},
                                             {12, 8, 512, 512, 2},
                                             {4, 8, 1024, 1024, 1}});
                   }});
  cases.push_back({"recurrent gru", [sizes] {
                     return recurrent_graph(
                         sizes, CellKind::gru,
                         {{8, 16, 64, 64, 1}, {6, 16, 256, 256, 1}, {12, 8, 512, 512, 2}});
                   }});
  cases.push_back({"recurrent rnn", [sizes] {
                     return recurrent_graph(sizes, CellKind::rnn_tanh,
                                            {{8, 16, 64, 64, 1}, {6, 16, 256, 256, 2}});
                   }});
}

void add_further_products(std::vector<CalibrationCase>& cases, const CaseSizes& sizes) {
  cases.push_back({"linear few rows", [sizes] {
                     return linear_graph(sizes, {{6, 2048, 1000},
                                                 {12, 1280, 1000},
                                                 {10, 4096, 4096},
                                                 {24, 256, 128},
                                                 {32, 120, 84},
                                                 {12, 1024, 4096}});
                   }});
  cases.push_back(
      {"linear large weights", [sizes] {
         return linear_graph(sizes, {{6, 12544, 4096}, {12, 8192, 4096}, {24, 6272, 1024}});
       }});
  cases.push_back({"linear many rows", [sizes] {
                     return linear_graph(sizes, {{1536, 768, 768},
                                                 {2048, 256, 1024},
                                                 {256, 1024, 1024},
                                                 {4096, 128, 128},
                                                 {1024, 512, 2048},
                                                 {768, 1024, 4096}});
                   }});
  cases.push_back(
      {"linear vocabulary", [sizes] {
         return linear_graph(sizes, {{192, 768, 30000}, {64, 512, 50000}, {384, 512, 20000}});
       }});
  cases.push_back(
      {"matmul further", [sizes] {
         return matmul_graph(
             sizes,
             {{12, 512, 512, 64}, {12, 512, 64, 512}, {96, 64, 64, 32}, {8, 1024, 128, 256}});
       }});
  cases.push_back({"attention long", [sizes] {
                     return attention_graph(sizes, {{2, 12, 256, 64, false},
                                                    {2, 16, 512, 64, false},
                                                    {4, 12, 128, 64, true},
                                                    {2, 12, 512, 64, true},
                                                    {12, 12, 64, 64, true},
                                                    {6, 8, 32, 64, false},
                                                    {6, 12, 197, 64, false}});
                   }});
}

}  // namespace

void add_product_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes, bool is_more) {
  if (is_more)
    add_further_products(cases, sizes);
  else
    add_first_products(cases, sizes);
}

}  // namespace strata
