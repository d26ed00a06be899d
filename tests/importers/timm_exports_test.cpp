// SPDX-License-Identifier: Apache-2.0
// Networks of timm as PyTorch exports them in training mode, without weights: each has as many
// parameters as its module.
#include "counts.hpp"
#include "strata/importers/importers.hpp"
#include "strata/importers/network/network.hpp"
#include "tests/network_format/same_graph.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace strata {
namespace {

constexpr std::string_view no_exports =
    "there are no exports of timm beside the collection of model files";

/// The folder truth/timm beside the collection; nothing when it is not there.
std::optional<std::filesystem::path> timm_exports() {
  const std::optional<std::filesystem::path> models = collection();
  if (!models) return std::nullopt;
  const std::filesystem::path folder = *models / ".." / "truth" / "timm";
  if (!std::filesystem::exists(folder / "timm.json")) return std::nullopt;
  return folder;
}

// Of a file that fixes its batch, too.
std::int64_t parameters_in(const Graph& graph) {
  const BoundGraph bound = bind_graph(graph, {});
  std::int64_t parameters = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::parameter) parameters += bound.tensors[id].elements;
  }
  return parameters;
}

TEST(TimmExports, have_the_parameters_of_their_modules) {
  const std::optional<std::filesystem::path> folder = timm_exports();
  if (!folder) GTEST_SKIP() << no_exports;
  const auto document = nlohmann::json::parse(text_of_file(*folder / "timm.json"));
  for (const auto& [name, parameters] : document.at("parameters").items()) {
    SCOPED_TRACE(name);
    const Graph graph = import_model(*folder / (name + ".onnx.gz"));
    EXPECT_EQ(parameters_in(graph), parameters.get<std::int64_t>());
  }
}

// Those with weights that nodes make, constants among weights and layers that are put back.
TEST(TimmExports, are_the_same_in_stratas_own_format) {
  const std::optional<std::filesystem::path> folder = timm_exports();
  if (!folder) GTEST_SKIP() << no_exports;
  for (const std::string name :
       {"nf_seresnet26", "densenetblur121d", "halo2botnet50ts_256", "swinv2_small_window16_256"}) {
    SCOPED_TRACE(name);
    const Graph graph = import_model(*folder / (name + ".onnx.gz"));
    const std::string text = write_network(graph);
    EXPECT_EQ(difference(graph, read_network(text, "network.json")), "");
  }
}

}  // namespace
}  // namespace strata
