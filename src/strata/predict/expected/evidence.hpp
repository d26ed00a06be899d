// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/checked_runs.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

struct Machine;

/// What was run: one iteration on one device, or training on several.
enum class CheckedPass : std::uint8_t { training, inference, parallel };

/// Runs of one machine in one framework that expected times were held against.
struct EvidenceEntry {
  std::string machine, framework;
  CheckedPass pass = CheckedPass::training;
  CheckedRuns runs;
};

/// Errors (input) name the place.
std::vector<EvidenceEntry> read_evidence(std::string_view json_text);
/// data/evidence/*.json.
const std::vector<EvidenceEntry>& shipped_evidence();

/// Those of a machine whose numbers are the ones that ship; none: nobody held it against a run.
CheckedRuns checked_runs(const Machine& machine, std::string_view framework, CheckedPass pass);
/// All of a machine, whatever ran.
std::int64_t all_checked_runs(std::string_view machine);

}  // namespace strata
