// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/zoo/layers.hpp"
#include "strata/zoo/sequence/families.hpp"
#include "strata/zoo/sequence/sequence_builder.hpp"

#include <array>
#include <string>

// Dosovitskiy et al., An Image Is Worth 16x16 Words, 2020 (arXiv:2010.11929), with the modules of
// torchvision's vit_b_16: 86,567,656 parameters; vit_l_16 has 304,326,632, vit_b_32 88,224,232, and
// timm's vit_s_16 22,050,664. torchvision's dropout rates are 0, so there is no dropout here.
namespace strata {
namespace {

using Scope = GraphBuilder::Scope;

struct VitSize {
  std::int64_t layers = 0, width = 0, heads = 0, image = 0, patch = 0, classes = 0;

  std::int64_t patches() const { return (image / patch) * (image / patch); }
};

/// The image as a sequence [batch, 1 + patches, width]: the class token, then one vector per
/// patch, each with its position.
TensorId embed(GraphBuilder& b, const VitSize& size, TensorId pixels) {
  const std::int64_t width = size.width, patches = size.patches();
  const Dim batch = b.type(pixels).shape[0];
  const zoo::Conv2d projection{
      .channels = width, .kernel = size.patch, .stride = size.patch, .bias = true};
  const TensorId maps = zoo::conv(b, "conv_proj", projection, pixels);
  const TensorId rows = b.add("patches", Reshape{{batch, width, patches}}, {maps});
  const TensorId vectors = b.add("patch_vectors", Transpose{{0, 2, 1}}, {rows});
  const TensorId token = b.stored("class_token", {1, 1, width});
  const TensorId tokens = b.add("class_tokens", Expand{{batch, 1, width}}, {token});
  const TensorId sequence = b.add("prepend_class_token", Concat{1}, {tokens, vectors});
  const Scope scope(b, "encoder");
  const TensorId positions = b.stored("pos_embedding", {1, patches + 1, width});
  return zoo::add(b, "add_positions", sequence, positions);
}

TensorId add_attention(GraphBuilder& b, const VitSize& size, TensorId x) {
  const std::array qkv{zoo::linear(b, "self_attention.in_proj", 3 * size.width, x)};
  const NodeId split =
      b.add_node("self_attention.split", Split{.axis = -1, .sizes = {}, .parts = 3}, qkv);
  const TensorId attended =
      b.add("self_attention.attention", Attention{.heads = size.heads},
            {b.output_of(split, 0), b.output_of(split, 1), b.output_of(split, 2)});
  return zoo::linear(b, "self_attention.out_proj", size.width, attended);
}

TensorId add_mlp(GraphBuilder& b, const VitSize& size, TensorId x) {
  const TensorId inner =
      zoo::activation(b, "mlp.1", UnaryKind::gelu, zoo::linear(b, "mlp.0", 4 * size.width, x));
  return zoo::linear(b, "mlp.3", size.width, inner);
}

VitSize vit_size(const NetworkArguments& arguments) {
  const VitSize size{.layers = layers_argument(arguments),
                     .width = arguments.number("width"),
                     .heads = arguments.number("heads"),
                     .image = arguments.number("image"),
                     .patch = arguments.number("patch"),
                     .classes = arguments.number("classes")};
  check_heads(size.heads, size.width);
  if (size.image % size.patch != 0)
    fail(ErrorKind::usage, "patch={} does not divide image={}", size.patch, size.image);
  return size;
}

Graph build_vit(const NetworkArguments& arguments) {
  const VitSize size = vit_size(arguments);
  GraphBuilder b("vit_b_16");
  TensorId x = embed(b, size, zoo::image_input(b, size.image));
  for (std::int64_t i = 0; i < size.layers; ++i) {
    const Scope scope(b, "encoder.layers.encoder_layer_" + std::to_string(i));
    x = zoo::add(b, "self_attention.residual",
                 add_attention(b, size, b.add("ln_1", LayerNorm{}, {x})), x);
    x = zoo::add(b, "mlp.residual", add_mlp(b, size, b.add("ln_2", LayerNorm{}, {x})), x);
  }
  x = b.add("encoder.ln", LayerNorm{}, {x});
  const TensorId first =
      b.add("class_vector", Slice{.axes = {1}, .begin = {0}, .end = {1}, .step = {}}, {x});
  b.output(zoo::linear(b, "heads.head", size.classes, zoo::flatten(b, first)));
  return std::move(b).finish();
}

constexpr std::array vit_parameters{
    NetworkParameter{"layers", "12", "encoder layers"},
    NetworkParameter{"width", "768", "width of the model"},
    NetworkParameter{"heads", "12", "attention heads; they divide the width"},
    NetworkParameter{"image", "224", "edge of the image"},
    NetworkParameter{"patch", "16", "edge of a patch; it divides the image"},
    NetworkParameter{"classes", "1000", "outputs"},
};

constexpr std::array vit_sizes{
    NetworkSize{"vit_s_16", "ViT-S/16", "width=384,heads=6"},
    NetworkSize{"vit_b_32", "ViT-B/32", "patch=32"},
    NetworkSize{"vit_l_16", "ViT-L/16", "layers=24,width=1024,heads=16"},
    NetworkSize{"vit_l_32", "ViT-L/32", "layers=24,width=1024,heads=16,patch=32"},
};

}  // namespace

constinit const Network vit_b_16_network{
    .name = "vit_b_16",
    .title = "ViT-B/16",
    .source = "Dosovitskiy et al., An Image Is Worth 16x16 Words, 2020, as torchvision's vit_b_16",
    .parameters = vit_parameters,
    .build = build_vit,
    .sizes = vit_sizes,
};

}  // namespace strata
