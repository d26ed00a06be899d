// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/zoo/image/darknet.hpp"
#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <array>
#include <utility>

namespace strata::zoo {
namespace {

constexpr std::int64_t boxes_per_cell = 3;
constexpr std::int64_t coarsest_cell = 32;  // the trunk halves the image five times

/// 1×1 and 3×3 three times over, then one channel per number that the detection layer reads.
/// Returns the section from which the next, finer head goes on.
std::size_t head(DarknetSections& sections, std::int64_t filters, std::int64_t classes) {
  sections.convolutional(filters, 1);
  sections.convolutional(2 * filters, 3);
  sections.convolutional(filters, 1);
  sections.convolutional(2 * filters, 3);
  sections.convolutional(filters, 1);
  const std::size_t branch = sections.last_section();
  sections.convolutional(2 * filters, 3);
  sections.linear_convolutional(boxes_per_cell * (4 + 1 + classes));
  sections.yolo(boxes_per_cell, classes);
  return branch;
}

Graph build_yolov3(const NetworkArguments& arguments) {
  const std::int64_t image = arguments.number("image");
  if (image % coarsest_cell != 0) {
    fail(ErrorKind::usage, "parameter 'image' must be a multiple of {}, got {}", coarsest_cell,
         image);
  }
  const std::int64_t classes = arguments.number("classes");
  GraphBuilder builder("yolov3");
  DarknetSections sections(builder, image_input(builder, image));
  darknet53_trunk(sections);
  constexpr std::size_t finest_map = 36;  // 256 channels, an eighth of the image
  constexpr std::size_t middle_map = 61;  // 512 channels, a sixteenth

  std::size_t branch = 0;
  {
    const Block block(builder, "head_coarse");
    branch = head(sections, 512, classes);
  }
  const auto finer_head = [&](std::string name, std::int64_t filters, std::size_t map) {
    const Block block(builder, std::move(name));
    sections.route({branch});
    sections.convolutional(filters, 1);
    sections.upsample();
    sections.route({sections.last_section(), map});
    branch = head(sections, filters, classes);
  };
  finer_head("head_middle", 256, middle_map);
  finer_head("head_fine", 128, finest_map);
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 2> yolov3_parameters{
    image_parameter("416"), NetworkParameter{"classes", "80", "number of classes"}};

constexpr std::array<Network, 1> yolov3_family{{
    {"yolov3", "YOLOv3",
     "darknet's cfg/yolov3.cfg, Redmon, Farhadi 2018, at 416×416 (the cfg file trains at 608)",
     yolov3_parameters, build_yolov3},
}};

}  // namespace

std::span<const Network> yolov3_networks() { return yolov3_family; }

}  // namespace strata::zoo
