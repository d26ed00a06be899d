// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/match_layers.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/profile/profile.hpp"

namespace strata {

/// A recording as a Profile of a network: the rows that a prediction and a measurement of it have.
struct ModelProfile {
  Profile profile;
  LayerMatch match;
  bool is_inference = false;
  bool is_forward_only = false;         ///< in training mode: dropout runs, but nothing backward
  std::vector<RowKernel> kernels = {};  ///< of the profile, in their order in the recording
};

/// Times and launches are the recording's, of the same step as `profile_of`; names, operators, FLOP
/// and bytes (each tensor once per pass) the network's, at the sizes it is bound to. A recording
/// without backward kernels counts as inference, unless dropout ran. The gradients of a layer are
/// one row `backward` unless every one of its kernels says which of the two it computes. An
/// optimizer that updates all weights at once is one row, "optimizer". Kernels without a layer keep
/// the rows that `profile_of` gives them, with no FLOP. Errors (input): no kernel was recorded.
ModelProfile model_profile_of(const Recording& recording, const BoundGraph& bound,
                              TrainingOptions options = {});

}  // namespace strata
