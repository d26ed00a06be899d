// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/layers.hpp"

#include <array>
#include <utility>

namespace strata::zoo {
namespace {

Pool pool(PoolKind kind, const Window& window) {
  return {.kind = kind,
          .kernel = {window.kernel, window.kernel},
          .stride = {window.stride, window.stride},
          .pad_begin = {window.padding, window.padding},
          .pad_end = {window.padding, window.padding},
          .ceil_mode = window.ceil_mode,
          .count_include_pad = kind == PoolKind::average};
}

std::string joined(std::string_view name, std::string_view part) {
  std::string whole;
  whole.reserve(name.size() + part.size());
  return whole.append(name).append(part);
}

}  // namespace

Conv2d::operator Convolution() const {
  return {.channels = channels,
          .kernel = {kernel, kernel},
          .stride = {stride, stride},
          .pad_begin = {padding, padding},
          .pad_end = {padding, padding},
          .groups = groups,
          .bias = bias};
}

TensorId image_input(GraphBuilder& builder, std::int64_t image, std::int64_t channels,
                     std::int64_t default_batch) {
  const Dim batch = builder.symbols().parameter("batch", default_batch);
  return builder.input("input", {batch, channels, image, image});
}

TensorId conv(GraphBuilder& builder, std::string_view name, const Convolution& convolution,
              TensorId x) {
  return builder.add(name, convolution, {x});
}

TensorId linear(GraphBuilder& builder, std::string_view name, std::int64_t features, TensorId x) {
  return builder.add(name, Linear{.features = features}, {x});
}

TensorId batch_norm(GraphBuilder& builder, std::string_view name, TensorId x) {
  return builder.add(name, BatchNorm{}, {x});
}

TensorId activation(GraphBuilder& builder, std::string_view name, UnaryKind kind, TensorId x) {
  return builder.add(name, Unary{kind}, {x});
}

TensorId relu(GraphBuilder& builder, std::string_view name, TensorId x) {
  return activation(builder, name, UnaryKind::relu, x);
}

TensorId dropout(GraphBuilder& builder, std::string_view name, double probability, TensorId x) {
  return builder.add(name, Dropout{probability}, {x});
}

TensorId max_pool(GraphBuilder& builder, std::string_view name, const Window& window, TensorId x) {
  return builder.add(name, pool(PoolKind::maximum, window), {x});
}

TensorId average_pool(GraphBuilder& builder, std::string_view name, const Window& window,
                      TensorId x) {
  return builder.add(name, pool(PoolKind::average, window), {x});
}

TensorId add(GraphBuilder& builder, std::string_view name, TensorId a, TensorId b) {
  return builder.add(name, Elementwise{ElementwiseKind::add}, {a, b});
}

TensorId concat(GraphBuilder& builder, std::string_view name, std::span<const TensorId> parts) {
  if (parts.size() == 1) return parts.front();
  return builder.add(name, Concat{.axis = 1}, parts);
}

TensorId concat(GraphBuilder& builder, std::string_view name,
                std::initializer_list<TensorId> parts) {
  return concat(builder, name, std::span<const TensorId>(parts.begin(), parts.size()));
}

TensorId flatten(GraphBuilder& builder, TensorId x) {
  return builder.add("flatten", Flatten{}, {x});
}

TensorId global_average(GraphBuilder& builder, std::string_view name, TensorId x) {
  return flatten(builder, builder.add(name, AdaptivePool{}, {x}));
}

TensorId conv_norm_act(GraphBuilder& builder, const ConvNames& names,
                       const Convolution& convolution, UnaryKind kind, TensorId x) {
  x = conv(builder, names.conv, convolution, x);
  x = batch_norm(builder, names.norm, x);
  return activation(builder, names.activation, kind, x);
}

TensorId conv_sequence(GraphBuilder& builder, std::string_view name, const Convolution& convolution,
                       UnaryKind kind, TensorId x) {
  return conv_norm_act(builder, {joined(name, ".0"), joined(name, ".1"), joined(name, ".2")},
                       convolution, kind, x);
}

TensorId basic_conv(GraphBuilder& builder, std::string_view name, const Convolution& convolution,
                    TensorId x) {
  return conv_norm_act(builder, {joined(name, ".conv"), joined(name, ".bn"), joined(name, ".relu")},
                       convolution, UnaryKind::relu, x);
}

PaddingStyle padding_style(const NetworkArguments& arguments) {
  static constexpr std::array<std::string_view, 2> words{"explicit", "fused"};
  return arguments.word(padding_parameter.name, words) == 0 ? PaddingStyle::explicit_layers
                                                            : PaddingStyle::fused;
}

bool has_auxiliary_heads(const NetworkArguments& arguments) {
  static constexpr std::array<std::string_view, 2> words{"no", "yes"};
  return arguments.word(auxiliary_parameter.name, words) == 1;
}

Block::Block(GraphBuilder& builder, std::string name)
    : builder_(builder), name_(std::move(name)), first_node_(builder.graph().nodes.size()) {}

Block::~Block() {
  auto& nodes = builder_.graph().nodes;
  for (std::size_t node = first_node_; node < nodes.size(); ++node) nodes[node].block = name_;
}

}  // namespace strata::zoo
