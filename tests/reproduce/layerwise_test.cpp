// SPDX-License-Identifier: Apache-2.0
// The layer-wise study from the profiles that ship, as a user of the program sees it.
#include "strata/base/embedded.hpp"
#include "strata/reproduce/layerwise_study.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

TEST(ReproduceLayerwise, the_profiles_that_ship_answer_what_times_can) {
  std::vector<LayerwiseCase> cases;
  for (const EmbeddedFile& file : embedded_training_profiles())
    cases.push_back(read_layerwise_case(file.text));
  const LayerwiseStudy study(std::move(cases));
  for (const std::string_view network : layerwise_networks())
    EXPECT_GE(study.of(network).size(), 3U) << network;
  std::size_t held = 0, printed = 0;
  for (const Finding& finding : layerwise_findings(study)) {
    printed += finding.is_printed ? 1 : 0;
    held += finding.is_printed && finding.holds ? 1 : 0;
    EXPECT_EQ(finding.is_printed || !finding.note.empty(), true) << finding.what;
  }
  EXPECT_GE(printed, 9U);
  EXPECT_GE(held, 6U);
  for (const Figure& figure : layerwise_figures(study)) {
    EXPECT_NE(figure.csv, "") << figure.name;
    EXPECT_NE(chart::to_svg(figure.grid).find("<svg"), std::string::npos) << figure.name;
  }
}

}  // namespace
}  // namespace strata
