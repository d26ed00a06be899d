// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/engine_recipe.hpp"

#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <charconv>

namespace strata {
namespace {

constexpr std::string_view bytes_word = "bytes=", knobs_word = "knobs=";

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

std::optional<std::vector<EngineRecipe::Knob>> parsed_knobs(std::string_view text) {
  std::vector<EngineRecipe::Knob> knobs;
  if (text.empty()) return knobs;
  for (const std::string_view knob : split(text, ',')) {
    const std::vector<std::string_view> sides = split(knob, ':');
    if (sides.size() != 2) return std::nullopt;
    const auto kind = whole_number(sides[0]), value = whole_number(sides[1]);
    if (!kind || !value) return std::nullopt;
    knobs.push_back({*kind, *value});
  }
  return knobs;
}

}  // namespace

std::string to_text(const EngineRecipe& recipe) {
  std::string knobs;
  for (const EngineRecipe::Knob& knob : recipe.knobs)
    knobs += fmt::format("{}{}:{}", knobs.empty() ? "" : ",", knob.kind, knob.value);
  return fmt::format("{}{} {}{} {}{}", engine_prefix, recipe.engine, bytes_word,
                     recipe.scratch_bytes, knobs_word, knobs);
}

std::optional<EngineRecipe> parse_engine_recipe(std::string_view text) {
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.size() != 3 || !words[0].starts_with(engine_prefix) ||
      !words[1].starts_with(bytes_word) || !words[2].starts_with(knobs_word))
    return std::nullopt;
  const auto engine = whole_number(words[0].substr(engine_prefix.size()));
  const auto bytes = whole_number(words[1].substr(bytes_word.size()));
  auto knobs = parsed_knobs(words[2].substr(knobs_word.size()));
  if (!engine || !bytes || !knobs) return std::nullopt;
  return EngineRecipe{*engine, *bytes, std::move(*knobs)};
}

}  // namespace strata
