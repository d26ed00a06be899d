// SPDX-License-Identifier: Apache-2.0
// The flags that say how the file of a model is read.
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using OrderedJson = nlohmann::ordered_json;

class ImportFlags : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }

  Outcome show(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "show");
    return run(arguments, {.folder = folder_.path()});
  }

  OrderedJson shown(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--json", "-"});
    const Outcome outcome = show(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return OrderedJson::parse(outcome.out);
  }

  void expect_refused(const std::vector<std::string>& arguments, const std::string& error) const {
    const Outcome outcome = show(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << error;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "error: " + error + "\n");
  }

  TemporaryFolder folder_;
};

const std::string caffe_without_shape =
    "layer { name: 'data' type: 'Data' top: 'data' top: 'label' }\n"
    "layer { name: 'a' type: 'BatchNorm' bottom: 'data' top: 'a' }\n"
    "layer { name: 'b' type: 'Scale' bottom: 'a' top: 'b' scale_param { bias_term: true } }\n";

const std::string caffe_with_unknown_layer =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 4 } } }\n"
    "layer { name: 'riddle' type: 'Mystery' bottom: 'x' top: 'y' }\n";

TEST_F(ImportFlags, input_gives_the_shape_that_the_file_lacks) {
  file("net.prototxt", caffe_without_shape);
  const Outcome without = show({"net.prototxt"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_NE(without.err.find("--input data=NxCxHxW"), without.err.npos) << without.err;
  for (const std::string shape : {"2x3x8x8", "2,3,8,8", "2X3x8,8"}) {
    const OrderedJson json = shown({"net.prototxt", "--input", "data=" + shape});
    EXPECT_EQ(json.at("layers").at(0).at("output_shape"), OrderedJson({2, 3, 8, 8})) << shape;
    EXPECT_EQ(json.at("model").at("batch"), 2);
  }
  EXPECT_EQ(shown({"net.prototxt", "--input", "data=2x3x8x8", "--batch", "5"})
                .at("layers")
                .at(0)
                .at("output_shape"),
            OrderedJson({5, 3, 8, 8}));
}

TEST_F(ImportFlags, no_fuse_keeps_layers_apart) {
  file("net.prototxt", caffe_without_shape);
  EXPECT_EQ(shown({"net.prototxt", "--input", "data=2x3x8x8"}).at("totals").at("nodes"), 1);
  EXPECT_EQ(
      shown({"net.prototxt", "--input", "data=2x3x8x8", "--no-fuse"}).at("totals").at("nodes"), 3);
}

TEST_F(ImportFlags, strict_refuses_what_cannot_be_counted) {
  file("net.prototxt", caffe_with_unknown_layer);
  const Outcome lenient = show({"net.prototxt"});
  EXPECT_EQ(lenient.exit_code, 0);
  EXPECT_NE(lenient.err.find("[operator-not-counted]"), lenient.err.npos) << lenient.err;
  const Outcome strict = show({"net.prototxt", "--strict"});
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_NE(strict.err.find("riddle"), strict.err.npos) << strict.err;

  file("own.json", R"({"strata_network": 1, "inputs": {"x": ["batch", 4]},
    "layers": [{"op": "opaque", "type": "Mystery", "name": "riddle", "shapes": [["batch", 4]]}]})");
  EXPECT_EQ(show({"own.json"}).exit_code, 0);
  expect_refused({"own.json", "--strict"},
                 "own.json: layer 'riddle': the operator 'Mystery' cannot be counted");
}

TEST_F(ImportFlags, mistakes_are_one_clear_line) {
  file("net.prototxt", caffe_without_shape);
  file("own.json",
       R"({"strata_network": 1, "inputs": {"x": ["batch", 4]}, "layers": [{"op": "relu"}]})");
  expect_refused({"net.prototxt", "--input", "1x3x8x8"},
                 "--input expects NAME=SHAPE, for example data=1x3x224x224, got '1x3x8x8'");
  expect_refused({"net.prototxt", "--input", "data="},
                 "--input data expects a whole number of at least 1, got ''");
  expect_refused({"net.prototxt", "--input", "data=1x0"},
                 "--input data expects a whole number of at least 1, got '0'");
  expect_refused({"net.prototxt", "--input", "data=1x3", "--input", "data=1x4"},
                 "--input gives the shape of 'data' twice");
  expect_refused({"net.prototxt", "--input", "dta=1x3"},
                 "net.prototxt: the network has no input 'dta'; its inputs are: data, label");
  expect_refused({"net.prototxt", "--assume-bn"},
                 "net.prototxt: --assume-bn is for ONNX files; a file in the format 'caffe' says "
                 "itself where it normalises");
  expect_refused({"own.json", "--input", "x=1x4"},
                 "own.json: Strata's own format states the shapes of its inputs; --input is for "
                 "other formats (--dim chooses a size that is open)");
}

TEST_F(ImportFlags, a_built_in_network_takes_none_of_them) {
  for (const std::string flag : {"--no-fuse", "--assume-bn", "--strict"}) {
    expect_refused({"resnet18", flag}, flag + " is for networks from files; resnet18 is built in");
  }
  expect_refused({"ResNet-18", "--input", "x=1x3x8x8"},
                 "--input is for networks from files; resnet18 is built in");
  const Outcome unknown = show({"resnet1", "--strict"});
  EXPECT_NE(unknown.err.find("no network named 'resnet1'"), unknown.err.npos) << unknown.err;
}

}  // namespace
}  // namespace strata::test
