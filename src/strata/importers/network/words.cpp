// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/words.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/importers/network/document.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace strata::network {
namespace {

constexpr std::array<std::pair<std::string_view, TensorKind>, 4> stored_kinds = {{
    {"input", TensorKind::input},
    {"parameter", TensorKind::parameter},
    {"buffer", TensorKind::buffer},
    {"constant", TensorKind::constant},
}};

constexpr std::array<std::pair<std::string_view, RecurrentOrder>, 2> orders = {{
    {"layer_major", RecurrentOrder::layer_major},
    {"time_major", RecurrentOrder::time_major},
}};

// What PyTorch, Keras, ONNX, Caffe and darknet call things, without case and underscores. Not
// accepted, so that every file has one vocabulary, but answered.
constexpr std::array<std::pair<std::string_view, std::string_view>, 34> foreign_names = {{
    {"conv", "convolution"},
    {"conv1d", "convolution"},
    {"conv2d", "convolution"},
    {"conv3d", "convolution"},
    {"convolutional", "convolution"},
    {"depthwiseconv2d", "convolution with groups"},
    {"convtranspose", "transposed_convolution"},
    {"convtranspose2d", "transposed_convolution"},
    {"deconvolution", "transposed_convolution"},
    {"fc", "linear"},
    {"dense", "linear"},
    {"gemm", "linear"},
    {"connected", "linear"},
    {"innerproduct", "linear"},
    {"bmm", "matmul"},
    {"maxpool", "max_pool"},
    {"maxpool2d", "max_pool"},
    {"maxpooling2d", "max_pool"},
    {"avgpool", "average_pool"},
    {"avgpool2d", "average_pool"},
    {"averagepooling2d", "average_pool"},
    {"globalaveragepool", "adaptive_average_pool"},
    {"globalaveragepooling2d", "adaptive_average_pool"},
    {"globalmaxpool", "adaptive_max_pool"},
    {"bn", "batch_norm"},
    {"batchnorm2d", "batch_norm"},
    {"batchnormalization", "batch_norm"},
    {"layernormalization", "layer_norm"},
    {"lrn", "local_response_norm"},
    {"swish", "silu"},
    {"upsample", "resize_nearest"},
    {"reorg", "space_to_depth"},
    {"shortcut", "add"},
    {"route", "concat"},
}};

template <class Rows, class Kind>
std::string_view name_in(const Rows& rows, Kind kind) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [kind](const auto& entry) { return entry.second == kind; });
  STRATA_CHECK(row != rows.end(), "the table has every value that can be written");
  return row->first;
}

}  // namespace

std::optional<TensorKind> stored_kind_named(std::string_view name) {
  for (const auto& [word, kind] : stored_kinds) {
    if (word == name) return kind;
  }
  return std::nullopt;
}

std::string_view word_for(TensorKind kind) { return name_in(stored_kinds, kind); }

RecurrentOrder recurrent_order_named(std::string_view name) {
  for (const auto& [word, order] : orders) {
    if (word == name) return order;
  }
  fail(ErrorKind::input, "expected layer_major or time_major, got {}", in_quotes(name));
}

std::string_view word_for(RecurrentOrder order) { return name_in(orders, order); }

void fail_unknown_operator(std::string_view name) {
  std::string plain = lower_case(name);
  std::erase_if(plain, [](char c) { return c == '_' || c == '-' || c == ' '; });
  for (const auto& [foreign, ours] : foreign_names) {
    if (plain == foreign) {
      fail(ErrorKind::input, "no operator is called {}; Strata calls it {}", in_quotes(name), ours);
    }
  }
  std::vector<std::string> known;
  for (const std::string_view op : operator_names()) {
    std::string bare(op);
    std::erase(bare, '_');
    if (bare == plain)
      fail(ErrorKind::input, "no operator is called {}; Strata calls it {}", in_quotes(name), op);
    known.emplace_back(op);
  }
  fail(ErrorKind::input, "no operator is called {}{}", in_quotes(name), did_you_mean(name, known));
}

}  // namespace strata::network
