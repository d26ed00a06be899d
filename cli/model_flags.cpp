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

}  // namespace

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
