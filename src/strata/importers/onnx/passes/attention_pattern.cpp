// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/passes/passes.hpp"
#include "strata/importers/onnx/passes/pattern.hpp"
#include "strata/importers/onnx/tensor_data.hpp"

#include <array>
#include <optional>
#include <utility>

// softmax(Q Kᵀ · scale + mask) V as exporters write it out: products around a softmax over the last
// axis, with scales, masks and changes of type on the way. Q, K and V are [N, heads, T, d], or
// with fewer or
// more leading axes. Strata's Attention wants [N, T, heads·d]: the transposes that
// this takes meet those by which the file split the heads, and cancel in views.cpp.
namespace strata::onnx {
namespace {

/// What stands between the first product and the softmax.
struct Scores {
  const DraftNode* product = nullptr;
  std::vector<DraftId> masks;
  bool is_causal = false;
};

bool is_mask_value(const Draft& draft, DraftId tensor) {
  const std::optional<double> value = draft.scalar(tensor);
  return value && *value <= as_good_as_minus_infinity;
}

// A mask may be cut out of a larger table, and cast to another type, before it is used.
DraftId origin_of_mask(const Draft& draft, DraftId mask) {
  for (int step = 0; step < longest_walk; ++step) {
    const DraftNode* const node = draft.producer(mask);
    const bool passes_on =
        node != nullptr &&
        (std::holds_alternative<Slice>(*node->op) || std::holds_alternative<Cast>(*node->op) ||
         std::holds_alternative<Expand>(*node->op) || std::holds_alternative<Reshape>(*node->op));
    if (!passes_on) return mask;
    mask = node->inputs[0];
  }
  return mask;
}

class ScoresReader {
 public:
  ScoresReader(const Draft& draft, const Uses& uses) : draft_(draft), uses_(uses) {}

  // Back from the softmax to the product; every value on the way must have no other reader.
  std::optional<Scores> read(DraftId tensor) {
    for (int step = 0; step < longest_walk; ++step) {
      if (!uses_.is_single(tensor)) return std::nullopt;
      const DraftNode* const node = draft_.producer(tensor);
      if (node == nullptr) return std::nullopt;
      if (std::holds_alternative<MatMul>(*node->op)) {
        scores_.product = node;
        return scores_;
      }
      const std::optional<DraftId> before = step_back(*node);
      if (!before) return std::nullopt;
      tensor = *before;
    }
    return std::nullopt;
  }

 private:
  std::optional<DraftId> step_back(const DraftNode& node) {
    if (std::holds_alternative<Cast>(*node.op)) return node.inputs[0];
    if (const auto* reshape = std::get_if<Reshape>(node.op.get())) {
      return reshape->shape == draft_.shape(node.inputs[0]) ? std::optional(node.inputs[0])
                                                            : std::nullopt;
    }
    const auto* op = std::get_if<Elementwise>(node.op.get());
    if (op == nullptr) return std::nullopt;
    if (op->kind == ElementwiseKind::select) return behind_select(node);
    if (node.inputs.size() != 2) return std::nullopt;
    switch (op->kind) {
      case ElementwiseKind::multiply:
      case ElementwiseKind::divide: return behind_scale(node);
      case ElementwiseKind::add:
      case ElementwiseKind::subtract: return behind_sum(node, op->kind);
      default: return std::nullopt;
    }
  }

  // A scale, or GPT-2's table of ones below the diagonal.
  std::optional<DraftId> behind_scale(const DraftNode& node) {
    if (const auto scaled = with_scalar(draft_, node)) {
      return scaled->is_second || op_of<Elementwise>(node).kind == ElementwiseKind::multiply
                 ? std::optional(scaled->tensor)
                 : std::nullopt;
    }
    if (op_of<Elementwise>(node).kind != ElementwiseKind::multiply) return std::nullopt;
    const std::optional<std::size_t> side = side_of_scores(node);
    if (!side) return std::nullopt;
    add_mask(node.inputs[1 - *side]);
    return node.inputs[*side];
  }

  std::optional<DraftId> behind_sum(const DraftNode& node, ElementwiseKind kind) {
    const std::optional<std::size_t> side = side_of_scores(node);
    if (!side || (kind == ElementwiseKind::subtract && *side != 0)) return std::nullopt;
    add_mask(node.inputs[1 - *side]);
    return node.inputs[*side];
  }

  std::optional<DraftId> behind_select(const DraftNode& node) {
    for (const std::size_t side : {1, 2}) {
      if (!is_mask_value(draft_, node.inputs[3 - side])) continue;
      add_mask(node.inputs[0]);
      return node.inputs[side];
    }
    return std::nullopt;
  }

  // Scores come from a product over this chain; a mask does not.
  std::optional<std::size_t> side_of_scores(const DraftNode& node) const {
    for (const std::size_t side : {0, 1}) {
      const DraftId candidate = node.inputs[side];
      if (!uses_.is_single(candidate) || draft_.is_stored(candidate)) continue;
      if (draft_.shape(candidate) != draft_.shape(node.outputs[0])) continue;
      if (leads_to_product(candidate)) return side;
    }
    return std::nullopt;
  }

  bool leads_to_product(DraftId tensor) const {
    for (int step = 0; step < longest_walk; ++step) {
      const DraftNode* const node = draft_.producer(tensor);
      if (node == nullptr) return false;
      if (std::holds_alternative<MatMul>(*node->op)) return true;
      const bool passes_on =
          std::holds_alternative<Cast>(*node->op) || std::holds_alternative<Elementwise>(*node->op);
      if (!passes_on) return false;
      // Of two operands the one of full shape carries the scores.
      DraftId next = no_tensor;
      for (const DraftId input : node->inputs) {
        if (draft_.shape(input) == draft_.shape(tensor) && !draft_.is_stored(input)) next = input;
      }
      if (next == no_tensor) return false;
      tensor = next;
    }
    return false;
  }

  void add_mask(DraftId mask) {
    if (draft_.tensors[origin_of_mask(draft_, mask)].is_causal_mask) {
      scores_.is_causal = true;
    } else if (!is_complement_of_known(mask)) {
      scores_.masks.push_back(mask);
    }
  }

  // GPT-2 multiplies by the table b and then subtracts 10⁴·(1 − b): one mask, said twice.
  bool is_complement_of_known(DraftId mask) const {
    const DraftNode* const product = made_by(draft_, mask, ElementwiseKind::multiply);
    return scores_.is_causal && product != nullptr && draft_.tensors[mask].is_fixed;
  }

  const Draft& draft_;
  const Uses& uses_;
  Scores scores_;
};

/// Q, K or V: [leading…, T, d].
struct Operand {
  DraftId tensor;
  bool is_swapped;  ///< the last two axes are the other way round
};

DraftId without_scales(const Draft& draft, DraftId tensor) {
  for (int step = 0; step < longest_walk; ++step) {
    const DraftNode* const node = draft.producer(tensor);
    if (node == nullptr) return tensor;
    const auto* op = std::get_if<Elementwise>(node->op.get());
    const bool may_scale = op != nullptr && (op->kind == ElementwiseKind::multiply ||
                                             op->kind == ElementwiseKind::divide);
    const auto scaled = may_scale ? with_scalar(draft, *node) : std::nullopt;
    if (!scaled || (op->kind == ElementwiseKind::divide && !scaled->is_second)) return tensor;
    tensor = scaled->tensor;
  }
  return tensor;
}

// Also behind the views that split the heads.
bool is_scaled(const Draft& draft, DraftId tensor) {
  for (int step = 0; step < longest_walk; ++step) {
    if (without_scales(draft, tensor) != tensor) return true;
    const DraftNode* const node = draft.producer(tensor);
    const bool is_view = node != nullptr && (std::holds_alternative<Reshape>(*node->op) ||
                                             std::holds_alternative<Transpose>(*node->op));
    if (!is_view) return false;
    tensor = node->inputs[0];
  }
  return false;
}

/// Makes [N, T, heads·d] of an operand; heads is its second axis of four.
class OperandWriter {
 public:
  OperandWriter(Draft& draft, Rewriter& rewriter, std::uint32_t origin)
      : draft_(draft), rewriter_(rewriter), origin_(origin) {}

  DraftId write(const Operand& operand) {
    const Shape s = draft_.shape(operand.tensor);
    if (s.size() == 4) {
      const Axes order = operand.is_swapped ? Axes{0, 3, 1, 2} : Axes{0, 2, 1, 3};
      const DraftId transposed =
          rewriter_.add(Transpose{order}, {operand.tensor}, origin_, "heads_last");
      const Dim length = operand.is_swapped ? s[3] : s[2];
      const Dim width = draft_.symbols.multiply(s[1], operand.is_swapped ? s[2] : s[3]);
      return reshaped(transposed, {s[0], length, width});
    }
    DraftId tensor = operand.tensor;
    if (operand.is_swapped) {
      Axes order;
      for (std::size_t i = 0; i < s.size(); ++i) order.push_back(static_cast<std::int64_t>(i));
      std::swap(order[s.size() - 1], order[s.size() - 2]);
      tensor = rewriter_.add(Transpose{order}, {tensor}, origin_, "swap");
    }
    // More leading axes than one are as many sequences, which do not see one another.
    const Shape transposed = draft_.shape(tensor);
    Dim sequences = 1;
    for (std::size_t i = 0; i + 2 < transposed.size(); ++i)
      sequences = draft_.symbols.multiply(sequences, transposed[i]);
    return reshaped(tensor, {sequences, transposed[s.size() - 2], transposed[s.size() - 1]});
  }

  DraftId reshaped(DraftId tensor, const Shape& shape) {
    if (draft_.shape(tensor) == shape) return tensor;
    return rewriter_.add(Reshape{shape}, {tensor}, origin_, "reshape");
  }

 private:
  Draft& draft_;
  Rewriter& rewriter_;
  std::uint32_t origin_;
};

/// A whole match.
struct Match {
  Operand q, k, v;
  Scores scores;
  const DraftNode* product = nullptr;  ///< the second one
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  bool is_one_call = false;  ///< of PyTorch, before it was exported
};

// Keys and values of fewer heads are repeated: [N, kv, T, d] → [N, kv, 1, T, d] → expanded →
// [N, heads, T, d].
DraftId before_repetition(const Draft& draft, DraftId tensor) {
  const DraftNode* const join = draft.producer<Reshape>(tensor);
  if (join == nullptr) return tensor;
  const DraftNode* const expand = draft.producer<Expand>(join->inputs[0]);
  if (expand == nullptr) return tensor;
  const DraftNode* const split = draft.producer<Reshape>(expand->inputs[0]);
  if (split == nullptr) return tensor;
  const Shape& few = draft.shape(split->inputs[0]);
  const Shape& parted = draft.shape(expand->inputs[0]);
  const Shape& many = draft.shape(tensor);
  const bool fits = few.size() == 4 && parted.size() == 5 && many.size() == 4 && parted[2].is(1) &&
                    parted[1] == few[1] && few[2] == many[2] && few[3] == many[3] &&
                    few[0] == many[0];
  return fits ? split->inputs[0] : tensor;
}

std::optional<std::int64_t> heads_of(const Draft& draft, DraftId tensor) {
  const Shape& shape = draft.shape(tensor);
  if (shape.size() < 2) return std::nullopt;
  if (shape.size() != 4) return 1;
  if (!shape[1].is_number()) return std::nullopt;
  return shape[1].factor;
}

// PyTorch's exporter writes where(isnan(p), 0, p) for rows that a mask hides: p, read three times.
std::optional<DraftId> without_nan(const Draft& draft, const Uses& uses, const DraftNode& node) {
  const auto* op = std::get_if<Elementwise>(node.op.get());
  if (op == nullptr || op->kind != ElementwiseKind::select) return std::nullopt;
  const DraftId inner = node.inputs[2];
  const DraftNode* const test = made_by(draft, node.inputs[0], ElementwiseKind::equal);
  const bool is_test = test != nullptr && uses.is_single(node.inputs[0]) &&
                       test->inputs[0] == inner && test->inputs[1] == inner;
  const std::optional<double> instead = draft.scalar(node.inputs[1]);
  const bool fits = is_test && instead && *instead == 0 && uses.count[inner] == 3;
  return fits ? std::optional(inner) : std::nullopt;
}

// Dropout and changes of type may stand between the softmax and the second product.
const DraftNode* softmax_before(const Draft& draft, const Uses& uses, DraftId tensor) {
  bool is_known_use = false;
  for (int step = 0; step < longest_walk; ++step) {
    if (!is_known_use && !uses.is_single(tensor)) return nullptr;
    is_known_use = false;
    const DraftNode* const node = draft.producer(tensor);
    if (node == nullptr) return nullptr;
    if (const auto inner = without_nan(draft, uses, *node)) {
      tensor = *inner;
      is_known_use = true;
      continue;
    }
    if (std::holds_alternative<Softmax>(*node->op)) return node;
    const bool passes_on =
        std::holds_alternative<Cast>(*node->op) || std::holds_alternative<Dropout>(*node->op);
    if (!passes_on) return nullptr;
    tensor = node->inputs[0];
  }
  return nullptr;
}

std::optional<Match> match_at(const Draft& draft, const Uses& uses, const DraftNode& product) {
  const auto& second = op_of<MatMul>(product);
  if (second.transpose_a) return std::nullopt;
  const DraftNode* const softmax = softmax_before(draft, uses, product.inputs[0]);
  if (softmax == nullptr || op_of<Softmax>(*softmax).log) return std::nullopt;
  const std::size_t rank = draft.shape(softmax->inputs[0]).size();
  if (normal_axis(op_of<Softmax>(*softmax).axis, rank) + 1 != rank) return std::nullopt;
  const auto scores = ScoresReader(draft, uses).read(softmax->inputs[0]);
  if (!scores) return std::nullopt;
  const auto& first = op_of<MatMul>(*scores->product);
  Match match;
  match.scores = *scores;
  match.product = &product;
  match.q = {without_scales(draft, scores->product->inputs[0]), first.transpose_a};
  match.k = {without_scales(draft, scores->product->inputs[1]), !first.transpose_b};
  match.v = {product.inputs[1], second.transpose_b};
  // Its scaled_dot_product_attention becomes a product of operands that are both scaled by a root;
  // who writes attention out scales the scores, or one of them.
  match.is_one_call =
      is_scaled(draft, scores->product->inputs[0]) && is_scaled(draft, scores->product->inputs[1]);
  const auto heads = heads_of(draft, match.q.tensor);
  if (!heads) return std::nullopt;
  match.heads = *heads;
  if (!match.k.is_swapped && !match.v.is_swapped) {
    match.k.tensor = before_repetition(draft, match.k.tensor);
    match.v.tensor = before_repetition(draft, match.v.tensor);
  }
  const auto k_heads = heads_of(draft, match.k.tensor);
  const auto v_heads = heads_of(draft, match.v.tensor);
  if (!k_heads || k_heads != v_heads || *k_heads < 1 || *heads % *k_heads != 0) return std::nullopt;
  match.kv_heads = *k_heads;
  // Q, K and V must have the same leading axes: broadcasting is another computation.
  for (const DraftId tensor : {match.k.tensor, match.v.tensor}) {
    if (draft.shape(tensor).size() != rank) return std::nullopt;
    if (rank > 2 && draft.shape(tensor)[0] != draft.shape(match.q.tensor)[0]) return std::nullopt;
    for (std::size_t i = 1; rank > 4 && i + 2 < rank; ++i) {
      if (draft.shape(tensor)[i] != draft.shape(match.q.tensor)[i]) return std::nullopt;
    }
  }
  if (rank > 4 && !match.scores.masks.empty()) return std::nullopt;
  return match;
}

bool has_widths(const Draft& draft, const Match& match) {
  for (const Operand& operand : {match.q, match.k, match.v}) {
    const Shape& shape = draft.shape(operand.tensor);
    const Dim width = shape[shape.size() - (operand.is_swapped ? 2 : 1)];
    if (!width.is_number()) return false;
  }
  return true;
}

// The mask as one that broadcasts to [N, heads, S, T].
DraftId mask_for(Draft& draft, Rewriter& rewriter, OperandWriter& writer, const Match& match,
                 std::size_t rank) {
  DraftId mask = match.scores.masks.front();
  for (std::size_t i = 1; i < match.scores.masks.size(); ++i) {
    mask =
        rewriter.add(Elementwise{}, {mask, match.scores.masks[i]}, match.product->origin, "masks");
  }
  const Shape s = draft.shape(mask);
  // Scores of three axes are [N, S, T]: the heads, of which there is one, come between.
  if (rank == 3 && s.size() == 3) return writer.reshaped(mask, {s[0], 1, s[1], s[2]});
  return mask;
}

void put_attention(Draft& draft, Rewriter& rewriter, const Match& match) {
  const std::uint32_t origin = match.product->origin;
  const DraftId old = match.product->outputs[0];
  const std::size_t rank = draft.shape(match.q.tensor).size();
  rewriter.place_before(draft.tensors[old].producer);
  OperandWriter writer(draft, rewriter, origin);
  std::vector<DraftId> inputs = {writer.write(match.q), writer.write(match.k),
                                 writer.write(match.v)};
  if (!match.scores.masks.empty()) {
    inputs.push_back(mask_for(draft, rewriter, writer, match, rank));
  }
  const Attention op{match.heads, match.kv_heads == match.heads ? 0 : match.kv_heads,
                     match.scores.is_causal, !match.is_one_call};
  DraftId y = rewriter.add(op, inputs, {}, origin);
  const Shape result = draft.shape(old);
  if (rank == 4) {
    const Shape split = {result[0], result[2], result[1], result[3]};
    y = writer.reshaped(y, split);
    y = rewriter.add(Transpose{{0, 2, 1, 3}}, {y}, origin, "heads_first");
  } else {
    y = writer.reshaped(y, result);
  }
  rewriter.replace(old, y);
}

}  // namespace

void fuse_attention(Session& session) {
  Draft& draft = session.draft;
  const Uses uses(draft);
  Rewriter rewriter(draft);
  for (NodeId id = 0; id < draft.nodes.size(); ++id) {
    const DraftNode& node = draft.nodes[id];
    if (!std::holds_alternative<MatMul>(*node.op)) continue;
    const std::optional<Match> match = match_at(draft, uses, node);
    if (match && has_widths(draft, *match)) put_attention(draft, rewriter, *match);
  }
  if (rewriter.has_changes()) rewriter.apply();
}

}  // namespace strata::onnx
