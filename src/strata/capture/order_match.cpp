// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/order_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace strata {
namespace {

/// What of the kernels' classes tells an operator; empty: kernels do not tell it.
struct OperatorClasses {
  template <class Op>
  std::vector<std::string_view> operator()(const Op&) const {
    if constexpr (is<Op, Convolution>) return {"convolution", "gemm"};
    if constexpr (is<Op, Linear> || is<Op, MatMul>) return {"gemm"};
    if constexpr (is<Op, Attention>) return {"attention", "gemm"};
    if constexpr (is<Op, Recurrent>) return {"rnn", "gemm"};
    if constexpr (is<Op, Pool> || is<Op, AdaptivePool>) return {"pooling", "reduction"};
    if constexpr (is<Op, BatchNorm> || is<Op, LayerNorm> || is<Op, RmsNorm> || is<Op, GroupNorm> ||
                  is<Op, LocalResponseNorm>)
      return {"normalisation"};
    if constexpr (is<Op, Unary> || is<Op, Elementwise> || is<Op, Dropout>) return {"element_wise"};
    if constexpr (is<Op, Softmax>) return {"softmax"};
    if constexpr (is<Op, Reduce>) return {"reduction"};
    if constexpr (is<Op, SoftmaxCrossEntropy>) return {"softmax", "loss"};
    if constexpr (is<Op, SquaredError>) return {"loss", "element_wise", "reduction"};
    if constexpr (is<Op, Embedding> || is<Op, Gather>) return {"embedding", "copy"};
    if constexpr (is<Op, Concat> || is<Op, Split> || is<Op, Slice> || is<Op, Transpose> ||
                  is<Op, Expand> || is<Op, Pad>)
      return {"copy", "element_wise"};
    return {};
  }

  template <class Op, class Other>
  static constexpr bool is = std::is_same_v<Op, Other>;
};

/// Kernels on their own make so many nodes at most; more between two calls is not told apart.
constexpr std::size_t most_between_calls = 16;
constexpr std::size_t most_cells = 40'000'000;

/// Whether the work makes the `many` nodes from `first`.
bool fits(const OrderedWork& run, const std::vector<const Node*>& all, std::size_t first,
          std::size_t many) {
  if (!run.known.empty()) {
    return std::all_of(run.known.begin(), run.known.end(),
                       [&](std::size_t node) { return node >= first && node < first + many; });
  }
  const std::span nodes = std::span(all).subspan(first, many);
  if (nodes.size() == run.classes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (!can_be(nodes[i]->op, run.classes[i])) return false;
    return true;
  }
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node* node) {
    return std::any_of(run.classes.begin(), run.classes.end(),
                       [&](const std::set<std::string>& one) { return can_be(node->op, one); });
  });
}

/// How many nodes a piece of work makes, at least and at most.
struct Taken {
  std::size_t least = 1;
  std::size_t most = 1;
};

Taken taken_by(const OrderedWork& work) {
  if (!work.known.empty()) return {work.known.size(), work.known.size()};
  if (work.is_call) return {1, 1};
  return {0, std::min(work.classes.size(), most_between_calls)};
}

class OrderTable {
 public:
  OrderTable(const std::vector<OrderedWork>& work, const std::vector<const Node*>& nodes)
      : work_(work), nodes_(nodes), matches_((work.size() + 1) * (nodes.size() + 1), 0) {
    at(0, 0) = 1;
    for (std::size_t i = 0; i < work.size(); ++i) {
      const Taken taken = taken_by(work[i]);
      for (std::size_t j = 0; j <= nodes.size(); ++j) {
        if (at(i, j) == 0) continue;
        for (std::size_t m = taken.least; m <= taken.most && j + m <= nodes.size(); ++m) {
          if (!fits(work[i], nodes, j, m)) continue;
          at(i + 1, j + m) = std::min(2, at(i + 1, j + m) + at(i, j));
          furthest_work_ = std::max(furthest_work_, i + 1);
          if (furthest_work_ == i + 1) furthest_node_ = j + m;
        }
      }
    }
  }

  int match_count() const { return at(work_.size(), nodes_.size()); }

  /// The only match.
  std::vector<std::vector<std::size_t>> match() const {
    std::vector<std::vector<std::size_t>> taken(work_.size());
    std::size_t j = nodes_.size();
    for (std::size_t i = work_.size(); i > 0; --i) {
      const Taken bounds = taken_by(work_[i - 1]);
      for (std::size_t m = bounds.least; m <= bounds.most && m <= j; ++m) {
        if (at(i - 1, j - m) == 0 || !fits(work_[i - 1], nodes_, j - m, m)) continue;
        for (std::size_t k = j - m; k < j; ++k) taken[i - 1].push_back(k);
        j -= m;
        break;
      }
    }
    return taken;
  }

  std::string where_it_ends() const {
    if (furthest_work_ == work_.size() || furthest_node_ >= nodes_.size()) {
      return fmt::format("the recording has {} calls and the network {} layers that do not pair up",
                         std::count_if(work_.begin(), work_.end(),
                                       [](const OrderedWork& one) { return one.is_call; }),
                         nodes_.size());
    }
    return fmt::format("the call '{}' of the recording is not what the network has there ('{}')",
                       work_[furthest_work_].name, nodes_[furthest_node_]->name);
  }

 private:
  int& at(std::size_t i, std::size_t j) { return matches_[i * (nodes_.size() + 1) + j]; }
  int at(std::size_t i, std::size_t j) const { return matches_[i * (nodes_.size() + 1) + j]; }

  const std::vector<OrderedWork>& work_;
  const std::vector<const Node*>& nodes_;
  std::vector<int> matches_;  ///< 2: several
  std::size_t furthest_work_ = 0;
  std::size_t furthest_node_ = 0;
};

}  // namespace

bool can_be(const Operator& op, const std::set<std::string>& classes) {
  const std::vector<std::string_view> telling = std::visit(OperatorClasses{}, op);
  if (telling.empty()) return true;
  return std::any_of(telling.begin(), telling.end(),
                     [&](std::string_view one) { return classes.contains(std::string(one)); });
}

OrderMatch match_by_order(const std::vector<OrderedWork>& work,
                          const std::vector<const Node*>& nodes) {
  OrderMatch match;
  const bool has_call =
      std::any_of(work.begin(), work.end(), [](const OrderedWork& one) { return one.is_call; });
  if (!has_call) {
    match.refusal = "no call of a module is recorded";
    return match;
  }
  if ((work.size() + 1) * (nodes.size() + 1) > most_cells) {
    match.refusal = "the recording and the network are too long to be matched";
    return match;
  }
  const OrderTable table(work, nodes);
  if (table.match_count() == 1) {
    match.nodes = table.match();
  } else {
    match.refusal = table.match_count() == 0 ? table.where_it_ends()
                                             : "calls and layers can be matched in several ways";
  }
  return match;
}

}  // namespace strata
