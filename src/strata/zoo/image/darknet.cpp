// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/darknet.hpp"

#include "strata/zoo/image/image_networks.hpp"
#include "strata/zoo/layers.hpp"

#include <fmt/format.h>

#include <array>

namespace strata::zoo {

std::string DarknetSections::numbered(std::string_view what) const {
  return fmt::format("{}_{}", what, outputs_.size());
}

void DarknetSections::convolutional(std::int64_t filters, std::int64_t size, std::int64_t stride) {
  const Conv2d convolution{
      .channels = filters, .kernel = size, .stride = stride, .padding = size / 2};
  outputs_.push_back(conv_norm_act(builder_,
                                   {numbered("conv"), numbered("batch_norm"), numbered("leaky")},
                                   convolution, UnaryKind::leaky_relu, last()));
}

void DarknetSections::linear_convolutional(std::int64_t filters) {
  outputs_.push_back(
      conv(builder_, numbered("conv"), Conv2d{.channels = filters, .bias = true}, last()));
}

void DarknetSections::max_pool() {
  // darknet pads by one on the far side: rounding up.
  const Window window{.kernel = 2, .stride = 2, .ceil_mode = true};
  outputs_.push_back(zoo::max_pool(builder_, numbered("maxpool"), window, last()));
}

void DarknetSections::average_pool() {
  outputs_.push_back(builder_.add(numbered("avgpool"), AdaptivePool{}, {last()}));
}

void DarknetSections::softmax() {
  const TensorId flat = builder_.add("flatten", Flatten{}, {last()});
  outputs_.push_back(builder_.add(numbered("softmax"), Softmax{}, {flat}));
}

void DarknetSections::shortcut(std::size_t section) {
  outputs_.push_back(add(builder_, numbered("shortcut"), last(), outputs_.at(section)));
}

void DarknetSections::route(const std::vector<std::size_t>& sections) {
  std::vector<TensorId> parts;
  parts.reserve(sections.size());
  for (const std::size_t section : sections) parts.push_back(outputs_.at(section));
  outputs_.push_back(concat(builder_, numbered("route"), parts));
}

void DarknetSections::upsample() {
  outputs_.push_back(builder_.add(numbered("upsample"), Resize{.scale = {2, 2}}, {last()}));
}

void DarknetSections::yolo(std::int64_t boxes, std::int64_t classes) {
  const Yolo detection{.boxes = boxes, .classes = classes};
  outputs_.push_back(builder_.add(numbered("yolo"), detection, {last()}));
  builder_.output(last());
}

void DarknetSections::residual(std::int64_t filters) {
  const std::size_t from = last_section();
  const Block block(builder_, fmt::format("residual_{}", from + 3));
  convolutional(filters / 2, 1);
  convolutional(filters, 3);
  shortcut(from);
}

void darknet53_trunk(DarknetSections& sections) {
  constexpr std::array<int, 5> residuals{1, 2, 8, 8, 4};
  sections.convolutional(32, 3);
  for (std::size_t stage = 0; stage < residuals.size(); ++stage) {
    const std::int64_t filters = std::int64_t{64} << stage;
    sections.convolutional(filters, 3, 2);
    for (int i = 0; i < residuals[stage]; ++i) sections.residual(filters);
  }
}

namespace {

Graph build_darknet19(const NetworkArguments& arguments) {
  GraphBuilder builder("darknet19");
  DarknetSections sections(builder, image_input(builder, arguments.number("image")));
  // Filters of the convolutions between two poolings; 3×3 and 1×1 take turns.
  const std::array<std::vector<std::int64_t>, 6> stages{{{32},
                                                         {64},
                                                         {128, 64, 128},
                                                         {256, 128, 256},
                                                         {512, 256, 512, 256, 512},
                                                         {1024, 512, 1024, 512, 1024}}};
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    if (stage > 0) sections.max_pool();
    for (std::size_t i = 0; i < stages[stage].size(); ++i) {
      sections.convolutional(stages[stage][i], i % 2 == 0 ? 3 : 1);
    }
  }
  sections.linear_convolutional(arguments.number("classes"));
  sections.average_pool();
  sections.softmax();
  builder.output(sections.last());
  return std::move(builder).finish();
}

Graph build_darknet53(const NetworkArguments& arguments) {
  GraphBuilder builder("darknet53");
  DarknetSections sections(builder, image_input(builder, arguments.number("image")));
  darknet53_trunk(sections);
  sections.average_pool();
  sections.linear_convolutional(arguments.number("classes"));
  sections.softmax();
  builder.output(sections.last());
  return std::move(builder).finish();
}

constexpr std::array<NetworkParameter, 2> darknet_parameters{image_parameter("256"),
                                                             classes_parameter};

constexpr std::array<Network, 2> darknet_family{{
    {"darknet19", "Darknet-19", "darknet's cfg/darknet19.cfg, Redmon, Farhadi 2016, YOLO9000",
     darknet_parameters, build_darknet19},
    {"darknet53", "Darknet-53", "darknet's cfg/darknet53.cfg, Redmon, Farhadi 2018, YOLOv3",
     darknet_parameters, build_darknet53},
}};

}  // namespace

std::span<const Network> darknet_networks() { return darknet_family; }

}  // namespace strata::zoo
