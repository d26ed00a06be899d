// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/profile_words.hpp"
#include "cli/recorded_request.hpp"
#include "strata/explain/explain.hpp"

/// What a stored profile is explained with: what `strata explain` and pages have in common.
namespace strata {

struct ExplainedProfile {
  Machine machine;  ///< whose roofs
  Explanation explanation;
  MaybeRequest again;  ///< a prediction under its own roofs is made again for what-ifs
};

/// Errors: those of machine_for and of explain.
ExplainedProfile explain_stored(const StoredProfile& stored, const AskedRoofs& asked);

}  // namespace strata
