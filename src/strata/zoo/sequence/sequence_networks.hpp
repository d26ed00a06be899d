// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/zoo/zoo.hpp"

#include <span>

namespace strata {

/// The built-in networks that work on sequences: recurrent ones, then transformers.
std::span<const Network> sequence_networks();

}  // namespace strata
