// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/net.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/graph/infer.hpp"
#include "strata/importers/caffe/sources.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::caffe {
namespace {

constexpr std::int64_t default_batch = 32;
// A real network has thousands; each takes a few hundred bytes.
constexpr std::size_t most_tensors = 100'000;

void check_shape(const Source& source) {
  const bool is_positive = std::all_of(source.shape.begin(), source.shape.end(),
                                       [](std::int64_t extent) { return extent > 0; });
  if (is_positive && source.shape.size() <= most_axes) return;
  fail(ErrorKind::input, "{}: expected at most {} extents of at least 1 for '{}', got {}",
       source.place, most_axes, source.name, fmt::join(source.shape, ","));
}

/// Takes the shapes that the caller gives by name; every name must be one of a source.
void apply_given_shapes(std::vector<Source>& sources, const ImportOptions& options) {
  for (const auto& [name, shape] : options.input_shapes) {
    const bool is_positive =
        std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent > 0; });
    if (shape.empty() || shape.size() > most_axes || !is_positive) {
      fail(ErrorKind::usage, "input {} needs 1 to {} extents of at least 1, got {}",
           network::in_quotes(name), most_axes, fmt::join(shape, ","));
    }
    bool is_known = false;
    for (Source& source : sources) {
      if (source.name != name) continue;
      is_known = true;
      source.shape = shape;
      source.assumption.clear();
    }
    if (is_known) continue;
    std::vector<std::string> names;
    for (const Source& source : sources) names.push_back(source.name);
    fail(ErrorKind::usage, "the network has no input {}; its inputs are: {}",
         network::in_quotes(name), fmt::join(names, ", "));
  }
}

}  // namespace

Net::Net(std::string name, std::span<const Layer> layers, const ImportOptions& options)
    : builder_(std::move(name)), notes_(options.strict) {
  for (const Layer& layer : layers) {
    if (!is_source(layer)) layer_names_.insert(layer.name);
  }
}

void Net::add_sources(std::vector<Source> sources, const ImportOptions& options) {
  sources_ = std::move(sources);
  apply_given_shapes(sources_, options);
  for (const Source& source : sources_) {
    check_shape(source);
    if (usual_batch_ == 0 && !source.shape.empty()) usual_batch_ = source.shape[0];
  }
  if (usual_batch_ == 0) usual_batch_ = default_batch;
  batch_ = builder_.symbols().parameter("batch", usual_batch_);
  for (const Source& source : sources_) {
    const auto [place, is_new] = blobs_.insert_or_assign(source.name, Blob{0, &source, false});
    if (is_new) blob_order_.push_back(source.name);
  }
}

Shape Net::shape_of(const Source& source) {
  if (source.shape.empty() && source.is_label) return {batch_};
  if (source.shape.empty()) {
    fail(ErrorKind::input,
         "'{0}' comes from {1}, and the file does not tell its shape; give it, the batch first, "
         "with "
         "--input {0}=NxCxHxW",
         source.name, source.place);
  }
  if (!source.assumption.empty()) {
    notes_.add(WarningCode::value_assumed, source.place,
               fmt::format("{}; --input {}={} would say so", source.assumption, source.name,
                           fmt::join(source.shape, "x")));
  }
  Shape shape;
  for (const std::int64_t extent : source.shape) shape.push_back(extent);
  const std::int64_t first = source.shape[0];
  const bool follows = usual_batch_ == 1 ? first == 1 : first % usual_batch_ == 0;
  if (follows) shape[0] = builder_.symbols().multiply(batch_, first / usual_batch_);
  return shape;
}

Net::Blob& Net::blob(const Layer& layer, std::size_t index) {
  if (index >= layer.bottoms.size()) {
    fail(ErrorKind::input, "expected at least {} bottom(s), got {}", index + 1,
         layer.bottoms.size());
  }
  const auto found = blobs_.find(layer.bottoms[index]);
  if (found == blobs_.end()) {
    fail(ErrorKind::input, "no layer before it makes the blob '{}'", layer.bottoms[index]);
  }
  found->second.is_read = true;
  return found->second;
}

TensorId Net::bottom(const Layer& layer, std::size_t index) {
  Blob& read = blob(layer, index);
  if (read.pending != nullptr) {
    read.tensor = make_input(*read.pending, shape_of(*read.pending), DType::fp32);
    read.pending = nullptr;
  }
  return read.tensor;
}

std::vector<TensorId> Net::all_bottoms(const Layer& layer) {
  std::vector<TensorId> tensors;
  for (std::size_t i = 0; i < layer.bottoms.size(); ++i) tensors.push_back(bottom(layer, i));
  return tensors;
}

TensorId Net::bottom_as(const Layer& layer, std::size_t index, DType dtype,
                        const std::optional<Shape>& wanted) {
  Blob& read = blob(layer, index);
  if (read.pending != nullptr) {
    read.tensor = make_input(*read.pending, wanted ? *wanted : shape_of(*read.pending), dtype);
    read.pending = nullptr;
  }
  TensorId tensor = read.tensor;
  if (wanted && shape(tensor) != *wanted) {
    tensor = add_step(layer, "fit", Reshape{*wanted}, {tensor});
  }
  if (builder_.type(tensor).dtype != dtype) tensor = add_step(layer, "cast", Cast{dtype}, {tensor});
  return tensor;
}

TensorId Net::make_input(const Source& source, const Shape& shape, DType dtype) {
  const bool is_taken = layer_names_.contains(source.name);
  return builder_.input(is_taken ? source.name + "_input" : source.name, shape, dtype);
}

// Two layers of one name have two weights: "conv1.weight", "conv1.weight_2".
TensorId Net::make_stored(const Layer& layer, std::string_view what, const Shape& shape,
                          TensorKind kind) {
  std::string name = fmt::format("{}.{}", layer.name, what);
  if (const std::size_t count = ++stored_names_[name]; count > 1) {
    name += fmt::format("_{}", count);
  }
  return builder_.stored(name, shape, kind);
}

void Net::set_top(const Layer& layer, TensorId tensor, std::size_t index) {
  if (index >= layer.tops.size()) return;  // Caffe makes up a name for the top of a loss
  const auto [place, is_new] =
      blobs_.insert_or_assign(layer.tops[index], Blob{tensor, nullptr, false});
  if (is_new) blob_order_.push_back(layer.tops[index]);
}

void Net::swallow(const Layer& layer) {
  for (std::size_t i = 0; i < layer.bottoms.size(); ++i) blob(layer, i);
}

NodeId Net::add_node(const Layer& layer, const Operator& op, std::span<const TensorId> inputs,
                     std::vector<TensorId> own) {
  check_size();
  if (own.empty() && !layer.parameter_names.empty()) {
    Inference sheet(builder_.symbols());
    for (const TensorId input : inputs) sheet.inputs.push_back(builder_.type(input));
    infer(op, sheet);
    std::size_t learnt = 0;
    for (const OwnTensor& tensor : sheet.own) {
      own.push_back(tensor.kind == TensorKind::parameter
                        ? parameter(layer, learnt++, tensor.name, tensor.shape)
                        : make_stored(layer, tensor.name, tensor.shape, tensor.kind));
    }
  }
  const NodeId node = builder_.add_node(layer.name, op, inputs, own);
  set_block(layer);
  return node;
}

TensorId Net::add(const Layer& layer, const Operator& op, std::initializer_list<TensorId> inputs) {
  return builder_.output_of(add_node(layer, op, std::span(inputs.begin(), inputs.size())));
}

TensorId Net::add_step(const Layer& layer, std::string_view role, const Operator& op,
                       std::initializer_list<TensorId> inputs) {
  check_size();
  const TensorId output = builder_.add(fmt::format("{}_{}", layer.name, role), op, inputs);
  set_block(layer);
  return output;
}

TensorId Net::parameter(const Layer& layer, std::size_t index, std::string_view what,
                        const Shape& wanted) {
  const auto make = [&] { return make_stored(layer, what, wanted, TensorKind::parameter); };
  const bool is_named =
      index < layer.parameter_names.size() && !layer.parameter_names[index].empty();
  if (!is_named) return make();
  const std::string& name = layer.parameter_names[index];
  const auto known = shared_.find(name);
  if (known == shared_.end()) return shared_[name] = make();
  if (shape(known->second) != wanted) {
    fail(ErrorKind::input, "the shared parameter '{}' is {}, this layer needs {}", name,
         text_of(shape(known->second), builder_.symbols()), text_of(wanted, builder_.symbols()));
  }
  return known->second;
}

TensorId Net::scalar(const Layer& layer, std::string_view what) {
  return make_stored(layer, what, {1}, TensorKind::constant);
}

std::optional<std::int64_t> Net::usual(Dim extent) const {
  if (extent.is_number()) return extent.factor;
  if (extent.symbol == batch_.symbol) return checked_mul(extent.factor, usual_batch_);
  return std::nullopt;
}

// Caffe has no blocks, but people write "inception_3a/1x1".
void Net::set_block(const Layer& layer) {
  const std::size_t slash = layer.name.rfind('/');
  if (slash == std::string::npos) return;
  builder_.graph().nodes.back().block = layer.name.substr(0, slash);
}

void Net::check_size() {
  if (builder_.graph().tensors.size() > most_tensors) {
    fail(ErrorKind::input, "the network has more than {} tensors", most_tensors);
  }
}

Graph Net::finish() && {
  // As in Caffe, what nobody reads is a result; names may stand for the same tensor.
  std::unordered_set<TensorId> results;
  for (const std::string& name : blob_order_) {
    const Blob& last = blobs_.at(name);
    if (last.is_read || last.pending != nullptr) continue;
    const bool is_made = builder_.graph().tensors[last.tensor].kind == TensorKind::activation;
    if (is_made && results.insert(last.tensor).second) builder_.output(last.tensor);
  }
  builder_.graph().warnings = notes_.warnings();
  return std::move(builder_).finish();
}

}  // namespace strata::caffe
