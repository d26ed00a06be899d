// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/darknet/sections.hpp"

#include <algorithm>
#include <array>

namespace strata::darknet {
namespace {

struct Kind {
  std::string_view name;
  MakeSection make;
  bool is_recurrent = false;
};

constexpr auto kinds = std::to_array<Kind>({
    {"convolutional", make_convolutional},
    {"conv", make_convolutional},
    {"deconvolutional", make_deconvolutional},
    {"deconv", make_deconvolutional},
    {"connected", make_connected},
    {"conn", make_connected},
    {"local", make_local},
    {"batchnorm", make_batchnorm},
    {"activation", make_activation},
    {"maxpool", make_maxpool},
    {"max", make_maxpool},
    {"avgpool", make_avgpool},
    {"avg", make_avgpool},
    {"local_avgpool", make_local_avgpool},
    {"local_avg", make_local_avgpool},
    {"upsample", make_upsample},
    {"reorg", make_reorg},
    {"reorg3d", make_reorg},
    {"crop", make_crop},
    {"dropout", make_dropout},
    {"normalization", make_normalization},
    {"lrn", make_normalization},
    {"route", make_route},
    {"shortcut", make_shortcut},
    {"scale_channels", make_scale_channels},
    {"sam", make_scale_channels},
    {"implicit", make_implicit},
    {"empty", make_empty},
    {"silence", make_empty},
    {"rnn", make_rnn, true},
    {"gru", make_gru, true},
    {"lstm", make_lstm, true},
    {"crnn", make_crnn, true},
    {"conv_lstm", make_conv_lstm, true},
    {"yolo", make_yolo},
    {"Gaussian_yolo", make_gaussian_yolo},
    {"region", make_region},
    {"detection", make_detection},
    {"softmax", make_softmax},
    {"soft", make_softmax},
    {"logistic", make_logistic},
    {"logxent", make_logistic},
    {"cost", make_cost},
    {"contrastive", make_contrastive},
});

const Kind* find(std::string_view name) {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace

MakeSection find_section(std::string_view kind) {
  const Kind* found = find(kind);
  return found == nullptr ? nullptr : found->make;
}

bool is_recurrent(std::string_view kind) {
  const Kind* found = find(kind);
  return found != nullptr && found->is_recurrent;
}

}  // namespace strata::darknet
