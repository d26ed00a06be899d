// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/keras/layer_call.hpp"

namespace strata::keras {

/// Turns a model into a graph. Errors name the layer.
Graph build_graph(Model& model, std::string name, const ImportOptions& options);

/// Applies the layer that a wrapper holds, under the wrapper's name.
Values apply_inside(LayerCall& wrapper, Layer& inner, Values inputs);

}  // namespace strata::keras
