// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"
#include "strata/profile/profile.hpp"
#include "strata/training/program.hpp"

#include <vector>

namespace strata {

struct PredictedProfile {
  Profile profile;
  /// By layer class, step by step: a recurrent layer's products and gates are one row.
  std::vector<ProfileGroup> by_class;
};

/// What was predicted for each step, added up to rows of layer and pass, with the time and the
/// memory of the iteration. Whoever calls adds the subject. The prediction needs its steps.
PredictedProfile profile_of(const Program& program, const Prediction& prediction,
                            const Hardware& hardware);

}  // namespace strata
