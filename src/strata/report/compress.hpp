// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace strata {

/// The text as a zlib stream (RFC 1950), which browsers call "deflate"; nothing in a build without
/// zlib.
std::optional<std::string> deflated(std::string_view text);

/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace strata
