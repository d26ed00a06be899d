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
  const auto json = nlohmann::json::parse(to_json(cells, {.command = "strata doctor"}));
  ASSERT_EQ(json["cells"].size(), std::size(cells));
  EXPECT_EQ(json["cells"][3]["operator"], "floor");
  EXPECT_EQ(json["cells"][1]["dtype"], "bf16");
  EXPECT_EQ(json["cells"][1]["test"], "B.y/bf16");
}

}  // namespace
}  // namespace strata
