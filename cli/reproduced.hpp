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

struct Reproduced {
  std::string_view name;
  std::optional<StudyResult> result;
  std::string reason;  ///< why there is no result
};

std::string to_text(std::span<const Reproduced> all, const TextStyle& style);
std::string to_json(std::span<const Reproduced> all, const Provenance& provenance);
/// A line per finding.
std::string to_csv(std::span<const Reproduced> all);

/// With every figure.
HtmlPart page_part(std::span<const Reproduced> all, const Provenance& provenance);

}  // namespace strata
