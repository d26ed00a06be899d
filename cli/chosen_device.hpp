// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace strata {

/// Where a command measures: the CPU, or a GPU by its number.
struct ChosenDevice {
  bool is_gpu = false;
  int index = 0;
};

/// Of `--device cpu|cuda|cuda:N`; the CPU where nothing was given. Errors (usage) say what came.
ChosenDevice chosen_device(std::optional<std::string_view> given);

}  // namespace strata
