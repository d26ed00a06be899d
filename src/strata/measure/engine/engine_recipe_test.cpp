// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/engine_recipe.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata::test {
namespace {

TEST(EngineRecipe, is_read_as_it_was_written) {
  EXPECT_EQ(to_text({12, 4096, {{2, 7}, {14, 3}}}), "cudnn:engine_12 bytes=4096 knobs=2:7,14:3");
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    EngineRecipe recipe;
    recipe.engine = static_cast<std::int64_t>(random() % 5000);
    recipe.scratch_bytes = static_cast<std::int64_t>(random() >> 20U);
    recipe.knobs.resize(random() % 5);
    for (EngineRecipe::Knob& knob : recipe.knobs)
      knob = {static_cast<std::int64_t>(random() % 44), static_cast<std::int64_t>(random() % 100)};
    EXPECT_EQ(parse_engine_recipe(to_text(recipe)), recipe) << to_text(recipe);
  }
}

TEST(EngineRecipe, what_is_none_is_nothing) {
  for (const std::string_view text :
       {"", "cudnn:fft", "cudnn:engine_12", "cudnn:engine_ bytes=1 knobs=",
        "cudnn:engine_x bytes=1 knobs=", "cudnn:engine_1 bytes= knobs=",
        "cudnn:engine_1 bytes=-1 knobs=", "cudnn:engine_1 bytes=1 knobs=2",
        "cudnn:engine_1 bytes=1 knobs=2:", "cudnn:engine_1 bytes=1 knobs=2:3,",
        "cudnn:engine_1 bytes=1 knobs=2:3:4", "cudnn:engine_1 bytes=99999999999999999999 knobs=",
        "cudnn:engine_1 bytes=1 knobs=2:3 more"}) {
    EXPECT_FALSE(parse_engine_recipe(text)) << text;
  }
}

}  // namespace
}  // namespace strata::test
