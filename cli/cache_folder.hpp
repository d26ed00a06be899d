// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace strata {

/// $XDG_CACHE_HOME/strata, or ~/.cache/strata: what may be deleted at any time and only saves time.
/// Nothing when the environment names neither; a relative XDG_CACHE_HOME counts as none, as its
/// specification says.
std::optional<std::filesystem::path> cache_folder();

/// Where `strata measure` remembers which kernels were the fastest; empty: nowhere. The number is
/// the format's.
std::filesystem::path remembered_choices_file();

}  // namespace strata
