// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace strata {

/// What people call a scope of reuse that documents name: "saved activations" of
/// "forward-backward". A name that is no scope's is returned as it is.
std::string_view title_of_scope(std::string_view name);

}  // namespace strata
