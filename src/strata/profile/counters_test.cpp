// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/counters.hpp"

#include "strata/base/error.hpp"
#include "strata/profile/read_profile.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(Counters, of_several_ranges_add_up_or_average_by_instructions) {
  const std::vector<CounterColumn> columns = {{"instructions", "instructions", ""},
                                              {"dram_read_bytes", "bytes", ""},
                                              {"l1_hit_rate", "fraction", ""},
                                              {"gld_efficiency", "fraction", ""}};
  CounterSum sum(columns);
  sum.add({100, 32, 0.5, std::nullopt});
  sum.add({300, 64, 0.9, std::nullopt});
  const CounterValues values = sum.values();
  EXPECT_EQ(values[0], 400);
  EXPECT_EQ(values[1], 96);
  EXPECT_DOUBLE_EQ(values[2].value(), 0.8);  // (100 × 0.5 + 300 × 0.9) / 400
  EXPECT_EQ(values[3], std::nullopt);
}

TEST(Counters, without_instructions_weigh_the_same) {
  const std::vector<CounterColumn> columns = {{"ipc", "instructions per cycle", ""}};
  CounterSum sum(columns);
  sum.add({1.0});
  sum.add({std::nullopt});
  sum.add({3.0});
  EXPECT_EQ(sum.values()[0], 2.0);
}

TEST(Counters, of_a_file_are_refused_where_they_do_not_fit) {
  const auto read = [](const std::string& counters, const std::string& row) {
    return read_profile(
        R"({"schema_version": 1, "evidence": "measured", "counters": )" + counters +
        R"(, "layers": [{"layer": "a", "pass": "forward", "time_s": 1, "flop": 1, "launches": 1, )"
        R"("traffic_in_bytes": 1, "traffic_out_bytes": 1, "counters": )" +
        row + "}]}");
  };
  const std::string columns = R"({"columns": [{"key": "ipc", "unit": "instructions per cycle"}]})";
  EXPECT_EQ(read(columns, R"({"ipc": 1.5})").rows[0].counters[0], 1.5);
  EXPECT_EQ(read(columns, R"({"ipc": null})").rows[0].counters[0], std::nullopt);
  for (const char* bad : {R"({"other": 1})", R"({"ipc": -1})", R"({"ipc": "1"})", "[1]", "1"})
    EXPECT_THROW(read(columns, bad), Error) << bad;
  EXPECT_THROW(read("[]", "{}"), Error);
}

}  // namespace
}  // namespace strata
