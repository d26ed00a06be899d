// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/inputs.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::keras {
namespace {

// How often layers name each data format. Recursion is bounded by the depth of the tree.
struct Formats {
  std::size_t first = 0;
  std::size_t last = 0;

  void count(const Model& model) {
    for (const Layer& layer : model.layers) count(layer);
  }

  void count(const Layer& layer) {
    if (layer.model != nullptr) return count(*layer.model);
    if (layer.inner != nullptr) count(*layer.inner);
    const Json* format = Config(*layer.config).find({"data_format", "dim_ordering"});
    if (format == nullptr) return;
    if (*format == "channels_first" || *format == "th") ++first;
    if (*format == "channels_last" || *format == "tf") ++last;
  }
};

constexpr auto over_time_and_channels = std::to_array<std::string_view>({
    "Conv1D",
    "Convolution1D",
    "AtrousConvolution1D",
    "SeparableConv1D",
    "SeparableConvolution1D",
    "DepthwiseConv1D",
    "Conv1DTranspose",
    "Convolution1DTranspose",
    "MaxPooling1D",
    "MaxPool1D",
    "AveragePooling1D",
    "AvgPool1D",
    "UpSampling1D",
    "LocallyConnected1D",
});
// These pass what they get on to whoever decides how it is best stored.
constexpr auto passing_on = std::to_array<std::string_view>({
    "ZeroPadding1D",
    "Cropping1D",
    "Dropout",
    "SpatialDropout1D",
    "GaussianNoise",
    "Activation",
    "ReLU",
    "LeakyReLU",
    "Rescaling",
});
constexpr auto over_frames =
    std::to_array<std::string_view>({"TimeDistributed", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"});

template <std::size_t count>
bool is_among(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The class of the first layer that does something with an input. A model that is a layer is
/// looked into.
std::string_view first_reader(const Model& model, std::uint32_t layer, int steps = 8) {
  if (steps == 0 || model.readers[layer].empty()) return {};
  const std::uint32_t reader = model.readers[layer].front();
  const Layer& next = model.layers[reader];
  if (next.model != nullptr) {
    if (next.model->inputs.empty()) return {};
    return first_reader(*next.model, next.model->inputs.front().layer, steps - 1);
  }
  if (is_among(passing_on, next.class_name)) return first_reader(model, reader, steps - 1);
  return next.class_name;
}

bool is_read_only_by_embeddings(const Model& model, std::uint32_t layer, int steps = 8) {
  const std::vector<std::uint32_t>& readers = model.readers[layer];
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](std::uint32_t id) {
    const Layer& reader = model.layers[id];
    if (reader.model == nullptr || steps == 0) return reader.class_name == "Embedding";
    return reader.model->inputs.size() == 1 &&
           is_read_only_by_embeddings(*reader.model, reader.model->inputs.front().layer, steps - 1);
  });
}

std::size_t layout_of_input(const Assembly& net, std::string_view reader, std::size_t rank) {
  if (rank < 3 || net.is_channels_first()) return 0;
  if (rank == 3) return is_among(over_time_and_channels, reader) ? 1 : 0;
  if (is_among(over_frames, reader)) return rank == 4 ? 0 : 2;
  return 1;
}

// What an axis of an input is for, so that an open extent has a name that people know.
std::string_view role_of_axis(const Assembly& net, std::string_view reader, std::size_t axis,
                              std::size_t rank) {
  if (rank == 2) return reader == "Embedding" ? "seq" : "features";
  const bool has_frames = is_among(over_frames, reader);
  if (rank == 3 || (has_frames && axis == 1)) return axis + 1 == rank ? "features" : "seq";
  const std::size_t channel = net.is_channels_first() ? (has_frames ? 2 : 1) : rank - 1;
  if (axis == channel) return "channels";
  const std::size_t from_last = rank - 1 - axis - (channel > axis ? 1 : 0);
  constexpr std::array<std::string_view, 3> roles = {"width", "height", "depth"};
  return from_last < roles.size() ? roles[from_last] : "extent";
}

DType dtype_in(const Json* value) {
  if (value == nullptr) return DType::fp32;
  const Json* config = member(*value, "config");
  const Json* name = config == nullptr ? value : member(*config, "name");
  if (name == nullptr || !name->is_string()) return DType::fp32;
  const auto& word = name->get_ref<const std::string&>();
  if (word == "float16") return DType::fp16;
  if (word == "bfloat16") return DType::bf16;
  if (word == "float64") return DType::fp64;
  if (word == "bool") return DType::boolean;
  if (word == "int64" || word == "uint64") return DType::int64;
  if (word == "int8" || word == "uint8") return DType::int8;
  if (word.starts_with("int") || word.starts_with("uint")) return DType::int32;
  if (word == "string") {
    fail(ErrorKind::unsupported,
         "the input is text: how many tokens it becomes is not in the file; cut the network behind "
         "its text layers");
  }
  return DType::fp32;
}

/// The shape with numbers that the user gave, or what the file says.
OpenShape shape_of_input(const Assembly& net, const Layer& layer, std::string_view reader) {
  const auto given = net.options().input_shapes.find(layer.name);
  if (given != net.options().input_shapes.end()) {
    OpenShape shape(given->second.begin(), given->second.end());
    if (layer.shape && layer.shape->size() != shape.size()) {
      fail(ErrorKind::usage, "input {} has {} axes, got the shape {}",
           network::in_quotes(layer.name), layer.shape->size(), fmt::join(given->second, "×"));
    }
    return shape;
  }
  if (layer.shape) return *layer.shape;
  if (reader == "Embedding") return {std::nullopt, std::nullopt};
  fail(ErrorKind::unsupported,
       "the file does not say what shape the input has; give it with --input {}=Nx…", layer.name);
}

}  // namespace

bool is_channels_first(const Model& model) {
  Formats formats;
  formats.count(model);
  return formats.first > 0 && formats.last == 0;
}

void expect_known_inputs(const Model& model, const ImportOptions& options) {
  std::vector<std::string> names;
  for (const Reference& input : model.inputs) names.push_back(model.layers[input.layer].name);
  for (const auto& [name, shape] : options.input_shapes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      fail(ErrorKind::usage, "the network has no input {}{}", network::in_quotes(name),
           did_you_mean(name, names));
    }
    const bool is_positive =
        std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent > 0; });
    if (shape.empty() || !is_positive) {
      fail(ErrorKind::usage, "input {} needs extents of at least 1, got {}",
           network::in_quotes(name), fmt::join(shape, "×"));
    }
  }
}

Value make_input(Assembly& net, const Model& model, std::uint32_t index) {
  const Layer& layer = model.layers[index];
  try {
    const std::string_view reader = first_reader(model, index);
    const OpenShape open = shape_of_input(net, layer, reader);
    if (open.empty()) fail(ErrorKind::input, "the shape has no batch");
    if (open.front()) net.state_batch(*open.front());
    Shape shape = {net.batch()};
    for (std::size_t axis = 1; axis < open.size(); ++axis) {
      if (open[axis] && *open[axis] < 1) {
        fail(ErrorKind::input, "extents must be at least 1, got {}", *open[axis]);
      }
      shape.push_back(
          open[axis] ? Dim(*open[axis])
                     : net.open_extent(role_of_axis(net, reader, axis, open.size()), layer.name));
    }
    if (open.front() && *open.front() < 1) {
      fail(ErrorKind::input, "extents must be at least 1, got {}", *open.front());
    }
    const std::size_t channels_at = layout_of_input(net, reader, shape.size());
    const DType stated = dtype_in(Config(*layer.config).find({"input_dtype", "dtype"}));
    const bool is_index = is_floating(stated) && is_read_only_by_embeddings(model, index);
    const TensorId id = net.builder().input(layer.name, stored_shape(shape, channels_at),
                                            is_index ? DType::int32 : stated);
    return {id, channels_at};
  } catch (Error& error) {
    error.add_context(fmt::format("input {}", network::in_quotes(layer.name)));
    throw;
  }
}

}  // namespace strata::keras
