// SPDX-License-Identifier: Apache-2.0
#include "strata/zoo/zoo.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/graph/verify.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <set>
#include <string>

namespace strata {

/// For the names of tests: without it they carry the bytes of the struct.
static void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

namespace {

constexpr std::array<NetworkParameter, 3> knobs{{
    {"layers", "8", "how deep"},
    {"width", "64", "how wide"},
    {"order", "layer", "which way round"},
}};

/// "usage: message" of what the call throws, or nothing.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return fmt::format("{}: {}", name_of(error.kind()), error.what());
  }
  return {};
}

std::string build_error(std::string_view specification) {
  return error_of([&] { build_network(specification); });
}

/// Everything that two builds of a network must have in common.
std::string description(const Graph& graph) {
  std::string text = fmt::format("{}|{}|{}\n", graph.name, graph.title, graph.source);
  for (const Tensor& tensor : graph.tensors) {
    text += fmt::format("{} {} {} {}\n", tensor.name, static_cast<int>(tensor.kind),
                        text_of(tensor.type.shape, graph.symbols), name_of(tensor.type.dtype));
  }
  for (const Node& node : graph.nodes) {
    text += fmt::format("{} {} {} {} <- {}\n", node.name, node.block, name_of(node.op),
                        fmt::join(node.outputs, ","), fmt::join(node.inputs, ","));
  }
  return text + fmt::format("-> {}", fmt::join(graph.outputs, ","));
}

bool have_equal_operators(const Graph& a, const Graph& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [](const Node& x, const Node& y) { return x.op == y.op; });
}

TEST(NetworkArguments, what_is_left_out_has_its_default) {
  const NetworkArguments arguments(knobs, "width=128");
  EXPECT_EQ(arguments.number("layers"), 8);
  EXPECT_EQ(arguments.number("width"), 128);
}

TEST(NetworkArguments, blanks_and_upper_case_do_not_matter) {
  const NetworkArguments arguments(knobs, " Width = 128 , ORDER = Time ");
  constexpr std::array<std::string_view, 2> words{"layer", "time"};
  EXPECT_EQ(arguments.number("width"), 128);
  EXPECT_EQ(arguments.word("order", words), 1U);
}

TEST(NetworkArguments, refuses_with_a_reason) {
  const auto parse = [](std::string_view given) {
    return error_of([&] { NetworkArguments(knobs, given); });
  };
  EXPECT_EQ(parse("depth=3"),
            "usage: unknown parameter 'depth'; its parameters are layers, width, order");
  EXPECT_EQ(
      parse("layers"),
      "usage: expected parameter=value, got 'layers'; its parameters are layers, width, order");
  EXPECT_EQ(parse("layers=3,"),
            "usage: expected parameter=value, got ''; its parameters are layers, width, order");
  EXPECT_EQ(parse("layers="), "usage: parameter 'layers' has no value");
  EXPECT_EQ(parse("layers=3,layers=3"), "usage: parameter 'layers' is given twice");
  EXPECT_EQ(error_of([] { NetworkArguments({}, "layers=3"); }),
            "usage: unknown parameter 'layers'; it has none");
}

TEST(NetworkArguments, refuses_what_is_no_number_in_range) {
  const auto read = [](std::string_view given, std::int64_t least = 1) {
    return error_of([&] { NetworkArguments(knobs, given).number("layers", least); });
  };
  EXPECT_EQ(read("layers=two"), "usage: parameter 'layers' expects a whole number, got 'two'");
  EXPECT_EQ(read("layers=2.5"), "usage: parameter 'layers' expects a whole number, got '2.5'");
  EXPECT_EQ(read("layers=0"), "usage: parameter 'layers' must be at least 1, got 0");
  EXPECT_EQ(read("layers=-3", 0), "usage: parameter 'layers' must be at least 0, got -3");
  EXPECT_EQ(read("layers=99999999999999999999"),
            "usage: parameter 'layers' expects a whole number, got '99999999999999999999', which "
            "needs more than 64 bits");
  EXPECT_EQ(read("layers=9223372036854775807"), "");
}

TEST(NetworkArguments, refuses_a_word_it_does_not_know) {
  constexpr std::array<std::string_view, 2> words{"layer", "time"};
  const NetworkArguments arguments(knobs, "order=random");
  EXPECT_EQ(error_of([&] { arguments.word("order", words); }),
            "usage: parameter 'order' expects layer or time, got 'random'");
}

TEST(FindNetwork, takes_the_ways_in_which_people_write_names) {
  const std::array<std::pair<std::string_view, std::string_view>, 9> spellings{{
      {"ResNet-50", "resnet50"},
      {"resnet50", "resnet50"},
      {"RESNET_50", "resnet50"},
      {"mobilenet-v2", "mobilenet_v2"},
      {"MobileNet_V2", "mobilenet_v2"},
      {"MobileNetV2", "mobilenet_v2"},
      {"vgg-16", "vgg16"},
      {"densenet-121", "densenet121"},
      {"SqueezeNet 1.1", "squeezenet1_1"},
  }};
  for (const auto& [written, meant] : spellings) {
    const Network* network = find_network(written);
    ASSERT_NE(network, nullptr) << written;
    EXPECT_EQ(network->name, meant) << written;
  }
  EXPECT_EQ(find_network("resnet51"), nullptr);
  EXPECT_EQ(find_network(""), nullptr);
}

TEST(FindNetwork, every_network_is_found_by_its_own_name) {
  for (const Network& network : networks()) EXPECT_EQ(find_network(network.name), &network);
}

TEST(BuildNetwork, an_unknown_name_suggests_the_nearest) {
  const std::string error = build_error("resnet5");
  EXPECT_TRUE(error.starts_with("usage: no network named 'resnet5'; did you mean ")) << error;
  EXPECT_NE(error.find("resnet50"), std::string::npos) << error;
  EXPECT_TRUE(error.ends_with("? (strata list networks)")) << error;
  EXPECT_EQ(build_error("qqqqqqqqqqqq"),
            "usage: no network named 'qqqqqqqqqqqq' (strata list networks)");
  EXPECT_EQ(build_error(""), "usage: no network named '' (strata list networks)");
}

TEST(BuildNetwork, errors_name_the_network) {
  EXPECT_EQ(build_error("ResNet-50:imag=3"),
            "usage: resnet50: unknown parameter 'imag'; its parameters are image, classes");
  const std::string too_small = build_error("alexnet:image=4");
  EXPECT_TRUE(too_small.starts_with("input: alexnet: node 'features.0': ")) << too_small;
}

TEST(BuildNetwork, parameters_change_the_network) {
  const Graph graph = build_network("resnet18:image=64,classes=10");
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  EXPECT_EQ(bound.tensors[graph.inputs.at(0)].shape, (Axes{2, 3, 64, 64}));
  EXPECT_EQ(bound.tensors[graph.outputs.at(0)].shape, (Axes{2, 10}));
}

class EveryNetwork : public testing::TestWithParam<Network> {};

TEST_P(EveryNetwork, is_described_for_people) {
  const Network& network = GetParam();
  EXPECT_EQ(network.name, lower_case(network.name));
  EXPECT_FALSE(network.title.empty());
  EXPECT_FALSE(network.source.empty());
  for (const NetworkParameter& parameter : network.parameters) {
    EXPECT_FALSE(parameter.default_value.empty()) << parameter.name;
    EXPECT_FALSE(parameter.help.empty()) << parameter.name;
  }
  const Graph graph = build_network(network.name);
  EXPECT_EQ(graph.name, network.name);
  EXPECT_EQ(graph.title, network.title);
  EXPECT_EQ(graph.source, network.source);
}

TEST_P(EveryNetwork, verifies_and_binds_at_every_batch) {
  const Graph graph = build_network(GetParam().name);
  EXPECT_NO_THROW(verify(graph));
  ASSERT_FALSE(graph.inputs.empty());
  ASSERT_FALSE(graph.outputs.empty());
  const BoundGraph one = bind_graph(graph, {{"batch", 1}});
  for (const std::int64_t batch : {32, 256}) {
    const BoundGraph many = bind_graph(graph, {{"batch", batch}});
    for (const TensorId input : graph.inputs) {
      EXPECT_EQ(many.tensors[input].elements, batch * one.tensors[input].elements);
    }
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      if (graph.tensors[id].kind != TensorKind::parameter) continue;
      EXPECT_EQ(many.tensors[id].elements, one.tensors[id].elements) << graph.tensors[id].name;
    }
  }
}

TEST_P(EveryNetwork, is_the_same_when_built_again) {
  const Graph first = build_network(GetParam().name);
  const Graph second = build_network(GetParam().name);
  EXPECT_EQ(description(first), description(second));
  EXPECT_TRUE(have_equal_operators(first, second));
}

TEST_P(EveryNetwork, has_no_two_nodes_of_one_name) {
  const Graph graph = build_network(GetParam().name);
  std::set<std::string> names;
  for (const Node& node : graph.nodes) EXPECT_TRUE(names.insert(node.name).second) << node.name;
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryNetwork, testing::ValuesIn(networks().begin(), networks().end()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace strata
