// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/written_model_test.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Networks that nobody trains and that a file may hold all the same: layers without inputs,
/// networks of views, one element, no batch, no weights. The same ones in every run.
namespace strata::test::odd {

struct Network {
  std::string file;  ///< its name, with the ending of its format
  std::string bytes;
};
using Networks = std::vector<Network>;

/// A word about the shape of an input, and about what comes behind it.
inline const std::vector<std::string> shapes = {
    R"(["batch"])",       R"(["batch",1])",         R"(["batch",6])", R"(["batch",1,1,1])",
    R"(["batch",4,4,4])", R"(["batch","seq",4])",   R"([1])",         R"([])",
    R"([3,"batch"])",     R"(["batch",2,1,"seq"])", R"(["batch",0])"};

/// Every operator of the network format, with the least that it needs.
inline const std::vector<std::string> layers = {
    R"("op":"convolution","channels":4,"kernel":1)",
    R"("op":"convolution","channels":4,"kernel":1,"groups":4,"bias":false)",
    R"("op":"convolution","channels":1,"kernel":9,"pad":4,"stride":9)",
    R"("op":"transposed_convolution","channels":1,"kernel":2,"stride":2)",
    R"("op":"linear","features":1)",
    R"("op":"linear","features":4,"bias":false)",
    R"("op":"matmul","transpose_b":true)",
    R"("op":"attention","heads":1)",
    R"("op":"attention","heads":2,"causal":true,"written_out":true)",
    R"("op":"rnn","hidden":1)",
    R"("op":"lstm","hidden":1,"layers":2,"biases":0)",
    R"("op":"lstm","hidden":2,"projection":1,"bidirectional":true)",
    R"("op":"gru","hidden":1,"fused_gates":false)",
    R"("op":"max_pool","kernel":1)",
    R"("op":"average_pool","kernel":1,"stride":5)",
    R"("op":"adaptive_max_pool")",
    R"("op":"adaptive_average_pool","output":1)",
    R"("op":"batch_norm")",
    R"("op":"batch_norm","scale":false,"shift":false)",
    R"("op":"layer_norm","axis":0,"scale":false,"shift":false)",
    R"("op":"layer_norm")",
    R"("op":"rms_norm")",
    R"("op":"group_norm","groups":1)",
    R"("op":"instance_norm","scale":false,"shift":false)",
    R"("op":"local_response_norm","size":1)",
    R"("op":"relu")",
    R"("op":"prelu")",
    R"("op":"identity")",
    R"("op":"add")",
    R"("op":"select")",
    R"("op":"maximum")",
    R"("op":"softmax","axis":0)",
    R"("op":"log_softmax")",
    R"("op":"dropout","probability":0)",
    R"("op":"dropout","probability":1)",
    R"("op":"rotary_embedding","heads":1)",
    R"("op":"cast","to":"bool")",
    R"("op":"cast","to":"fp16")",
    R"("op":"reduce_sum")",
    R"("op":"reduce_max","keep_axes":true)",
    R"("op":"softmax_cross_entropy")",
    R"("op":"squared_error")",
    R"("op":"concat","axis":0)",
    R"("op":"split","axis":0,"parts":1)",
    R"("op":"split","axis":1,"sizes":[1])",
    R"("op":"slice","axes":[0],"begin":[0],"end":[1])",
    R"("op":"slice","axes":[0],"begin":[1],"end":[1])",
    R"("op":"reshape","shape":[-1])",
    R"("op":"reshape","shape":[0,-1,1])",
    R"("op":"flatten")",
    R"("op":"flatten","axis":0)",
    R"("op":"transpose")",
    R"("op":"expand","shape":["batch",7])",
    R"("op":"resize","scale":1)",
    R"("op":"pad","begin":[0,0],"end":[0,0])",
    R"("op":"pad","begin":[0],"end":[3])",
    R"("op":"embedding","vocabulary":1,"width":1)",
    R"("op":"gather")",
    R"("op":"channel_shuffle","groups":1)",
    R"("op":"space_to_depth","block":1)",
    R"("op":"opaque","shapes":[["batch"]])",
    R"("op":"opaque","shapes":[[],["batch",1]])",
    R"("op":"opaque","shapes":[[1]])",
    R"("op":"parameter","shape":[1])",
    R"("op":"buffer","shape":["batch",4])",
    R"("op":"constant","shape":[])",
};

inline std::string own_network(const std::string& inputs, const std::string& all_layers) {
  return fmt::format(R"({{"strata_network":1,"inputs":{{{}}},"layers":[{}]}})", inputs, all_layers);
}

/// A layer of that list; `inputs` is a list in JSON, empty: those of the layer before.
inline std::string own_layer(const std::string& layer, const std::string& inputs, int number) {
  return fmt::format(R"({{{},"name":"l{}"{}}})", layer, number,
                     inputs.empty() ? "" : R"(,"inputs":)" + inputs);
}

/// Every operator alone: on every shape, on no input, on one input twice or three times.
inline Networks of_one_layer() {
  Networks all;
  for (const std::string& layer : layers) {
    for (const std::string& shape : shapes) {
      for (const char* inputs : {"", "[]", R"(["x","x"])", R"(["x","x","x"])"}) {
        const bool is_first = &shape == &shapes.front();
        if (std::string(inputs) == "[]" && !is_first) continue;
        all.push_back({fmt::format("one{}.json", all.size()),
                       own_network(R"("x":)" + shape, own_layer(layer, inputs, 0))});
      }
    }
  }
  return all;
}

/// The same numbers on every platform, which std::uniform_int_distribution does not promise.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::size_t below(std::size_t count) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33) % count;
  }
  template <class Value>
  const Value& of(const std::vector<Value>& values) {
    return values[below(values.size())];
  }

 private:
  std::uint64_t state_;
};

/// Some layers one behind the other or side by side, often views, unknown ones and stored tensors.
inline Networks of_some_layers(std::size_t count) {
  static const std::vector<std::string> odd_ones = {R"("op":"opaque","shapes":[["batch"]])",
                                                    R"("op":"opaque","shapes":[["batch",4]])",
                                                    R"("op":"flatten")",
                                                    R"("op":"reshape","shape":[-1])",
                                                    R"("op":"reshape","shape":["batch",-1])",
                                                    R"("op":"identity")",
                                                    R"("op":"dropout","probability":0)",
                                                    R"("op":"relu")",
                                                    R"("op":"linear","features":1)",
                                                    R"("op":"reduce_sum")",
                                                    R"("op":"parameter","shape":["batch",4])",
                                                    R"("op":"buffer","shape":[4])",
                                                    R"("op":"concat","axis":0)",
                                                    R"("op":"add")",
                                                    R"("op":"opaque","shapes":[[],["batch"]])",
                                                    R"("op":"split","axis":0,"parts":1)"};
  Networks all;
  for (std::size_t seed = 0; seed < count; ++seed) {
    Numbers numbers(seed);
    std::vector<std::string> written;
    std::vector<std::string> names = {"x"};
    const std::size_t size = 1 + numbers.below(5);
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_odd = numbers.below(3) > 0;
      const std::string& layer = is_odd ? numbers.of(odd_ones) : numbers.of(layers);
      const bool is_stored = layer.find(R"("shape":)") != layer.npos &&
                             layer.find("reshape") == layer.npos &&
                             layer.find("expand") == layer.npos;
      std::string inputs;
      if (!is_stored) {
        std::vector<std::string> taken;
        const bool may_take_none = layer.find("opaque") != layer.npos;
        const std::size_t wanted = numbers.below(3) + (may_take_none ? 0 : 1);
        for (std::size_t k = 0; k < wanted; ++k) taken.push_back('"' + numbers.of(names) + '"');
        inputs = fmt::format("[{}]", fmt::join(taken, ","));
      }
      written.push_back(own_layer(layer, inputs, static_cast<int>(i)));
      names.push_back(fmt::format("l{}", i));
    }
    all.push_back(
        {fmt::format("some{}.json", seed),
         own_network(R"("x":)" + numbers.of(shapes), fmt::format("{}", fmt::join(written, ",")))});
  }
  return all;
}

/// What only an ONNX file can say: nodes without inputs or outputs, names that are empty, results
/// that are inputs.
inline Networks of_onnx() {
  const std::vector<std::string> ops = {"FooBar",
                                        "Identity",
                                        "Relu",
                                        "Flatten",
                                        "Reshape",
                                        "Shape",
                                        "Size",
                                        "Constant",
                                        "Concat",
                                        "Add",
                                        "MatMul",
                                        "Gemm",
                                        "Conv",
                                        "MaxPool",
                                        "Dropout",
                                        "Softmax",
                                        "Split",
                                        "Transpose",
                                        "Squeeze",
                                        "ReduceSum",
                                        "RandomNormal",
                                        "RandomUniformLike",
                                        "Range",
                                        "If",
                                        "Loop",
                                        "Gather",
                                        "Expand",
                                        "ConstantOfShape",
                                        "LSTM",
                                        "BatchNormalization",
                                        "GlobalAveragePool",
                                        "Where",
                                        "NonZero",
                                        "Cast"};
  using onnx::test::Extent;
  const std::vector<std::vector<Extent>> extents = {
      {std::string("batch"), std::int64_t{4}},
      {std::string("batch"), std::int64_t{1}, std::int64_t{1}, std::int64_t{1}},
      {std::string("batch")},
      {}};
  Networks all;
  for (const std::string& op : ops) {
    for (std::size_t inputs = 0; inputs < 4; ++inputs) {
      for (const std::vector<Extent>& shape : extents) {
        if (inputs == 0 && &shape != &extents.front()) continue;
        onnx::test::WrittenModel model;
        model.input("x", shape);
        const std::vector<std::string> taken =
            inputs == 3 ? std::vector<std::string>{"x", ""} : std::vector<std::string>(inputs, "x");
        model.node({.op = op, .inputs = taken, .outputs = {"y"}});
        model.node({.op = "Identity", .inputs = {"y"}, .outputs = {"z"}});
        model.output("z").output("y");
        all.push_back({fmt::format("node{}.onnx", all.size()), model.text()});
      }
    }
    onnx::test::WrittenModel without_outputs;
    without_outputs.input("x", extents[0]).output("x", extents[0]);
    without_outputs.node({.op = op, .inputs = {"x"}, .outputs = {}});
    all.push_back({fmt::format("node{}.onnx", all.size()), without_outputs.text()});
  }
  onnx::test::WrittenModel unknown;
  unknown.node({.op = "FooBar", .inputs = {}, .outputs = {"y"}}).output("y", extents[0]);
  all.push_back({"unknown.onnx", unknown.text()});
  all.push_back({"nothing.onnx", onnx::test::WrittenModel().text()});
  return all;
}

inline std::string keras_input(const std::string& name, const std::string& shape) {
  return fmt::format(
      R"({{"class_name":"InputLayer","name":"{0}","config":{{"name":"{0}","batch_input_shape":{1}}},"inbound_nodes":[]}})",
      name, shape);
}

/// What only a Keras file can say: layers that are called with nothing, with one thing where they
/// merge, a batch that is fixed, shapes of nothing.
inline Networks of_keras() {
  const std::vector<std::string> ops = {
      R"("Lambda","config":{"output_shape":[]})",
      R"("Lambda","config":{"output_shape":[1]})",
      R"("Foo","config":{})",
      R"("Flatten","config":{})",
      R"("Reshape","config":{"target_shape":[-1]})",
      R"("Dropout","config":{"rate":0})",
      R"("Activation","config":{"activation":"linear"})",
      R"("Dense","config":{"units":1})",
      R"("Concatenate","config":{})",
      R"("Add","config":{})",
      R"("GlobalAveragePooling2D","config":{})",
      R"("Conv2D","config":{"filters":1,"kernel_size":[1,1]})",
      R"("BatchNormalization","config":{"scale":false,"center":false})",
      R"("LSTM","config":{"units":1})",
      R"("Embedding","config":{"input_dim":1,"output_dim":1})",
      R"("Permute","config":{"dims":[1]})",
      R"("RepeatVector","config":{"n":1})",
      R"("Masking","config":{})",
      R"("GaussianNoise","config":{"stddev":0})"};
  const std::vector<std::string> called = {"[]", "[[]]", R"([[["a",0,0,{}]]])",
                                           R"([[["a",0,0,{}],["b",0,0,{}]]])"};
  Networks all;
  for (const std::string& op : ops) {
    for (const std::string& inbound : called) {
      for (const char* shape : {"[null]", "[null,4]", "[null,4,4,1]", "[2]", "[null,3,2]"}) {
        std::string layer =
            fmt::format(R"({{"class_name":{},"name":"y","inbound_nodes":{}}})", op, inbound);
        layer.insert(layer.find(R"("config":{)") + 10,
                     op.ends_with("{}") ? R"("name":"y")" : R"("name":"y",)");
        all.push_back(
            {fmt::format("keras{}.json", all.size()),
             fmt::format(
                 R"({{"class_name":"Model","config":{{"name":"m","input_layers":[["a",0,0],["b",0,0]],"output_layers":[["y",0,0]],"layers":[{},{},{}]}}}})",
                 keras_input("a", shape), keras_input("b", shape), layer)});
      }
    }
  }
  return all;
}

}  // namespace strata::test::odd
