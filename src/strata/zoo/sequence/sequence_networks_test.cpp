// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/sequence/sequence_networks.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/verify.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace strata {
namespace {

std::int64_t parameters_of(const Graph& graph) {
  const BoundGraph bound = bind_graph(graph, {});
  std::int64_t count = 0;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::parameter) count += bound.tensors[id].elements;
  }
  return count;
}

std::int64_t parameters_of(const char* specification) {
  return parameters_of(build_network(specification));
}

std::string message_of(const char* specification, const Binding& binding = {}) {
  try {
    const Graph graph = build_network(specification);
    bind_graph(graph, binding);
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::usage || error.kind() == ErrorKind::input);
    return error.what();
  }
  return "no error";
}

bool has_dimension(const Graph& graph, std::string_view name) {
  for (const Parameter& parameter : graph.symbols.parameters()) {
    if (parameter.name == name) return true;
  }
  return false;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Network& network : sequence_networks()) all.emplace_back(network.name);
  return all;
}

class EverySequenceNetwork : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Zoo, EverySequenceNetwork, testing::ValuesIn(names()),
                         [](const auto& network) { return network.param; });

TEST_P(EverySequenceNetwork, is_sound_and_described) {
  const Network& network = *find_network(GetParam());
  const Graph graph = build_network(GetParam());
  EXPECT_NO_THROW(verify(graph));
  EXPECT_EQ(graph.name, network.name);
  EXPECT_FALSE(network.title.empty());
  EXPECT_FALSE(network.source.empty());
  for (const NetworkParameter& parameter : network.parameters) {
    EXPECT_FALSE(parameter.help.empty()) << parameter.name;
  }
  EXPECT_EQ(graph.outputs.size(), network.name == "bert_base" ? 2 : 1);
}

TEST_P(EverySequenceNetwork, serves_every_batch_and_length) {
  const Graph graph = build_network(GetParam());
  const bool has_seq = has_dimension(graph, "seq");
  EXPECT_EQ(has_seq, GetParam() != "vit_b_16");
  for (const std::int64_t batch : {1, 7, 128}) {
    for (const std::int64_t seq : {1, 2, 37, 512}) {
      Binding binding{{"batch", batch}};
      if (has_seq) binding["seq"] = seq;
      const BoundGraph bound = bind_graph(graph, binding);
      const BoundTensor& output = bound.tensors[graph.outputs.front()];
      EXPECT_EQ(output[0], batch);
      if (has_seq) {
        EXPECT_EQ(output[1], seq);
      }
    }
  }
}

TEST_P(EverySequenceNetwork, reads_everything_it_stores_and_trains_every_parameter) {
  const Graph graph = build_network(GetParam());
  std::set<TensorId> read;
  for (const Node& node : graph.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  const std::vector<bool> has_gradient = tensors_with_gradient(graph);
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.kind == TensorKind::activation) continue;
    EXPECT_TRUE(read.contains(id)) << tensor.name;
    EXPECT_EQ(has_gradient[id], tensor.kind == TensorKind::parameter) << tensor.name;
  }
}

// The sum with position vectors, whose length is min(seq, table), must still be seq long.
TEST_P(EverySequenceNetwork, keeps_the_sequence_axis_symbolic) {
  Graph graph = build_network(GetParam());
  if (!has_dimension(graph, "seq")) return;
  EXPECT_EQ(graph.tensor(graph.outputs.front()).type.shape[1], graph.symbols.parameter("seq"));
}

// Who sees the title or the source of a network that was inferred sees that, and what to take
// instead.
TEST(SequenceNetworks, inferred_networks_say_so_and_name_the_published_one) {
  for (const auto& [name, published] :
       {std::pair{"transformer_thesis", "transformer_big"}, std::pair{"gnmt_thesis", "gnmt"}}) {
    const Graph graph = build_network(name);
    EXPECT_NE(graph.title.find("inferred"), std::string::npos) << graph.title;
    EXPECT_TRUE(graph.source.starts_with("inferred: ")) << graph.source;
    EXPECT_TRUE(graph.source.ends_with(std::string("As published: ") + published)) << graph.source;
    EXPECT_NE(find_network(published), nullptr);
  }
}

TEST(SequenceNetworks, have_the_published_numbers_of_parameters) {
  EXPECT_EQ(parameters_of("bert_base"), 109'482'240);  // transformers, BertModel
  EXPECT_EQ(parameters_of("bert_large"), 335'141'888);
  EXPECT_EQ(parameters_of("gpt2"), 124'439'808);  // transformers, GPT2LMHeadModel
  EXPECT_EQ(parameters_of("gpt2_medium"), 354'823'168);
  EXPECT_EQ(parameters_of("gpt2_large"), 774'030'080);
  EXPECT_EQ(parameters_of("gpt2_xl"), 1'557'611'200);
  EXPECT_EQ(parameters_of("opt_125m"), 125'239'296);  // transformers, OPTForCausalLM
  EXPECT_EQ(parameters_of("opt_1.3b"), 1'315'758'080);
  EXPECT_EQ(parameters_of("opt_6.7b"), 6'658'473'984);
  EXPECT_EQ(parameters_of("vit_s_16"), 22'050'664);  // timm, vit_small_patch16_224
  EXPECT_EQ(parameters_of("vit_b_32"), 88'224'232);  // torchvision
  EXPECT_EQ(parameters_of("vit_l_16"), 304'326'632);
  EXPECT_EQ(parameters_of("vit_l_32"), 306'535'400);
  EXPECT_EQ(parameters_of("vit_b_16"), 86'567'656);  // torchvision
  EXPECT_EQ(parameters_of("llama"), 6'738'415'616);  // Llama 2 7B
  EXPECT_EQ(parameters_of("llama2_13b"), 13'015'864'320);
  EXPECT_EQ(parameters_of("llama2_70b"), 68'976'648'192);
  EXPECT_EQ(parameters_of("llama3_8b"), 8'030'261'248);
  EXPECT_EQ(parameters_of("llama3_70b"), 70'553'706'496);
  EXPECT_EQ(parameters_of("llama3.2_1b"), 1'235'814'400);
  EXPECT_EQ(parameters_of("gnmt:layers=4,vocabulary=32320"), 160'671'297);  // MLPerf's GNMT
}

// The paper rounds to 65 and 213 million; what it counts beyond its own equations it does not say.
TEST(SequenceNetworks, transformers_are_near_the_paper) {
  EXPECT_EQ(parameters_of("transformer_base"), 63'045'632);
  EXPECT_EQ(parameters_of("transformer_big"), 214'171'648);
  EXPECT_NEAR(static_cast<double>(parameters_of("transformer_base")), 65e6, 0.035 * 65e6);
  EXPECT_NEAR(static_cast<double>(parameters_of("transformer_big")), 213e6, 0.01 * 213e6);
}

TEST(SequenceNetworks, have_sizes_with_names_of_their_own) {
  const Graph large = build_network("GPT-2 large");
  EXPECT_EQ(large.name, "gpt2_large");
  EXPECT_EQ(large.title, "GPT-2 large");
  // What is given goes before what the size says.
  EXPECT_EQ(parameters_of("gpt2_large:layers=12,width=768,heads=12"), parameters_of("gpt2"));
  EXPECT_EQ(message_of("gpt2_large:heads=7"), "gpt2_large: heads=7 does not divide width=1280");
  EXPECT_EQ(message_of("vit_b_16:patch=15"), "vit_b_16: patch=15 does not divide image=224");
  EXPECT_NE(message_of("gpt2_larg").find("gpt2_large"), std::string::npos);
}

TEST(SequenceNetworks, refuse_what_cannot_be_built) {
  EXPECT_EQ(message_of("llama:heads=48"),
            "llama: heads=48 does not divide width=4096 into even parts");
  EXPECT_EQ(message_of("llama:kv_heads=5"), "llama: kv_heads=5 does not divide heads=32");
  EXPECT_EQ(message_of("transformer_thesis:heads=3"),
            "transformer_thesis: heads=3 does not divide width=1024");
  EXPECT_EQ(message_of("gnmt:layers=1"), "gnmt: parameter 'layers' must be at least 2, got 1");
  EXPECT_EQ(message_of("llama:layers=1000000000"),
            "llama: parameter 'layers' must be at most 4096, got 1000000000");
  EXPECT_NE(message_of("lstm_stack:order=depth").find("layer or time"), std::string::npos);
  EXPECT_NE(message_of("lstm:hidden=9223372036854775807").find("64"), std::string::npos);
}

TEST(SequenceNetworks, learnt_positions_limit_the_length) {
  EXPECT_EQ(message_of("bert_base", {{"seq", 512}}), "no error");
  EXPECT_EQ(message_of("bert_base", {{"seq", 513}}),
            "bert_base has 512 positions, the most for --seq is 512; got 513");
  EXPECT_EQ(message_of("gpt2", {{"seq", 1024}}), "no error");
  EXPECT_EQ(message_of("gpt2", {{"seq", 4096}}),
            "gpt2 has 1024 positions, the most for --seq is 1024; got 4096");
}

TEST(SequenceNetworks, default_sizes_are_those_of_their_sources) {
  const auto defaults = [](const char* name) {
    const Graph graph = build_network(name);
    const Binding binding = bind_graph(graph, {}).binding;
    return std::pair(binding.at("batch"), binding.at("seq"));
  };
  EXPECT_EQ(defaults("lstm"), std::pair(16L, 16L));
  EXPECT_EQ(defaults("gnmt_thesis"), std::pair(32L, 50L));
  EXPECT_EQ(defaults("transformer_thesis"), std::pair(128L, 50L));
  EXPECT_EQ(defaults("bert_base"), std::pair(32L, 128L));
  EXPECT_EQ(defaults("gpt2"), std::pair(32L, 1024L));
}

}  // namespace
}  // namespace strata
