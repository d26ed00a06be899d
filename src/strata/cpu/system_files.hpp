// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The small text files in which Linux tells about the machine. A file that is not there is no
/// error: containers and other kernels lack many of them.
namespace strata::cpu {

/// Without white space around it. Nothing when the file cannot be read or is empty.
std::optional<std::string> first_line(const std::filesystem::path& file);
std::vector<std::string> lines_of(const std::filesystem::path& file);
/// Decimal digits and nothing else, within 63 bits.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace strata::cpu
