// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/infer.hpp"
#include "strata/importers/onnx/model.hpp"
#include "strata/importers/onnx/number.hpp"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

/// The network between file and Graph: Strata's operators already, but nodes may still be taken
/// out, put in and replaced, and tensors know what the file says about their numbers. Passes work
/// on it; emit makes the Graph of it.
namespace strata::onnx {

using DraftId = std::uint32_t;  ///< a tensor of the draft
inline constexpr DraftId no_tensor = ~DraftId{0};

/// Which numbers of the file a stored tensor holds. Tensors with the same root are the same weight.
using RootId = std::uint32_t;
inline constexpr RootId no_root = ~RootId{0};

struct DraftTensor {
  TensorType type;
  KnownNumbers numbers;             ///< stored tensors: what is in them, where it is known
  std::string_view name;            ///< stored tensors and inputs: what the file calls them
  const TensorDef* data = nullptr;  ///< stored tensors: the tensor of the file they are
  const char* role = "";            ///< "weight": names a stored tensor whose own name is taken
  NodeId producer = no_node;
  RootId root = no_root;
  TensorKind kind = TensorKind::activation;
  /// Of an axis that joins the batch with others: the product of those in front of the batch.
  std::int64_t batch_offset = 1;
  bool is_fixed = false;        ///< made of constants alone: the same in every iteration
  bool is_causal_mask = false;  ///< a query sees only keys before it
};

struct DraftNode {
  std::unique_ptr<Operator> op;  ///< nullptr: taken out
  std::vector<DraftId> inputs;   ///< data, then from first_own on what belongs to the operator
  std::vector<DraftId> outputs;
  std::uint32_t first_own = 0;
  std::uint32_t origin = 0;  ///< the node of the file that it comes from, by index
  const char* suffix = "";   ///< further nodes of the same origin are called <name>.<suffix>
};

class Draft {
 public:
  Draft() : sheet_(symbols) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  Symbols symbols;
  std::vector<DraftTensor> tensors;
  std::vector<DraftNode> nodes;
  std::vector<DraftId> inputs;
  std::vector<DraftId> outputs;

  DraftId add_tensor(DraftTensor tensor);

  /// A node that is not in the list yet; its outputs are new tensors with inferred types.
  DraftNode make(Operator op, std::span<const DraftId> data, std::span<const DraftId> own,
                 std::uint32_t origin, const char* suffix = "");
  /// Puts it at the end of the list.
  NodeId append(DraftNode node);

  const TensorType& type(DraftId tensor) const { return tensors[tensor].type; }
  const Shape& shape(DraftId tensor) const { return tensors[tensor].type.shape; }

  /// The node that makes a tensor, if its operator is an Op; else nullptr.
  const DraftNode* producer(DraftId tensor) const;
  template <class Op>
  const DraftNode* producer(DraftId tensor) const {
    const DraftNode* const node = producer(tensor);
    return node != nullptr && std::holds_alternative<Op>(*node->op) ? node : nullptr;
  }
  bool is_stored(DraftId tensor) const {
    const TensorKind kind = tensors[tensor].kind;
    return kind != TensorKind::activation && kind != TensorKind::input;
  }
  /// The one number that a constant holds.
  std::optional<double> scalar(DraftId tensor) const;

 private:
  Inference sheet_;
};

template <class Op>
const Op& op_of(const DraftNode& node) {
  return std::get<Op>(*node.op);
}

/// How often each tensor is read (an output of the graph counts once), and by which node last.
struct Uses {
  explicit Uses(const Draft& draft);
  std::vector<std::uint32_t> count;
  std::vector<NodeId> reader;
  bool is_single(DraftId tensor) const { return count[tensor] == 1; }
  /// The only reader, when there is exactly one and it is a node.
  const DraftNode* only_reader(const Draft& draft, DraftId tensor) const;
};

/// Collects replacements while a pass looks at the draft as it is, and carries them out together.
class Rewriter {
 public:
  explicit Rewriter(Draft& draft) : draft_(draft) {}

  /// New nodes go before this node of the list.
  void place_before(NodeId node) { position_ = node; }
  DraftId add(Operator op, std::span<const DraftId> data, std::span<const DraftId> own,
              std::uint32_t origin, const char* suffix = "");
  DraftId add(Operator op, std::initializer_list<DraftId> data, std::uint32_t origin,
              const char* suffix = "") {
    return add(std::move(op), std::span(data.begin(), data.size()), {}, origin, suffix);
  }
  /// Whoever reads `old` reads `fresh`.
  void replace(DraftId old, DraftId fresh) { aliases_.emplace_back(old, fresh); }

  bool has_changes() const { return !aliases_.empty() || !added_.empty(); }
  /// Carries out all of it, and takes out what nobody needs any more.
  void apply();

 private:
  struct Added {
    NodeId position;
    DraftNode node;
  };
  Draft& draft_;
  NodeId position_ = 0;
  std::vector<Added> added_;
  std::vector<std::pair<DraftId, DraftId>> aliases_;
};

/// Takes out nodes that no output needs, and numbers the others anew.
void remove_dead(Draft& draft);

}  // namespace strata::onnx
