// SPDX-License-Identifier: Apache-2.0
// Every ONNX file of the collection, and what is known about them from elsewhere.
#include "counts.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/importers/onnx/onnx.hpp"

#include <gtest/gtest.h>

#include <array>
#include <ctime>
#include <limits>
#include <map>

namespace strata {
namespace {

std::filesystem::path onnx(std::string_view name) {
  return *collection() / "onnx" / (std::string(name) + ".onnx");
}

Graph graph_of_file(std::string_view name, const ImportOptions& options = {}) {
  return read_onnx(onnx(name), options);
}

std::int64_t count_of(const Graph& graph, std::string_view op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [op](const Node& node) { return name_of(node.op) == op; });
}

bool warns(const Graph& graph, WarningCode code) {
  return std::any_of(graph.warnings.begin(), graph.warnings.end(),
                     [code](const Warning& warning) { return warning.code == code; });
}

std::int64_t parameters_of(const Graph& graph) {
  const BoundGraph bound = bind_graph(graph, {});
  std::int64_t count = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::parameter) count += bound.tensors[id].elements;
  }
  return count;
}

std::int64_t multiply_adds_of(const Graph& graph, const Binding& binding = {}) {
  std::int64_t mac = 0;
  for (const NodeCost& cost : costs_of(bind_graph(graph, binding), Mode::inference)) {
    mac += cost.forward.mac;
  }
  return mac;
}

bool is_causal(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const auto* attention = std::get_if<Attention>(&node.op);
    return attention != nullptr && attention->causal;
  });
}

// The text of the warning with that code; empty when there is none.
std::string warning_of(const Graph& graph, WarningCode code) {
  for (const Warning& warning : graph.warnings) {
    if (warning.code == code) return warning.message;
  }
  return {};
}

// Refused, and why a reader of the file would do the same (docs/formats/onnx.md has the sentences).
const std::map<std::string, std::string, std::less<>> refused_onnx = {
    {"dummy_t5", "generates text"},
    {"tiny_gpt2_beamsearch", "generates text"},
    {"gpt2_past", "made by another node as well"},
    {"test_if", "chooses or repeats part of the network"},
    {"test_loop11", "chooses or repeats part of the network"},
    {"test_scan_sum", "chooses or repeats part of the network"},
    {"test_adam", "is a step of training"},
    {"test_momentum", "is a step of training"},
    {"test_reshape_allowzero_reordered", "target shape is not known before the network runs"},
};

TEST(OnnxCollection, every_file_is_read_or_refused_for_its_reason) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const auto files = files_below(*collection() / "onnx", ".onnx");
  EXPECT_GE(files.size(), 160U);
  std::size_t refusals = 0;
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    const auto expected = refused_onnx.find(file.stem().string());
    try {
      const Graph graph = read_onnx(file);
      EXPECT_EQ(expected, refused_onnx.end()) << "is read now";
      EXPECT_FALSE(graph.outputs.empty());
      EXPECT_NO_THROW(costs_of(bind_graph(graph, {})));
      EXPECT_NO_THROW(read_onnx(file, {.fuse = false}));
    } catch (const Error& error) {
      if (expected == refused_onnx.end()) {
        ADD_FAILURE() << error.what();
        continue;
      }
      EXPECT_NE(std::string_view(error.what()).find(expected->second), std::string_view::npos)
          << error.what();
      ++refusals;
    }
  }
  EXPECT_EQ(refusals, refused_onnx.size());
}

// The least of several runs in processor time: what others do on the machine only adds.
double seconds_to_cost(const std::filesystem::path& file) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 3; ++run) {
    const std::clock_t start = std::clock();
    costs_of(bind_graph(read_onnx(file), {}));
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

TEST(OnnxCollection, every_network_is_read_and_costed_in_50_ms) {
  if (!collection()) GTEST_SKIP() << no_collection;
  for (const auto& file : files_below(*collection() / "onnx", ".onnx")) {
    if (refused_onnx.contains(file.stem().string())) continue;
    EXPECT_LT(seconds_to_cost(file), 0.050) << file;
  }
}

// The batch can be chosen, and everything but attention with a fixed mask grows in proportion.
TEST(OnnxCollection, the_batch_of_every_network_is_open) {
  if (!collection()) GTEST_SKIP() << no_collection;
  for (const std::string folder : {"torch", "light", "zigzag"}) {
    for (const auto& file : files_below(*collection() / "onnx" / folder, ".onnx")) {
      SCOPED_TRACE(file.string());
      const Graph graph = read_onnx(file);
      EXPECT_FALSE(warns(graph, WarningCode::batch_fixed_in_file));
      EXPECT_EQ(3 * multiply_adds_of(graph, {{"batch", 1}}),
                multiply_adds_of(graph, {{"batch", 3}}));
    }
  }
}

struct Expected {
  std::string_view file;
  std::string_view network;
  std::int64_t fewer_parameters;  ///< in the file than in the built-in network
  std::int64_t fewer_multiply_adds;
};

// The same network from a file and built in. Differences:
// - PyTorch's new exporter folds batch normalisation (scale and shift go, and a bias of zeros too:
//   fresh networks have no other), and drops biases that are zero; it records both, and they are
//   put back.
// - zigzag's files come from the old exporter in inference mode, which keeps a bias per convolution
//   in place of scale and shift.
TEST(OnnxCollection, files_equal_the_built_in_networks) {
  if (!collection()) GTEST_SKIP() << no_collection;
  constexpr std::array<Expected, 11> table{{
      {"torch/alexnet", "alexnet", 0, 0},
      {"torch/resnet50.ts", "resnet50", 0, 0},
      {"torch/resnet50", "resnet50", 0, 0},
      {"torch/mobilenet_v2", "mobilenet_v2", 0, 0},
      {"torch/vit_b_16", "vit_b_16", 0, 0},
      {"light/light_resnet50", "resnet50", 0, 0},
      {"light/light_densenet121", "densenet121", 0, 0},
      {"light/light_vgg19", "vgg19", 0, 0},
      {"light/light_squeezenet", "squeezenet1_1", 0, 0},
      {"zigzag/resnet18", "resnet18", 4'800, 0},
      {"zigzag/mobilenetv2", "mobilenet_v2", 17'056, 0},
  }};
  for (const Expected& row : table) {
    SCOPED_TRACE(std::string(row.file));
    const Counts file = counts_of(graph_of_file(row.file));
    const Counts built_in = counts_of(row.network);
    EXPECT_EQ(built_in.parameters - file.parameters, row.fewer_parameters);
    EXPECT_EQ(built_in.mac - file.mac, row.fewer_multiply_adds);
    EXPECT_EQ(file.uncounted, 0);
  }
}

// torchvision's and Hugging Face's own numbers, and the papers'.
TEST(OnnxCollection, parameters_as_published) {
  if (!collection()) GTEST_SKIP() << no_collection;
  EXPECT_EQ(parameters_of(graph_of_file("torch/alexnet")), 61'100'840);
  EXPECT_EQ(parameters_of(graph_of_file("torch/resnet50.ts")), 25'557'032);
  EXPECT_EQ(parameters_of(graph_of_file("light/light_bvlc_alexnet")), 60'965'224);
  EXPECT_EQ(parameters_of(graph_of_file("light/light_inception_v1")), 6'998'552);
  // BertForMaskedLM: the decoder is the table of words, used a second time.
  EXPECT_EQ(parameters_of(graph_of_file("torch/bert_base_s128")), 109'514'298);
  // The exporter stores the table of 10 words a second time, transposed, for the output layer.
  EXPECT_EQ(parameters_of(graph_of_file("onnxruntime/gpt2_megatron")), 1'480);
}

TEST(OnnxCollection, biases_that_the_exporter_removed_are_put_back) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Graph graph = graph_of_file("torch/vit_b_16");
  EXPECT_EQ(parameters_of(graph), 86'567'656);
  EXPECT_NE(warning_of(graph, WarningCode::value_assumed).find("14 layers, 10984 parameters"),
            std::string::npos);
}

// Counted by hand from the layers' sizes.
TEST(OnnxCollection, multiply_adds_as_published) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const auto mac = [](std::string_view file) { return multiply_adds_of(graph_of_file(file)); };
  EXPECT_EQ(multiply_adds_of(graph_of_file("torch/vit_b_16"), {{"batch", 1}}), 17'563'828'224);
  // 12 layers of 4·768² + 2·768·3072 per token and 2·128²·768; the head of 768² and 768·30522.
  EXPECT_EQ(mac("torch/bert_base_s128"), 14'249'558'016);
  EXPECT_EQ(mac("stream/gemm_256_8192_2048"), std::int64_t{256} * 8192 * 2048);
  EXPECT_EQ(mac("stream/swiglu_1024_4096_14336"), std::int64_t{3} * 1024 * 4096 * 14336);
  EXPECT_EQ(mac("zigzag/alexnet"), mac("light/light_bvlc_alexnet"));
}

// 4 layers of 4 gates, 1024 in and out, 50 steps of 32 samples; then a linear layer of 1000.
TEST(OnnxCollection, a_stack_of_recurrent_layers) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Graph graph = graph_of_file("torch/lstm4x1024_t50");
  EXPECT_EQ(count_of(graph, "lstm"), 4);
  EXPECT_EQ(count_of(graph, "transpose"), 0);
  EXPECT_EQ(parameters_of(graph), 4 * 4 * 1024 * (1024 + 1024 + 2) + 1024 * 1000 + 1000);
  EXPECT_EQ(multiply_adds_of(graph),
            std::int64_t{32} * 50 * (4 * 4 * 1024 * (1024 + 1024) + 1024 * 1000));
}

TEST(OnnxCollection, attention_is_found_and_leaves_no_transposes) {
  if (!collection()) GTEST_SKIP() << no_collection;
  struct Row {
    std::string_view file;
    std::int64_t attentions;
    std::int64_t transposes;
  };
  // ViT turns its patches from [N, C, places] to [N, places, C] once.
  constexpr std::array<Row, 6> table{{
      {"torch/bert_base_s128", 12, 0},
      {"torch/vit_b_16", 12, 1},
      {"onnxruntime/TFBertForQuestionAnswering", 24, 0},
      {"onnxruntime/bert_toy_optimized", 5, 0},
      {"onnxruntime/gpt2_one_layer", 1, 0},
      {"stream/attention_head", 1, 0},
  }};
  for (const Row& row : table) {
    SCOPED_TRACE(std::string(row.file));
    const Graph fused = graph_of_file(row.file);
    const Graph apart = graph_of_file(row.file, {.fuse = false});
    EXPECT_EQ(count_of(fused, "attention"), row.attentions);
    EXPECT_EQ(count_of(fused, "transpose"), row.transposes);
    EXPECT_EQ(count_of(apart, "attention"), 0);
    EXPECT_EQ(count_of(apart, "softmax") - count_of(fused, "softmax"), row.attentions);
    EXPECT_EQ(parameters_of(fused), parameters_of(apart));
    // A causal attention multiplies half as much as its parts.
    if (is_causal(fused)) continue;
    EXPECT_EQ(multiply_adds_of(fused), multiply_adds_of(apart));
  }
}

// The pair: one network, exported for inference and for training.
TEST(OnnxCollection, a_folded_batch_norm_is_noticed_and_can_be_put_back) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Graph folded = graph_of_file("torch/resnet50", {.fuse = false});
  const Graph whole = graph_of_file("torch/resnet50.ts");
  EXPECT_EQ(count_of(folded, "batch_norm"), 0);
  const std::string warning = warning_of(folded, WarningCode::batch_norm_folded);
  EXPECT_NE(warning.find("no batch normalisation follows its 53 convolutions"), std::string::npos);
  EXPECT_NE(warning.find("training=torch.onnx.TrainingMode.TRAINING"), std::string::npos);
  EXPECT_NE(warning.find("model.train()"), std::string::npos);
  EXPECT_NE(warning.find("--assume-bn"), std::string::npos);
  EXPECT_EQ(count_of(whole, "batch_norm"), 53);
  EXPECT_FALSE(warns(whole, WarningCode::batch_norm_folded));

  // The file records what it was; without that the flag puts it back.
  for (const ImportOptions& options : {ImportOptions(), ImportOptions{.assume_batch_norm = true},
                                       ImportOptions{.fuse = false, .assume_batch_norm = true}}) {
    const Graph restored = graph_of_file("torch/resnet50", options);
    EXPECT_EQ(count_of(restored, "batch_norm"), 53);
    EXPECT_FALSE(warns(restored, WarningCode::batch_norm_folded));
    EXPECT_EQ(parameters_of(restored), parameters_of(whole));
    EXPECT_EQ(counts_of(restored).buffers, counts_of(whole).buffers);
    EXPECT_EQ(multiply_adds_of(restored), multiply_adds_of(whole));
  }
}

TEST(OnnxCollection, networks_that_never_had_batch_norm_are_not_suspected) {
  if (!collection()) GTEST_SKIP() << no_collection;
  for (const std::string_view file :
       {"torch/alexnet", "light/light_vgg19", "light/light_squeezenet", "light/light_inception_v1",
        "torch/vit_b_16", "stream/fsrcnn", "onnxruntime/mnist_cntk"}) {
    EXPECT_FALSE(warns(graph_of_file(file), WarningCode::batch_norm_folded)) << file;
  }
}

// An int8 network has no backward pass; that is said.
TEST(OnnxCollection, networks_of_whole_numbers_say_so) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Graph graph = graph_of_file("stream/fsrcnn");
  EXPECT_NE(warning_of(graph, WarningCode::value_assumed).find("weights are whole numbers"),
            std::string::npos);
}

TEST(OnnxCollection, mutilated_files_are_read_or_refused) {
  if (!collection()) GTEST_SKIP() << no_collection;
  for (const std::string_view file :
       {"light/light_squeezenet", "onnxruntime/gpt2_one_layer", "stream/swiglu_1024_4096_14336",
        "onnxruntime/lstm_bidirectional_cntk", "ops/test_qlinearconv"}) {
    expect_mutilated_files_are_read_or_refused(
        text_of_file(onnx(file)),
        [](const std::string& text) { return read_onnx_text(text, "mutilated.onnx"); });
  }
}

}  // namespace
}  // namespace strata
