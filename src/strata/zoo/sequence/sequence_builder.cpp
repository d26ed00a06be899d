// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/sequence/sequence_builder.hpp"

#include "strata/base/error.hpp"

#include <array>

namespace strata {

RecurrentOrder order_argument(const NetworkArguments& arguments) {
  constexpr std::array<std::string_view, 2> words{"layer", "time"};
  return arguments.word("order", words) == 1 ? RecurrentOrder::time_major
                                             : RecurrentOrder::layer_major;
}

std::int64_t layers_argument(const NetworkArguments& arguments, std::int64_t least) {
  constexpr std::int64_t most = 4096;
  const std::int64_t layers = arguments.number("layers", least);
  if (layers > most)
    fail(ErrorKind::usage, "parameter 'layers' must be at most {}, got {}", most, layers);
  return layers;
}

void check_heads(std::int64_t heads, std::int64_t width) {
  if (width % heads != 0) fail(ErrorKind::usage, "heads={} does not divide width={}", heads, width);
}

DecoderSize decoder_size(const NetworkArguments& arguments) {
  const DecoderSize size{.layers = layers_argument(arguments),
                         .width = arguments.number("width"),
                         .heads = arguments.number("heads"),
                         .vocabulary = arguments.number("vocabulary"),
                         .positions = arguments.number("positions")};
  check_heads(size.heads, size.width);
  return size;
}

}  // namespace strata
