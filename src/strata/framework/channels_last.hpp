// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"

namespace strata {

/// Whether a compiler lays the images of a network out with channels last: it does for most
/// convolutional networks. It does not where that is known to be slow: grouped convolutions,
/// windows over at least twice as many channels as they have filters (DenseNet), networks of small
/// convolutions alone, and transformers with a convolution at their beginning. The conditions are
/// those of PyTorch's Inductor.
bool prefers_channels_last(const BoundGraph& bound);

}  // namespace strata
