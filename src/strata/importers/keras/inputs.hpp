// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/keras/assembly.hpp"
#include "strata/importers/keras/model.hpp"

namespace strata::keras {

/// Whether the layers of a model keep channels first: some say so, and none says otherwise.
bool is_channels_first(const Model& model);

/// Errors (usage) for a shape given to an input that the model does not have.
void expect_known_inputs(const Model& model, const ImportOptions& options);

/// The network's input for an InputLayer of the outermost model.
Value make_input(Assembly& net, const Model& model, std::uint32_t layer);

}  // namespace strata::keras
