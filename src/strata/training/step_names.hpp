// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <string>

/// What a profile calls a step: its layer, operator, pass and block.
namespace strata {

/// The layer's name. A step of no layer is called after what it does, without its pass: "loss
/// forward" is the layer "loss".
std::string layer_of(const Program& program, StepId step);
/// "convolution"; "gradient_sum" and "update" for steps that are no operator.
std::string operator_of(const Program& program, StepId step);
/// "forward", "backward"; "recompute" for what forward already computed once.
std::string pass_of(const Program& program, StepId step);
/// The group of layers; the layer itself where it belongs to none.
std::string block_of(const Program& program, StepId step);

}  // namespace strata
