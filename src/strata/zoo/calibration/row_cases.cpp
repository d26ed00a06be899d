// SPDX-License-Identifier: Apache-2.0
// Normalisation, softmax, losses, pooling and reductions.
#include "strata/zoo/calibration/case_graph.hpp"

namespace strata {
namespace {

struct ImageShape {
  std::int64_t samples, channels, extent;
};
Graph image_graph(const CaseSizes& sizes, const Operator& op,
                  const std::vector<ImageShape>& shapes) {
  CaseGraph graph("images", sizes);
  for (const auto& [samples, channels, extent] : shapes)
    graph.measure(op, {graph.activation({graph.samples(samples), channels, extent, extent})});
  return std::move(graph).finish();
}

struct RowShape {
  std::int64_t rows, columns;
};
Graph row_graph(const CaseSizes& sizes, const Operator& op, const std::vector<RowShape>& shapes) {
  CaseGraph graph("rows", sizes);
  for (const auto& [rows, columns] : shapes)
    graph.measure(op, {graph.activation({graph.samples(rows), columns})});
  return std::move(graph).finish();
}

/// The loss is the last layer: its gradient is 1.
Graph loss_graph(const CaseSizes& sizes, const std::vector<RowShape>& shapes) {
  CaseGraph graph("loss", sizes);
  for (const auto& [rows, columns] : shapes) {
    const TensorId logits = graph.activation({graph.samples(rows), columns});
    const TensorId targets =
        graph.builder().input("targets", case_shape({graph.samples(rows)}), DType::int64);
    graph.end(graph.add_measured(SoftmaxCrossEntropy{}, {logits, targets}));
  }
  return std::move(graph).finish();
}

Graph squared_error_graph(const CaseSizes& sizes) {
  CaseGraph graph("squared error", sizes);
  for (const std::int64_t rows : {4, 64, 1024}) {
    const TensorId made = graph.activation({graph.samples(rows), 1024});
    const TensorId wanted =
        graph.builder().input("targets", case_shape({graph.samples(rows), 1024}));
    graph.end(graph.add_measured(SquaredError{}, {made, wanted}));
  }
  return std::move(graph).finish();
}

Operator pooling(PoolKind kind, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return Pool{.kind = kind,
              .kernel = {kernel, kernel},
              .stride = {stride, stride},
              .pad_begin = {pad, pad},
              .pad_end = {pad, pad}};
}

class RowCases {
 public:
  RowCases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes)
      : cases_(cases), sizes_(sizes) {}

  void images(const char* name, const Operator& op, std::vector<ImageShape> shapes) {
    cases_.push_back({name, [sizes = sizes_, op, shapes = std::move(shapes)] {
                        return image_graph(sizes, op, shapes);
                      }});
  }
  void rows(const char* name, const Operator& op, std::vector<RowShape> shapes) {
    cases_.push_back({name, [sizes = sizes_, op, shapes = std::move(shapes)] {
                        return row_graph(sizes, op, shapes);
                      }});
  }
  void losses(const char* name, std::vector<RowShape> shapes) {
    cases_.push_back(
        {name, [sizes = sizes_, shapes = std::move(shapes)] { return loss_graph(sizes, shapes); }});
  }
  void squared_errors() {
    cases_.push_back(
        {"loss squared error", [sizes = sizes_] { return squared_error_graph(sizes); }});
  }

 private:
  std::vector<CalibrationCase>& cases_;
  CaseSizes sizes_;
};

void add_first_rows(RowCases& cases) {
  cases.images("batch norm", BatchNorm{},
               {{4, 32, 112}, {12, 64, 56}, {6, 128, 28}, {12, 384, 14}, {6, 960, 7}});
  cases.rows("layer norm", LayerNorm{}, {{512, 768}, {2048, 256}, {256, 1024}, {1536, 768}});
  cases.rows("rms norm", RmsNorm{}, {{512, 768}, {2048, 256}, {256, 2048}});
  cases.images("group norm", GroupNorm{.groups = 32}, {{4, 64, 56}, {6, 256, 14}});
  cases.images("local response norm", LocalResponseNorm{}, {{6, 96, 27}, {6, 64, 55}});
  cases.rows("softmax", Softmax{}, {{6144, 128}, {2048, 512}, {512, 1000}, {6, 1000}});
  cases.rows("log softmax", Softmax{.log = true}, {{2048, 128}, {512, 1000}});
  cases.losses("loss cross entropy", {{6, 1000}, {24, 100}, {512, 1000}});
  cases.squared_errors();
  cases.images("max pool 3x3", pooling(PoolKind::maximum, 3, 2, 1),
               {{4, 64, 112}, {6, 192, 56}, {6, 480, 28}});
  cases.images("average pool", pooling(PoolKind::average, 2, 2, 0),
               {{6, 128, 56}, {24, 6, 28}, {6, 256, 28}});
  cases.images("global pool", AdaptivePool{},
               {{6, 512, 7}, {12, 1280, 7}, {6, 96, 56}, {12, 240, 28}});
  cases.rows("reduction", Reduce{.kind = ReduceKind::mean, .axes = {1}}, {{512, 768}, {64, 1024}});
}

void add_further_rows(RowCases& cases) {
  cases.images("batch norm wide", BatchNorm{},
               {{6, 96, 112}, {12, 24, 56}, {12, 144, 56}, {6, 16, 112}, {6, 256, 56}});
  cases.images(
      "batch norm deep", BatchNorm{},
      {{12, 192, 28}, {6, 256, 14}, {6, 576, 14}, {6, 512, 7}, {4, 1280, 7}, {24, 16, 32}});
  cases.losses("loss of a vocabulary", {{256, 10000}, {64, 50000}, {1024, 10}});
  cases.images("max pool 2x2", pooling(PoolKind::maximum, 2, 2, 0),
               {{4, 64, 112}, {6, 256, 28}, {6, 512, 14}, {12, 128, 56}});
  cases.images("max pool 3x3 stride 1", pooling(PoolKind::maximum, 3, 1, 1),
               {{6, 192, 28}, {6, 480, 14}, {6, 832, 7}});
  cases.images("average pool 3x3", pooling(PoolKind::average, 3, 1, 1),
               {{6, 192, 35}, {6, 288, 17}});
  cases.rows("layer norm further", LayerNorm{}, {{8192, 96}, {64, 512}, {1024, 3072}});
}

}  // namespace

void add_row_cases(std::vector<CalibrationCase>& all, const CaseSizes& sizes, bool is_more) {
  RowCases cases(all, sizes);
  if (is_more)
    add_further_rows(cases);
  else
    add_first_rows(cases);
}

}  // namespace strata
