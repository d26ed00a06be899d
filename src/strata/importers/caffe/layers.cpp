// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::caffe {
namespace {

struct Kind {
  std::string_view name;
  AddLayer add;
};

constexpr auto kinds = std::to_array<Kind>({
    {"convolution", add_convolution},
    {"deconvolution", add_convolution},
    {"convolutiondepthwise", add_convolution},
    {"depthwiseconvolution", add_convolution},
    {"innerproduct", add_inner_product},
    {"embed", add_embed},

    {"pooling", add_pooling},
    {"spp", add_spatial_pyramid},
    {"lrn", add_lrn},
    {"reorg", add_reorg},
    {"upsample", add_upsample},
    {"interp", add_interp},

    {"batchnorm", add_batch_norm},
    {"scale", add_scale},
    {"bias", add_bias},
    {"mvn", add_mvn},
    {"normalize", add_normalize},

    {"relu", add_relu},
    {"prelu", add_prelu},
    {"relu6", add_activation},
    {"elu", add_activation},
    {"sigmoid", add_activation},
    {"tanh", add_activation},
    {"swish", add_activation},
    {"mish", add_activation},
    {"absval", add_activation},
    {"bnll", add_activation},
    {"exp", add_activation},
    {"log", add_activation},
    {"clip", add_activation},
    {"power", add_power},
    {"eltwise", add_eltwise},
    {"axpy", add_axpy},
    {"dropout", add_dropout},
    {"softmax", add_softmax},

    {"concat", add_concat},
    {"slice", add_slice},
    {"split", add_split},
    {"flatten", add_flatten},
    {"reshape", add_reshape},
    {"permute", add_permute},
    {"tile", add_tile},
    {"crop", add_crop},
    {"shufflechannel", add_shuffle_channel},
    {"reduction", add_reduction},
    {"parameter", add_parameter},

    {"lstm", add_lstm},
    {"rnn", add_rnn},

    {"softmaxwithloss", add_softmax_loss},
    {"sigmoidcrossentropyloss", add_sigmoid_loss},
    {"euclideanloss", add_euclidean_loss},
    {"contrastiveloss", add_contrastive_loss},
    {"hingeloss", add_other_loss},
    {"infogainloss", add_other_loss},
    {"multinomiallogisticloss", add_other_loss},
    {"smoothl1loss", add_other_loss},
    {"multiboxloss", add_other_loss},
    {"accuracy", add_ignored},
    {"silence", add_ignored},
    {"hdf5output", add_ignored},
    {"evaldetection", add_ignored},
    {"detectionevaluate", add_ignored},

    {"priorbox", add_prior_box},
    {"detectionoutput", add_detection_output},
    {"roipooling", add_roi_pooling},
    {"argmax", add_arg_max},
});

}  // namespace

AddLayer find_layer(std::string_view kind) {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& row) { return row.name == kind; });
  return found == kinds.end() ? nullptr : found->add;
}

TensorId add_opaque(const Layer& layer, Net& net, const Shape& shape) {
  const std::vector<TensorId> inputs = net.all_bottoms(layer);
  const NodeId node = net.add_node(layer, Opaque{"caffe." + layer.type, {shape}}, inputs);
  return net.builder().output_of(node);
}

void add_unknown(const Layer& layer, Net& net) {
  net.note(
      WarningCode::operator_not_counted, layer,
      fmt::format("a layer of type '{}' is not counted, and what it makes is taken to have the "
                  "shape of what it reads",
                  layer.type));
  const std::vector<TensorId> inputs = net.all_bottoms(layer);
  if (inputs.empty() || layer.tops.empty()) return;
  const std::vector<Shape> shapes(layer.tops.size(), net.shape(inputs.front()));
  const NodeId node = net.add_node(layer, Opaque{"caffe." + layer.type, shapes}, inputs);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    net.set_top(layer, net.builder().output_of(node, i), i);
  }
}

}  // namespace strata::caffe
