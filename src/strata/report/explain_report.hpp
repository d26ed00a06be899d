// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/explain.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// An Explanation as text and as JSON: pure functions.
namespace strata {

/// Findings: the first `top` of them in full, the others a line each.
std::string to_text(const Explanation& explanation, std::size_t top, const TextStyle& style);

/// Findings alone: the first `top` in full, a line each for the others. `whole` is what their costs
/// are shares of.
std::string findings_text(const std::vector<ProfileFinding>& findings, std::size_t top,
                          std::string_view whole, const TextStyle& style);

/// Everything. Keys and units are documented in docs/cli/explain.md.
std::string to_json(const Explanation& explanation, const Provenance& provenance);

/// A line per finding.
std::string to_csv(const Explanation& explanation);

/// A finding as an item of that document, for other documents that carry findings.
nlohmann::ordered_json finding_json(const ProfileFinding& finding);

/// "kernels below their peak 41 %, launches and host 5 %": what it is lost to.
std::string lost_text(const ExpectedIteration& expected);

/// "−12 %", "+0.4 %": what the iteration loses or gains.
std::string change_text(const WhatIf& what_if);

}  // namespace strata
