// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/darknet/assembly.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/darknet/activation.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace strata::darknet {
namespace {

constexpr std::string_view input_name = "input";

// Images a pass sees at once: darknet cuts a batch into subdivisions, runs forward and backward on
// each, and updates once.
std::int64_t mini_batch(const Section& net) {
  const std::int64_t batch = net.number("batch", 1);
  const std::int64_t subdivisions = net.number("subdivisions", 1);
  if (subdivisions < 1) {
    fail(ErrorKind::input, "key 'subdivisions': expected at least 1, got {}", subdivisions);
  }
  return std::max<std::int64_t>(1, batch / subdivisions);
}

void expect_positive(std::string_view what, std::int64_t extent) {
  if (extent < 1) fail(ErrorKind::input, "key '{}': expected at least 1, got {}", what, extent);
}

/// The shape given for the input from outside, or nullptr.
const std::vector<std::int64_t>* given_shape(const ImportOptions& options, std::size_t axes) {
  for (const auto& [name, shape] : options.input_shapes) {
    if (name != input_name) {
      fail(ErrorKind::usage, "the network has no input {}; its input is named '{}'",
           network::in_quotes(name), input_name);
    }
    const bool is_positive =
        std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent > 0; });
    if (shape.size() != axes || !is_positive) {
      fail(ErrorKind::usage, "input '{}' needs {} extents of at least 1, got {}", name, axes,
           fmt::join(shape, "×"));
    }
    return &shape;
  }
  return nullptr;
}

}  // namespace

Assembly::Assembly(const Section& net, bool is_recurrent, std::string name,
                   const ImportOptions& options)
    : builder_(std::move(name)), notes_(options.strict), is_recurrent_(is_recurrent) {
  try {
    read_input(net, options);
  } catch (Error& error) {
    error.add_context(fmt::format("section [{}] (line {})", net.kind, net.line));
    throw;
  }
}

void Assembly::read_input(const Section& net, const ImportOptions& options) {
  std::int64_t batch = mini_batch(net);
  std::int64_t steps = std::max<std::int64_t>(1, net.number("time_steps", 1));
  std::int64_t height = net.number("height", 0);
  std::int64_t width = net.number("width", 0);
  std::int64_t channels = net.number("channels", 0);
  const bool is_image = height != 0 || width != 0 || channels != 0;
  std::int64_t inputs = is_image ? 0 : net.number("inputs", 0);
  if (is_image) {
    expect_positive("height", height);
    expect_positive("width", width);
    expect_positive("channels", channels);
  } else if (!net.has("inputs")) {
    fail(ErrorKind::input, "expected width, height and channels, or inputs: the size of the input");
  } else {
    expect_positive("inputs", inputs);
  }

  const std::size_t axes = is_image ? 4 : is_recurrent_ ? 3 : 2;
  if (const std::vector<std::int64_t>* given = given_shape(options, axes)) {
    batch = given->front();
    if (is_image) {
      std::tie(channels, height, width) = std::tuple((*given)[1], (*given)[2], (*given)[3]);
    } else {
      inputs = given->back();
      if (is_recurrent_) steps = (*given)[1];
    }
  }
  Symbols& symbols = builder_.symbols();
  batch_ = symbols.parameter("batch", batch);
  if (is_recurrent_) steps_ = symbols.parameter("seq", steps);
  rows_ = symbols.multiply(batch_, steps_);
  const Shape shape = is_image        ? Shape{rows_, channels, height, width}
                      : is_recurrent_ ? Shape{batch_, steps_, inputs}
                                      : Shape{batch_, inputs};
  input_ = builder_.input(input_name, shape);
}

std::size_t Assembly::section_at(std::string_view key, std::int64_t number) {
  if (++references_ > most_references) {
    fail(ErrorKind::input, "key '{}': the file has more than {} references to sections", key,
         most_references);
  }
  const auto here = static_cast<std::int64_t>(index());
  const std::int64_t section = number < 0 ? here + number : number;
  if (section < 0 || section >= here) {
    fail(ErrorKind::input, "key '{}': {} means section {}, expected one of the {} before this one",
         key, number, section, here);
  }
  return static_cast<std::size_t>(section);
}

std::string Assembly::numbered(std::string_view what) const {
  return fmt::format("{}_{}", what, index());
}

std::int64_t Assembly::features(TensorId x) {
  const Shape& shape = type(x).shape;
  std::int64_t product = 1;
  for (std::size_t axis = axes(x) == 3 ? 2 : 1; axis < shape.size(); ++axis) {
    product = checked_mul(product, builder_.extent(x, static_cast<std::int64_t>(axis)));
  }
  return product;
}

TensorId Assembly::as_image(TensorId x) {
  if (axes(x) == 4) return x;
  if (axes(x) == 0) fail(ErrorKind::input, "expected images or rows before it, got a loss");
  const Dim rows = axes(x) == 3 ? rows_ : type(x).shape[0];
  return builder_.add(numbered("image"), Reshape{{rows, features(x), 1, 1}}, {x});
}

TensorId Assembly::as_rows(TensorId x) {
  if (axes(x) == 2) return x;
  if (axes(x) == 4) return builder_.add(numbered("flatten"), Flatten{}, {x});
  return builder_.add(numbered("rows"), Reshape{{rows_, features(x)}}, {x});
}

TensorId Assembly::as_sequence(TensorId x) {
  if (axes(x) == 3) return x;
  return builder_.add(numbered("sequence"), Reshape{{batch_, steps_, features(x)}}, {x});
}

TensorId Assembly::activated(const Section& section, std::string_view otherwise, TensorId x) {
  return activated_by(section.word("activation", otherwise), x);
}

TensorId Assembly::activated_by(std::string_view word, TensorId x) {
  const Activation* activation = find_activation(word);
  if (activation == nullptr) {
    note(WarningCode::value_assumed,
         fmt::format("activation {} is unknown to darknet, which takes {} instead",
                     network::in_quotes(word), fallback_activation));
    activation = find_activation(fallback_activation);
  }
  if (!activation->op) return x;
  return builder_.add(numbered(activation->word), *activation->op, {x});
}

TensorId Assembly::batch_norm(std::string_view name, TensorId x) {
  return builder_.add(name, BatchNorm{}, {x});
}

void Assembly::note(WarningCode code, std::string_view what) {
  notes_.add(code, fmt::format("section {}", index()), what);
}

Graph Assembly::finish() && {
  builder_.graph().warnings = notes_.warnings();
  return std::move(builder_).finish();
}

}  // namespace strata::darknet
