// SPDX-License-Identifier: Apache-2.0
#include "strata/report/readiness_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

const ReadyItem items[] = {
    {"build", "onnx", ReadyState::ready, "ONNX files", ""},
    {"CPU", "clock governor", ReadyState::limited, "powersave", "cpupower frequency-set"},
    {"CPU", "counters", ReadyState::missing, "refused by\x1b[2J the kernel", ""}};

TEST(ReadinessReport, shows_each_area_once_and_the_remedy_below_its_item) {
  EXPECT_EQ(to_text(items, {.has_unicode = true}),
            "build\n"
            "  ✓ onnx            ONNX files\n"
            "\n"
            "CPU\n"
            "  ~ clock governor  powersave\n"
            "                    → cpupower frequency-set\n"
            "  – counters        refused by\\u{1b}[2J the kernel\n"
            "\n"
            "✓ 1 ready   ~ 1 with care   – 1 missing\n");
}

TEST(ReadinessReport, a_shared_remedy_is_said_once) {
  const ReadyItem shared[] = {{"build", "a", ReadyState::missing, "x", "install it"},
                              {"build", "b", ReadyState::ready, "y", ""},
                              {"build", "c", ReadyState::missing, "z", "install it"},
                              {"CPU", "d", ReadyState::missing, "w", "install it"}};
  EXPECT_EQ(to_text(shared, {}),
            "build\n  – a  x\n  ✓ b  y\n  – c  z\n       → install it\n\nCPU\n  – d  w\n       → "
            "install it\n\n✓ 1 ready   ~ 0 with care   – 3 missing\n");
}

TEST(ReadinessReport, the_document_has_every_item) {
  const auto json = nlohmann::json::parse(to_json(items, {.command = "strata doctor"}));
  ASSERT_EQ(json["items"].size(), std::size(items));
  EXPECT_EQ(json["kind"], "readiness");
  EXPECT_EQ(json["items"][1]["state"], "limited");
  EXPECT_EQ(json["items"][1]["remedy"], "cpupower frequency-set");
  EXPECT_FALSE(json["items"][0].contains("remedy"));
  EXPECT_EQ(json["provenance"]["command"], "strata doctor");
}

}  // namespace
}  // namespace strata
