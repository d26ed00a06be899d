// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/calibration/case_graph.hpp"

namespace strata {
namespace {

struct ConvolutionShape {
  std::int64_t samples, channels, filters, extent;
};
/// Convolutions that differ in their extents only.
struct ConvolutionFamily {
  const char* name;
  std::int64_t kernel, stride, groups;  ///< groups 0: depthwise
  std::vector<ConvolutionShape> shapes;
};

const std::vector<ConvolutionFamily>& convolution_families() {
  static const std::vector<ConvolutionFamily> all = {
      {"convolution 3x3",
       3,
       1,
       1,
       {{12, 32, 32, 56},
        {4, 64, 64, 56},
        {12, 96, 96, 28},
        {6, 128, 128, 28},
        {12, 192, 192, 14}}},
      {"convolution 1x1",
       1,
       1,
       1,
       {{6, 64, 256, 56},
        {6, 16, 96, 112},
        {12, 144, 24, 56},
        {12, 192, 32, 28},
        {6, 512, 128, 28}}},
      {"convolution first", 7, 2, 1, {{4, 3, 64, 224}, {12, 3, 32, 112}}},
      {"convolution depthwise",
       3,
       1,
       0,
       {{4, 32, 32, 112}, {6, 144, 144, 56}, {12, 192, 192, 28}, {12, 384, 384, 14}}},
      {"convolution grouped",
       3,
       1,
       32,
       {{4, 128, 128, 56}, {6, 256, 256, 28}, {6, 512, 512, 14}, {6, 1024, 1024, 7}}},
  };
  return all;
}

const std::vector<ConvolutionFamily>& further_families() {
  static const std::vector<ConvolutionFamily> all = {
      {"convolution 3x3 stride 2",
       3,
       2,
       1,
       {{6, 64, 128, 56}, {12, 128, 192, 28}, {6, 256, 512, 14}, {4, 32, 64, 112}}},
      {"convolution 1x1 small",
       1,
       1,
       1,
       {{6, 384, 64, 14},
        {12, 96, 576, 14},
        {6, 1024, 256, 14},
        {12, 160, 960, 7},
        {6, 320, 1280, 7}}},
      {"convolution 3x3 deep",
       3,
       1,
       1,
       {{6, 256, 256, 14},
        {12, 160, 320, 7},
        {6, 512, 512, 7},
        {2, 256, 512, 28},
        {6, 256, 256, 28}}},
      {"convolution depthwise stride 2",
       3,
       2,
       0,
       {{4, 96, 96, 112}, {12, 144, 144, 56}, {6, 192, 192, 28}, {12, 576, 576, 14}}},
      {"convolution depthwise deep",
       3,
       1,
       0,
       {{6, 960, 960, 7}, {6, 512, 512, 14}, {6, 96, 96, 56}}},
      {"convolution depthwise 5x5",
       5,
       1,
       0,
       {{6, 240, 240, 28}, {6, 672, 672, 14}, {6, 1152, 1152, 7}}},
      {"convolution depthwise 5x5 stride 2",
       5,
       2,
       0,
       {{6, 96, 96, 56}, {6, 240, 240, 28}, {12, 480, 480, 14}}},
      {"convolution depthwise 7x7", 7, 1, 0, {{4, 96, 96, 56}, {6, 384, 384, 14}}},
      {"convolution first 3x3 stride 2",
       3,
       2,
       1,
       {{4, 3, 32, 224}, {12, 3, 32, 224}, {6, 3, 64, 112}}},
      {"convolution first 3x3", 3, 1, 1, {{2, 3, 64, 224}, {6, 3, 32, 160}, {24, 3, 32, 32}}},
      {"convolution first 11x11", 11, 4, 1, {{6, 3, 64, 224}, {12, 3, 96, 224}}},
      {"convolution first patches", 16, 16, 1, {{6, 3, 768, 224}, {4, 3, 384, 224}}},
      {"convolution 1x1 wide",
       1,
       1,
       1,
       {{6, 256, 64, 56}, {4, 512, 2048, 7}, {6, 32, 16, 112}, {6, 64, 64, 56}}},
      {"convolution 1x1 stride 2",
       1,
       2,
       1,
       {{6, 64, 128, 56}, {6, 256, 512, 28}, {6, 512, 1024, 14}}},
      {"convolution 3x3 narrow",
       3,
       1,
       1,
       {{6, 16, 64, 56}, {6, 128, 32, 28}, {6, 96, 208, 14}, {6, 16, 16, 32}}},
      {"convolution 3x3 large", 3, 1, 1, {{2, 64, 64, 112}, {2, 64, 128, 112}, {3, 128, 256, 56}}},
      {"convolution 5x5", 5, 1, 1, {{6, 16, 32, 28}, {6, 32, 96, 14}, {6, 64, 192, 27}}},
      {"convolution grouped 2", 5, 1, 2, {{6, 96, 256, 27}, {6, 192, 384, 13}}},
      {"convolution grouped stride 2", 3, 2, 32, {{4, 256, 256, 56}, {6, 512, 512, 28}}},
  };
  return all;
}

Graph convolution_graph(const ConvolutionFamily& family, const CaseSizes& sizes) {
  CaseGraph graph(family.name, sizes);
  for (const ConvolutionShape& shape : family.shapes) {
    const std::int64_t pad = family.kernel == family.stride ? 0 : family.kernel / 2;
    const TensorId x = graph.activation(
        {graph.samples(shape.samples), shape.channels, shape.extent, shape.extent});
    graph.measure(Convolution{.channels = shape.filters,
                              .kernel = {family.kernel, family.kernel},
                              .stride = {family.stride, family.stride},
                              .pad_begin = {pad, pad},
                              .pad_end = {pad, pad},
                              .groups = family.groups == 0 ? shape.channels : family.groups,
                              .bias = false},
                  {x});
  }
  return std::move(graph).finish();
}

}  // namespace

void add_convolution_cases(std::vector<CalibrationCase>& cases, const CaseSizes& sizes,
                           bool is_more) {
  for (const ConvolutionFamily& family : is_more ? further_families() : convolution_families())
    cases.push_back({family.name, [&family, sizes] { return convolution_graph(family, sizes); }});
}

}  // namespace strata
