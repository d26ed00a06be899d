// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// What one of cuDNN's engines is built again from in a later run: which one it is and how its
/// knobs are set. How much memory it asked for then tells whether it is still the same.
struct EngineRecipe {
  struct Knob {
    std::int64_t kind = 0, value = 0;
    friend bool operator==(const Knob&, const Knob&) = default;
  };
  std::int64_t engine = 0;
  std::int64_t scratch_bytes = 0;
  std::vector<Knob> knobs = {};
  friend bool operator==(const EngineRecipe&, const EngineRecipe&) = default;
};

inline constexpr std::string_view engine_prefix = "cudnn:engine_";
/// "cudnn:engine_12 bytes=4096 knobs=2:7,14:3"
std::string to_text(const EngineRecipe& recipe);
/// Nothing where it is none.
std::optional<EngineRecipe> parse_engine_recipe(std::string_view text);

}  // namespace strata
