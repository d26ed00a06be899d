// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/split_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace strata {
namespace {

using Kind = SplitStep::Kind;

/// Where a mask has scores of each head of its own; no_axis: all heads have the same.
int head_axis(const Shape& mask, std::int64_t heads) {
  constexpr std::size_t axes_after = 2;  // queries and keys
  if (mask.size() <= axes_after || heads == 1) return no_axis;
  const std::size_t at = mask.size() - axes_after - 1;
  return mask[at].is(heads) ? static_cast<int>(at) : no_axis;
}

bool divides(std::int64_t ranks, Dim extent) { return extent.factor % ranks == 0; }

/// Axes [first, end) of one tensor that a reshape makes of axes of another one.
struct AxisRange {
  std::size_t first = 0, end = 0;
};
struct AxisGroup {
  AxisRange in, out;
};

/// Extents that are multiplied; nothing where two of them are symbolic.
std::optional<Dim> product_of(Dim a, Dim b) {
  if (!a.is_number() && !b.is_number()) return std::nullopt;
  std::int64_t factor = 0;
  if (__builtin_mul_overflow(a.factor, b.factor, &factor)) return std::nullopt;
  return Dim(factor, a.is_number() ? b.symbol : a.symbol);
}

/// Which axes become which, from the last to the first: the smallest groups with equal products.
std::vector<AxisGroup> groups_of(const Shape& in, const Shape& out) {
  std::vector<AxisGroup> groups;
  std::size_t i = in.size(), o = out.size();
  while (i > 0 && o > 0) {
    AxisGroup group{{i - 1, i}, {o - 1, o}};
    std::optional<Dim> left = in[--i], right = out[--o];
    while (left && right && !(*left == *right)) {
      // The smaller product takes one axis more; a number that stands beside a symbol is it.
      const bool takes_left = left->is_number() == right->is_number() ? left->factor < right->factor
                                                                      : left->is_number();
      if (takes_left ? i == 0 : o == 0) return groups;
      if (takes_left)
        left = product_of(*left, in[--i]);
      else
        right = product_of(*right, out[--o]);
      group.in.first = i;
      group.out.first = o;
    }
    if (!left || !right) return groups;
    groups.push_back(group);
  }
  return groups;
}

/// The layers between two products, one rule for each operator.
class AxisRules {
 public:
  AxisRules(const SplitFacts& facts, const std::vector<int>& axes, const Node& node)
      : facts_(facts), graph_(facts.graph), axes_(axes), node_(node) {}

  SplitStep step() const {
    return std::visit([&](const auto& op) { return of(op); },
                      static_cast<const AnyOperator&>(node_.op));
  }

 private:
  static SplitStep to(int axis) { return {.kind = Kind::split, .axis = axis, .reason = {}}; }
  static SplitStep refused() { return {}; }
  static SplitStep waits() { return {.kind = Kind::waits, .axis = no_axis, .reason = {}}; }
  SplitStep no_share(std::int64_t count, std::string_view what) const {
    SplitStep step;
    step.reason =
        fmt::format("{} does not divide the {} {} of {}", facts_.ranks, count, what, node_.name);
    return step;
  }

  const Shape& shape(std::size_t input) const {
    return graph_.tensors[node_.inputs[input]].type.shape;
  }
  int axis(std::size_t input) const { return axes_[node_.inputs[input]]; }
  int last(std::size_t input) const { return static_cast<int>(shape(input).size()) - 1; }
  const Shape& result() const { return graph_.tensors[node_.outputs[0]].type.shape; }
  bool is_split_at(std::size_t input, std::int64_t at) const {
    return axis(input) == static_cast<int>(normal_axis(at, shape(input).size()));
  }

  /// Each of the inputs is split along its last axis, the features.
  SplitStep by_features(std::size_t inputs) const {
    for (std::size_t i = 0; i < inputs; ++i) {
      if (axis(i) == no_axis) return waits();
      if (axis(i) != last(i)) return refused();
    }
    return to(static_cast<int>(result().size()) - 1);
  }

  SplitStep of(const Attention& op) const {
    if (op.heads % facts_.ranks != 0) return no_share(op.heads, "heads");
    if (op.kv_heads % facts_.ranks != 0) return no_share(op.kv_heads, "key and value heads");
    for (std::size_t i = 3; i < node_.first_own; ++i) {
      const int by_head = head_axis(shape(i), op.heads);
      if (by_head == axis(i)) continue;
      return axis(i) == no_axis ? waits() : refused();
    }
    return by_features(3);
  }
  SplitStep of(const RotaryEmbedding& op) const {
    return op.heads % facts_.ranks == 0 ? by_features(1) : no_share(op.heads, "heads");
  }
  SplitStep of(const Unary& op) const {
    return op.kind == UnaryKind::prelu ? refused() : to(axis(0));
  }
  SplitStep of(const Dropout& /*op*/) const { return to(axis(0)); }
  SplitStep of(const Cast& /*op*/) const { return to(axis(0)); }
  SplitStep of(const Softmax& op) const {
    return is_split_at(0, op.axis) ? refused() : to(axis(0));
  }

  /// Inputs are aligned at their last axes; those of extent 1 are the same on every rank.
  SplitStep of(const Elementwise& /*op*/) const {
    const std::size_t axes = result().size();
    int at = no_axis;
    for (std::size_t i = 0; i < node_.first_own; ++i) {
      if (axis(i) != no_axis) at = axis(i) + static_cast<int>(axes - shape(i).size());
    }
    for (std::size_t i = 0; i < node_.first_own; ++i) {
      const int own = at - static_cast<int>(axes - shape(i).size());
      if (axis(i) == own && own >= 0) continue;
      if (axis(i) != no_axis) return refused();
      const bool is_same_everywhere = own < 0 || shape(i)[static_cast<std::size_t>(own)].is(1);
      if (!is_same_everywhere) return waits();
      if (facts_.has_gradient[node_.inputs[i]]) return refused();
    }
    return to(at);
  }

  /// A product per head: leading axes are aligned, and both have the share.
  SplitStep of(const MatMul& /*op*/) const {
    if (axis(0) == no_axis || axis(1) == no_axis) return waits();
    const std::size_t axes = result().size();
    const int left = axis(0) + static_cast<int>(axes - shape(0).size());
    const int right = axis(1) + static_cast<int>(axes - shape(1).size());
    return left == right && left + 2 < static_cast<int>(axes) ? to(left) : refused();
  }

  SplitStep of(const Concat& /*op*/) const {
    for (std::size_t i = 0; i < node_.first_own; ++i) {
      if (axis(i) == no_axis) return waits();
      if (axis(i) != axis(0)) return refused();
    }
    return to(axis(0));
  }
  SplitStep of(const Split& op) const {
    const bool is_cut = is_split_at(0, op.axis);
    const auto has_share = [&](TensorId output) {
      return divides(facts_.ranks,
                     graph_.tensors[output].type.shape[static_cast<std::size_t>(axis(0))]);
    };
    return !is_cut || std::all_of(node_.outputs.begin(), node_.outputs.end(), has_share)
               ? to(axis(0))
               : refused();
  }
  SplitStep of(const Slice& op) const {
    for (std::size_t i = 0; i < op.axes.size(); ++i) {
      if (!is_split_at(0, op.axes[i])) continue;
      const Dim begin = op.begin[i];
      const bool is_run = op.step.empty() || op.step[i] == 1;
      if (!is_run || !begin.is_number() || begin.factor < 0 || begin.factor % facts_.ranks != 0 ||
          !divides(facts_.ranks, result()[static_cast<std::size_t>(axis(0))]))
        return refused();
    }
    return to(axis(0));
  }
  SplitStep of(const Gather& op) const {
    if (axis(0) == no_axis || axis(1) != no_axis || is_split_at(0, op.axis)) return refused();
    const auto cut = static_cast<int>(normal_axis(op.axis, shape(0).size()));
    return to(axis(0) < cut ? axis(0) : axis(0) - 1 + static_cast<int>(shape(1).size()));
  }
  SplitStep of(const Transpose& op) const {
    if (op.permutation.empty()) return to(last(0) - axis(0));
    for (std::size_t i = 0; i < op.permutation.size(); ++i) {
      if (static_cast<int>(normal_axis(op.permutation[i], shape(0).size())) == axis(0))
        return to(static_cast<int>(i));
    }
    return refused();
  }
  SplitStep of(const Expand& /*op*/) const {
    const int at = axis(0) + static_cast<int>(result().size() - shape(0).size());
    return at >= 0 && result()[static_cast<std::size_t>(at)] ==
                          shape(0)[static_cast<std::size_t>(axis(0))]
               ? to(at)
               : refused();
  }
  SplitStep of(const Flatten& /*op*/) const { return reshaped(); }
  SplitStep of(const Reshape& /*op*/) const { return reshaped(); }

  /// One axis becomes several (features to heads): the first that is shared; or several one.
  SplitStep reshaped() const {
    const auto at = static_cast<std::size_t>(axis(0));
    for (const AxisGroup& group : groups_of(shape(0), result())) {
      if (at < group.in.first || at >= group.in.end) continue;
      if (group.out.end - group.out.first == 1)
        return divides(facts_.ranks, result()[group.out.first])
                   ? to(static_cast<int>(group.out.first))
                   : refused();
      if (group.in.end - group.in.first != 1) return refused();
      for (std::size_t i = group.out.first; i < group.out.end; ++i) {
        if (divides(facts_.ranks, result()[i]) && !is_cut_later(node_.outputs[0], i, 0))
          return to(static_cast<int>(i));
      }
    }
    return refused();
  }

  /// An axis of parts: queries, keys and values that were one product and are taken apart again.
  bool is_cut_later(TensorId tensor, std::size_t at, int transposes) const {
    const std::size_t axes = graph_.tensors[tensor].type.shape.size();
    const auto is_at = [&](std::int64_t number) { return normal_axis(number, axes) == at; };
    for (const NodeId reader : facts_.readers[tensor]) {
      const Operator& op = graph_.nodes[reader].op;
      if (const auto* gather = std::get_if<Gather>(&op); gather != nullptr && is_at(gather->axis))
        return true;
      if (const auto* cut = std::get_if<Split>(&op); cut != nullptr && is_at(cut->axis))
        return true;
      if (const auto* slice = std::get_if<Slice>(&op);
          slice != nullptr && std::any_of(slice->axes.begin(), slice->axes.end(), is_at))
        return true;
      const auto* transpose = std::get_if<Transpose>(&op);
      constexpr int most_transposes = 4;
      if (transpose == nullptr || transposes == most_transposes) continue;
      for (std::size_t i = 0; i < transpose->permutation.size(); ++i) {
        if (!is_at(transpose->permutation[i])) continue;
        if (is_cut_later(graph_.nodes[reader].outputs[0], i, transposes + 1)) return true;
      }
    }
    return false;
  }

  template <typename Other>
  SplitStep of(const Other& /*op*/) const {
    return refused();
  }

  const SplitFacts& facts_;
  const Graph& graph_;
  const std::vector<int>& axes_;
  const Node& node_;
};

}  // namespace

SplitStep split_step(const SplitFacts& facts, const std::vector<int>& axes, NodeId node) {
  return AxisRules(facts, axes, facts.graph.nodes[node]).step();
}

bool stands_between_products(const Operator& op) {
  return std::visit(
      [](const auto& one) {
        using Type = std::decay_t<decltype(one)>;
        return is_alternative_of<Type>(
            static_cast<const std::variant<Attention, RotaryEmbedding, Unary, Dropout, Cast,
                                           Softmax, Elementwise, MatMul, Concat, Split, Slice,
                                           Gather, Transpose, Expand, Flatten, Reshape>*>(nullptr));
      },
      static_cast<const AnyOperator&>(op));
}

Shape share_of_axis(Shape shape, int axis, std::int64_t ranks) {
  if (axis != no_axis) {
    Dim& extent = shape[static_cast<std::size_t>(axis)];
    extent = Dim(extent.factor / ranks, extent.symbol);
  }
  return shape;
}

Operator share_of_inner(const Graph& graph, const std::vector<int>& axes, NodeId node,
                        std::int64_t ranks) {
  const Node& of = graph.nodes[node];
  const TensorId input = of.inputs[0], output = of.outputs[0];
  const Shape& shape = graph.tensors[output].type.shape;
  const auto is_split_at = [&](std::int64_t axis) {
    const std::size_t count = graph.tensors[input].type.shape.size();
    return axes[input] == static_cast<int>(normal_axis(axis, count));
  };
  if (const auto* attention = std::get_if<Attention>(&of.op)) {
    Attention part = *attention;
    part.heads /= ranks;
    part.kv_heads /= ranks;
    return part;
  }
  if (const auto* table = std::get_if<Embedding>(&of.op))
    return Embedding{.vocabulary = table->vocabulary, .width = table->width / ranks};
  if (const auto* rotary = std::get_if<RotaryEmbedding>(&of.op))
    return RotaryEmbedding{rotary->heads / ranks};
  if (std::holds_alternative<Reshape>(of.op))
    return Reshape{share_of_axis(shape, axes[output], ranks)};
  if (std::holds_alternative<Expand>(of.op))
    return Expand{share_of_axis(shape, axes[output], ranks)};
  if (const auto* cut = std::get_if<Split>(&of.op); cut != nullptr && is_split_at(cut->axis)) {
    Split part = *cut;
    for (std::int64_t& size : part.sizes) size /= ranks;
    return part;
  }
  if (const auto* slice = std::get_if<Slice>(&of.op)) {
    Slice part = *slice;
    for (std::size_t i = 0; i < part.axes.size(); ++i) {
      if (!is_split_at(part.axes[i])) continue;
      const std::int64_t begin = part.begin[i].factor / ranks;
      const Dim extent = shape[static_cast<std::size_t>(axes[output])];
      part.begin[i] = begin;
      part.end[i] = begin + extent.factor / ranks;
    }
    return part;
  }
  return of.op;
}

}  // namespace strata
