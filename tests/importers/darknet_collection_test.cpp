// SPDX-License-Identifier: Apache-2.0
// Every cfg file of the collection, and what is known about them from elsewhere.
#include "counts.hpp"
#include "strata/importers/darknet/darknet.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace strata {
namespace {

std::filesystem::path cfg(std::string_view name) {
  return *collection() / "darknet" / (std::string(name) + ".cfg");
}

Counts darknet_counts(std::string_view name, const ImportOptions& options = {}) {
  return counts_of(read_darknet(cfg(name), options));
}

/// The network at another image size than its file's.
Counts counts_at(std::string_view name, std::int64_t image) {
  return darknet_counts(name, {.input_shapes = {{"input", {1, 3, image, image}}}});
}

TEST(DarknetCollection, every_file_is_read_and_counted) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const auto files = files_below(*collection() / "darknet", ".cfg");
  EXPECT_GE(files.size(), 78U);
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename().string());
    const Graph graph = read_darknet(file);
    const Counts one = counts_of(graph);
    const Counts three = counts_of(graph, 3);
    EXPECT_GT(one.parameters, 0);
    EXPECT_EQ(3 * one.mac, three.mac);  // the batch is open everywhere
    const bool is_contrastive = file.stem() == "yolov4-tiny_contrastive";
    EXPECT_EQ(one.uncounted, is_contrastive ? 1 : 0);
    EXPECT_FALSE(graph.outputs.empty());
  }
}

// A weights file is a header (version; images seen: 4 bytes, since version 0.2 8 bytes), then every
// number in 4 bytes: weights, biases, scales, rolling means and variances (save_weights_upto in
// parser.c). Sizes: yolov3, yolov3-tiny, yolov2, yolov1 and darknet53.conv.74 as pjreddie.com
// serves them, yolov4 and yolov4-tiny as the releases of AlexeyAB/darknet do.
TEST(DarknetCollection, parameters_fill_the_published_weights_files) {
  if (!collection()) GTEST_SKIP() << no_collection;
  struct WeightsFile {
    std::string_view name;
    std::int64_t bytes;
    std::int64_t header;
  };
  constexpr std::array<WeightsFile, 7> published{{
      {"pjreddie/yolov3", 248'007'048, 20},
      {"alexeyab/yolov3", 248'007'048, 20},
      {"pjreddie/yolov3-tiny", 35'434'956, 20},
      {"pjreddie/yolov2", 203'934'260, 16},
      {"alexeyab/yolov4", 257'717'640, 20},
      {"alexeyab/yolov4-tiny", 24'251'276, 20},
      {"pjreddie/yolov1", 789'312'988, 16},
  }};
  for (const WeightsFile& file : published) {
    const Counts counts = darknet_counts(file.name);
    EXPECT_EQ(4 * (counts.parameters + counts.buffers) + file.header, file.bytes) << file.name;
  }
  // darknet53.conv.74 is darknet53 without its last layer, 1024 → 1000.
  const Counts darknet53 = darknet_counts("pjreddie/darknet53");
  EXPECT_EQ(4 * (darknet53.parameters + darknet53.buffers - 1025 * 1000) + 20, 162'482'580);
}

// pjreddie.com/darknet/imagenet, column Ops: 2 per multiply-add of all layers, in billions.
TEST(DarknetCollection, operations_are_those_of_the_authors_table) {
  if (!collection()) GTEST_SKIP() << no_collection;
  struct Row {
    std::string_view name;
    double billion;
  };
  constexpr std::array<Row, 17> table{{
      {"alexnet", 2.27},
      {"darknet", 0.96},
      {"vgg-16", 30.94},
      {"extraction", 8.52},
      {"darknet19", 7.29},
      {"darknet19_448", 22.33},
      {"resnet18", 4.69},
      {"resnet34", 9.52},
      {"resnet50", 9.74},
      {"resnet101", 19.70},
      {"resnet152", 29.39},
      {"resnext50", 10.11},
      {"resnext101-32x4d", 18.92},
      {"resnext152-32x4d", 28.20},
      {"densenet201", 10.85},
      {"darknet53", 18.57},
      {"darknet53_448", 56.87},
  }};
  for (const Row& row : table) {
    const Counts counts = darknet_counts("pjreddie/" + std::string(row.name));
    EXPECT_NEAR(2e-9 * static_cast<double>(counts.mac), row.billion, 0.0051) << row.name;
  }
}

// What AlexeyAB's darknet prints as "Total BFLOPS" also has the comparisons of poolings and the
// additions of shortcuts in it: a little more than multiply-adds alone.
TEST(DarknetCollection, operations_are_those_that_darknet_prints) {
  if (!collection()) GTEST_SKIP() << no_collection;
  struct Row {
    std::string_view name;
    double billion;
  };
  constexpr std::array<Row, 2> printed{{{"alexeyab/yolov3", 65.879}, {"alexeyab/yolov4", 128.459}}};
  for (const Row& row : printed) {
    const double billion = 2e-9 * static_cast<double>(darknet_counts(row.name).mac);
    EXPECT_LE(billion, row.billion) << row.name;
    EXPECT_GE(billion, row.billion * 0.999) << row.name;
  }
  const double at_416 = 2e-9 * static_cast<double>(counts_at("alexeyab/yolov4", 416).mac);
  EXPECT_NEAR(at_416, 60.137, 60.137 * 0.001);
}

void expect_equal_counts(const Counts& file, const Counts& zoo) {
  EXPECT_EQ(file.parameters, zoo.parameters);
  EXPECT_EQ(file.buffers, zoo.buffers);
  EXPECT_EQ(file.mac, zoo.mac);
}

TEST(DarknetCollection, files_and_built_in_networks_agree) {
  if (!collection()) GTEST_SKIP() << no_collection;
  expect_equal_counts(darknet_counts("pjreddie/darknet19"), counts_of("darknet19"));
  expect_equal_counts(darknet_counts("pjreddie/darknet19_448"), counts_of("darknet19:image=448"));
  expect_equal_counts(darknet_counts("pjreddie/darknet53"), counts_of("darknet53"));
  expect_equal_counts(darknet_counts("pjreddie/darknet53_448"), counts_of("darknet53:image=448"));
  expect_equal_counts(darknet_counts("alexeyab/yolov3"), counts_of("yolov3"));
  expect_equal_counts(darknet_counts("pjreddie/yolov3"), counts_of("yolov3:image=608"));
  expect_equal_counts(darknet_counts("pjreddie/vgg-16"), counts_of("vgg16"));
}

// darknet's ResNets add maps of different sizes without a projection: a pixel of four, zeros for
// the new channels. All else is torchvision's network.
TEST(DarknetCollection, residual_networks_lack_only_the_projections) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const auto projection = [](std::int64_t from, std::int64_t to) { return from * to + 2 * to; };
  const std::int64_t basic = projection(64, 128) + projection(128, 256) + projection(256, 512);
  const std::int64_t bottleneck =
      projection(64, 256) + projection(256, 512) + projection(512, 1024) + projection(1024, 2048);
  for (const std::string name : {"resnet18", "resnet34"}) {
    EXPECT_EQ(darknet_counts("pjreddie/" + name).parameters + basic, counts_of(name).parameters);
  }
  for (const std::string name : {"resnet50", "resnet101", "resnet152"}) {
    EXPECT_EQ(darknet_counts("pjreddie/" + name).parameters + bottleneck,
              counts_of(name).parameters);
  }
}

TEST(DarknetCollection, mutilated_files_are_read_or_refused) {
  if (!collection()) GTEST_SKIP() << no_collection;
  for (const auto& file : files_below(*collection() / "darknet", ".cfg")) {
    SCOPED_TRACE(file.string());
    expect_mutilated_files_are_read_or_refused(text_of_file(file), [](const std::string& text) {
      return read_darknet_text(text, "mutilated.cfg");
    });
  }
}

}  // namespace
}  // namespace strata
