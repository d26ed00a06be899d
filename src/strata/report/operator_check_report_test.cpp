// SPDX-License-Identifier: Apache-2.0
#include "strata/report/operator_check_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

const CheckedCell cells[] = {{"add", "forward", "cpu", DType::fp64, "A.x"},
                             {"add", "forward", "cuda", DType::bf16, "B.y/bf16"},
                             {"add", "backward", "cpu", DType::fp64, "A.x"},
                             {"floor", "forward", "cuda", DType::bf16, "B.z/bf16"}};

TEST(OperatorCheckReport, each_cell_is_the_number_of_its_test) {
  EXPECT_EQ(to_text(cells, {}),
            "  operator  pass       cpu  cuda\n"
            "                      fp64  bf16\n"
            "  add       forward    [1]   [2]\n"
            "  add       backward   [1]     –\n"
            "  floor     forward      –   [3]\n"
            "\n"
            "  [1] A.x\n"
            "  [2] B.y/bf16\n"
            "  [3] B.z/bf16\n");
}

TEST(OperatorCheckReport, the_document_has_every_cell) {
  const TrainedNetwork trained[] = {
      {.name = "net", .device = "d", .sizes = "batch 4", .time_s = 0.25, .steps = 50},
      {.name = "large", .device = "d", .reason = "too large"}};
  const auto json = nlohmann::json::parse(to_json(cells, trained, {.command = "strata doctor"}));
  ASSERT_EQ(json["cells"].size(), std::size(cells));
  EXPECT_EQ(json["cells"][3]["operator"], "floor");
  EXPECT_EQ(json["cells"][1]["dtype"], "bf16");
  EXPECT_EQ(json["cells"][1]["test"], "B.y/bf16");
  EXPECT_EQ(json["networks"][0]["time_s"], 0.25);
  EXPECT_TRUE(json["networks"][0]["loss_after"].is_null());
  EXPECT_TRUE(json["networks"][1]["time_s"].is_null());
  EXPECT_EQ(json["networks"][1]["reason"], "too large");
}

}  // namespace
}  // namespace strata
