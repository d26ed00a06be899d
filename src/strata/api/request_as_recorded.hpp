// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/model.hpp"
#include "strata/api/predict.hpp"

namespace strata {

/// The request as a recording answers it: trained or not, and in which types, as it ran. As it is
/// for any other network. Errors (usage): what was asked is not what was recorded; each says how to
/// record that.
PredictRequest request_as_recorded(const Graph& graph, const PredictRequest& request);

/// Whether sizes are those of the recording, and the type it is to be read in: nothing, or tf32,
/// which changes no number's size. Errors (usage) as above.
std::optional<DType> recorded_dtype(const Graph& graph, const ModelSizes& sizes);

}  // namespace strata
