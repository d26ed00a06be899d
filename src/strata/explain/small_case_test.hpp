// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/explain.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

/// A machine and rows small enough to be worked out by hand.
namespace strata::test {

// 100 FLOP/s on lanes in fp32, 200 in fp16, 1000 on matrix units in fp16; DRAM 10 bytes/s; a launch
// takes 0.5 s, a node of a graph 0.1 s.
inline Machine hand_machine() {
  const auto number = [](double value) { return Sourced{value, "test"}; };
  Machine machine;
  machine.name = "small";
  machine.title = "Small";
  machine.kind = "gpu";
  machine.peaks = {{DType::fp32, ComputeUnit::vector, number(100)},
                   {DType::fp16, ComputeUnit::vector, number(200)},
                   {DType::fp16, ComputeUnit::matrix, number(1000)}};
  machine.memory = {{"L2", true, number(10), std::nullopt, 1, {}},
                    {"DRAM", false, number(1000), number(10), 1, {}}};
  machine.launch_latency_s = number(0.5);
  machine.graph_node_latency_s = number(0.1);
  return machine;
}

struct HandRow {
  std::string layer = "a";
  std::string pass = "forward";
  std::string op = "relu";
  bool is_dense = false;
  double time_s = 1;
  std::int64_t flop = 10;
  std::int64_t bytes = 1;
  std::int64_t launches = 1;
};

inline ProfileRow to_row(const HandRow& hand, DType dtype = DType::fp32, bool is_matrix = false) {
  ProfileRow row{.layer = hand.layer,
                 .pass = hand.pass,
                 .op = hand.op,
                 .block = hand.layer,
                 .layer_class = hand.is_dense ? "dense" : "pointwise",
                 .totals = {},
                 .cause = {}};
  row.totals.time_s = hand.time_s;
  row.totals.flop = hand.flop;
  row.totals.in_bytes = hand.bytes;
  row.totals.launches = row.totals.steps = hand.launches;
  if (hand.flop == 0) {
    row.totals.zero_flop_s = hand.time_s;
    row.totals.zero_flop_launches = hand.launches;
  } else {
    row.arithmetic = {{dtype, is_matrix, hand.flop}};
  }
  return row;
}

inline Profile measured_profile(std::vector<ProfileRow> rows, std::string dtype = "fp32") {
  Profile profile;
  profile.evidence = Evidence::measured;
  profile.subject = {.network = "n",
                     .title = "N",
                     .dtype = std::move(dtype),
                     .machine = "small",
                     .machine_title = "Small"};
  profile.rows = std::move(rows);
  return profile;
}

/// The findings with that code.
inline std::vector<ProfileFinding> with_code(const Explanation& explanation, FindingCode code) {
  std::vector<ProfileFinding> found;
  std::copy_if(explanation.findings.begin(), explanation.findings.end(), std::back_inserter(found),
               [&](const ProfileFinding& finding) { return finding.code == code; });
  return found;
}

inline Explanation explained(const Profile& profile, const PredictionFacts* facts = nullptr,
                             PredictAgain again = {}) {
  static const Machine machine = hand_machine();
  return explain(
      {.profile = profile, .machine = machine, .facts = facts, .predict_again = std::move(again)});
}

}  // namespace strata::test
