// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace strata::keras {
namespace {

// Keras 3 writes the shape of every tensor that a layer reads beside its origin.
const Json* told_by_reader(const Json& value, const std::string& layer, std::int64_t output) {
  if (!value.is_structured()) return nullptr;
  if (const Json* history = member(value, "keras_history")) {
    const bool is_it = history->is_array() && history->size() == 3 && (*history)[0] == layer &&
                       (*history)[2] == output;
    return is_it ? member(value, "shape") : nullptr;
  }
  for (const Json& item : value) {
    if (const Json* shape = told_by_reader(item, layer, output)) return shape;
  }
  return nullptr;
}

const Json* built_input_shape(const Layer& layer) {
  const Json* build = member(*layer.entry, "build_config");
  return build == nullptr ? nullptr : member(*build, "input_shape");
}

std::optional<OpenShape> shape_from_readers(const LayerCall& call, std::int64_t output) {
  if (call.model == nullptr) return std::nullopt;
  for (const std::uint32_t id : call.model->readers[call.index]) {
    const Layer& reader = call.model->layers[id];
    for (const Call& use : reader.calls) {
      for (const Argument& argument : use.arguments) {
        if (argument.value == nullptr) continue;
        const Json* shape = told_by_reader(*argument.value, call.layer.name, output);
        if (shape != nullptr) return shape_in(*shape);
      }
    }
    const bool is_only_input = reader.calls.size() == 1 && reader.calls[0].arguments.size() == 1;
    if (!is_only_input || output != 0) continue;
    const Json* stated = Config(*reader.config).find({"batch_input_shape"});
    if (stated == nullptr) stated = built_input_shape(reader);
    if (stated != nullptr) return shape_in(*stated);
  }
  return std::nullopt;
}

// A Lambda's output_shape leaves the batch out.
std::optional<OpenShape> stated_shape(const LayerCall& call) {
  const Json* stated = call.config.find({"output_shape"});
  if (stated == nullptr || call.config.word({"output_shape_type"}, "raw") != "raw") {
    return std::nullopt;
  }
  std::optional<OpenShape> shape = shape_in(*stated);
  if (shape) shape->insert(shape->begin(), std::nullopt);
  return shape;
}

// Extents that are open in a told shape are those of the input at the same place.
std::optional<Shape> completed(const LayerCall& call, const std::optional<OpenShape>& told) {
  if (!told || told->empty()) return std::nullopt;
  const Shape from = call.inputs.empty() ? Shape{call.net.batch()} : call.shape(call.inputs[0]);
  const bool is_alike = from.size() == told->size();
  Shape shape;
  for (std::size_t axis = 0; axis < told->size(); ++axis) {
    const std::optional<std::int64_t>& extent = (*told)[axis];
    if (axis == 0) {
      shape.push_back(from.empty() ? call.net.batch() : from[0]);
    } else if (extent && *extent >= 1) {
      shape.push_back(*extent);
    } else if (!extent && is_alike) {
      shape.push_back(from[axis]);
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

// The shapes of a layer's outputs as far as the file tells them.
std::vector<Shape> told_shapes(const LayerCall& call) {
  if (const std::optional<Shape> stated = completed(call, stated_shape(call))) return {*stated};
  constexpr std::int64_t most_outputs = 16;
  std::vector<Shape> shapes;
  for (std::int64_t output = 0; output < most_outputs; ++output) {
    const std::optional<Shape> told = completed(call, shape_from_readers(call, output));
    if (!told) break;
    shapes.push_back(*told);
  }
  return shapes;
}

std::size_t layout_of(const LayerCall& call, const Shape& shape) {
  if (shape.size() < 4 || call.net.is_channels_first()) return 0;
  return shape.size() == 5 ? 2 : 1;  // five axes are rarely a volume: frames, regions of interest
}

Values opaque(LayerCall& call, const std::vector<Shape>& shapes) {
  Opaque op{fmt::format("keras.{}", call.layer.class_name), {}};
  Values result;
  for (const Shape& shape : shapes) {
    const std::size_t channels_at = layout_of(call, shape);
    op.shapes.push_back(stored_shape(shape, channels_at));
    result.push_back({0, channels_at});
  }
  std::vector<TensorId> operands;
  for (const Value input : call.inputs) operands.push_back(input.id);
  const NodeId node = call.add_node(op, operands);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].id = call.net.builder().output_of(node, i);
  }
  return result;
}

}  // namespace

Values uncounted(LayerCall& call, const std::vector<Shape>& shapes) {
  call.note(WarningCode::operator_not_counted,
            fmt::format("the arithmetic of {} is not counted",
                        network::in_quotes(call.layer.class_name)));
  return opaque(call, shapes);
}

Values make_opaque(LayerCall& call) {
  const std::vector<Shape> shapes = told_shapes(call);
  if (shapes.empty()) {
    fail(ErrorKind::unsupported,
         "class {} is unknown to Strata, and the file does not tell the shape of its output",
         network::in_quotes(call.layer.class_name));
  }
  call.note(WarningCode::operator_not_counted,
            fmt::format("{} is unknown to Strata: neither its arithmetic nor its weights are "
                        "counted",
                        network::in_quotes(call.layer.class_name)));
  return opaque(call, shapes);
}

}  // namespace strata::keras
