// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/session.hpp"
#include "strata/importers/onnx/wire.hpp"

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace strata::onnx {

/// One node of the file while it is read: its attributes and inputs on one side, the nodes that it
/// becomes on the other. Everything that operators in ops/ and fold/ do goes through here.
class OpContext {
 public:
  OpContext(Session& session, std::uint32_t node);

  Session& session() { return session_; }
  Draft& draft() { return session_.draft; }
  Symbols& symbols() { return session_.draft.symbols; }
  std::string_view op() const { return node_.def->op; }
  std::string_view domain() const { return node_.def->domain; }
  const NodeDef& def() const { return *node_.def; }
  std::int64_t opset() const { return opset_; }

  // Attributes. What is not set has the value given here.
  bool has_attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string_view word(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  std::vector<float> reals(std::string_view name) const;
  std::vector<std::string_view> words(std::string_view name) const;
  std::optional<Bytes> tensor_attribute(std::string_view name) const;

  // Inputs, by position.
  std::size_t input_count() const { return inputs_.size(); }
  bool has(std::size_t input) const;
  /// Errors (input) when it was left out.
  const TensorType& type(std::size_t input) const;
  const Shape& shape(std::size_t input) const { return type(input).shape; }
  std::size_t rank(std::size_t input) const { return type(input).shape.size(); }
  DType dtype(std::size_t input) const { return type(input).dtype; }
  /// The input as an operand in the draft.
  DraftId tensor(std::size_t input);

  /// Known without running the network, though perhaps not its numbers.
  bool is_constant(std::size_t input) const;
  Constant* constant(std::size_t input);
  /// A weight that nodes of the draft put together from others; its numbers are not known.
  bool is_put_together(std::size_t input);
  /// Made by a node while the network runs.
  bool is_made(std::size_t input) const;
  /// The numbers of a constant; nullptr when they are not known.
  KnownNumbers numbers(std::size_t input);
  /// The same for sizes and axes; errors (unsupported) when they are not known, named by `what`.
  std::vector<Dim> dims(std::size_t input, std::string_view what);
  std::vector<std::int64_t> whole_numbers(std::size_t input, std::string_view what);
  std::optional<double> scalar(std::size_t input);

  /// The axes of operators that took them as an attribute first and as an input later.
  std::optional<std::vector<std::int64_t>> axes(std::size_t input, std::string_view attribute);

  // Outputs.
  std::size_t output_count() const { return outputs_.size(); }
  /// The file gives it a name: somebody may read it.
  bool wants(std::size_t output) const;
  void set(std::size_t output, DraftId tensor);
  void set(std::size_t output, Constant constant);
  /// The same for a node that only moves numbers: what it makes of weights is a weight still, for
  /// operators that own theirs. `sources`: how many inputs hold data.
  void set_moved(std::size_t output, DraftId tensor, std::size_t sources = 1);
  /// The output is the input under another name.
  void pass_on(std::size_t output, std::size_t input);
  /// The type that the file declares for an output; nothing when it does not, or not in full.
  std::optional<TensorType> declared_type(std::size_t output);

  // Nodes of the draft.
  DraftId add(Operator op, std::initializer_list<DraftId> data,
              std::initializer_list<DraftId> own = {}, const char* suffix = "");
  DraftId add(Operator op, std::span<const DraftId> data, std::span<const DraftId> own = {},
              const char* suffix = "");
  std::vector<DraftId> add_all(Operator op, std::span<const DraftId> data,
                               std::span<const DraftId> own = {}, const char* suffix = "");
  /// A view of the tensor under another shape; the tensor itself where the shape is the same.
  DraftId reshaped(DraftId tensor, const Shape& shape, const char* suffix = "reshape");
  DraftId transposed(DraftId tensor, const Axes& permutation, const char* suffix = "transpose");

  /// The input as a tensor that belongs to an operator: a constant where the file stores it and
  /// nobody learns it (the kernel of a blur). One that is not stored is taken for a weight given
  /// from outside, with a warning.
  DraftId weight(std::size_t input, const Shape& shape, const char* role,
                 TensorKind kind = TensorKind::parameter, DraftId matrix = no_tensor);
  /// The same for an operator that also takes what nodes make: a standardised weight, a bias of
  /// several parts (graph/operators.hpp: takes_made_weights).
  DraftId weight_or_made(std::size_t input, const Shape& shape, const char* role,
                         DraftId matrix = no_tensor);
  /// The same for one of several parts that the file keeps in one tensor.
  DraftId weight_part(std::size_t input, std::uint32_t part, const Shape& shape, const char* role);
  /// A constant scalar of the same type as a tensor.
  DraftId scalar_like(double value, DType dtype);

  /// Set by a reshape that joins the batch with other axes, for whoever splits them again.
  std::int64_t batch_offset = 1;

  void warn(WarningCode code, std::string message) { session_.warn(code, std::move(message)); }
  /// The name of the node for messages.
  std::string place() const { return place_of(*node_.def); }

 private:
  DraftId assumed_weight(std::size_t input, const Shape& shape, const char* role, TensorKind kind);
  std::optional<AttributeContent> content(std::string_view name) const;
  Value& value(std::size_t input) const;

  Session& session_;
  const FlatNode& node_;
  std::uint32_t index_;
  std::int64_t opset_;
  std::span<const FlatValueId> inputs_;
  std::span<const FlatValueId> outputs_;
};

}  // namespace strata::onnx
