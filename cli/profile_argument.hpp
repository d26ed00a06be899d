// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/api/stored_profile.hpp"

#include <initializer_list>
#include <span>

/// What commands share that take a profile, or a model to be predicted in its place.
namespace strata {

/// Whose roofs are asked for: --on, and what --set changes; else those of the machine at hand. Of a
/// command that has --set, too.
AskedRoofs asked_roofs(const Arguments& given, const Flag& on);

/// Flags that only a prediction can follow: an error (usage) names the first that was given and is
/// not among `allowed`.
void refuse_flags_for_profile(const Arguments& given, std::span<const Flag> flags,
                              std::initializer_list<const Flag*> allowed);

/// The prediction of a network with everything that the flags ask for, as if it had been stored.
/// Warnings of the network are printed. Of a command that has all flags of a prediction.
StoredProfile stored_prediction(const Arguments& given, const std::string& word,
                                const Provenance& provenance);

}  // namespace strata
