// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"
#include "strata/version.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

OrderedJson shown(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "show");
  arguments.insert(arguments.end(), {"--json", "-"});
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return OrderedJson::parse(outcome.out);
}

TEST(Show, the_table_has_a_line_per_layer_and_says_what_was_assumed) {
  const Outcome outcome = run({"show", "alexnet"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  const std::vector<std::string_view> lines = split(outcome.out, '\n');
  EXPECT_EQ(lines[0], "AlexNet, batch 32, fp32, training (forward and backward)");
  const auto rows = std::count_if(lines.begin(), lines.end(), [](std::string_view line) {
    return line.starts_with("  features.") || line.starts_with("  classifier.");
  });
  EXPECT_EQ(rows, 20);
  EXPECT_NE(outcome.out.find("61,100,840"), outcome.out.npos);
}

TEST(Show, json_has_the_documented_keys) {
  const OrderedJson json = shown({"resnet18"});
  EXPECT_EQ(json.at("schema_version"), 1);
  for (const char* key : {"name", "title", "source", "batch", "dtype", "mode", "dims"}) {
    EXPECT_TRUE(json.at("model").contains(key)) << key;
  }
  for (const char* key : {"parameters", "buffers", "forward_mac", "forward_flop", "backward_flop",
                          "activation_bytes", "nodes", "kept_bytes"}) {
    EXPECT_TRUE(json.at("totals").at(key).is_number_integer()) << key;
  }
  for (const OrderedJson& layer : json.at("layers")) {
    EXPECT_TRUE(layer.at("name").is_string());
    EXPECT_TRUE(layer.at("op").is_string());
    EXPECT_TRUE(layer.at("kept").is_string());
    EXPECT_TRUE(layer.at("output_shape").is_array());
    for (const char* key : {"parameters", "buffers", "forward_mac", "forward_flop", "backward_flop",
                            "activation_bytes", "kept_bytes", "forward_read_bytes"}) {
      EXPECT_TRUE(layer.at(key).is_number_integer()) << key;
    }
  }
  EXPECT_EQ(json.at("provenance"), (OrderedJson{{"strata_version", version},
                                                {"command", "strata show resnet18 --json -"}}));
}

TEST(Show, totals_are_the_sums_of_the_layers_and_of_the_groups) {
  for (const char* network : {"resnet18", "gpt2", "gnmt", "lstm_stack"}) {
    const OrderedJson json = shown({network, "--batch", "2"});
    for (const char* key :
         {"parameters", "buffers", "forward_mac", "forward_flop", "backward_flop",
          "activation_bytes", "forward_read_bytes", "backward_weight_write_bytes"}) {
      for (const char* list : {"layers", "by_type", "by_block"}) {
        std::int64_t sum = 0;
        for (const OrderedJson& item : json.at(list)) sum += item.at(key).get<std::int64_t>();
        EXPECT_EQ(sum, json.at("totals").at(key)) << network << ' ' << list << ' ' << key;
      }
    }
    EXPECT_EQ(json.at("layers").size(), json.at("totals").at("nodes"));
  }
}

TEST(Show, only_provenance_varies) {
  OrderedJson one = shown({"lenet5", "--batch", "4"});
  OrderedJson two = shown({"LeNet-5", "-b", "4"});
  EXPECT_NE(one.at("provenance"), two.at("provenance"));
  one.erase("provenance");
  two.erase("provenance");
  EXPECT_EQ(one.dump(), two.dump());
}

TEST(Show, batch_dtype_and_sequence_change_what_they_should) {
  const OrderedJson base = shown({"alexnet"}).at("totals");
  const OrderedJson twice = shown({"alexnet", "--batch", "64"}).at("totals");
  EXPECT_EQ(twice.at("forward_mac"), 2 * base.at("forward_mac").get<std::int64_t>());
  EXPECT_EQ(twice.at("parameters"), base.at("parameters"));
  const OrderedJson half = shown({"alexnet", "--dtype", "bf16"}).at("totals");
  EXPECT_EQ(half.at("parameter_bytes").get<std::int64_t>() * 2, base.at("parameter_bytes"));
  EXPECT_EQ(half.at("forward_flop"), base.at("forward_flop"));
  EXPECT_EQ(shown({"gpt2", "-s", "64"}).at("model").at("dims").at("seq"), 64);
  EXPECT_EQ(shown({"gpt2", "--dim", "seq=64", "--dim", "batch=2"}).at("model").at("batch"), 2);
}

TEST(Show, inference_has_no_backward) {
  const OrderedJson json = shown({"resnet18", "--inference"});
  EXPECT_EQ(json.at("model").at("mode"), "inference");
  EXPECT_EQ(json.at("totals").at("backward_flop"), 0);
  EXPECT_EQ(json.at("totals").at("kept_bytes"), 0);
  EXPECT_EQ(shown({"resnet18", "--inference", "--dtype", "int8"}).at("model").at("dtype"), "int8");
}

TEST(Show, csv_has_the_rows_of_the_view) {
  const Outcome layers = run({"show", "alexnet", "--csv", "-"});
  const std::vector<std::string_view> lines = split(layers.out, '\n');
  EXPECT_EQ(lines.size(), 22U + 2U);
  EXPECT_TRUE(lines[0].starts_with(
      "name,op,block,output_shape,dtype,parameters,buffers,forward_mac,forward_flop"));
  EXPECT_TRUE(lines[1].starts_with("features.0,convolution,")) << lines[1];
  EXPECT_NE(lines[1].find(",32x64x55x55,fp32,23296,0,"), lines[1].npos) << lines[1];
  const auto commas = [](std::string_view line) {
    return std::count(line.begin(), line.end(), ',');
  };
  for (std::size_t at = 1; at + 1 < lines.size(); ++at)
    EXPECT_EQ(commas(lines[at]), commas(lines[0]));
  const Outcome types = run({"show", "alexnet", "--csv", "-", "--by", "type", "--top", "2"});
  EXPECT_EQ(split(types.out, '\n').size(), 4U);
}

TEST(Show, outputs_combine_and_files_are_whole) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run({"show", "lenet5", "--json", "a.json", "--csv", "a.csv", "--dot", "a.dot"},
          {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, run({"show", "lenet5"}).out);
  EXPECT_EQ(OrderedJson::parse(file_text(folder.path() / "a.json")).at("model").at("name"),
            "lenet5");
  EXPECT_EQ(file_text(folder.path() / "a.csv"), run({"show", "lenet5", "--csv", "-"}).out);
  EXPECT_EQ(file_text(folder.path() / "a.dot"), run({"show", "lenet5", "--dot", "-"}).out);
  EXPECT_EQ(file_text(folder.path() / "a.dot").find("digraph \"lenet5\" {\n"), 0U);
}

struct BadInput {
  std::vector<std::string> arguments;
  std::string error;
};

TEST(Show, bad_input_is_one_clear_line) {
  const std::vector<BadInput> inputs = {
      {{"alexnet", "--batch", "0"}, "--batch expects a whole number of at least 1, got '0'"},
      {{"alexnet", "--batch", "-3"}, "--batch expects a whole number of at least 1, got '-3'"},
      {{"alexnet", "--batch", "many"}, "--batch expects a whole number of at least 1, got 'many'"},
      {{"alexnet", "--batch", "99999999999999999999"},
       "--batch: '99999999999999999999' does not fit in 64 bits"},
      {{"alexnet", "--batch", "9223372036854775807"},
       "tensor 'input': extent batch = 9223372036854775807 must lie between 1 and 2^48"},
      {{"alexnet", "--batch", "1000000000000"},
       "node 'features.0': sizes too large: a count does not fit in 64 bits"},
      {{"alexnet", "--top", "0"}, "--top expects a whole number of at least 1, got '0'"},
      {{"alexnet", "--dtype", "fp31"},
       "--dtype expects fp64, fp32, tf32, bf16, fp16, fp8 or int8, got 'fp31'; did you mean fp32?"},
      {{"alexnet", "--dtype", "int8"},
       "--dtype int8 has no gradients; give --inference with it, or a floating-point type"},
      {{"alexnet", "--seq", "8"}, "AlexNet has no dimension 'seq'; its dimensions are: batch"},
      {{"gpt2", "--dim", "sequence=8"},
       "GPT-2 small has no dimension 'sequence'; its dimensions are: batch, seq"},
      {{"gpt2", "--dim", "seq"}, "--dim expects NAME=N, for example seq=128, got 'seq'"},
      {{"gpt2", "--dim", "seq=0"}, "--dim seq expects a whole number of at least 1, got '0'"},
      {{"gpt2", "--seq", "8", "--dim", "seq=9"}, "dimension 'seq' is given twice: 8 and 9"},
      {{"./missing.json"}, "./missing.json: no such file"},
      {{"squeezenet1.2"}, "squeezenet1.2: no such file; did you mean squeezenet1_1?"},
      {{"alexnet", "--json", "-", "--csv", "-"}, "--json and --csv both write to standard output"},
      {{"alexnet", "--csv", "a", "--dot", "a"}, "--csv and --dot both write to a"},
      {{"alexnet", "--json", "no/such/folder"},
       "cannot write no/such/folder: No such file or directory"},
  };
  for (const BadInput& input : inputs) {
    std::vector<std::string> arguments = input.arguments;
    arguments.insert(arguments.begin(), "show");
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << input.error;
    EXPECT_EQ(outcome.out, "") << input.error;
    EXPECT_EQ(outcome.err, "error: " + input.error + "\n");
  }
}

TEST(Show, an_unknown_network_suggests_the_nearest) {
  const Outcome outcome = run({"show", "resnet5"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.find("error: no network named 'resnet5'; did you mean resnet50"), 0U)
      << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
}

TEST(Show, a_built_in_name_wins_over_a_file_unless_a_path_is_meant) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "alexnet") << "not a network";
  EXPECT_EQ(run({"show", "alexnet"}, {.folder = folder.path()}).exit_code, 0);
  const Outcome outcome = run({"show", "./alexnet"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err.find("error: ./alexnet"), 0U) << outcome.err;
}

TEST(List, shows_networks_machines_and_formats) {
  const Outcome outcome = run({"list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* kind : {"networks", "machines", "formats"}) {
    const std::string part = run({"list", kind}).out;
    EXPECT_GT(std::count(part.begin(), part.end(), '\n'), 1) << kind;
    EXPECT_NE(outcome.out.find(part), outcome.out.npos) << kind;
  }
  EXPECT_NE(run({"list", "operators"}).out.find("  convolution\n"), std::string::npos);
}

TEST(List, json_holds_what_was_asked_for) {
  const OrderedJson json = OrderedJson::parse(run({"list", "networks", "--json", "-"}).out);
  EXPECT_FALSE(json.contains("machines"));
  const auto& networks = json.at("networks");
  const auto alexnet =
      std::find_if(networks.begin(), networks.end(),
                   [](const OrderedJson& network) { return network.at("name") == "alexnet"; });
  ASSERT_NE(alexnet, networks.end());
  EXPECT_EQ(alexnet->at("parameters"), 61100840);
}

}  // namespace
}  // namespace strata::test
