// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/finding.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace strata {

/// Reads the findings of a recording from the document that `strata trace --json` wrote. They are
/// those of the process with the most kernel time, whose rows the document has. Nothing: it is no
/// such document. A finding that this version does not know is left out. Errors (input) name the
/// field.
std::optional<std::vector<ProfileFinding>> recorded_findings(std::string_view json_text);

}  // namespace strata
