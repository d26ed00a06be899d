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

/// The module of the batch normalisation that was folded into a convolution, where the file records
/// both: 'layer1.0.bn1' in the path of the node, and its tensors in torch.export's signature. Empty
/// otherwise.
std::string_view recorded_norm(const Session& session, const DraftNode& convolution);

/// Puts a batch normalisation after each of these convolutions. A bias of the convolution is its
/// shift, unless the file records that there were both.
void put_batch_norms(Session& session, std::span<const NodeId> convolutions);

}  // namespace strata::onnx
