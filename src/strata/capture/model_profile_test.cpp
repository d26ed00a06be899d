// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/model_profile.hpp"

#include "strata/base/text.hpp"
#include "strata/capture/recorded_network_test.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/cost/cost.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace strata {
namespace {

/// The name of the module in PyTorch: a ReLU of a block is one module that is called twice, an
/// addition is none.
std::string module_in_torch(const Node& node) {
  if (std::holds_alternative<Elementwise>(node.op)) return "";
  return node.name.ends_with("relu_2") ? node.name.substr(0, node.name.size() - 2) : node.name;
}

struct Forged {
  Recording recording;
  std::vector<TrueWork> truth;
};

Forged forged(const Graph& graph, const std::function<std::string(const Node&)>& module_of,
              bool has_backward = true) {
  RecordingForge forge;
  forge_step(forge, graph, module_of, has_backward);
  return {forge.finish(), forge.truth()};
}

/// Nanoseconds by layer and pass, backward in one, as they were made.
using TimesByRow = std::map<std::pair<std::string, std::string>, double>;

TimesByRow true_times(const Forged& made) {
  TimesByRow times;
  for (std::size_t i = 0; i < made.truth.size(); ++i)
    times[{made.truth[i].layer, made.truth[i].pass}] +=
        static_cast<double>(made.recording.kernels[i].time.length_ns());
  return times;
}

TimesByRow times_of(const Profile& profile) {
  TimesByRow times;
  for (const ProfileRow& row : profile.rows) {
    const std::string pass = row.pass.starts_with("backward") ? "backward" : row.pass;
    times[{row.layer, pass}] += 1e9 * row.totals.time_s;
  }
  return times;
}

void expect_times(const TimesByRow& found, const TimesByRow& expected) {
  for (const auto& [key, time] : expected) {
    const auto at = found.find(key);
    ASSERT_NE(at, found.end()) << key.first << ' ' << key.second;
    EXPECT_NEAR(at->second, time, 1e-3) << key.first << ' ' << key.second;
  }
  EXPECT_EQ(found.size(), expected.size());
}

Graph resnet() { return build_network("resnet18"); }

TEST(ModelProfile, FindsLayersByTheNamesOfModules) {
  const Graph graph = resnet();
  const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
  const Forged made = forged(graph, module_in_torch);
  const ModelProfile result = model_profile_of(made.recording, bound);
  expect_times(times_of(result.profile), true_times(made));
  EXPECT_EQ(result.match.by_order, 0);
  EXPECT_EQ(result.match.by_parameter + result.match.by_name, result.match.calls);
  EXPECT_GT(result.match.by_parameter, 40);
  EXPECT_EQ(result.match.between_calls, 8);  // the additions
  EXPECT_TRUE(result.match.unmatched.empty());
}

TEST(ModelProfile, FindsLayersByOrderWhereNamesSayNothing) {
  const Graph graph = resnet();
  const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
  const auto numbered = [&](const Node& node) {
    return std::holds_alternative<Elementwise>(node.op)
               ? std::string()
               : std::to_string(&node - graph.nodes.data()) + ".main";
  };
  const Forged made = forged(graph, numbered);
  const ModelProfile result = model_profile_of(made.recording, bound);
  expect_times(times_of(result.profile), true_times(made));
  EXPECT_EQ(result.match.by_order, result.match.calls);
}

/// "/layer1/layer1.0/downsample/downsample.0/Op" of "layer1.0.downsample.0": what PyTorch's
/// exporter calls a node. The second call of a module has a number, what is no module only the
/// module around it.
std::string exported_name(const Node& node) {
  std::string path;
  std::string last;
  const std::string_view name = node.name;
  std::vector<std::string_view> parts = split(name, '.');
  if (std::holds_alternative<Elementwise>(node.op)) parts.pop_back();
  for (const std::string_view part : parts) {
    const bool is_number = part.find_first_not_of("0123456789") == part.npos;
    last = is_number ? last + '.' + std::string(part) : std::string(part);
    path += '/' + (last == "relu_2" ? "relu_1" : last);
  }
  return path + "/Op";
}

Graph renamed(Graph graph, bool has_weight_names) {
  for (Node& node : graph.nodes) node.name = exported_name(node);
  // Weights that an export made anew have names without a module.
  for (std::size_t i = 0; i < graph.tensors.size(); ++i)
    if (!has_weight_names && graph.tensors[i].kind != TensorKind::input)
      graph.tensors[i].name = "onnx::Conv_" + std::to_string(i);
  return graph;
}

TEST(ModelProfile, FindsLayersOfExportedNames) {
  const Graph built = resnet();
  for (const bool has_weight_names : {true, false}) {
    const Graph graph = renamed(built, has_weight_names);
    const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
    RecordingForge forge;
    forge_step(forge, built, module_in_torch);
    Forged made{forge.finish(), forge.truth()};
    for (TrueWork& truth : made.truth) {
      const auto node = std::find_if(built.nodes.begin(), built.nodes.end(),
                                     [&](const Node& one) { return one.name == truth.layer; });
      if (node != built.nodes.end())
        truth.layer = graph.nodes[static_cast<std::size_t>(node - built.nodes.begin())].name;
    }
    const ModelProfile result = model_profile_of(made.recording, bound);
    expect_times(times_of(result.profile), true_times(made));
    EXPECT_EQ(result.match.by_order, 0);
    EXPECT_EQ(result.match.by_parameter > 0, has_weight_names);
  }
}

TEST(ModelProfile, FindsByOrderWhatStandsBetweenNames) {
  // A file for inference whose batch norms were folded, and assumed again by the importer.
  const Graph built = resnet();
  Graph graph = renamed(built, false);
  std::map<std::string, std::string> name_of;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (std::holds_alternative<BatchNorm>(graph.nodes[i].op))
      graph.nodes[i].name = graph.nodes[i - 1].name + ".bn";
    name_of[built.nodes[i].name] = graph.nodes[i].name;
  }
  RecordingForge forge;
  forge_step(forge, built, module_in_torch);
  Forged made{forge.finish(), forge.truth()};
  for (TrueWork& truth : made.truth) {
    const auto named = name_of.find(truth.layer);
    if (named != name_of.end()) truth.layer = named->second;
  }
  const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
  const ModelProfile result = model_profile_of(made.recording, bound);
  expect_times(times_of(result.profile), true_times(made));
  EXPECT_EQ(result.match.by_order, 20);
  EXPECT_EQ(result.match.by_name + result.match.by_order, result.match.calls);
}

TEST(ModelProfile, HasTheCountsOfTheCostSheets) {
  const Graph graph = resnet();
  const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
  const std::vector<NodeCost> costs = costs_of(bound);
  const ModelProfile result = model_profile_of(forged(graph, module_in_torch).recording, bound);
  std::map<std::string, Totals> forward;
  std::map<std::string, Totals> backward;
  for (const ProfileRow& row : result.profile.rows) {
    if (row.pass == "forward") forward[row.layer] += row.totals;
    if (row.pass.starts_with("backward")) backward[row.layer] += row.totals;
  }
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    const std::string& name = graph.nodes[node].name;
    if (!forward.contains(name)) continue;
    EXPECT_EQ(forward[name].flop, costs[node].forward.flop) << name;
    EXPECT_EQ(forward[name].in_bytes, costs[node].forward.read_bytes()) << name;
    if (!backward.contains(name)) continue;
    EXPECT_EQ(backward[name].flop,
              costs[node].backward_input.flop + costs[node].backward_weight.flop)
        << name;
  }
  EXPECT_EQ(forward.size(), 68U);
}

TEST(ModelProfile, PutsEveryKernelIntoOneRow) {
  const Graph graph = resnet();
  const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
  // Half of the modules are not named: what can be told is told, nothing is lost.
  const auto some = [&](const Node& node) {
    return (&node - graph.nodes.data()) % 2 == 0 ? module_in_torch(node) : std::string();
  };
  const Forged made = forged(graph, some);
  const ModelProfile result = model_profile_of(made.recording, bound);
  std::int64_t length_ns = 0;
  for (const KernelRecord& kernel : made.recording.kernels) length_ns += kernel.time.length_ns();
  const Totals all = total_of(result.profile);
  EXPECT_EQ(all.launches, static_cast<std::int64_t>(made.recording.kernels.size()));
  EXPECT_NEAR(1e9 * all.time_s, static_cast<double>(length_ns), 1e-3);
  std::int64_t unmatched = 0;
  for (const UnmatchedWork& work : result.match.unmatched) unmatched += work.kernels;
  EXPECT_EQ(result.match.matched_kernels + unmatched, result.match.kernels);
  // Rows of layers hold nothing but their own kernels.
  const TimesByRow truth = true_times(made);
  for (const auto& [key, time] : times_of(result.profile)) {
    const auto at = truth.find(key);
    if (at == truth.end()) continue;
    EXPECT_LE(time, at->second + 1e-3) << key.first << ' ' << key.second;
  }
}

TEST(ModelProfile, LosesNothingOfAnyRecording) {
  const Graph graph = build_network("lenet5");
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  const std::vector<std::string> names = {"c1", "s2",       "c3 backward", "tanh1", "f6 backward",
                                          "x",  "c1.extra", "step 1",      "output"};
  const std::vector<std::string> kernels = {"sm80_xmma_fprop_x",
                                            "sm80_xmma_wgrad_x",
                                            "vectorized_elementwise_kernel",
                                            "sgemm_nn",
                                            "avg_pool_kernel",
                                            "multi_tensor_apply_kernel",
                                            "what"};
  std::mt19937 random(5);
  std::int64_t matched = 0;
  for (int round = 0; round < 300; ++round) {
    RecordingForge forge;
    std::size_t open = 0;
    for (std::size_t i = 0; i < random() % 40; ++i) {
      const std::uint32_t thread = 1 + static_cast<std::uint32_t>(random() % 2);
      if (random() % 3 == 0) {
        forge.open(names[random() % names.size()], thread);
        ++open;
      } else if (open > 0 && random() % 3 == 0) {
        forge.close();
        --open;
      } else {
        forge.launch(kernels[random() % kernels.size()], {}, thread);
      }
    }
    for (; open > 0; --open) forge.close();
    const Recording recording = forge.finish();
    if (recording.kernels.empty()) continue;
    const ModelProfile result = model_profile_of(recording, bound);
    const Profile plain = profile_of(recording);
    EXPECT_EQ(total_of(result.profile).launches, total_of(plain).launches);
    EXPECT_NEAR(total_of(result.profile).time_s, total_of(plain).time_s, 1e-12);
    matched += result.match.matched_kernels;
  }
  EXPECT_GT(matched, 100);
}

TEST(ModelProfile, RefusesAnotherNetwork) {
  const Graph graph = resnet();
  const Graph other = build_network("vgg16");
  const BoundGraph bound = bind_graph(other, {{"batch", 4}});
  const ModelProfile result = model_profile_of(forged(graph, module_in_torch).recording, bound);
  EXPECT_EQ(result.match.by_order + result.match.by_name + result.match.by_parameter, 0);
  EXPECT_NE(result.match.reason, "");
  EXPECT_EQ(result.match.matched_kernels, 1);  // the optimizer's
}

TEST(ModelProfile, TakesForwardAloneForInference) {
  const Graph graph = resnet();
  const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
  const Forged made = forged(graph, module_in_torch, false);
  const ModelProfile result = model_profile_of(made.recording, bound);
  EXPECT_TRUE(result.is_inference);
  expect_times(times_of(result.profile), true_times(made));
}

TEST(ModelProfile, ReadsTheTypeOfProductsFromKernels) {
  const Graph graph = resnet();
  const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
  const ModelProfile result = model_profile_of(forged(graph, module_in_torch).recording, bound);
  int convolutions = 0;
  for (const ProfileRow& row : result.profile.rows) {
    if (row.op != "convolution" || row.totals.flop == 0) continue;
    ++convolutions;
    ASSERT_EQ(row.arithmetic.size(), 1U) << row.layer;
    EXPECT_EQ(row.arithmetic[0], (TypedFlop{DType::tf32, true, row.totals.flop})) << row.layer;
  }
  EXPECT_GT(convolutions, 40);
}

// One of two kernels of the first convolution is named otherwise; all else is as it was.
TEST(ModelProfile, ReadsTheAlgorithmFromKernels) {
  const Graph graph = resnet();
  const BoundGraph bound = bind_graph(graph, {{"batch", 4}});
  Forged made = forged(graph, module_in_torch);
  const ModelProfile before = model_profile_of(made.recording, bound);
  ASSERT_EQ(made.truth[0].layer, "conv1");
  made.recording.kernels[0].name = made.recording.names.id_of(
      "_5x_cudnn_volta_scudnn_winograd_128x128_ldg1_ldg4_tile148t_nt_v1");
  const ModelProfile after = model_profile_of(made.recording, bound);
  ASSERT_EQ(after.profile.rows.size(), before.profile.rows.size());
  for (std::size_t i = 0; i < after.profile.rows.size(); ++i) {
    const ProfileRow& row = after.profile.rows[i];
    const bool is_changed = row.layer == "conv1" && row.pass == "forward";
    EXPECT_EQ(row.implementation,
              is_changed ? "winograd, implicit_gemm" : before.profile.rows[i].implementation)
        << row.layer << ' ' << row.pass;
    EXPECT_EQ(does_fewer_operations(row.implementation), is_changed) << row.layer;
  }
}

}  // namespace
}  // namespace strata
