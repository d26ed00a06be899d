// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/result.hpp"
#include "strata/explain/slower_algorithm.hpp"
#include "strata/graph/bind.hpp"
#include "strata/profile/profile.hpp"

#include <string>
#include <vector>

/// What measurements say of the convolutions of a network, to hold a recording against.
namespace strata {

/// Of the convolution lab: for each convolution of the network whose shape was measured, the
/// fastest strategy of each pass, and both gradients together. Nothing where the data type differs.
std::vector<MeasuredAlternative> alternatives_of(const ConvResults& results,
                                                 const BoundGraph& network,
                                                 const std::string& source);

/// Of a measured profile: rows of convolutions that do the same arithmetic as the recorded ones of
/// that name and pass. Nothing where the data type differs, or it is a prediction.
std::vector<MeasuredAlternative> alternatives_of(const Profile& measured, const Profile& recorded,
                                                 const std::string& source);

}  // namespace strata
