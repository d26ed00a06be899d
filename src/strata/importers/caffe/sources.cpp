// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/sources.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <array>

namespace strata::caffe {
namespace {

using Extents = std::vector<std::int64_t>;

/// Data sets that everybody knows, by what the path of the data base contains; the first match
/// counts. Sizes: the data sets' own pages; the pairs are those of Caffe's examples/siamese.
struct KnownData {
  std::string_view in_path;
  std::string_view title;
  std::array<std::int64_t, 3> image;
};
constexpr std::array<KnownData, 3> known_data{{
    {"mnist_siamese", "pairs of MNIST images", {2, 28, 28}},
    {"mnist", "MNIST images", {1, 28, 28}},
    {"cifar", "CIFAR images", {3, 32, 32}},
}};

/// Fills in what a data base of images leaves open: a crop gives height and width, means per
/// channel give channels.
void infer_images(const Layer& layer, const Message& parameters, Source& source) {
  const Message& transform = layer.message->message("transform_param");
  const std::int64_t batch = parameters.number("batch_size", 1);
  const std::int64_t crop = transform.number("crop_size", parameters.number("crop_size", 0));
  const std::int64_t height = crop > 0 ? crop : parameters.number("new_height", 0);
  const std::int64_t width = crop > 0 ? crop : parameters.number("new_width", 0);
  const std::string path = lower_case(parameters.text("source", ""));
  for (const KnownData& known : known_data) {
    if (path.find(known.in_path) == std::string::npos || crop > 0) continue;
    source.shape = {batch, known.image[0], known.image[1], known.image[2]};
    source.assumption = fmt::format("its data are taken for {} because of their path", known.title);
    return;
  }
  if (height == 0 || width == 0) return;
  const std::size_t means = transform.count("mean_value");
  const bool is_grey = transform.flag("force_gray", false) || !parameters.flag("is_color", true);
  const bool is_known = means > 1 || transform.flag("force_color", false) || is_grey ||
                        parameters.has("is_color") || layer.kind == "imagedata";
  const std::int64_t channels = is_grey ? 1 : means > 1 ? static_cast<std::int64_t>(means) : 3;
  source.shape = {batch, channels, height, width};
  if (!is_known) source.assumption = "its images are taken to have 3 channels";
}

/// The shapes of the tops: one `shape` for each, or one for all; the oldest files have num,
/// channels, height, width.
class GivenShapes {
 public:
  explicit GivenShapes(const Message& parameters) : shapes_(parameters.messages("shape")) {
    for (const std::string_view axis : {"num", "channels", "height", "width"}) {
      axes_.push_back(parameters.numbers(axis));
    }
  }

  Extents of(std::size_t top) const {
    if (!shapes_.empty()) return shapes_[std::min(top, shapes_.size() - 1)]->numbers("dim");
    Extents shape;
    for (const Extents& extents : axes_) {
      if (extents.empty()) return {};
      shape.push_back(extents[std::min(top, extents.size() - 1)]);
    }
    return shape;
  }

 private:
  std::vector<const Message*> shapes_;
  std::vector<Extents> axes_;
};

Source data_source(const Layer& layer) {
  Source source{layer.tops.front(), {}, {}, layer.place()};
  const auto parameters = [&](std::string_view name) -> const Message& {
    return layer.message->message(name);
  };
  if (layer.kind == "data") infer_images(layer, parameters("data_param"), source);
  if (layer.kind == "imagedata") infer_images(layer, parameters("image_data_param"), source);
  if (layer.kind == "windowdata") infer_images(layer, parameters("window_data_param"), source);
  if (layer.kind == "memorydata") {
    const Message& memory = parameters("memory_data_param");
    source.shape = {memory.number("batch_size", 1), memory.number("channels", 1),
                    memory.number("height", 1), memory.number("width", 1)};
  }
  return source;
}

}  // namespace

bool is_source(const Layer& layer) {
  return layer.bottoms.empty() && !layer.tops.empty() && layer.kind != "parameter";
}

std::vector<Source> sources_of(const Layer& layer) {
  std::vector<Source> sources;
  if (layer.kind == "input" || layer.kind == "dummydata") {
    const bool is_input = layer.kind == "input";
    const Message& parameters =
        layer.message->message(is_input ? "input_param" : "dummy_data_param");
    const GivenShapes shapes(parameters);
    for (std::size_t i = 0; i < layer.tops.size(); ++i) {
      sources.push_back({layer.tops[i], shapes.of(i), {}, layer.place()});
    }
    return sources;
  }
  sources.push_back(data_source(layer));
  for (std::size_t i = 1; i < layer.tops.size(); ++i) {
    sources.push_back({layer.tops[i], {}, {}, layer.place(), true});
  }
  return sources;
}

}  // namespace strata::caffe
