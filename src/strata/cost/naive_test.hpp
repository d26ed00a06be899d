// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/cost.hpp"
#include "strata/cost/naive_tensor_test.hpp"
#include "strata/graph/builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

/// The brute-force side of the cost tests. An operator's definition is a struct with its attributes
/// as `op` and two member templates, forward(Run<T>&) and backward(Run<T>&), written as plain
/// loops. check() puts the operator into a graph, runs the loops and compares what they did with
/// what cost_of says they cost.
namespace strata::naive {

enum class Pass { forward, backward_input, backward_weight };

/// Where a data input of the operator under test comes from, which decides whether and where it
/// gets a gradient.
enum class Role {
  network_input,  ///< no gradient
  activation,     ///< made from a parameter: gradient in backward_input
  parameter,      ///< gradient in backward_weight
};

struct Source {
  Index shape;
  Role role = Role::activation;
  DType dtype = DType::fp32;
  double low = -1;  ///< range of its random values
  double high = 1;
  std::int64_t indices_below =
      0;  ///< > 0: whole numbers 0, 1, … below it instead, all different as long as they last
  std::optional<std::size_t> same_as{};  ///< the very tensor of an earlier source
};

/// How much of a tensor that the loops touch they touch.
enum class Touch {
  whole,  ///< every number
  gaps,   ///< perhaps not every number, but the cost counts it whole
  parts,  ///< perhaps not every number, and the cost counts what is touched
};

struct Options {
  Touch touch = Touch::whole;
  Mode mode = Mode::training;
  std::optional<DType> dtype{};
  std::vector<bool> used_outputs{};               ///< which outputs reach a result; empty: all
  bool data_gradients_are_in_input_pass = false;  ///< also those of parameters (recurrent cells)
  bool is_smooth = true;                          ///< false: no finite differences
};

/// A graph around the operator under test.
struct Subject {
  Graph graph;
  BoundGraph bound;
  NodeId node = 0;

  Subject(const Operator& op, const std::vector<Source>& sources, const Options& options)
      : graph(build(op, sources, options)), bound(bind_graph(graph, {}, options.dtype)) {
    node = static_cast<NodeId>(graph.nodes.size() - 1);
  }
  Subject(const Subject&) = delete;

 private:
  static Graph build(const Operator& op, const std::vector<Source>& sources,
                     const Options& options) {
    GraphBuilder builder("subject");
    std::vector<TensorId> inputs;
    for (const Source& source : sources) inputs.push_back(add_source(builder, source, inputs));
    const NodeId node = builder.add_node("node", op, inputs);
    const std::size_t outputs = builder.graph().nodes[node].outputs.size();
    for (std::size_t i = 0; i < outputs; ++i) {
      if (options.used_outputs.empty() || options.used_outputs[i])
        builder.output(builder.output_of(node, i));
    }
    return std::move(builder).finish();
  }

  static TensorId add_source(GraphBuilder& builder, const Source& source,
                             const std::vector<TensorId>& earlier) {
    if (source.same_as) return earlier[*source.same_as];
    Shape shape;
    for (const std::int64_t extent : source.shape) shape.push_back(extent);
    const std::string name = "x" + std::to_string(earlier.size());
    if (source.role == Role::network_input) return builder.input(name, shape, source.dtype);
    const TensorId stored = builder.stored(name, shape, TensorKind::parameter, source.dtype);
    if (source.role == Role::parameter) return stored;
    return builder.add(name + "_activation", Unary{UnaryKind::identity}, {stored});
  }
};

/// One training step (or inference) of the node with numbers in its tensors.
template <class T>
class Run {
 public:
  Run(const Subject& subject, const std::vector<Source>& sources, const Options& options)
      : subject_(subject), node_(subject.graph.nodes[subject.node]), options_(options) {
    Random random(7);
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      inputs_.push_back(like(node_.inputs[i]));
      input_gradients_.push_back(like(node_.inputs[i]));
      fill(i, i < sources.size() ? sources[i] : own_source(node_.inputs[i]), random);
    }
    for (const TensorId id : node_.outputs) {
      outputs_.push_back(like(id));
      output_gradients_.push_back(like(id));
      for (T& value : output_gradients_.back().values) value = random.real(-1, 1);
    }
    is_aliased_.resize(inputs_.size());
  }

  // The tensors, for the definitions.
  Tensor<T>& input(std::size_t i) { return inputs_[first_use(i)]; }
  Tensor<T>& own(std::size_t i) { return input(node_.first_own + i); }
  Tensor<T>& output(std::size_t i = 0) { return outputs_[i]; }
  Tensor<T>& output_gradient(std::size_t i = 0) { return output_gradients_[i]; }
  Tensor<T>& input_gradient(std::size_t i) { return input_gradients_[i]; }
  Tensor<T>& saved(std::size_t i) { return saved_[i].tensor; }
  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return outputs_.size(); }
  std::size_t first_own() const { return node_.first_own; }

  bool is_training() const { return options_.mode == Mode::training; }
  bool has_gradient(std::size_t output) const {
    return bound(node_.outputs[output]).wants_gradient;
  }
  bool has_backward() const {
    const auto wants = [this](TensorId id) { return bound(id).wants_gradient; };
    return is_training() && std::any_of(node_.outputs.begin(), node_.outputs.end(), wants) &&
           std::any_of(node_.inputs.begin(), node_.inputs.end(), wants);
  }
  /// The gradient of this input is to be computed in any / in the present pass.
  bool wants_ever(std::size_t i) const {
    return has_backward() && i < inputs_.size() && bound(node_.inputs[i]).wants_gradient;
  }
  bool wants(std::size_t i) const { return wants_ever(i) && pass_ == pass_of(i); }
  Pass pass() const { return pass_; }

  /// Makes room for something that a later pass will read.
  std::size_t save(std::string name, Index shape, std::int64_t element_bytes) {
    saved_.push_back({std::move(name), Tensor<T>(std::move(shape), element_bytes)});
    return saved_.size() - 1;
  }
  std::int64_t element_bytes(std::size_t i) const {
    return bytes_per_element(bound(node_.inputs[i]).dtype);
  }
  /// Statistics are kept in 32 bits at least.
  std::int64_t statistic_bytes() const { return std::max<std::int64_t>(4, element_bytes(0)); }

  void alias_output() {
    outputs_[0].values = input(0).values;
    is_output_aliased_ = true;
  }
  void alias_gradient(std::size_t i) {
    if (!wants(i)) return;
    input_gradients_[i].values = output_gradients_[0].values;
    is_aliased_[i] = true;
  }

  // For check().
  using Marks = std::map<std::tuple<Operand, AccessMode, std::size_t>, std::int64_t>;
  struct SavedTensor {
    std::string name;
    Tensor<T> tensor;
  };
  void begin(Pass pass) {
    pass_ = pass;
    for (auto* group : {&inputs_, &outputs_, &output_gradients_, &input_gradients_}) {
      for (Tensor<T>& tensor : *group) tensor.clear_marks();
    }
    for (SavedTensor& item : saved_) item.tensor.clear_marks();
    is_output_aliased_ = false;
    is_aliased_.assign(is_aliased_.size(), false);
  }
  Marks marks() const {
    Marks marks;
    note(marks, Operand::input, inputs_);
    note(marks, Operand::output, outputs_);
    note(marks, Operand::output_gradient, output_gradients_);
    note(marks, Operand::input_gradient, input_gradients_);
    for (std::size_t i = 0; i < saved_.size(); ++i)
      note(marks, Operand::saved, i, saved_[i].tensor);
    if (is_output_aliased_) marks[{Operand::output, AccessMode::alias, 0}] = 0;
    for (std::size_t i = 0; i < is_aliased_.size(); ++i) {
      if (is_aliased_[i]) marks[{Operand::input_gradient, AccessMode::alias, i}] = 0;
    }
    return marks;
  }
  const std::vector<SavedTensor>& saved_things() const { return saved_; }
  const Node& node() const { return node_; }
  std::size_t first_use(std::size_t i) const {
    const auto first = std::find(node_.inputs.begin(), node_.inputs.end(), node_.inputs[i]);
    return static_cast<std::size_t>(first - node_.inputs.begin());
  }

 private:
  const BoundTensor& bound(TensorId id) const { return subject_.bound.tensors[id]; }
  Tensor<T> like(TensorId id) const {
    const BoundTensor& tensor = bound(id);
    return Tensor<T>(Index(tensor.shape.begin(), tensor.shape.end()),
                     bytes_per_element(tensor.dtype));
  }
  Pass pass_of(std::size_t i) const {
    if (options_.data_gradients_are_in_input_pass && i < node_.first_own)
      return Pass::backward_input;
    const bool is_parameter = subject_.graph.tensors[node_.inputs[i]].kind == TensorKind::parameter;
    return is_parameter ? Pass::backward_weight : Pass::backward_input;
  }
  // Weights may be negative; running statistics, the other own tensors, may not.
  Source own_source(TensorId id) const {
    Source source;
    if (subject_.graph.tensors[id].kind == TensorKind::buffer) source.low = 0.5;
    return source;
  }
  void fill(std::size_t i, const Source& source, Random& random) {
    std::int64_t next = 0;
    for (T& value : inputs_[i].values) {
      if (source.indices_below > 0) {
        value = static_cast<double>(next++ % source.indices_below);
      } else {
        value = random.real(source.low, source.high);
      }
    }
  }
  static void note(Marks& marks, Operand operand, std::size_t i, const Tensor<T>& tensor) {
    if (tensor.read_bytes() > 0) marks[{operand, AccessMode::read, i}] = tensor.read_bytes();
    if (tensor.written_bytes() > 0) marks[{operand, AccessMode::write, i}] = tensor.written_bytes();
  }
  static void note(Marks& marks, Operand operand, const std::vector<Tensor<T>>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) note(marks, operand, i, tensors[i]);
  }

  const Subject& subject_;
  const Node& node_;
  Options options_;
  Pass pass_ = Pass::forward;
  std::vector<Tensor<T>> inputs_, outputs_, output_gradients_, input_gradients_;
  std::vector<SavedTensor> saved_;
  bool is_output_aliased_ = false;
  std::vector<bool> is_aliased_;
};

}  // namespace strata::naive
