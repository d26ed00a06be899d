// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/expected_iteration.hpp"

#include <nlohmann/json_fwd.hpp>

namespace strata {

/// Runs that an expected time's machine was held against.
nlohmann::ordered_json evidence_json(const CheckedRuns& checked);

/// Whose dispatch times an expected time is made of.
nlohmann::ordered_json dispatch_host_json(const DispatchHost& host);

}  // namespace strata
