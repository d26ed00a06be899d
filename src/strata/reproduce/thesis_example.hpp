// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/policy.hpp"

#include <string>

/// One small example for figures 4.1 and 4.2: four layers with weights, forward and backward. The
/// third layer is short and the fourth one's weight is large, so that loading one layer ahead comes
/// too late; the chip is too small for all feature maps, so that some leave it and come back.
namespace strata {

Program thesis_example();
Hardware thesis_example_hardware();
/// "Layer 3": of a step of the example.
std::string thesis_example_layer(StepId step);
/// The same with its direction: "Layer 3", "Layer 3 backward".
std::string thesis_example_name(StepId step);
/// "W3", "X1", "dW3", "dX4": of a value of the example. X is what a layer reads.
std::string thesis_example_name_of_value(ValueId value);

}  // namespace strata
