// SPDX-License-Identifier: Apache-2.0
#include "strata/report/prediction_reuse.hpp"

namespace strata {

std::vector<ScopeReuse> reuse_by_scope(const Program&, const Plan&) { return {}; }

}  // namespace strata
