// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/caffe/net.hpp"

#include <string_view>

/// What each kind of layer adds to the graph; one .cpp per family, as named below. Defaults and
/// rounding rules are those of caffe.proto and of the layers of the same names in Caffe.
namespace strata::caffe {

using AddLayer = void (*)(const Layer& layer, Net& net);

/// The function for a kind of layer ("innerproduct"); nullptr when there is none.
AddLayer find_layer(std::string_view kind);

/// A layer that Strata does not know: its tops are taken to have the shape of its first bottom.
void add_unknown(const Layer& layer, Net& net);

/// A node of that shape whose cost is not counted.
TensorId add_opaque(const Layer& layer, Net& net, const Shape& shape);

// convolution.cpp: sums of products
void add_convolution(const Layer& layer, Net& net);
void add_inner_product(const Layer& layer, Net& net);
void add_embed(const Layer& layer, Net& net);

// pooling.cpp: windows and pixels
void add_pooling(const Layer& layer, Net& net);
void add_spatial_pyramid(const Layer& layer, Net& net);
void add_lrn(const Layer& layer, Net& net);
void add_reorg(const Layer& layer, Net& net);
void add_upsample(const Layer& layer, Net& net);
void add_interp(const Layer& layer, Net& net);

// normalization.cpp
/// Finds the Scale layers that belong to the BatchNorm before them: the only readers of its top,
/// one factor per channel.
void join_scales(std::span<const Layer> layers, Net& net);
void add_batch_norm(const Layer& layer, Net& net);
void add_scale(const Layer& layer, Net& net);
void add_bias(const Layer& layer, Net& net);
void add_mvn(const Layer& layer, Net& net);
void add_normalize(const Layer& layer, Net& net);

// pointwise.cpp
void add_activation(const Layer& layer, Net& net);
void add_relu(const Layer& layer, Net& net);
void add_prelu(const Layer& layer, Net& net);
void add_power(const Layer& layer, Net& net);
void add_eltwise(const Layer& layer, Net& net);
void add_axpy(const Layer& layer, Net& net);
void add_dropout(const Layer& layer, Net& net);
void add_softmax(const Layer& layer, Net& net);

// movement.cpp: the same numbers in other places
void add_concat(const Layer& layer, Net& net);
void add_slice(const Layer& layer, Net& net);
void add_split(const Layer& layer, Net& net);
void add_flatten(const Layer& layer, Net& net);
void add_reshape(const Layer& layer, Net& net);
void add_permute(const Layer& layer, Net& net);
void add_tile(const Layer& layer, Net& net);
void add_crop(const Layer& layer, Net& net);
void add_shuffle_channel(const Layer& layer, Net& net);
void add_reduction(const Layer& layer, Net& net);
void add_parameter(const Layer& layer, Net& net);

// recurrent.cpp
void add_lstm(const Layer& layer, Net& net);
void add_rnn(const Layer& layer, Net& net);

// loss.cpp
void add_softmax_loss(const Layer& layer, Net& net);
void add_sigmoid_loss(const Layer& layer, Net& net);
void add_euclidean_loss(const Layer& layer, Net& net);
void add_contrastive_loss(const Layer& layer, Net& net);
void add_other_loss(const Layer& layer, Net& net);
void add_ignored(const Layer& layer, Net& net);

// detection.cpp
void add_prior_box(const Layer& layer, Net& net);
void add_detection_output(const Layer& layer, Net& net);
void add_roi_pooling(const Layer& layer, Net& net);
void add_arg_max(const Layer& layer, Net& net);

}  // namespace strata::caffe
