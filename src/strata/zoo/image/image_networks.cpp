// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/image/image_networks.hpp"

#include <vector>

namespace strata {

std::span<const Network> image_networks() {
  static const std::vector<Network> all = [] {
    std::vector<Network> joined;
    for (const auto& family :
         {zoo::lenet_networks(), zoo::alexnet_networks(), zoo::overfeat_networks(),
          zoo::vgg_networks(), zoo::googlenet_networks(), zoo::inception_v3_networks(),
          zoo::resnet_networks(), zoo::resnet_keras_networks(), zoo::mobilenet_keras_networks(),
          zoo::mobilenet_v2_networks(), zoo::densenet_networks(), zoo::squeezenet_networks(),
          zoo::efficientnet_networks(), zoo::darknet_networks(), zoo::yolov3_networks(),
          zoo::convolution_networks()}) {
      joined.insert(joined.end(), family.begin(), family.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace strata
