// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

namespace strata {

/// The column that a person means, of so many whose names are given: its name, '_' for '-', or
/// without the unit at its end ("time" for time_s) where only one column is left; nothing
/// otherwise.
std::optional<std::size_t> find_column_name(
    std::string_view name, std::size_t count,
    const std::function<std::string_view(std::size_t column)>& name_of);

}  // namespace strata
