// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/operator_match.hpp"

#include "strata/base/text.hpp"
#include "strata/capture/kernel_origins.hpp"
#include "strata/capture/order_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace strata {
namespace {

/// What an operator of PyTorch can be in a network.
enum class OpKind : std::uint8_t {
  convolution,
  product,
  normalisation,
  pool,
  attention,
  recurrent,
  embedding,
  dropout,
  pointwise,
  softmax,
  reduction,
  movement,
  loss,
  unknown
};

struct NameRule {
  std::string_view word;  ///< in the name behind "aten::"
  OpKind kind;
};

/// The first that is in the name decides.
constexpr NameRule name_rules[] = {{"scaled_dot_product", OpKind::attention},
                                   {"attention", OpKind::attention},
                                   {"embedding", OpKind::embedding},
                                   {"conv", OpKind::convolution},
                                   {"linear", OpKind::product},
                                   {"addmm", OpKind::product},
                                   {"bmm", OpKind::product},
                                   {"matmul", OpKind::product},
                                   {"einsum", OpKind::product},
                                   {"_norm", OpKind::normalisation},
                                   {"pool", OpKind::pool},
                                   {"lstm", OpKind::recurrent},
                                   {"gru", OpKind::recurrent},
                                   {"rnn", OpKind::recurrent},
                                   {"dropout", OpKind::dropout},
                                   {"softmax", OpKind::softmax},
                                   {"loss", OpKind::loss},
                                   {"mean", OpKind::reduction},
                                   {"sum", OpKind::reduction},
                                   {"cat", OpKind::movement},
                                   {"copy", OpKind::movement},
                                   {"contiguous", OpKind::movement},
                                   {"clone", OpKind::movement},
                                   {"to", OpKind::movement},
                                   {"relu", OpKind::pointwise},
                                   {"hardtanh", OpKind::pointwise},
                                   {"gelu", OpKind::pointwise},
                                   {"silu", OpKind::pointwise},
                                   {"sigmoid", OpKind::pointwise},
                                   {"swish", OpKind::pointwise},
                                   {"tanh", OpKind::pointwise},
                                   {"clamp", OpKind::pointwise},
                                   {"add", OpKind::pointwise},
                                   {"sub", OpKind::pointwise},
                                   {"mul", OpKind::pointwise},
                                   {"div", OpKind::pointwise}};

OpKind kind_of_call(const CalledOperator& call) {
  std::string_view name = call.name;
  if (const std::size_t colons = name.find("::"); colons != name.npos)
    name.remove_prefix(colons + 2);
  if (name == "mm" || name == "mv") return OpKind::product;
  for (const NameRule& rule : name_rules)
    if (name.find(rule.word) != name.npos) return rule.kind;
  return OpKind::unknown;
}

struct NodeKind {
  template <class Op>
  OpKind operator()(const Op&) const {
    if constexpr (is<Op, Convolution>) return OpKind::convolution;
    if constexpr (is<Op, Linear> || is<Op, MatMul>) return OpKind::product;
    if constexpr (is<Op, BatchNorm> || is<Op, LayerNorm> || is<Op, RmsNorm> || is<Op, GroupNorm> ||
                  is<Op, LocalResponseNorm>)
      return OpKind::normalisation;
    if constexpr (is<Op, Pool> || is<Op, AdaptivePool>) return OpKind::pool;
    if constexpr (is<Op, Attention>) return OpKind::attention;
    if constexpr (is<Op, Recurrent>) return OpKind::recurrent;
    if constexpr (is<Op, Embedding>) return OpKind::embedding;
    if constexpr (is<Op, Dropout>) return OpKind::dropout;
    if constexpr (is<Op, Unary> || is<Op, Elementwise>) return OpKind::pointwise;
    if constexpr (is<Op, Softmax>) return OpKind::softmax;
    if constexpr (is<Op, Reduce>) return OpKind::reduction;
    if constexpr (is<Op, SoftmaxCrossEntropy> || is<Op, SquaredError>) return OpKind::loss;
    if constexpr (is<Op, Concat> || is<Op, Split> || is<Op, Slice> || is<Op, Transpose> ||
                  is<Op, Expand> || is<Op, Pad> || is<Op, Gather>)
      return OpKind::movement;
    return OpKind::unknown;
  }

  template <class Op, class Other>
  static constexpr bool is = std::is_same_v<Op, Other>;
};

bool is_essential(OpKind kind) { return kind <= OpKind::embedding; }

OpKind kind_of_node(const Node& node) { return std::visit(NodeKind{}, node.op); }

bool is_kernel_run(const CalledOperator& call) { return call.name.empty(); }

/// Kernels of one class: those of a bias, an activation or a copy may be of no node.
bool is_essential(const CalledOperator& call) {
  if (!is_kernel_run(call)) return is_essential(kind_of_call(call));
  return std::any_of(call.classes.begin(), call.classes.end(), [](const std::string& one) {
    return one == "convolution" || one == "gemm" || one == "normalisation" || one == "pooling" ||
           one == "attention" || one == "rnn";
  });
}

bool can_pair(const CalledOperator& call, const Node& node) {
  if (is_kernel_run(call)) return can_be(node.op, call.classes);
  const OpKind called = kind_of_call(call);
  const OpKind wanted = kind_of_node(node);
  if (called == wanted) return true;
  // A global average is written either way.
  return (called == OpKind::reduction && wanted == OpKind::pool) ||
         (called == OpKind::pool && wanted == OpKind::reduction);
}

using Sizes = std::vector<std::int64_t>;

/// Sizes of the inputs as they were recorded; empty where one cannot be read.
std::vector<Sizes> sizes_of_inputs(std::string_view text) {
  std::vector<Sizes> all;
  for (const std::string_view input : split(text, ';')) {
    Sizes& sizes = all.emplace_back();
    if (input.empty()) continue;
    for (const std::string_view digits : split(input, ',')) {
      std::int64_t size = 0;
      const char* const end = digits.data() + digits.size();
      const auto [stop, problem] = std::from_chars(digits.data(), end, size);
      if (problem != std::errc{} || stop != end || size < 0) return {};
      sizes.push_back(size);
    }
  }
  return all;
}

Sizes sizes_of_tensor(const BoundGraph& bound, TensorId tensor) {
  const BoundTensor& own = bound.tensors[tensor];
  return {own.shape.begin(), own.shape.end()};
}

std::string sizes_text(const Sizes& sizes) { return fmt::format("{}", fmt::join(sizes, "×")); }

/// Why the sizes that a call was given are not the node's; empty where they are, or nothing is
/// known. Only the input counts: a weight may be laid out either way.
std::string size_difference(const CalledOperator& call, const Node& node, const BoundGraph& bound) {
  const std::vector<Sizes> inputs = sizes_of_inputs(call.inputs);
  if (inputs.empty() || inputs.front().empty() || node.inputs.empty()) return {};
  const Sizes& given = inputs.front();
  const Sizes own = sizes_of_tensor(bound, node.inputs.front());
  if (given == own) return {};
  std::string text = fmt::format("{} takes {}, but '{}' of the network takes {}", call.name,
                                 sizes_text(given), node.name, sizes_text(own));
  const bool is_batch = given.size() == own.size() && !given.empty() &&
                        std::equal(given.begin() + 1, given.end(), own.begin() + 1);
  if (is_batch) text += fmt::format(": give --batch {}", given.front());
  return text;
}

constexpr std::size_t most_match_cells = 8'000'000;
constexpr std::uint32_t no_match = 0xffffffffU;

struct MatchCell {
  std::uint32_t alone = no_match;
  std::uint32_t ways = 0;  ///< 2: several
};

/// The fewest calls and nodes left alone, for every beginning of both, and in how many ways. Calls
/// that stay alone come before nodes that do, so that the order of the two is no second way: cells
/// with a node left alone last stand apart.
class MatchTable {
 public:
  MatchTable(const std::vector<CalledOperator>& calls, const std::vector<const Node*>& nodes)
      : calls_(calls), nodes_(nodes), cells_(2 * (calls.size() + 1) * (nodes.size() + 1)) {
    at(0, 0, 0) = {0, 1};
    for (std::size_t i = 0; i <= calls.size(); ++i) {
      for (std::size_t j = 0; j <= nodes.size(); ++j) fill(i, j);
    }
  }

  MatchCell last() const { return best(calls_.size(), nodes_.size()); }

  std::vector<std::size_t> match() const {
    std::vector<std::size_t> node(calls_.size(), no_index);
    std::size_t i = calls_.size();
    std::size_t j = nodes_.size();
    std::size_t state = at(i, j, 0).alone <= at(i, j, 1).alone ? 0 : 1;
    while (i > 0 || j > 0) {
      const std::uint32_t alone = at(i, j, state).alone;
      if (state == 1) {
        --j;
        state = at(i, j, 0).alone + 1 == alone ? 0 : 1;
      } else if (pairs(i, j) && best(i - 1, j - 1).alone == alone) {
        node[--i] = --j;
        state = at(i, j, 0).alone == alone ? 0 : 1;
      } else {
        --i;
      }
    }
    return node;
  }

  /// The farthest that both could go.
  std::string where_it_ends() const {
    std::size_t best_i = 0;
    std::size_t best_j = 0;
    for (std::size_t i = 0; i <= calls_.size(); ++i) {
      for (std::size_t j = 0; j <= nodes_.size(); ++j) {
        if (best(i, j).alone == no_match || i + j <= best_i + best_j) continue;
        best_i = i;
        best_j = j;
      }
    }
    if (best_i == calls_.size())
      return fmt::format("the recording ends before the network's '{}'", nodes_[best_j]->name);
    const CalledOperator& call = calls_[best_i];
    const std::string called = is_kernel_run(call)
                                   ? fmt::format("a kernel of class {}", *call.classes.begin())
                                   : call.name;
    if (best_j == nodes_.size())
      return fmt::format("the recording goes on behind the network's last layer, with {}", called);
    return fmt::format("the recording has {} where the network has '{}'", called,
                       nodes_[best_j]->name);
  }

 private:
  bool pairs(std::size_t i, std::size_t j) const {
    return i > 0 && j > 0 && can_pair(calls_[i - 1], *nodes_[j - 1]);
  }

  void fill(std::size_t i, std::size_t j) {
    if (pairs(i, j)) take(at(i, j, 0), best(i - 1, j - 1), 0);
    if (i > 0 && !is_essential(calls_[i - 1])) take(at(i, j, 0), at(i - 1, j, 0), 1);
    if (j > 0 && !is_essential(kind_of_node(*nodes_[j - 1]))) take(at(i, j, 1), best(i, j - 1), 1);
  }

  static void take(MatchCell& cell, const MatchCell& from, std::uint32_t more) {
    if (from.alone == no_match) return;
    if (from.alone + more < cell.alone) {
      cell = {from.alone + more, from.ways};
    } else if (from.alone + more == cell.alone) {
      cell.ways = std::min(2U, cell.ways + from.ways);
    }
  }

  MatchCell best(std::size_t i, std::size_t j) const {
    MatchCell cell;
    take(cell, at(i, j, 0), 0);
    take(cell, at(i, j, 1), 0);
    return cell;
  }

  std::size_t place(std::size_t i, std::size_t j, std::size_t state) const {
    return 2 * (i * (nodes_.size() + 1) + j) + state;
  }
  MatchCell& at(std::size_t i, std::size_t j, std::size_t state) {
    return cells_[place(i, j, state)];
  }
  const MatchCell& at(std::size_t i, std::size_t j, std::size_t state) const {
    return cells_[place(i, j, state)];
  }

  const std::vector<CalledOperator>& calls_;
  const std::vector<const Node*>& nodes_;
  std::vector<MatchCell> cells_;
};

/// Nothing where there is no match, or more than one.
std::optional<std::vector<std::size_t>> only_match(const std::vector<CalledOperator>& calls,
                                                   const std::vector<const Node*>& nodes,
                                                   std::string& refusal) {
  const MatchTable table(calls, nodes);
  if (table.last().ways == 1) return table.match();
  refusal = table.last().ways == 0 ? table.where_it_ends() : "they can be matched in several ways";
  return std::nullopt;
}

/// Only what must have a partner: additions and activations that can be told apart in no way stay
/// without one.
std::optional<std::vector<std::size_t>> match_of_essential(const std::vector<CalledOperator>& calls,
                                                           const std::vector<const Node*>& nodes) {
  std::vector<CalledOperator> some_calls;
  std::vector<const Node*> some_nodes;
  std::vector<std::size_t> call_index;
  std::vector<std::size_t> node_index;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!is_essential(calls[i])) continue;
    some_calls.push_back(calls[i]);
    call_index.push_back(i);
  }
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    if (!is_essential(kind_of_node(*nodes[j]))) continue;
    some_nodes.push_back(nodes[j]);
    node_index.push_back(j);
  }
  std::string ignored;
  const auto found = only_match(some_calls, some_nodes, ignored);
  if (!found) return std::nullopt;
  std::vector<std::size_t> node(calls.size(), no_index);
  for (std::size_t i = 0; i < found->size(); ++i)
    if ((*found)[i] != no_index) node[call_index[i]] = node_index[(*found)[i]];
  return node;
}

}  // namespace

OperatorMatch match_operators(const std::vector<CalledOperator>& calls,
                              const std::vector<const Node*>& nodes, const BoundGraph& bound) {
  OperatorMatch match;
  if ((calls.size() + 1) * (nodes.size() + 1) > most_match_cells) {
    match.refusal = "the recording and the network are too long to be matched";
    return match;
  }
  std::optional<std::vector<std::size_t>> found = only_match(calls, nodes, match.refusal);
  if (!found) found = match_of_essential(calls, nodes);
  if (!found) return match;
  match.refusal.clear();
  match.node = std::move(*found);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (match.node[i] == no_index || calls[i].inputs.empty()) continue;
    if (!is_essential(calls[i])) continue;
    match.refusal = size_difference(calls[i], *nodes[match.node[i]], bound);
    if (!match.refusal.empty()) return match;
    match.has_sizes = true;
  }
  return match;
}

}  // namespace strata
