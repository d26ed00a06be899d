// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/profile.hpp"
#include "strata/report/text_style.hpp"

#include <cstddef>
#include <string>

namespace strata {

/// The rows of a recorded step whose layers are those of a network, longest first, with what they
/// reached.
std::string network_layers_text(const Profile& profile, std::size_t top, const TextStyle& style);

}  // namespace strata
