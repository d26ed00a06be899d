// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/zoo/zoo.hpp"

#include <span>

namespace strata {

/// The networks that look at images, and the single convolutions, by family.
std::span<const Network> image_networks();

namespace zoo {

// One function per file of this folder: the networks of the family, with their sources and
// parameters beside the code.
std::span<const Network> lenet_networks();
std::span<const Network> alexnet_networks();
std::span<const Network> overfeat_networks();
std::span<const Network> vgg_networks();
std::span<const Network> googlenet_networks();
std::span<const Network> inception_v3_networks();
std::span<const Network> resnet_networks();
std::span<const Network> resnet_keras_networks();
std::span<const Network> mobilenet_keras_networks();
std::span<const Network> mobilenet_v2_networks();
std::span<const Network> densenet_networks();
std::span<const Network> squeezenet_networks();
std::span<const Network> efficientnet_networks();
std::span<const Network> darknet_networks();
std::span<const Network> yolov3_networks();
std::span<const Network> convolution_networks();

}  // namespace zoo
}  // namespace strata
