// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/keras/layer_call.hpp"

#include <string_view>

/// What each class of Keras becomes. To add a layer: a function in the file of its family, and a
/// row in layers.cpp.
namespace strata::keras {

using MakeLayer = Values (*)(LayerCall& call);

struct LayerClass {
  std::string_view name;
  MakeLayer make;
  bool takes_integers = false;  ///< others get floating-point numbers, as Keras casts them
};

/// The class of that name, or nullptr.
const LayerClass* find_layer_class(std::string_view name);

// activation.cpp
Values make_activation(LayerCall& call);
Values make_relu(LayerCall& call);
Values make_leaky_relu(LayerCall& call);
Values make_elu(LayerCall& call);
Values make_prelu(LayerCall& call);
Values make_thresholded_relu(LayerCall& call);
Values make_softmax(LayerCall& call);
/// x through the function that the argument `activation` names; nothing is added for a linear one.
Value activated(LayerCall& call, Value x);
/// x through a function by Keras's name of it, as the node "<layer>/<suffix>".
Value activated_by(LayerCall& call, Value x, std::string_view function, std::string_view suffix);

// convolution.cpp
Values make_conv1d(LayerCall& call);
Values make_conv2d(LayerCall& call);
Values make_conv3d(LayerCall& call);
Values make_depthwise_conv1d(LayerCall& call);
Values make_depthwise_conv2d(LayerCall& call);
Values make_separable_conv1d(LayerCall& call);
Values make_separable_conv2d(LayerCall& call);
Values make_conv1d_transpose(LayerCall& call);
Values make_conv2d_transpose(LayerCall& call);
Values make_conv3d_transpose(LayerCall& call);

// local.cpp
Values make_locally_connected1d(LayerCall& call);
Values make_locally_connected2d(LayerCall& call);

// dense.cpp
Values make_dense(LayerCall& call);
Values make_einsum_dense(LayerCall& call);
Values make_embedding(LayerCall& call);

// pooling.cpp
Values make_max_pooling1d(LayerCall& call);
Values make_max_pooling2d(LayerCall& call);
Values make_max_pooling3d(LayerCall& call);
Values make_average_pooling1d(LayerCall& call);
Values make_average_pooling2d(LayerCall& call);
Values make_average_pooling3d(LayerCall& call);
Values make_global_max_pooling(LayerCall& call);
Values make_global_average_pooling(LayerCall& call);
Values make_adaptive_max_pooling(LayerCall& call);
Values make_adaptive_average_pooling(LayerCall& call);

// normalization.cpp
Values make_batch_normalization(LayerCall& call);
Values make_fixed_batch_normalization(LayerCall& call);
Values make_layer_normalization(LayerCall& call);
Values make_rms_normalization(LayerCall& call);
Values make_group_normalization(LayerCall& call);
Values make_instance_normalization(LayerCall& call);
Values make_unit_normalization(LayerCall& call);
Values make_local_response_normalization(LayerCall& call);

// merge.cpp
Values make_add(LayerCall& call);
Values make_subtract(LayerCall& call);
Values make_multiply(LayerCall& call);
Values make_average(LayerCall& call);
Values make_maximum(LayerCall& call);
Values make_minimum(LayerCall& call);
Values make_concatenate(LayerCall& call);
Values make_dot(LayerCall& call);
Values make_merge(LayerCall& call);
/// Brings values of different ranks and layouts to one, as Keras's merging layers do.
Values aligned(LayerCall& call, const Values& values);
Value joined(LayerCall& call, const Values& values, std::int64_t axis);

// shaping.cpp
Values make_flatten(LayerCall& call);
Values make_reshape(LayerCall& call);
Values make_permute(LayerCall& call);
Values make_repeat_vector(LayerCall& call);
/// x with its axes after the batch replaced by `target` (Keras's order; −1 once: what is left).
Value reshaped(LayerCall& call, Value x, const Shape& target, std::string_view suffix = {});
/// x with its axes in another order; `axes` are Keras's, the batch included.
Value permuted(LayerCall& call, Value x, const Axes& axes, std::string_view suffix = {});

// resizing.cpp
Values make_zero_padding(LayerCall& call);
Values make_cropping(LayerCall& call);
Values make_up_sampling(LayerCall& call);
Values make_resizing(LayerCall& call);
Values make_center_crop(LayerCall& call);

// regularization.cpp: what only training does
Values make_dropout(LayerCall& call);
Values make_noise(LayerCall& call);
Values make_augmentation(LayerCall& call);
Values make_unchanged(LayerCall& call);

// recurrent.cpp
Values make_lstm(LayerCall& call);
Values make_gru(LayerCall& call);
Values make_simple_rnn(LayerCall& call);
Values make_cudnn_lstm(LayerCall& call);
Values make_cudnn_gru(LayerCall& call);
Values make_rnn(LayerCall& call);
Values make_bidirectional(LayerCall& call);

// conv_lstm.cpp
Values make_conv_lstm1d(LayerCall& call);
Values make_conv_lstm2d(LayerCall& call);
Values make_conv_lstm3d(LayerCall& call);

// attention.cpp
Values make_multi_head_attention(LayerCall& call);
Values make_group_query_attention(LayerCall& call);
Values make_attention(LayerCall& call);
Values make_additive_attention(LayerCall& call);

// wrappers.cpp
Values make_time_distributed(LayerCall& call);
Values make_wrapper(LayerCall& call);

// preprocessing.cpp
Values make_rescaling(LayerCall& call);
Values make_normalization(LayerCall& call);
Values make_category_encoding(LayerCall& call);

// custom.cpp: layers of keras.applications and of well-known detectors
Values make_layer_scale(LayerCall& call);
Values make_custom_scale(LayerCall& call);
Values make_upsample_like(LayerCall& call);
Values make_anchors(LayerCall& call);
Values make_regress_boxes(LayerCall& call);
Values make_clip_boxes(LayerCall& call);
Values make_filter_detections(LayerCall& call);
Values make_lambda(LayerCall& call);

// opaque.cpp
/// A node for a class that Strata does not know, with the shapes that the file tells. Errors
/// (unsupported) when it tells none.
Values make_opaque(LayerCall& call);
/// A node for one that it knows well enough to say its shapes (Keras's order), but not its cost.
Values uncounted(LayerCall& call, const std::vector<Shape>& shapes);

// operations.cpp: functions that are called like layers (TFOpLambda, TensorFlowOpLayer, keras.ops)
Values make_tf_operation(LayerCall& call);
Values make_tf_graph_operation(LayerCall& call);
/// Keras 3 has operations whose classes are named like layers: "Add" of keras.ops takes constants.
bool is_operation(const Layer& layer);
Values make_keras_operation(LayerCall& call);

}  // namespace strata::keras
