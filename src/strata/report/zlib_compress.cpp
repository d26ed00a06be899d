// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/report/compress.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace strata {

std::optional<std::string> deflated(std::string_view text) {
  z_stream stream{};
  STRATA_CHECK(deflateInit(&stream, Z_DEFAULT_COMPRESSION) == Z_OK, "zlib has no memory");
  std::string result;
  std::array<char, 1 << 16> block{};
  // zlib counts what it is given in 32 bits, and does not write into it.
  constexpr std::size_t most = std::numeric_limits<uInt>::max();
  int status = Z_OK;
  do {
    const std::size_t given = std::min(text.size(), most);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(given);
    text.remove_prefix(given);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      status = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
      result.append(block.data(), block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  } while (status != Z_STREAM_END);
  deflateEnd(&stream);
  return result;
}

}  // namespace strata
