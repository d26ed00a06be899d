// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/warning.hpp"
#include "strata/importers/import_options.hpp"
#include "strata/importers/onnx/draft.hpp"
#include "strata/importers/onnx/flat_graph.hpp"
#include "strata/importers/onnx/signature.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

/// The state of one import: the file on one side, the draft on the other, and between them what
/// each value of the file is.
namespace strata::onnx {

/// A value that is known without running the network: an initializer, a constant, what shape
/// arithmetic made of them.
struct Constant {
  TensorType type;
  KnownNumbers numbers;             ///< what is in it, where that is known
  const TensorDef* data = nullptr;  ///< an initializer that nobody has looked into yet
  std::string_view name;
  RootId root = no_root;
  bool is_learnt = false;  ///< a weight, where activations meet it
  bool is_causal_mask = false;
};

using ConstantId = std::uint32_t;
inline constexpr ConstantId no_constant = ~ConstantId{0};

/// What a name of the file stands for. Both: a weight put together from others, which some
/// operators take as a weight of their own and others as an operand.
struct Value {
  DraftId tensor = no_tensor;
  ConstantId constant = no_constant;
};

/// How the batch stands in the shapes.
struct Batch {
  Dim dim;                      ///< the symbol, or a number when the batch could not be opened
  std::int64_t file_value = 0;  ///< what the file had instead; 0 when it left the batch open
  bool is_from_number() const { return file_value > 0 && !dim.is_number(); }
};

/// Thrown when a file that fixes the batch turns out to use the number in a way that cannot be told
/// from any other number. Never leaves the importer: the file is read again with a fixed batch.
struct BatchConflict {
  std::string reason;
};

struct Session {
  Session(const ModelDef& model_, const FlatGraph& flat_, const ImportOptions& options_)
      : model(model_),
        flat(flat_),
        options(options_),
        signature(model_.graph->signature),
        values(flat_.value_names.size()) {}

  const ModelDef& model;
  const FlatGraph& flat;
  const ImportOptions& options;
  Signature signature;
  Draft draft;
  std::vector<Value> values;  ///< by FlatValueId
  std::deque<Constant> constants;
  std::deque<TensorDef> attribute_tensors;  ///< tensors that are written at a node
  std::vector<Warning> warnings;
  std::vector<std::string_view> output_names;  ///< as draft.outputs
  Batch batch;

  /// dim_param → the Dim it became.
  std::map<std::string, Dim, std::less<>> named_dims;
  /// Dimensions that the file leaves open, other than the batch, with what they usually are.
  std::vector<Parameter> assumed;
  /// Types the file declares, by name; filled when first asked.
  std::unordered_map<std::string_view, const ValueDef*> declared;
  /// Stored tensors by root: how a shared weight finds itself again.
  std::unordered_map<RootId, std::vector<DraftId>> stored_by_root;
  /// Vectors that belong to a shared matrix (the bias of a layer that is applied twice).
  std::map<std::pair<RootId, DraftId>, DraftId> stored_with_matrix;
  std::map<std::pair<RootId, std::uint32_t>, RootId> parts;
  RootId next_root = 0;

  std::size_t numbers_kept = 0;
  std::size_t numbers_computed = 0;
  std::size_t entries_read = 0;

  /// Operators that are not counted: how often, and where first.
  struct Uncounted {
    std::string first_node;
    std::int64_t count = 0;
  };
  std::map<std::string, Uncounted, std::less<>> uncounted;
  std::unordered_map<DraftId, DraftId> quantised_from;  ///< result of a quantisation → its input
  std::int64_t quantisations = 0;  ///< quantise/dequantise pairs that were read as nothing

  ConstantId add_constant(Constant constant);
  /// The numbers of a constant; an initializer is looked into when it is first asked for.
  const KnownNumbers& numbers_of(Constant& constant);

  /// Stored under the path of a parameter, 'stages.0.conv1.gain': PyTorch names nothing else so,
  /// and such a tensor is learnt even if it is a single number.
  bool is_named_parameter(const Constant& constant) const;

  /// The constant as an operand of the draft.
  DraftId operand(Constant& constant);
  /// The constant as a tensor of that shape that belongs to an operator. `matrix`: for the bias of
  /// a layer, its weight.
  DraftId weight(Constant& constant, const Shape& shape, const char* role,
                 TensorKind kind = TensorKind::parameter, DraftId matrix = no_tensor);
  /// A stored tensor that no constant of the file stands behind.
  DraftId new_weight(std::string_view name, const TensorType& type, const char* role,
                     TensorKind kind);

  /// The root of one of several parts that the file keeps in one tensor.
  RootId part_of(RootId whole, std::uint32_t part);

  void warn(WarningCode code, std::string message);

  /// Gives back what only reading needs, before the graph is made.
  void forget_values();

 private:
  // What the bytes of a tensor were found to be; each is looked through once, however often the
  // tensor is used.
  struct Looks {
    std::optional<bool> is_varied;  ///< surely not the same number everywhere
    std::optional<bool> is_triangle;
    bool is_mask = false;  ///< or sines and cosines of positions; known with is_triangle
  };

  bool is_surely_shared(const Constant& constant);
  /// Its numbers are those of a mask, or of fixed positions.
  bool is_mask(Constant& constant);

  std::unordered_map<const char*, Looks> looks_;  ///< by where the bytes begin
};

/// At most one extent is not 1.
bool is_vector(const Shape& shape);
/// More than one number.
bool holds_several(const Shape& shape);

/// Errors (input) unless every extent is at least 1: Strata's tensors are not empty.
void expect_not_empty(const Shape& shape, const Symbols& symbols);

}  // namespace strata::onnx
