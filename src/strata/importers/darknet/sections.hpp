// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/darknet/assembly.hpp"

#include <string_view>

/// What each kind of section adds to the graph; one .cpp per family, as named below. The functions
/// follow darknet's parse_* and make_*_layer functions of the same names.
namespace strata::darknet {

using MakeSection = Made (*)(const Section& section, Assembly& net);

/// The function for a kind of section, under any of the names that darknet accepts; nullptr when
/// darknet has no such section.
MakeSection find_section(std::string_view kind);

/// Whether a section of that kind carries a state from one time step to the next.
bool is_recurrent(std::string_view kind);

// convolution.cpp
Made make_convolutional(const Section& section, Assembly& net);
Made make_deconvolutional(const Section& section, Assembly& net);
Made make_connected(const Section& section, Assembly& net);
Made make_batchnorm(const Section& section, Assembly& net);
Made make_activation(const Section& section, Assembly& net);
/// The fixed blur that "antialiasing" puts behind a convolution or a pooling in place of its
/// stride.
TensorId blurred(const Section& section, Assembly& net, TensorId x);
/// Strides along height and width: stride_y and stride_x, or stride for what of them is absent.
Extents strides(const Section& section);

// local.cpp
Made make_local(const Section& section, Assembly& net);

// pooling.cpp: windows and pixels
Made make_maxpool(const Section& section, Assembly& net);
Made make_local_avgpool(const Section& section, Assembly& net);
Made make_avgpool(const Section& section, Assembly& net);
Made make_upsample(const Section& section, Assembly& net);
Made make_reorg(const Section& section, Assembly& net);
Made make_crop(const Section& section, Assembly& net);
Made make_dropout(const Section& section, Assembly& net);
Made make_normalization(const Section& section, Assembly& net);

// joining.cpp: sections that read more than the one before
Made make_route(const Section& section, Assembly& net);
Made make_shortcut(const Section& section, Assembly& net);
Made make_scale_channels(const Section& section, Assembly& net);
Made make_implicit(const Section& section, Assembly& net);
Made make_empty(const Section& section, Assembly& net);

// recurrent.cpp
Made make_rnn(const Section& section, Assembly& net);
Made make_gru(const Section& section, Assembly& net);
Made make_lstm(const Section& section, Assembly& net);
Made make_crnn(const Section& section, Assembly& net);
Made make_conv_lstm(const Section& section, Assembly& net);

// detection.cpp: what stands at an end
Made make_yolo(const Section& section, Assembly& net);
Made make_gaussian_yolo(const Section& section, Assembly& net);
Made make_region(const Section& section, Assembly& net);
Made make_detection(const Section& section, Assembly& net);
Made make_softmax(const Section& section, Assembly& net);
Made make_logistic(const Section& section, Assembly& net);
Made make_cost(const Section& section, Assembly& net);
Made make_contrastive(const Section& section, Assembly& net);

}  // namespace strata::darknet
