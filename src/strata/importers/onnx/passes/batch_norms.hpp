// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/session.hpp"

#include <vector>

namespace strata::onnx {

/// Convolutions that an exporter has folded a batch normalisation into, as names in the file say.
std::vector<NodeId> named_folded(const Session& session);

/// Convolutions that probably had one in training, as far as the structure shows: not those beside
/// another normalisation, on pooled channels (squeeze and excitation), that cut an image into
/// patches, or that make the prediction.
std::vector<NodeId> probably_folded(const Draft& draft);

/// Puts a batch normalisation after each of these convolutions, in place of its bias.
void put_batch_norms(Draft& draft, std::span<const NodeId> convolutions);

}  // namespace strata::onnx
