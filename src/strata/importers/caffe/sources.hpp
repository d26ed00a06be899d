// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/caffe/layer.hpp"

#include <span>
#include <vector>

namespace strata::caffe {

/// Whether the layer only brings data in: it reads nothing and learns nothing.
bool is_source(const Layer& layer);

/// One source per top of such a layer, with its shape as far as the file tells it: the first is the
/// data, the others are labels, one number per sample. Errors name no layer; the caller does.
std::vector<Source> sources_of(const Layer& layer);

}  // namespace strata::caffe
