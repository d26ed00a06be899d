// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

namespace strata {

/// Does something in a child process that may die of it, and returns the signal that it died of.
/// The child leaves nothing behind: no core file, and nothing that would be done at the end of a
/// program. Nothing: it survived, or no child could be made. The work must not throw.
std::optional<int> signal_of_child(const std::function<void()>& work);

}  // namespace strata
