// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A recording says what a framework ran in one step, operation by operation: the exact list, where
/// a Program derives one from the network. operations/ reads it from a file; a Graph holds
/// it, with one node per layer (docs/recordings.md).
namespace strata {

/// A block of memory; tensors that are views of each other share one.
struct RecordedStorage {
  enum class Kind : std::uint8_t { made, parameter, buffer, input, gradient, state };
  static constexpr std::uint32_t no_graph_tensor = ~std::uint32_t{0};

  std::int64_t bytes = 0;
  Kind kind = Kind::made;
  std::string name;                        ///< of the parameter, the buffer or the input
  std::uint32_t tensor = no_graph_tensor;  ///< of the graph that was made of the recording
};

struct RecordedTensor {
  DType dtype = DType::fp32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;  ///< in elements; empty: none is known
  std::uint32_t storage = 0;
  std::int64_t elements = 0;

  std::int64_t bytes() const { return elements * bytes_per_element(dtype); }
  std::size_t axes() const { return shape.size(); }
};

struct RecordedLayer {
  std::string name;  ///< "layer1.0.conv1", as the module is called
  std::string type;  ///< "Conv2d"
};

enum class RecordedPass : std::uint8_t { forward, backward, update };

struct RecordedOperation {
  static constexpr std::uint32_t no_tensor = ~std::uint32_t{0};
  using Tensors = std::vector<std::uint32_t>;

  std::string name;  ///< "aten::add.Tensor"
  RecordedPass pass = RecordedPass::forward;
  bool is_recomputed = false;  ///< forward again, for backward
  std::uint32_t layer = 0;
  /// By argument that may be a tensor or a list of tensors; empty: none was given.
  std::vector<Tensors> inputs;
  Tensors outputs;
  Tensors mutates;                   ///< of its inputs: written in place
  std::vector<std::uint32_t> frees;  ///< storages that were given back before it ran
  /// The other arguments, numbers and truth values as numbers.
  std::vector<std::pair<std::string, std::vector<double>>> numbers;
  std::vector<std::pair<std::string, std::string>> texts;

  /// The fields below follow from the table of operations (operations/aten_table.hpp).
  std::int64_t flop = 0, mac = 0;
  enum class Kind : std::uint8_t { dense, pointwise, other };
  Kind kind = Kind::other;
  bool launches = true;  ///< false: a view, or memory that is only allocated
  /// Bit i: of its i-th input it reads the shape alone, or only as much as it gives.
  std::uint32_t unread = 0;
  bool is_known = true;  ///< false: the table has no such operation

  /// The base of its name: "add" of "aten::add_.Tensor" is "add_".
  std::string_view base() const;
  const std::vector<double>* find(std::string_view argument) const;
  double number(std::string_view argument, double otherwise) const;
  std::string_view text(std::string_view argument) const;
  /// The tensor of an argument by its position; no_tensor: none was given.
  std::uint32_t input(std::size_t position) const;
  bool reads(std::size_t position) const { return position >= 32 || (unread >> position & 1) == 0; }
};

struct RecordedOperations {
  std::string digest;       ///< of its file: tells recordings apart
  std::string framework;    ///< "PyTorch 2.11.0"
  std::string recorded_on;  ///< "shapes", "cuda"
  bool is_training = true;
  std::int64_t samples = 1;
  std::optional<DType> autocast;
  bool is_tf32 = false;
  std::vector<std::string> lines;    ///< of the user's code
  std::vector<std::string> assumed;  ///< what depends on numbers that nobody had
  std::vector<RecordedLayer> layers;
  std::vector<RecordedStorage> storages;
  std::vector<RecordedTensor> tensors;
  std::vector<RecordedOperation> operations;
};

}  // namespace strata
