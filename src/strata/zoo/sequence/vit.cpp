// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/layers.hpp"
#include "strata/zoo/sequence/families.hpp"

#include <array>
#include <string>

// Dosovitskiy et al., An Image Is Worth 16x16 Words, 2020 (arXiv:2010.11929), with the modules of
// torchvision's vit_b_16: 86,567,656 parameters. torchvision's dropout rates are 0, so there is no
// dropout here.
namespace strata {
namespace {

using Scope = GraphBuilder::Scope;

constexpr std::int64_t vit_layers = 12;
constexpr std::int64_t vit_width = 768;
constexpr std::int64_t vit_heads = 12;
constexpr std::int64_t vit_ffn = 3072;
constexpr std::int64_t image = 224;
constexpr std::int64_t patch = 16;
constexpr std::int64_t patches = (image / patch) * (image / patch);
constexpr std::int64_t classes = 1000;

/// The image as a sequence [batch, 1 + patches, width]: the class token, then one vector per
/// patch, each with its position.
TensorId embed(GraphBuilder& b, TensorId pixels) {
  const Dim batch = b.type(pixels).shape[0];
  const zoo::Conv2d projection{
      .channels = vit_width, .kernel = patch, .stride = patch, .bias = true};
  const TensorId maps = zoo::conv(b, "conv_proj", projection, pixels);
  const TensorId rows = b.add("patches", Reshape{{batch, vit_width, patches}}, {maps});
  const TensorId vectors = b.add("patch_vectors", Transpose{{0, 2, 1}}, {rows});
  const TensorId token = b.stored("class_token", {1, 1, vit_width});
  const TensorId tokens = b.add("class_tokens", Expand{{batch, 1, vit_width}}, {token});
  const TensorId sequence = b.add("prepend_class_token", Concat{1}, {tokens, vectors});
  const Scope scope(b, "encoder");
  const TensorId positions = b.stored("pos_embedding", {1, patches + 1, vit_width});
  return zoo::add(b, "add_positions", sequence, positions);
}

TensorId add_attention(GraphBuilder& b, TensorId x) {
  const std::array qkv{zoo::linear(b, "self_attention.in_proj", 3 * vit_width, x)};
  const NodeId split =
      b.add_node("self_attention.split", Split{.axis = -1, .sizes = {}, .parts = 3}, qkv);
  const TensorId attended =
      b.add("self_attention.attention", Attention{.heads = vit_heads},
            {b.output_of(split, 0), b.output_of(split, 1), b.output_of(split, 2)});
  return zoo::linear(b, "self_attention.out_proj", vit_width, attended);
}

TensorId add_mlp(GraphBuilder& b, TensorId x) {
  const TensorId inner =
      zoo::activation(b, "mlp.1", UnaryKind::gelu, zoo::linear(b, "mlp.0", vit_ffn, x));
  return zoo::linear(b, "mlp.3", vit_width, inner);
}

Graph build_vit(const NetworkArguments&) {
  GraphBuilder b("vit_b_16");
  TensorId x = embed(b, zoo::image_input(b, image));
  for (std::int64_t i = 0; i < vit_layers; ++i) {
    const Scope scope(b, "encoder.layers.encoder_layer_" + std::to_string(i));
    x = zoo::add(b, "self_attention.residual", add_attention(b, b.add("ln_1", LayerNorm{}, {x})),
                 x);
    x = zoo::add(b, "mlp.residual", add_mlp(b, b.add("ln_2", LayerNorm{}, {x})), x);
  }
  x = b.add("encoder.ln", LayerNorm{}, {x});
  const TensorId first =
      b.add("class_vector", Slice{.axes = {1}, .begin = {0}, .end = {1}, .step = {}}, {x});
  b.output(zoo::linear(b, "heads.head", classes, zoo::flatten(b, first)));
  return std::move(b).finish();
}

}  // namespace

constinit const Network vit_b_16_network{
    .name = "vit_b_16",
    .title = "ViT-B/16",
    .source = "Dosovitskiy et al., An Image Is Worth 16x16 Words, 2020, as torchvision's vit_b_16",
    .parameters = {},
    .build = build_vit,
};

}  // namespace strata
