// SPDX-License-Identifier: Apache-2.0
// Files made to exhaust their reader: whatever is in them, the program answers within 2 s of
// processor time and 200 MB beyond the size of the file, with a result or with one line that says
// what is wrong. A build for tests is not optimized as the program is, and has 5 s: on a Xeon of
// 2019 the longest takes 1.3 s in the one and 3 s in the other, more with a busy neighbour.
#include "strata/base/text.hpp"
#include "tests/cli/run_program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

namespace strata::test {
namespace {

constexpr std::size_t kilobyte = 1024;
constexpr std::size_t megabyte = 1024 * kilobyte;
#ifdef NDEBUG
constexpr int most_seconds = 2;
#else
constexpr int most_seconds = 5;
#endif

/// Doubled, not appended one by one: some of these texts have millions of parts.
std::string repeated(std::string_view text, std::size_t times) {
  const std::size_t bytes = text.size() * times;
  std::string result(text.substr(0, bytes));
  result.reserve(bytes);
  while (result.size() < bytes) result.append(result, 0, bytes - result.size());
  return result;
}

/// `make(0) make(1) …` up to so many bytes.
std::string filled(std::size_t bytes, const std::function<std::string(std::size_t)>& make) {
  std::string result;
  result.reserve(bytes + kilobyte);
  for (std::size_t i = 0; result.size() < bytes; ++i) result += make(i);
  return result;
}

class HostileFiles : public testing::Test {
 protected:
  /// What the program says about the file: "", or the error line.
  std::string expect_bounded(const std::string& name, std::string_view bytes) const {
    SCOPED_TRACE(name);
    const std::filesystem::path path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << bytes;
    // The program itself, all its libraries (oneDNN is the largest) and its stack take some 80 MB
    // of addresses.
    const std::size_t most_bytes = bytes.size() + (200 + 80) * megabyte;
    const Outcome outcome = run_shell(fmt::format("ulimit -v {} -t {}; strata show {} --top 1",
                                                  most_bytes / kilobyte, most_seconds, name),
                                      {.folder = folder_.path()});
    std::filesystem::remove(path);
    const bool is_refused = outcome.exit_code == 2;
    EXPECT_TRUE(outcome.exit_code == 0 || is_refused) << outcome.exit_code << ' ' << outcome.err;
    if (!is_refused) return {};
    EXPECT_TRUE(outcome.err.starts_with("error: ")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_LT(outcome.err.size(), kilobyte) << outcome.err;
    return outcome.err;
  }

  TemporaryFolder folder_;
};

// ---- darknet ------------------------------------------------------------------------------------

const std::string darknet_net = "[net]\nbatch=8\nwidth=16\nheight=8\nchannels=6\n";

TEST_F(HostileFiles, darknet_with_many_sections) {
  expect_bounded("tiny.cfg", darknet_net + repeated("[dropout]\n", 1'600'000));
  for (const std::string_view section :
       {"[dropout]\n", "[crnn]\nbatch_normalize=1\nhidden=6\noutput=6\npad=1\n", "[local]\npad=1\n",
        "[connected]\noutput=6\nbatch_normalize=1\n", "[gru]\noutput=6\n", "[softmax]\ngroups=2\n",
        "[avgpool]\n", "[cost]\n", "[unknown]\n"}) {
    expect_bounded("sections.cfg", darknet_net + repeated(section, 9'999));
  }
}

TEST_F(HostileFiles, darknet_with_many_references) {
  const std::string list = repeated("0,", 9'999) + "0\n";
  for (const std::string& head :
       {std::string("[route]\nlayers="), std::string("[route]\ngroups=2\nlayers="),
        std::string("[shortcut]\nfrom="),
        std::string("[shortcut]\nweights_type=per_feature\nfrom="),
        std::string("[shortcut]\nweights_type=per_channel\nfrom=")}) {
    const std::string section = head + list;
    const std::size_t times = 15 * megabyte / section.size();
    expect_bounded("references.cfg", darknet_net + "[avgpool]\n" + repeated(section, times));
  }
}

TEST_F(HostileFiles, darknet_with_growing_concatenations) {
  expect_bounded("doubled.cfg", darknet_net + repeated("[route]\nlayers=-1,-1\n[dropout]\n", 100));
}

TEST_F(HostileFiles, darknet_with_many_settings) {
  expect_bounded("settings.cfg", darknet_net + "[conv]\n" + repeated("a=1\n", 499'000));
  expect_bounded("spread.cfg", darknet_net + repeated("[conv]\n" + repeated("a=1\n", 49), 9'999));
  expect_bounded("long.cfg", darknet_net + "[conv]\nsize=" + std::string(15 * megabyte, '1'));
  expect_bounded("words.cfg", darknet_net + filled(8 * megabyte, [](std::size_t i) {
                                return fmt::format("[conv]\nactivation=a{}{}\n", i,
                                                   std::string(1000, 'x'));
                              }));
}

// ---- Caffe --------------------------------------------------------------------------------------

const std::string caffe_input =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 6 dim: 8 dim: 8 } "
    "} "
    "}\n";

TEST_F(HostileFiles, caffe_with_many_layers) {
  expect_bounded("tiny.prototxt", repeated("layer{type:'ReLU'}", 900'000));
  expect_bounded("empty.prototxt", repeated("layer{}", 2'000'000));
  for (const std::string_view layer :
       {"type: 'ReLU'", "type: 'BatchNorm'", "type: 'LSTM' recurrent_param { num_output: 4 }",
        "type: 'Convolution' convolution_param { num_output: 6 kernel_size: 1 }", "type: 'Mystery'",
        "type: 'InnerProduct' inner_product_param { num_output: 6 }", "type: 'MVN'",
        "type: 'Normalize'", "type: 'SPP' spp_param { pyramid_height: 3 }"}) {
    std::string text = caffe_input;
    for (int i = 0; i < 19'000; ++i) {
      text += fmt::format("layer {{ name: 'l{}' {} bottom: 'x' top: 'x' }}\n", i, layer);
    }
    expect_bounded("layers.prototxt", text);
  }
}

TEST_F(HostileFiles, caffe_with_many_bottoms_and_tops) {
  for (const std::string_view type : {"Eltwise", "Concat", "Mystery", "Slice", "Split"}) {
    expect_bounded("bottoms.prototxt",
                   caffe_input + fmt::format("layer {{ name: 'e' type: '{}' top: 'y' {} }}", type,
                                             repeated("bottom: 'x' ", 450'000)));
    const std::string tops =
        filled(8 * megabyte, [](std::size_t i) { return fmt::format("top: 't{}' ", i); });
    expect_bounded(
        "tops.prototxt",
        caffe_input + fmt::format("layer {{ name: 'e' type: '{}' bottom: 'x' {} }}", type, tops));
    const std::string layer = fmt::format("layer {{ name: 'e' type: '{}' top: 'y' {} }}\n", type,
                                          repeated("bottom: 'x' ", 1'000));
    expect_bounded("many.prototxt", caffe_input + repeated(layer, 480));
  }
}

TEST_F(HostileFiles, caffe_with_many_inputs) {
  const auto top = [](std::size_t i) { return fmt::format("top: 't{}' ", i); };
  expect_bounded("inputs.prototxt",
                 fmt::format("layer {{ type: 'Input' {} input_param {{ {} }} }}",
                             filled(4'000'000, top), repeated("shape{} ", 200'000)));
  expect_bounded("data.prototxt",
                 fmt::format("layer {{ type: 'Data' {} }}", filled(6 * megabyte, top)));
  expect_bounded("old.prototxt", filled(4 * megabyte, [](std::size_t i) {
                                   return fmt::format("input: 'i{}' input_dim: 1 ", i);
                                 }) + "layer { type: 'ReLU' bottom: 'i0' top: 'y' }");
}

TEST_F(HostileFiles, caffe_with_odd_text) {
  expect_bounded("deep.prototxt", repeated("layer{", 2'000'000));
  expect_bounded("open.prototxt", "layer { name: '" + std::string(15 * megabyte, 'x'));
  expect_bounded("pieces.prototxt", "layer { name: " + repeated("'x' ", 3'000'000) + "}");
  expect_bounded("fields.prototxt", repeated("a:1 ", 3'000'000));
  expect_bounded("list.prototxt", "a: [" + repeated("1,", 7'000'000) + "1]");
  expect_bounded("params.prototxt",
                 caffe_input + "layer { name: 'r' type: 'Convolution' bottom: 'x' top: 'y' " +
                     repeated("param { name: 'a' } ", 200'000) + "}");
  expect_bounded("shared.prototxt", caffe_input + filled(2 * megabyte, [](std::size_t i) {
                                      return fmt::format(
                                          "layer {{ name: 'r{}' type: 'PReLU' bottom: 'x' top: 'x' "
                                          "param {{ name: 'p{}' }} }}\n",
                                          i, i);
                                    }));
}

// ---- Strata's own format ------------------------------------------------------------------------

std::string own_network(std::string_view layers, std::string_view more = "") {
  return fmt::format(
      R"({{"strata_network": 1, "inputs": {{"x": ["batch", 6, 8, 8]}}, {} "layers": [{}]}})", more,
      layers);
}

/// `count` entries with commas between them.
std::string entries(std::size_t count, const std::function<std::string(std::size_t)>& make) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + make(i);
  return text;
}

std::string same_entries(std::size_t count, std::string_view entry) {
  std::string text = repeated(std::string(entry) + ',', count);
  text.pop_back();
  return text;
}

TEST_F(HostileFiles, own_format_with_many_layers) {
  expect_bounded("tiny.json", own_network(same_entries(1'000'000, R"({"op":"relu"})")));
  for (const std::string_view layer :
       {R"({"op":"relu"})", R"({"op":"batch_norm"})",
        R"({"op":"convolution","channels":6,"kernel":1})", R"({"op":"add","inputs":["x","x"]})"}) {
    expect_bounded("layers.json", own_network(same_entries(90'000, layer)));
  }
  expect_bounded("recurrent.json",
                 R"({"strata_network": 1, "inputs": {"x": ["batch", 5, 4]}, "layers": [)" +
                     same_entries(10'000, R"({"op":"lstm","hidden":4,"layers":1000})") + "]}");
  expect_bounded("split.json",
                 own_network(same_entries(
                     1'000, fmt::format(R"({{"op":"split","axis":1,"inputs":"x","parts":[{}]}})",
                                        same_entries(1'000, "1")))));
}

TEST_F(HostileFiles, own_format_with_many_references) {
  const std::string list = same_entries(10'000, "\"x\"");
  for (const std::string_view op : {"add", "concat", "opaque"}) {
    const std::string layer = fmt::format(R"({{"op":"{}","inputs":[{}]{}}})", op, list,
                                          op == "opaque"   ? R"(,"type":"t","shapes":[[1]])"
                                          : op == "concat" ? R"(,"axis":1)"
                                                           : "");
    expect_bounded("references.json", own_network(same_entries(350, layer)));
  }
  expect_bounded("one.json", own_network(fmt::format(R"({{"op":"add","inputs":[{}]}})",
                                                     same_entries(4'000'000, "\"x\""))));
}

TEST_F(HostileFiles, own_format_with_odd_text) {
  expect_bounded("deep.json", std::string(15 * megabyte, '['));
  expect_bounded("deep_network.json", "{\"strata_network\": " + std::string(megabyte, '['));
  expect_bounded("numbers.json", own_network(same_entries(7'000'000, "1")));
  expect_bounded("lists.json", own_network(same_entries(5'000'000, "[]")));
  expect_bounded("tables.json", own_network(same_entries(5'000'000, "{}")));
  expect_bounded("keys.json",
                 own_network(fmt::format("{{{}}}", entries(1'000'000, [](std::size_t i) {
                                           return fmt::format("\"k{}\":1", i);
                                         }))));
  expect_bounded("name.json",
                 own_network(fmt::format(R"({{"op":"{}"}})", std::string(15 * megabyte, 'x'))));
  expect_bounded("formula.json", own_network(entries(50'000, [](std::size_t i) {
                   return fmt::format(
                       R"({{"op":"expand","inputs":"x","shape":["batch+{}","seq*{}",8,8]}})", i, i);
                 })));
  expect_bounded(
      "long_formula.json",
      own_network(same_entries(
          20'000, fmt::format(R"({{"op":"reshape","shape":["{}1"]}})", repeated("batch+", 150)))));
  expect_bounded(
      "inputs.json",
      fmt::format(R"({{"strata_network": 1, "inputs": {{{}}}, "layers": []}})",
                  entries(500'000, [](std::size_t i) { return fmt::format("\"i{}\":[1]", i); })));
  expect_bounded("dims.json",
                 own_network(R"({"op":"relu"})",
                             fmt::format("\"dims\": {{{}}},", entries(500'000, [](std::size_t i) {
                                           return fmt::format("\"d{}\":1", i);
                                         }))));
  expect_bounded("misspelt.json",
                 own_network(entries(50'000,
                                     [](std::size_t i) {
                                       return fmt::format(
                                           R"({{"name":"layer{}","op":"relu","inputs":"x"}})", i);
                                     }) +
                             R"(,{"op":"relu","inputs":"layerr"})"));
}

TEST_F(HostileFiles, own_format_as_toml) {
  const std::string head = "strata_network = 1\ninputs.x = [\"batch\", 6]\n";
  expect_bounded("layers.toml", head + repeated("[[layers]]\nop = \"relu\"\n", 300'000));
  expect_bounded("list.toml", head + "layers = [" + repeated("1,", 4'000'000) + "]");
  expect_bounded("tables.toml", head + "layers = [" + repeated("{},", 2'500'000) + "]");
  expect_bounded("deep.toml", head + "layers = " + std::string(7 * megabyte, '['));
  expect_bounded("keys.toml", head + filled(7 * megabyte, [](std::size_t i) {
                                return fmt::format("k{} = 1\n", i);
                              }));
  expect_bounded("text.toml", head + "name = \"" + std::string(7 * megabyte, 'x') + "\"");
}

// ---- Keras --------------------------------------------------------------------------------------

constexpr std::string_view keras_input =
    R"({"class_name":"InputLayer","config":{"name":"x","batch_input_shape":[null,8,8,6]},"name":"x","inbound_nodes":[]})";

std::string keras_sequential(std::string_view layers) {
  return fmt::format(R"({{"class_name":"Sequential","config":{{"layers":[{},{}]}}}})", keras_input,
                     layers);
}

std::string keras_functional(std::string_view layers, std::string_view last) {
  return fmt::format(
      R"({{"class_name":"Functional","config":{{"layers":[{}{}],"input_layers":[["x",0,0]],"output_layers":[["{}",0,0]]}}}})",
      keras_input, layers, last);
}

TEST_F(HostileFiles, keras_with_many_layers) {
  expect_bounded("tiny.json",
                 keras_sequential(same_entries(1'000'000, R"({"class_name":"ReLU"})")));
  for (
      const std::string_view layer :
      {R"("class_name":"ReLU","config":{)", R"("class_name":"BatchNormalization","config":{)",
       R"("class_name":"SeparableConv2D","config":{"filters":6,"kernel_size":1,)",
       R"("class_name":"ConvLSTM2D","config":{"filters":6,"kernel_size":1,"return_sequences":true,)",
       R"("class_name":"Permute","config":{"dims":[3,1,2],)"}) {
    expect_bounded("layers.json", keras_sequential(entries(90'000, [&](std::size_t i) {
                     return fmt::format(R"({{{}"name":"l{}"}}}})", layer, i);
                   })));
  }
}

// Each model calls the one inside it twice: 2^40 layers in a few kilobytes.
TEST_F(HostileFiles, keras_with_models_in_models) {
  std::string inside =
      R"({"class_name":"ReLU","config":{"name":"m"},"name":"m","inbound_nodes":[[["x",0,0,{}]],[["m",0,0,{}]]]})";
  for (int depth = 0; depth < 12; ++depth) {
    std::string model = keras_functional("," + inside, "m");
    model.pop_back();
    inside =
        model +
        R"(,"name":"m","inbound_nodes":[[["x",0,0,{}]],[["m",0,0,{}]],[["m",1,0,{}]],[["m",2,0,{}]]]})";
  }
  expect_bounded("laughs.json", keras_functional("," + inside, "m"));
  std::string deep = std::string(keras_input);
  for (int i = 0; i < 2'000; ++i) deep = keras_sequential(deep);
  expect_bounded("deep.json", deep);
}

TEST_F(HostileFiles, keras_with_many_references) {
  const std::string references = same_entries(10'000, R"(["x",0,0,{}])");
  for (const std::string_view type : {"Add", "Concatenate", "Mystery"}) {
    const std::string layers = entries(20, [&](std::size_t i) {
      return fmt::format(
          R"({{"class_name":"{}","config":{{"name":"l{}"}},"name":"l{}","inbound_nodes":[[{}]]}})",
          type, i, i, references);
    });
    expect_bounded("references.json", keras_functional("," + layers, "l0"));
  }
  const std::string calls = same_entries(150'000, R"([["x",0,0,{}]])");
  for (const std::string_view type : {"ReLU", "BatchNormalization", "Flatten"}) {
    expect_bounded(
        "calls.json",
        keras_functional(
            fmt::format(
                R"(,{{"class_name":"{}","config":{{"name":"l"}},"name":"l","inbound_nodes":[{}]}})",
                type, calls),
            "l"));
  }
}

TEST_F(HostileFiles, keras_with_odd_text) {
  const std::string head = R"({"class_name":"Sequential","config":)";
  expect_bounded("nesting.json", head + std::string(20 * megabyte, '['));
  expect_bounded("numbers.json", head + "[" + same_entries(900'000, "1") + "]}");
  expect_bounded("more_numbers.json", head + "[" + same_entries(9'000'000, "1") + "]}");
  expect_bounded("objects.json", head + "[" + same_entries(900'000, "{}") + "]}");
  expect_bounded("keys.json", head + "{" + entries(900'000, [](std::size_t i) {
                                return fmt::format("\"k{}\":1", i);
                              }) + "}}");
  expect_bounded("name.json",
                 keras_sequential(fmt::format(R"({{"class_name":"ReLU","config":{{"name":"{}"}}}})",
                                              std::string(30 * megabyte, 'x'))));
  expect_bounded("text.json",
                 fmt::format(R"({{"class_name":"Sequential","config":1,"model_config":"{}"}})",
                             repeated("\\\"", 7'000'000)));
}

}  // namespace
}  // namespace strata::test
