// SPDX-License-Identifier: Apache-2.0
#include "strata/report/measured_alternatives.hpp"

#include "strata/graph/builder.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

ConvCell cell_of(ConvShape shape, ConvPass pass, std::string strategy, double time_s) {
  ConvCell cell;
  cell.shape = shape;
  cell.pass = pass;
  cell.strategy = std::move(strategy);
  cell.samples_s = {time_s};
  return cell;
}

Graph two_convolutions() {
  GraphBuilder builder("two");
  TensorId x = builder.input("x", Shape{2, 3, 8, 8});
  x = builder.add("first", Convolution{.channels = 4, .kernel = {3, 3}}, {x});
  builder.add("second", Convolution{.channels = 5, .kernel = {1, 1}, .stride = {2, 2}}, {x});
  return std::move(builder).finish();
}

const MeasuredAlternative* find(const std::vector<MeasuredAlternative>& all,
                                const std::string& layer, const std::string& pass) {
  for (const MeasuredAlternative& one : all)
    if (one.layer == layer && one.pass == pass) return &one;
  return nullptr;
}

TEST(MeasuredAlternatives, ShapesOfTheLabFindTheirLayers) {
  const Graph graph = two_convolutions();
  const BoundGraph bound = bind_graph(graph, {});
  const ConvShape first{.batch = 2,
                        .channels = 3,
                        .height = 8,
                        .width = 8,
                        .filters = 4,
                        .kernel_height = 3,
                        .kernel_width = 3};
  const ConvShape second{.batch = 2,
                         .channels = 4,
                         .height = 6,
                         .width = 6,
                         .filters = 5,
                         .stride_height = 2,
                         .stride_width = 2};
  ConvResults results;
  results.cells = {cell_of(first, ConvPass::forward, "direct", 3),
                   cell_of(first, ConvPass::forward, "fft", 2),
                   cell_of(first, ConvPass::weight_gradient, "direct", 5),
                   cell_of(second, ConvPass::input_gradient, "unroll", 1),
                   cell_of(second, ConvPass::weight_gradient, "direct", 2)};
  results.cells.push_back(cell_of(first, ConvPass::forward, "wrong", 1));
  results.cells.back().status = ConvStatus::wrong;
  const auto all = alternatives_of(results, bound, "lab.json");
  const MeasuredAlternative* forward = find(all, "first", "forward");
  ASSERT_NE(forward, nullptr);
  EXPECT_EQ(forward->algorithm, "fft");
  EXPECT_EQ(forward->time_s, 2);
  // The first layer needs no gradient of its input; the second needs both.
  ASSERT_NE(find(all, "first", "backward"), nullptr);
  EXPECT_EQ(find(all, "first", "backward")->time_s, 5);
  ASSERT_NE(find(all, "second", "backward"), nullptr);
  EXPECT_EQ(find(all, "second", "backward")->time_s, 3);
  EXPECT_EQ(find(all, "second", "backward")->algorithm, "unroll, direct");
  EXPECT_EQ(find(all, "second", "forward"), nullptr);
  results.dtype = DType::fp16;
  EXPECT_TRUE(alternatives_of(results, bound, "lab.json").empty());
}

TEST(MeasuredAlternatives, RowsOfProfilesMustDoTheSame) {
  const auto row = [](std::string pass, std::int64_t flop, double time_s, std::string with) {
    ProfileRow one;
    one.layer = "conv";
    one.pass = std::move(pass);
    one.op = "convolution";
    one.totals.flop = flop;
    one.totals.time_s = time_s;
    one.implementation = std::move(with);
    return one;
  };
  Profile measured;
  measured.evidence = Evidence::measured;
  measured.rows = {row("forward", 10, 1, "fft"), row("backward_input", 10, 2, "fft"),
                   row("backward_weight", 10, 3, "implicit")};
  Profile recorded;
  recorded.evidence = Evidence::measured;
  recorded.rows = {row("forward", 20, 9, ""), row("backward", 20, 9, "")};
  const auto all = alternatives_of(measured, recorded, "m.json");
  ASSERT_EQ(all.size(), 1U);  // another batch forward
  EXPECT_EQ(all[0].pass, "backward");
  EXPECT_EQ(all[0].time_s, 5);
  EXPECT_EQ(all[0].algorithm, "fft, implicit");
  measured.subject.dtype = "bf16";
  EXPECT_TRUE(alternatives_of(measured, recorded, "m.json").empty());
}

}  // namespace
}  // namespace strata
