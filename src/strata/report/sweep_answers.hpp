// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/prediction_summary.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"
#include "strata/sweep/answers.hpp"

#include <span>
#include <string>
#include <vector>

/// Answers to questions about a sweep, as tables for people and as JSON.
namespace strata {

/// What is not in the table of a sweep but predicted for each network at the sweep's first point.
struct NetworkAnswers {
  std::string network;
  std::vector<ScopeReuse> reuse;  ///< capacity that each scope of reuse needs
  std::optional<SensitivityAnswer> sensitivity;
};

std::string to_text(const SweepAnswers& answers, const TextStyle& style);
std::string to_text(std::span<const NetworkAnswers> networks, const TextStyle& style);
/// Keys are documented in docs/sweeps.md.
std::string to_json(const SweepAnswers& answers, std::span<const NetworkAnswers> networks,
                    const Provenance& provenance);

}  // namespace strata
