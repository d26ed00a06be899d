// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/builder.hpp"
#include "strata/zoo/zoo.hpp"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

/// The layers of which the built-in image networks are made. Each adds one node (or the few that
/// always go together) to a GraphBuilder and returns what comes out. Sizes are in PyTorch's terms:
/// square windows, the same padding on every side.
namespace strata::zoo {

/// A convolution with a square window.
struct Conv2d {
  std::int64_t channels = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool bias = false;

  operator Convolution() const;  // NOLINT(google-explicit-constructor): it is one, only shorter
};

/// A pooling window.
struct Window {
  std::int64_t kernel = 2;
  std::int64_t stride = 2;
  std::int64_t padding = 0;
  bool ceil_mode = false;
};

/// Names of the nodes of a convolution with normalisation and activation.
struct ConvNames {
  std::string_view conv;
  std::string_view norm;
  std::string_view activation;
};

/// The batch of images, batch × channels × image × image, named "input". `default_batch` holds
/// until the graph is bound to another one.
TensorId image_input(GraphBuilder& builder, std::int64_t image, std::int64_t channels = 3,
                     std::int64_t default_batch = 32);

TensorId conv(GraphBuilder& builder, std::string_view name, const Convolution& convolution,
              TensorId x);
TensorId linear(GraphBuilder& builder, std::string_view name, std::int64_t features, TensorId x);
TensorId batch_norm(GraphBuilder& builder, std::string_view name, TensorId x);
TensorId activation(GraphBuilder& builder, std::string_view name, UnaryKind kind, TensorId x);
TensorId relu(GraphBuilder& builder, std::string_view name, TensorId x);
TensorId dropout(GraphBuilder& builder, std::string_view name, double probability, TensorId x);
TensorId max_pool(GraphBuilder& builder, std::string_view name, const Window& window, TensorId x);
/// Zeros of the padding count in the mean, as in PyTorch.
TensorId average_pool(GraphBuilder& builder, std::string_view name, const Window& window,
                      TensorId x);
TensorId add(GraphBuilder& builder, std::string_view name, TensorId a, TensorId b);
/// Joins feature maps along the channels; one alone is passed on as it is.
TensorId concat(GraphBuilder& builder, std::string_view name, std::span<const TensorId> parts);
TensorId concat(GraphBuilder& builder, std::string_view name,
                std::initializer_list<TensorId> parts);
TensorId flatten(GraphBuilder& builder, TensorId x);
/// The mean of every feature map: batch × channels.
TensorId global_average(GraphBuilder& builder, std::string_view name, TensorId x);

/// Convolution, batch normalisation, activation.
TensorId conv_norm_act(GraphBuilder& builder, const ConvNames& names,
                       const Convolution& convolution, UnaryKind kind, TensorId x);

/// torchvision's Conv2dNormActivation, a sequence of three whose nodes are "<name>.0", "<name>.1",
/// "<name>.2".
TensorId conv_sequence(GraphBuilder& builder, std::string_view name, const Convolution& convolution,
                       UnaryKind kind, TensorId x);

/// torchvision's BasicConv2d of the inception networks: "<name>.conv", "<name>.bn", "<name>.relu".
TensorId basic_conv(GraphBuilder& builder, std::string_view name, const Convolution& convolution,
                    TensorId x);

/// Whether zero padding is a layer of its own, as Keras writes it, or part of the window that
/// follows.
enum class PaddingStyle : std::uint8_t { explicit_layers, fused };

/// The value of the parameter `padding_parameter`.
PaddingStyle padding_style(const NetworkArguments& arguments);

/// The value of the parameter `auxiliary_parameter`.
bool has_auxiliary_heads(const NetworkArguments& arguments);

/// Nodes added while a Block lives belong to it. Unlike GraphBuilder::Scope it leaves names alone:
/// in Keras and darknet a layer's name is complete.
class Block {
 public:
  Block(GraphBuilder& builder, std::string name);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

 private:
  GraphBuilder& builder_;
  std::string name_;
  std::size_t first_node_;
};

// ---- parameters that many networks share---------------------------------------------------------
// -------------------------------------------------------------------------------------------------

constexpr NetworkParameter image_parameter(std::string_view default_value) {
  return {"image", default_value, "side of the square input image in pixels"};
}
inline constexpr NetworkParameter classes_parameter{"classes", "1000", "number of classes"};
inline constexpr NetworkParameter padding_parameter{
    "padding", "explicit",
    "explicit: zero padding is a layer, as in Keras; fused: part of the next"};
inline constexpr NetworkParameter auxiliary_parameter{
    "auxiliary", "no", "yes: with the auxiliary classifiers that only training uses"};

}  // namespace strata::zoo
