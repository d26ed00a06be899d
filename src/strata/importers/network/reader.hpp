// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/builder.hpp"
#include "strata/importers/network/dims.hpp"
#include "strata/importers/network/document.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace strata::network {

inline constexpr std::size_t most_layers = 150'000;
inline constexpr std::size_t most_tensors = 150'000;     ///< one LSTM node may own thousands
inline constexpr std::size_t most_references = 300'000;  ///< names of tensors that layers take
inline constexpr std::size_t most_warnings = 1000;

/// Turns the tree of a file into a Graph, entry by entry in the order of the file.
class NetworkReader {
 public:
  /// `stem` names a network that gives itself no name; `source` says where it comes from, unless it
  /// does. More tensors than `tensor_limit` are refused.
  NetworkReader(std::string_view stem, std::string_view source,
                std::size_t tensor_limit = most_tensors);

  Graph read(const Value& root) &&;

  /// The line at which reading stands: where an error is.
  std::uint32_t line() const { return line_; }

 private:
  void read_header(TableReader& keys);
  void read_dims(const Value& value);
  void read_inputs(const Value& value);
  void read_layers(const Value& value);
  void read_warnings(const Value& value);
  void read_outputs(const Value& value);

  void read_entry(const Table& entry, std::uint32_t line, std::size_t index);
  void read_stored(TableReader& keys, const std::string& name, TensorKind kind);
  void read_layer(TableReader& keys, const std::string& name, Operator op, std::uint32_t line);
  void name_outputs(NodeId node, const Value& names);

  std::string default_name(std::string_view op);
  std::vector<TensorId> inputs_of_layer(TableReader& keys);
  TensorId previous_output();
  std::vector<TensorId> weights_of_layer(TableReader& keys, const Operator& op);
  std::vector<TensorId> tensors_named(const Value& names);
  TensorId tensor_named(const std::string& name);
  TensorType read_type(TableReader& keys);
  void enter(TensorId tensor);
  void check_size();

  std::size_t tensor_limit_;
  std::size_t references_ = 0;
  GraphBuilder builder_;
  DimReader dims_;
  std::uint32_t line_ = 1;
  std::string place_;  // "layer 'conv1'", "input 'image'": goes before the message of an error
  std::unordered_map<std::string, TensorId> tensors_;
  std::unordered_map<std::string, NodeId> layers_;
  std::unordered_set<std::string_view> given_names_;
  std::unordered_map<std::string_view, std::size_t>
      numbers_;  // last default number of each operator
};

}  // namespace strata::network
