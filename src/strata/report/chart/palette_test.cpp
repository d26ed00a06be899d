// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/palette.hpp"

#include "strata/report/convolution_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

namespace strata::chart {
namespace {

nlohmann::json page_palette() {
  std::ifstream file(STRATA_SOURCE_DIR "/web/src/palette.json");
  return nlohmann::json::parse(file);
}

std::vector<std::string> strings(const auto& colors) { return {colors.begin(), colors.end()}; }

TEST(Palette, is_that_of_the_page) {
  const nlohmann::json page = page_palette();
  EXPECT_EQ(page.at("light"), strings(light_palette));
  EXPECT_EQ(page.at("dark"), strings(dark_palette));
  EXPECT_EQ(page.at("shades"), strings(shade_colors));
  nlohmann::json kinds = nlohmann::json::object();
  for (const auto& [name, color] : known_kinds()) kinds[std::string(name)] = color;
  EXPECT_EQ(page.at("kinds"), kinds);
  nlohmann::json roles = nlohmann::json::object();
  for (std::size_t i = 0; i <= static_cast<std::size_t>(KernelRole::other); ++i) {
    const auto role = static_cast<KernelRole>(i);
    roles[std::string(name_of(role))] = role_color(role);
  }
  EXPECT_EQ(page.at("roles"), roles);
}

TEST(Palette, has_sixteen_colours_that_differ) {
  EXPECT_EQ(std::set<std::string>(light_palette.begin(), light_palette.end()).size(), palette_size);
  EXPECT_EQ(std::set<std::string>(dark_palette.begin(), dark_palette.end()).size(), palette_size);
}

TEST(Palette, gives_a_kind_its_colour_whatever_stands_beside_it) {
  const std::vector<std::string> few = {"relu", "convolution"};
  EXPECT_EQ(colors_of_kinds(few), (std::vector<Color>{2, 0}));
  // What has no colour of its own takes what is free; of two with the same, the first keeps it.
  const std::vector<std::string> more = {"mine", "relu", "gelu", "convolution"};
  EXPECT_EQ(colors_of_kinds(more), (std::vector<Color>{1, 2, 3, 0}));
}

TEST(Palette, tells_sixteen_kinds_apart) {
  std::vector<std::string> names;
  for (int i = 0; i < 18; ++i) names.push_back("kind " + std::to_string(i));
  const std::vector<Color> colors = colors_of_kinds(names);
  EXPECT_EQ(std::set<Color>(colors.begin(), colors.begin() + 16).size(), palette_size);
  EXPECT_LT(colors.back(), palette_size);
}

}  // namespace
}  // namespace strata::chart
