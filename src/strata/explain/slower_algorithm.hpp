// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/finding.hpp"
#include "strata/profile/profile.hpp"

#include <optional>
#include <span>
#include <string>

namespace strata {

/// What the same convolution took with another algorithm on the same device.
struct MeasuredAlternative {
  std::string layer;
  std::string pass;       ///< forward, backward, backward_input or backward_weight
  std::string algorithm;  ///< "implicit", "cudnn:engine_20"; of two passes "implicit, fft"
  double time_s = 0;
  std::string source;  ///< the file that says so
};

/// Convolutions of a recorded step that took at least a tenth longer than the fastest alternative:
/// what they lose together, the largest by name. Nothing where none does, or where all lose less
/// than a hundredth of the step.
std::optional<ProfileFinding> find_slower_algorithms(
    const Profile& recorded, std::span<const MeasuredAlternative> alternatives);

}  // namespace strata
