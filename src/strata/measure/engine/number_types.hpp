// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"

#include <optional>
#include <string>

namespace strata {

/// Why a node has no kernels whatever the device, by the types of its tensors: kernels that compute
/// do so in real numbers, and those that move numbers leave their type as it is. Files of quantised
/// networks have whole numbers anywhere; a kernel that took them for others would read and write
/// behind their end.
std::optional<std::string> type_refusal(const BoundGraph& bound, NodeId node);

}  // namespace strata
