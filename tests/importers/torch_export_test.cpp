// SPDX-License-Identifier: Apache-2.0
// Programs that torch.export of PyTorch 2.11 wrote, against what PyTorch itself counts.
#include "strata/importers/torch_export/torch_export.hpp"

#include "counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace strata {
namespace {

struct ExportedFile {
  const char* name;
  std::int64_t parameters;  ///< sum(p.numel() for p in model.parameters())
  std::int64_t flop;  ///< torch.utils.flop_counter at batch 2: products, convolutions, attention
};

Graph exported(const std::string& name, const ImportOptions& options = {}) {
  const std::filesystem::path file = std::filesystem::path(STRATA_SOURCE_DIR) /
                                     "tests/fuzz/corpus/torch_export" / (name + ".json");
  return read_torch_export_text(text_of_file(file), name + ".pt2", options);
}

class TorchExport : public testing::TestWithParam<ExportedFile> {};

TEST_P(TorchExport, CountsAreThoseOfPyTorch) {
  const Graph graph = exported(GetParam().name);
  const Counts counts = counts_of(graph);
  EXPECT_EQ(counts.parameters, GetParam().parameters);
  EXPECT_EQ(counts.uncounted, 0);
  if (GetParam().flop > 0) {
    EXPECT_EQ(2 * 2 * counts.mac, GetParam().flop);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, TorchExport,
    testing::Values(ExportedFile{"mlp_train", 2762, 10'752}, ExportedFile{"mlp_eval", 2762, 10'752},
                    ExportedFile{"lstm_train", 42'660, 0},  // PyTorch counts no LSTM
                    ExportedFile{"tied_train", 4256, 202'752},
                    ExportedFile{"encoder_train", 66'944, 4'456'448},
                    // PyTorch's counter leaves out its attention: 17 tokens, 64 wide, 2 layers
                    ExportedFile{"vit_small_train", 118'090, 7'604'736 + 2 * 2 * 4 * 17 * 17 * 64},
                    ExportedFile{"gpt2_small_train", 140'288, 17'727'488},
                    ExportedFile{"mobilenet_v2_025_train", 1'519'112, 16'849'408},
                    ExportedFile{"shufflenet_v2_x0_5_train", 1'366'792, 16'978'432}),
    [](const auto& file) { return std::string(file.param.name); });

bool has_layer(const Graph& graph, std::string_view name) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const Node& node) { return node.name == name; });
}

TEST(TorchExportNames, LayersAreNamedAsTheirModules) {
  const Graph graph = exported("mobilenet_v2_025_train");
  EXPECT_TRUE(has_layer(graph, "features.0.0"));
  EXPECT_TRUE(has_layer(graph, "features.0.1"));
  EXPECT_TRUE(has_layer(graph, "classifier.1"));
}

TEST(TorchExportModes, FilesForInferenceHaveTheirDropout) {
  const auto drops = [](const Graph& graph) {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [](const Node& node) { return std::holds_alternative<Dropout>(node.op); });
  };
  EXPECT_EQ(drops(exported("mlp_eval")), 1);
  EXPECT_EQ(drops(exported("mlp_train")), 1);
}

std::string refusal_of(const std::string& text, const ImportOptions& options = {}) {
  try {
    read_torch_export_text(text, "x.pt2", options);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal);
    return error.what();
  }
  return "";
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(TorchExportRefusals, NameWhatIsWrong) {
  const std::string good = text_of_file(std::filesystem::path(STRATA_SOURCE_DIR) /
                                        "tests/fuzz/corpus/torch_export/mlp_train.json");
  EXPECT_EQ(refusal_of(good), "");
  EXPECT_NE(refusal_of("{}").find("graph_module"), std::string::npos);
  EXPECT_NE(refusal_of(with(good, R"("major":8)", R"("major":9)")).find("schema version 9"),
            std::string::npos);
  EXPECT_NE(refusal_of(with(good, R"({"as_int":32})", R"({"as_int":-32})")).find("negative"),
            std::string::npos);
  const std::string strange =
      with(good, "torch.ops.aten.relu.default", "torch.ops.aten.strange_op.default");
  EXPECT_EQ(refusal_of(strange), "");
  EXPECT_NE(refusal_of(strange, {.strict = true}).find("aten.strange_op"), std::string::npos);
}

}  // namespace
}  // namespace strata
