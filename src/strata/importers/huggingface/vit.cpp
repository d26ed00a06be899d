// SPDX-License-Identifier: Apache-2.0
// ViT: an encoder on the patches of an image.
#include "strata/base/error.hpp"
#include "strata/graph/builder.hpp"
#include "strata/importers/huggingface/families.hpp"

#include <optional>
#include <string>

namespace strata::huggingface {
namespace {

using Scope = GraphBuilder::Scope;

struct Vit {
  std::int64_t layers = 0, width = 0, heads = 0, inner = 0, image = 0, patch = 0, channels = 0;
  UnaryKind activation = UnaryKind::gelu;
  bool bias = true;
  double dropout = 0;

  std::int64_t patches() const { return (image / patch) * (image / patch); }
};

class VitBuilder : public GraphBuilder {
 public:
  explicit VitBuilder(const Vit& net)
      : GraphBuilder("vit"), net_(net), batch_(symbols().parameter("batch", 32)) {}

  TensorId embedded() {
    const TensorId pixels = input("pixel_values", {batch_, net_.channels, net_.image, net_.image});
    const Scope scope(*this, "embeddings");
    const Convolution projection{.channels = net_.width,
                                 .kernel = {net_.patch, net_.patch},
                                 .stride = {net_.patch, net_.patch},
                                 .bias = true};
    const TensorId maps = add("patch_embeddings.projection", projection, {pixels});
    const TensorId rows = add("patches", Reshape{{batch_, net_.width, net_.patches()}}, {maps});
    const TensorId vectors = add("patch_vectors", Transpose{{0, 2, 1}}, {rows});
    const TensorId token = stored("cls_token", {1, 1, net_.width});
    const TensorId tokens = add("cls_tokens", Expand{{batch_, 1, net_.width}}, {token});
    const TensorId sequence = add("prepend_cls_token", Concat{1}, {tokens, vectors});
    const TensorId positions = stored("position_embeddings", {1, net_.patches() + 1, net_.width});
    return dropped("dropout", sum("add_positions", sequence, positions));
  }

  TensorId layer(TensorId x) {
    const TensorId normed = add("layernorm_before", LayerNorm{}, {x});
    const TensorId q = linear("attention.attention.query", normed, net_.width, net_.bias);
    const TensorId k = linear("attention.attention.key", normed, net_.width, net_.bias);
    const TensorId v = linear("attention.attention.value", normed, net_.width, net_.bias);
    const TensorId heads =
        add("attention.attention.attention", Attention{.heads = net_.heads}, {q, k, v});
    x = sum(
        "attention.residual",
        dropped("attention.output.dropout", linear("attention.output.dense", heads, net_.width)),
        x);
    const TensorId after = add("layernorm_after", LayerNorm{}, {x});
    const TensorId inner = add("intermediate.activation", Unary{net_.activation},
                               {linear("intermediate.dense", after, net_.inner)});
    return sum("output.residual",
               dropped("output.dropout", linear("output.dense", inner, net_.width)), x);
  }

  TensorId class_vector(TensorId x) {
    const TensorId first =
        add("class_vector", Slice{.axes = {1}, .begin = {0}, .end = {1}, .step = {}}, {x});
    return add("class_vector.flatten", Reshape{{batch_, net_.width}}, {first});
  }

  TensorId linear(std::string_view name, TensorId x, std::int64_t features, bool bias = true) {
    return add(name, Linear{.features = features, .bias = bias}, {x});
  }

 private:
  TensorId sum(std::string_view name, TensorId a, TensorId b) {
    return add(name, Elementwise{ElementwiseKind::add}, {a, b});
  }
  TensorId dropped(std::string_view name, TensorId x) {
    return net_.dropout > 0 ? add(name, Dropout{net_.dropout}, {x}) : x;
  }

  const Vit& net_;
  Dim batch_;
};

}  // namespace

Graph build_vit(const ModelConfig& config) {
  const Vit net{.layers = config.layers({"num_hidden_layers"}),
                .width = config.size({"hidden_size"}),
                .heads = config.size({"num_attention_heads"}),
                .inner = config.size({"intermediate_size"}),
                .image = config.size({"image_size"}, 224),
                .patch = config.size({"patch_size"}, 16),
                .channels = config.size({"num_channels"}, 3),
                .activation = config.activation({"hidden_act"}, "gelu"),
                .bias = config.truth({"qkv_bias"}, true),
                .dropout = config.probability({"hidden_dropout_prob"}, 0)};
  check_heads(net.heads, net.width);
  if (net.image % net.patch != 0)
    fail(ErrorKind::input, "patches of {} pixels do not divide an image of {}", net.patch,
         net.image);
  const Head head = config.head({Head::sequence_classification, Head::none});
  VitBuilder b(net);
  TensorId x = 0;
  {
    std::optional<Scope> scope;
    if (head != Head::none) scope.emplace(b, "vit");
    x = b.embedded();
    for (std::int64_t i = 0; i < net.layers; ++i) {
      const Scope layer(b, "encoder.layer." + std::to_string(i));
      x = b.layer(x);
    }
    x = b.add("layernorm", LayerNorm{}, {x});
  }
  if (head == Head::sequence_classification) {
    b.output(b.linear("classifier", b.class_vector(x), config.labels()));
  } else {
    b.output(x);
    b.output(b.add("pooler.activation", Unary{UnaryKind::tanh},
                   {b.linear("pooler.dense", b.class_vector(x), net.width)}));
  }
  return std::move(b).finish();
}

}  // namespace strata::huggingface
