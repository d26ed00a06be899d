// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/bind.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <string>

// Multiply-adds of the networks, counted here from the shapes of their tensors alone, against
// published figures and formulas. What cost/ counts is tested there.
namespace strata {
namespace {

class Products {
 public:
  explicit Products(const BoundGraph& bound) : bound_(bound) {}

  std::int64_t total() {
    std::int64_t count = 0;
    for (const Node& node : bound_.graph->nodes) {
      node_ = &node;
      count += std::visit([this](const auto& op) { return of(op); }, node.op);
    }
    return count;
  }

 private:
  const BoundTensor& in(std::size_t i) const { return bound_.tensors[node_->inputs[i]]; }
  const BoundTensor& out() const { return bound_.tensors[node_->outputs[0]]; }

  // The weight is stored [outputs, inputs…]: each output element takes one product per input.
  std::int64_t per_weight_row() const {
    const BoundTensor& weight = in(node_->first_own);
    return out().elements * (weight.elements / weight[0]);
  }
  std::int64_t of(const Linear&) { return per_weight_row(); }
  std::int64_t of(const Convolution&) { return per_weight_row(); }
  std::int64_t of(const MatMul& op) {
    const BoundTensor& a = in(0);
    return out().elements * a[a.axes() - (op.transpose_a ? 2 : 1)];
  }
  std::int64_t of(const Attention&) {  // Q Kᵀ takes a query's width per pair, P V as much
    return 2 * in(0).elements * in(1)[1];
  }
  std::int64_t of(const Recurrent& op) {
    std::int64_t weights = 0;
    for (std::size_t i = node_->first_own; i < node_->inputs.size(); ++i) {
      if (in(i).axes() == 2) weights += in(i).elements;
    }
    EXPECT_EQ(op.layers, 1);
    return in(0)[0] * in(0)[1] * weights;
  }
  template <class Other>
  std::int64_t of(const Other&) {
    return 0;
  }

  const BoundGraph& bound_;
  const Node* node_ = nullptr;
};

std::int64_t products_of(const char* specification, const Binding& binding) {
  const Graph graph = build_network(specification);
  return Products(bind_graph(graph, binding)).total();
}

// torchvision's table says 17.56 GFLOPS, where one multiply-add is one; 17.564 in the metadata of
// its weights. The products inside attention (0.715 G) are part of it.
TEST(SequenceProducts, vit_b_16_is_torchvisions) {
  const std::int64_t patches = 196 * 768 * 768;
  const std::int64_t layer = 197 * (768 * 2304 + 768 * 768 + 2 * 768 * 3072) + 2 * 197 * 197 * 768;
  const std::int64_t products = products_of("vit_b_16", {{"batch", 1}});
  EXPECT_EQ(products, patches + 12 * layer + 768 * 1000);
  EXPECT_NEAR(static_cast<double>(products), 17.564e9, 0.5e6);
}

// What the layers of transformers' BertForMaskedLM, exported to ONNX at 1×128, multiply; the file
// has a language-model head where this network has the pooler (one vector of 768).
TEST(SequenceProducts, bert_base_is_the_exported_models) {
  const std::int64_t exported = 14'249'558'016;
  const std::int64_t language_model_head = std::int64_t{128} * 768 * (768 + 30'522);
  EXPECT_EQ(products_of("bert_base", {{"batch", 1}, {"seq", 128}}),
            exported - language_model_head + 768 * 768);
}

TEST(SequenceProducts, lstm_is_four_gates_of_inputs_and_state) {
  EXPECT_EQ(products_of("lstm", {}), 16 * 16 * 4 * (32 + 16) * 16);
  EXPECT_EQ(products_of("lstm:features=64,hidden=128", {{"batch", 32}, {"seq", 8}}),
            32 * 8 * 4 * (64 + 128) * 128);
  EXPECT_EQ(products_of("lstm_stack:classes=1000", {}),
            std::int64_t{32} * 50 * (4 * 4 * 2048 * 1024 + 1024 * 1000));
}

TEST(SequenceProducts, grow_with_batch_and_length) {
  // Word by word, a decoder costs two products per pair of positions and width, and one per weight
  // it multiplies with.
  const std::int64_t weights = 12 * 12 * 768 * 768 + 768 * 50'257;
  for (const std::int64_t seq : {1, 64, 1024}) {
    EXPECT_EQ(products_of("gpt2", {{"batch", 3}, {"seq", seq}}),
              3 * seq * (weights + 12 * 2 * seq * 768));
  }
}

TEST(SequenceProducts, thesis_transformer_follows_its_feed_forward_width) {
  const Binding binding{{"batch", 128}, {"seq", 50}};
  const std::int64_t narrow = products_of("transformer_thesis", binding);
  const std::int64_t published = products_of("transformer_thesis:ff=4096", binding);
  EXPECT_EQ(published - narrow, std::int64_t{128} * 50 * 12 * 2 * 1024 * (4096 - 1024));
  // 18 attentions of four products with weights and two with activations, 12 feed-forward pairs.
  EXPECT_EQ(narrow, std::int64_t{128} * 50 *
                        (18 * (4 * 1024 * 1024 + 2 * 50 * 1024) + 12 * 2 * 1024 * 1024));
}

TEST(SequenceProducts, additive_attention_of_gnmt) {
  const std::int64_t n = 2;
  const std::int64_t t = 5;
  const std::int64_t h = 16;
  const std::int64_t encoder =
      2 * 4 * 2 * h * h + 4 * 3 * h * h + 4 * 2 * h * h;  // both directions, 2H → H, H → H
  const std::int64_t decoder = 4 * 2 * h * h + 2 * (4 * 3 * h * h);
  const std::int64_t attention =
      2 * h * h + 2 * t * h;  // Wq, Wk; score and context per pair of steps
  EXPECT_EQ(products_of("gnmt_thesis:layers=3,hidden=16,directions=2", {{"batch", n}, {"seq", t}}),
            n * t * (encoder + decoder + attention));
  EXPECT_EQ(products_of("gnmt_thesis:layers=3,hidden=16", {{"batch", n}, {"seq", t}}),
            n * t * (3 * 4 * 2 * h * h + decoder + attention));
  EXPECT_EQ(products_of("gnmt:layers=3,hidden=16,vocabulary=100", {{"batch", n}, {"seq", t}}),
            n * t * (encoder + decoder + attention + h * 100));
}

}  // namespace
}  // namespace strata
