// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/context_split.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/experts.hpp"
#include "strata/graph/operator_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>

namespace strata {
namespace {

using AxisSet = std::bitset<most_axes>;

/// Which axes of which tensors are positions of the sequence: their extents grow with its length.
class Positions {
 public:
  Positions(const Graph& graph, const Binding& binding, const std::string& length,
            std::int64_t ranks)
      : graph_(graph) {
    Binding shorter = binding;
    shorter[length] /= ranks;
    const auto whole = graph.symbols.evaluate(binding), part = graph.symbols.evaluate(shorter);
    grows_.resize(whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) grows_[i] = whole[i] != part[i];
  }

  AxisSet of(TensorId tensor) const {
    AxisSet axes;
    const Shape& shape = graph_.tensors[tensor].type.shape;
    for (std::size_t i = 0; i < shape.size(); ++i) axes[i] = grows_[shape[i].symbol];
    return axes;
  }
  std::size_t rank_of(TensorId tensor) const { return graph_.tensors[tensor].type.shape.size(); }
  bool has(TensorId tensor, std::int64_t axis) const {
    return rank_of(tensor) > 0 && of(tensor)[normal_axis(axis, rank_of(tensor))];
  }
  /// From an axis to the last.
  bool has_from(TensorId tensor, std::int64_t axis) const {
    return rank_of(tensor) > 0 && (of(tensor) >> normal_axis(axis, rank_of(tensor))).any();
  }

 private:
  const Graph& graph_;
  std::vector<bool> grows_;  // of each symbol
};

/// Whether a node works on each position by itself.
class PositionRules {
 public:
  PositionRules(const Graph& graph, const Positions& positions)
      : graph_(graph), positions_(positions), experts_(find_experts(graph)) {}

  bool mixes(NodeId id) const {
    if (moves_words_of_experts(id)) return false;
    const Node& node = graph_.nodes[id];
    return std::visit([&](const auto& op) { return mixes(op, node); },
                      static_cast<const AnyOperator&>(node.op));
  }

 private:
  bool mixes(const Attention& /*op*/, const Node& node) const {
    const bool has_keys = positions_.of(node.inputs[1]).any();
    if (has_keys && positions_.of(node.inputs[0]).none()) return true;  // queries of no position
    for (std::size_t i = 0; i < 3; ++i) {
      AxisSet rest = positions_.of(node.inputs[i]);
      rest.reset(1);
      if (rest.any()) return true;
    }
    return false;
  }
  bool mixes(const Linear& /*op*/, const Node& node) const {
    return positions_.has(node.inputs[0], -1);
  }
  bool mixes(const MatMul& op, const Node& node) const {
    return positions_.of(node.outputs[0]).count() > 1 ||
           positions_.has(node.inputs[0], op.transpose_a ? -2 : -1) ||
           positions_.has(node.inputs[1], op.transpose_b ? -1 : -2);
  }
  bool mixes(const LayerNorm& op, const Node& node) const {
    return positions_.has_from(node.inputs[0], op.axis);
  }
  bool mixes(const RmsNorm& op, const Node& node) const {
    return positions_.has_from(node.inputs[0], op.axis);
  }
  bool mixes(const Softmax& op, const Node& node) const {
    return positions_.has(node.inputs[0], op.axis);
  }
  bool mixes(const SoftmaxCrossEntropy& op, const Node& node) const {
    return positions_.has(node.inputs[0], op.axis);
  }
  bool mixes(const Reduce& op, const Node& node) const {
    if (op.axes.empty()) return positions_.of(node.inputs[0]).any();
    return std::any_of(op.axes.begin(), op.axes.end(),
                       [&](std::int64_t axis) { return positions_.has(node.inputs[0], axis); });
  }
  bool is_of_expert(TensorId tensor) const {
    const NodeId producer = graph_.tensors[tensor].producer;
    return producer != no_node && experts_.places[producer].is_expert();
  }
  bool joins_experts(NodeId id) const {
    const Node& node = graph_.nodes[id];
    return std::holds_alternative<Concat>(node.op) &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](TensorId input) { return is_of_expert(input); });
  }
  /// Words go to their experts, which are on the same rank or are sent to, and back.
  bool moves_words_of_experts(NodeId id) const {
    const Node& node = graph_.nodes[id];
    if (!std::holds_alternative<Gather>(node.op)) return joins_experts(id);
    const NodeId made_by = graph_.tensors[node.inputs[0]].producer;
    return experts_.places[id].is_expert() || is_of_expert(node.inputs[0]) ||
           (made_by != no_node && joins_experts(made_by));
  }

  bool mixes(const Concat& op, const Node& node) const {
    return positions_.has(node.outputs[0], op.axis);
  }
  bool mixes(const Split& op, const Node& node) const {
    return positions_.has(node.inputs[0], op.axis);
  }
  /// A fixed number of positions: the rank that has them goes on with them.
  bool mixes(const Slice& op, const Node& node) const {
    return std::any_of(op.axes.begin(), op.axes.end(), [&](std::int64_t axis) {
      return positions_.has(node.inputs[0], axis) && positions_.has(node.outputs[0], axis);
    });
  }
  bool mixes(const Gather& op, const Node& node) const {
    return positions_.has(node.inputs[0], op.axis) && positions_.of(node.inputs[1]).any();
  }
  bool mixes(const Unary& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const Elementwise& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const Dropout& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const RotaryEmbedding& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const Cast& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const SquaredError& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const Reshape& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const Flatten& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const Transpose& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const Expand& /*op*/, const Node& /*node*/) const { return false; }
  bool mixes(const Embedding& /*op*/, const Node& /*node*/) const { return false; }
  /// Windows, statistics, recurrence, what nobody knows: where positions are samples of their own
  /// (axis 0) they are not mixed.
  template <typename Other>
  bool mixes(const Other& /*op*/, const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.begin() + node.first_own,
                       [&](TensorId input) {
                         AxisSet rest = positions_.of(input);
                         rest.reset(0);
                         return rest.any();
                       });
  }

  const Graph& graph_;
  const Positions& positions_;
  ExpertList experts_;
};

/// With all-to-alls each rank gets whole heads, of keys and values, too.
void check_heads(const Node& node, std::int64_t ranks) {
  const auto& attention = std::get<Attention>(static_cast<const AnyOperator&>(node.op));
  const std::int64_t shared = attention.kv_heads > 0 ? attention.kv_heads : attention.heads;
  if (attention.heads % ranks == 0 && shared % ranks == 0) return;
  const bool is_of_keys = attention.heads % ranks == 0;
  fail(ErrorKind::unsupported,
       "cp={},exchange=all-to-all: {} has {} heads{} on a rank, which {} does not divide", ranks,
       node.name, is_of_keys ? shared : attention.heads, is_of_keys ? " of keys and values" : "",
       ranks);
}

void check_length(const Graph& graph, std::int64_t length, std::int64_t ranks, bool is_causal) {
  // Causal attention has more work for later positions: rank i takes parts i and 2c − 1 − i of 2c.
  const std::int64_t parts = is_causal ? 2 * ranks : ranks;
  if (length % parts == 0) return;
  fail(ErrorKind::unsupported, "cp={}: {} needs a sequence length that {} divides{}, got {}", ranks,
       graph.name, parts,
       is_causal ? " (causal attention is balanced by giving each rank an early and a late part)"
                 : "",
       length);
}

}  // namespace

std::optional<std::string> sequence_length(const Graph& graph, const Binding& binding) {
  if (binding.contains("seq")) return "seq";
  for (const Node& node : graph.nodes) {
    if (!std::holds_alternative<Attention>(node.op)) continue;
    const Dim length = graph.tensors[node.inputs[0]].type.shape[1];
    const std::string name = graph.symbols.text(Dim(1, length.symbol));
    if (!length.is_number() && binding.contains(name)) return name;
  }
  return std::nullopt;
}

ContextSplit split_context(const Graph& graph, const Binding& binding, std::int64_t ranks,
                           ContextExchange exchange) {
  const auto length = sequence_length(graph, binding);
  if (!length)
    fail(ErrorKind::unsupported,
         "cp={}: the length of the sequences of {} is fixed, or it has none; it must be open to be "
         "shared",
         ranks, graph.name);
  bool is_causal = false, has_attention = false;
  for (const Node& node : graph.nodes) {
    const auto* attention = std::get_if<Attention>(&node.op);
    has_attention |= attention != nullptr;
    is_causal |= attention != nullptr && attention->causal;
  }
  if (!has_attention)
    fail(ErrorKind::unsupported,
         "cp={}: {} has no attention, whose keys and values could go round the ranks", ranks,
         graph.name);
  const bool has_rings = exchange == ContextExchange::ring;
  check_length(graph, binding.at(*length), ranks, is_causal && has_rings);
  const Positions positions(graph, binding, *length, ranks);
  const PositionRules rules(graph, positions);
  ContextSplit split{.length = *length, .attention = {}, .has_pairs = {}};
  split.has_pairs.resize(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (rules.mixes(id))
      fail(ErrorKind::unsupported,
           "cp={}: {} ({}) works on several positions at once, so that no rank can have a share of "
           "the sequence; only attention may",
           ranks, node.name, name_of(node.op));
    const bool is_over_all =
        std::holds_alternative<Attention>(node.op) && positions.of(node.inputs[1]).any();
    if (is_over_all && !has_rings) check_heads(node, ranks);
    if (is_over_all) split.attention.push_back(id);
    split.has_pairs[id] =
        is_over_all || std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId output) {
          return positions.of(output).count() > 1;
        });
  }
  if (split.attention.empty())
    fail(ErrorKind::unsupported, "cp={}: no attention of {} is over the sequence", ranks,
         graph.name);
  return split;
}

}  // namespace strata
