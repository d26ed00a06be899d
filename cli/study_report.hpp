// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/html_page.hpp"
#include "strata/report/text_style.hpp"
#include "strata/reproduce/studies.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

/// What came out of studies, as text, as JSON and as a page.
namespace strata {

struct StudyReport {
  std::string_view name;
  std::optional<StudyResult> result;
  std::string reason;  ///< why there is no result
};

std::string to_text(std::span<const StudyReport> all, const TextStyle& style);
std::string to_json(std::span<const StudyReport> all, const Provenance& provenance);
/// A line per finding.
std::string to_csv(std::span<const StudyReport> all);

/// With every figure.
PageSection page_section(std::span<const StudyReport> all, const Provenance& provenance);

}  // namespace strata
