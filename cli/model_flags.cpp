// SPDX-License-Identifier: Apache-2.0
#include "cli/model_flags.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

Dimension dimension_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  if (equals == std::string_view::npos || name.empty()) {
    fail(ErrorKind::usage, "--dim expects NAME=N, for example seq=128, got '{}'", text);
  }
  return {std::string(name),
          parse_whole_number(text.substr(equals + 1), fmt::format("--dim {}", name))};
}

struct InputShape {
  std::string name;
  std::vector<std::int64_t> extents;
};

// "data=1x3x224x224". A name may hold an '=', a shape may not.
InputShape input_shape_of(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  if (equals == std::string_view::npos || name.empty()) {
    fail(ErrorKind::usage, "--input expects NAME=SHAPE, for example data=1x3x224x224, got '{}'",
         text);
  }
  InputShape input{std::string(name), {}};
  std::string shape(text.substr(equals + 1));
  for (char& c : shape) {
    if (c == ',' || c == 'X') c = 'x';
  }
  for (const std::string_view extent : split(shape, 'x')) {
    input.extents.push_back(parse_whole_number(extent, fmt::format("--input {}", name)));
  }
  return input;
}

}  // namespace

ImportOptions import_options(const Arguments& arguments) {
  ImportOptions options{.fuse = !arguments.has(no_fuse_flag),
                        .strict = arguments.has(strict_flag),
                        .assume_batch_norm = arguments.has(assume_bn_flag)};
  for (const std::string& text : arguments.values(input_flag)) {
    InputShape input = input_shape_of(text);
    const auto [place, is_new] =
        options.input_shapes.try_emplace(std::move(input.name), std::move(input.extents));
    if (!is_new) fail(ErrorKind::usage, "--input gives the shape of '{}' twice", place->first);
  }
  return options;
}

ModelSizes model_sizes(const Arguments& arguments) {
  ModelSizes sizes;
  if (const auto batch = arguments.value(batch_flag))
    sizes.batch = parse_whole_number(*batch, "--batch");
  if (const auto seq = arguments.value(seq_flag))
    sizes.sequence = parse_whole_number(*seq, "--seq");
  for (const std::string& dim : arguments.values(dim_flag)) sizes.dims.push_back(dimension_of(dim));
  if (const auto dtype = arguments.value(dtype_flag)) {
    sizes.dtype = dtype_named(*dtype);
    STRATA_CHECK(sizes.dtype.has_value(), "the flag allows only names of data types");
    if (!is_floating(*sizes.dtype) && model_mode(arguments) == Mode::training) {
      fail(ErrorKind::usage,
           "--dtype {} has no gradients; give --inference with it, or a floating-point type",
           *dtype);
    }
  }
  return sizes;
}

Mode model_mode(const Arguments& arguments) {
  return arguments.has(inference_flag) ? Mode::inference : Mode::training;
}

}  // namespace strata
