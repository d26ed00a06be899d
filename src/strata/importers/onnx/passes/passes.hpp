// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/session.hpp"

#include <span>

/// What is done to the draft between reading and emitting, in this order. Each step leaves a draft
/// that could be emitted.
namespace strata::onnx {

struct Pass {
  std::string_view name;
  void (*run)(Session& session);
  bool is_fusion = false;  ///< left out with options.fuse = false
};

std::span<const Pass> passes();

/// Runs them all, and takes out what no output needs.
void run_passes(Session& session);

// tied_weights.cpp: an embedding and an output layer with the same numbers are one parameter.
void tie_weights(Session& session);
// position_tables.cpp: the table of relative positions in place of what an exporter looked up in
// it.
void restore_position_tables(Session& session);
// constants.cpp: what readers do not take for learnt, and what is made of constants alone.
void tell_constants(Session& session);
void store_fixed_tensors(Session& session);
// views.cpp: transposes and reshapes wait until somebody needs them, and cancel where they can.
void defer_views(Session& session);
// layouts.cpp: inputs and outputs that are only transposed take the layout that is used.
void take_layouts(Session& session);
// biases.cpp: a stored vector added to a product or a convolution is its bias.
void merge_biases(Session& session);
// norm_patterns.cpp: layer and RMS normalisation from their parts.
void fuse_norms(Session& session);
// activation_patterns.cpp: GELU, SiLU, hard swish, mish from their parts.
void fuse_activations(Session& session);
// attention_pattern.cpp: softmax(Q Kᵀ) V from its parts.
void fuse_attention(Session& session);
// layer_patterns.cpp: Caffe's BatchNorm + Scale, group normalisation, channel shuffle.
void fuse_layers(Session& session);
// inference_export.cpp: what an export for inference has lost, as warnings, or put back.
void restore_training_layers(Session& session);

}  // namespace strata::onnx
