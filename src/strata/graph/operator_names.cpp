// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/operator_names.hpp"

#include "strata/base/error.hpp"

#include <array>
#include <unordered_map>
#include <vector>

namespace strata {
namespace {

/// The name of each value of an enumeration, at the place of that value.
template <class Kind, std::size_t count>
struct KindNames {
  struct Entry {
    Kind kind;
    std::string_view name;
  };
  std::array<Entry, count> entries;

  // The table must have a row per value, in their order; `last` is the last value.
  constexpr bool is_complete(Kind last) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<std::size_t>(entries[i].kind) != i) return false;
    }
    return static_cast<std::size_t>(last) + 1 == count;
  }

  std::string_view operator[](Kind kind) const {
    const auto index = static_cast<std::size_t>(kind);
    STRATA_CHECK(index < count, "operator kind out of range");
    return entries[index].name;
  }
};

constexpr KindNames<CellKind, 4> cell_names{{{
    {CellKind::rnn_tanh, "rnn"},
    {CellKind::rnn_relu, "rnn_relu"},
    {CellKind::lstm, "lstm"},
    {CellKind::gru, "gru"},
}}};
static_assert(cell_names.is_complete(CellKind::gru));

constexpr KindNames<PoolKind, 2> pool_names{{{
    {PoolKind::maximum, "max_pool"},
    {PoolKind::average, "average_pool"},
}}};
static_assert(pool_names.is_complete(PoolKind::average));

constexpr KindNames<PoolKind, 2> adaptive_pool_names{{{
    {PoolKind::maximum, "adaptive_max_pool"},
    {PoolKind::average, "adaptive_average_pool"},
}}};
static_assert(adaptive_pool_names.is_complete(PoolKind::average));

constexpr KindNames<UnaryKind, 33> unary_names{{{
    {UnaryKind::relu, "relu"},
    {UnaryKind::relu6, "relu6"},
    {UnaryKind::leaky_relu, "leaky_relu"},
    {UnaryKind::prelu, "prelu"},
    {UnaryKind::elu, "elu"},
    {UnaryKind::selu, "selu"},
    {UnaryKind::gelu, "gelu"},
    {UnaryKind::gelu_tanh, "gelu_tanh"},
    {UnaryKind::silu, "silu"},
    {UnaryKind::hard_swish, "hard_swish"},
    {UnaryKind::hard_sigmoid, "hard_sigmoid"},
    {UnaryKind::sigmoid, "sigmoid"},
    {UnaryKind::tanh, "tanh"},
    {UnaryKind::mish, "mish"},
    {UnaryKind::softplus, "softplus"},
    {UnaryKind::softsign, "softsign"},
    {UnaryKind::clip, "clip"},
    {UnaryKind::identity, "identity"},
    {UnaryKind::negate, "negate"},
    {UnaryKind::absolute, "absolute"},
    {UnaryKind::square, "square"},
    {UnaryKind::square_root, "square_root"},
    {UnaryKind::reciprocal, "reciprocal"},
    {UnaryKind::exponential, "exponential"},
    {UnaryKind::logarithm, "logarithm"},
    {UnaryKind::error_function, "error_function"},
    {UnaryKind::sine, "sine"},
    {UnaryKind::cosine, "cosine"},
    {UnaryKind::floor, "floor"},
    {UnaryKind::ceiling, "ceiling"},
    {UnaryKind::round, "round"},
    {UnaryKind::sign, "sign"},
    {UnaryKind::logical_not, "logical_not"},
}}};
static_assert(unary_names.is_complete(UnaryKind::logical_not));

constexpr KindNames<ElementwiseKind, 15> elementwise_names{{{
    {ElementwiseKind::add, "add"},
    {ElementwiseKind::subtract, "subtract"},
    {ElementwiseKind::multiply, "multiply"},
    {ElementwiseKind::divide, "divide"},
    {ElementwiseKind::power, "power"},
    {ElementwiseKind::maximum, "maximum"},
    {ElementwiseKind::minimum, "minimum"},
    {ElementwiseKind::mean, "mean"},
    {ElementwiseKind::modulo, "modulo"},
    {ElementwiseKind::equal, "equal"},
    {ElementwiseKind::greater, "greater"},
    {ElementwiseKind::less, "less"},
    {ElementwiseKind::logical_and, "logical_and"},
    {ElementwiseKind::logical_or, "logical_or"},
    {ElementwiseKind::select, "select"},
}}};
static_assert(elementwise_names.is_complete(ElementwiseKind::select));

constexpr KindNames<ReduceKind, 6> reduce_names{{{
    {ReduceKind::sum, "reduce_sum"},
    {ReduceKind::mean, "reduce_mean"},
    {ReduceKind::maximum, "reduce_max"},
    {ReduceKind::minimum, "reduce_min"},
    {ReduceKind::product, "reduce_product"},
    {ReduceKind::l2, "reduce_l2"},
}}};
static_assert(reduce_names.is_complete(ReduceKind::l2));

constexpr KindNames<ResizeKind, 3> resize_names{{{
    {ResizeKind::nearest, "resize_nearest"},
    {ResizeKind::linear, "resize_linear"},
    {ResizeKind::cubic, "resize_cubic"},
}}};
static_assert(resize_names.is_complete(ResizeKind::cubic));

struct NameOf {
  std::string_view operator()(const Convolution& op) const {
    return op.transposed ? "transposed_convolution" : "convolution";
  }
  std::string_view operator()(const Linear&) const { return "linear"; }
  std::string_view operator()(const MatMul&) const { return "matmul"; }
  std::string_view operator()(const Attention&) const { return "attention"; }
  std::string_view operator()(const Recurrent& op) const { return cell_names[op.cell]; }
  std::string_view operator()(const Pool& op) const { return pool_names[op.kind]; }
  std::string_view operator()(const AdaptivePool& op) const { return adaptive_pool_names[op.kind]; }
  std::string_view operator()(const BatchNorm&) const { return "batch_norm"; }
  std::string_view operator()(const LayerNorm&) const { return "layer_norm"; }
  std::string_view operator()(const RmsNorm&) const { return "rms_norm"; }
  std::string_view operator()(const GroupNorm& op) const {
    return op.groups == 0 ? "instance_norm" : "group_norm";
  }
  std::string_view operator()(const LocalResponseNorm&) const { return "local_response_norm"; }
  std::string_view operator()(const Unary& op) const { return unary_names[op.kind]; }
  std::string_view operator()(const Elementwise& op) const { return elementwise_names[op.kind]; }
  std::string_view operator()(const Softmax& op) const {
    return op.log ? "log_softmax" : "softmax";
  }
  std::string_view operator()(const Dropout&) const { return "dropout"; }
  std::string_view operator()(const RotaryEmbedding&) const { return "rotary_embedding"; }
  std::string_view operator()(const Cast&) const { return "cast"; }
  std::string_view operator()(const Reduce& op) const { return reduce_names[op.kind]; }
  std::string_view operator()(const SoftmaxCrossEntropy&) const { return "softmax_cross_entropy"; }
  std::string_view operator()(const SquaredError&) const { return "squared_error"; }
  std::string_view operator()(const Concat&) const { return "concat"; }
  std::string_view operator()(const Split&) const { return "split"; }
  std::string_view operator()(const Slice&) const { return "slice"; }
  std::string_view operator()(const Reshape&) const { return "reshape"; }
  std::string_view operator()(const Flatten&) const { return "flatten"; }
  std::string_view operator()(const Transpose&) const { return "transpose"; }
  std::string_view operator()(const Expand&) const { return "expand"; }
  std::string_view operator()(const Resize& op) const { return resize_names[op.kind]; }
  std::string_view operator()(const Pad&) const { return "pad"; }
  std::string_view operator()(const Embedding&) const { return "embedding"; }
  std::string_view operator()(const Gather&) const { return "gather"; }
  std::string_view operator()(const ChannelShuffle&) const { return "channel_shuffle"; }
  std::string_view operator()(const SpaceToDepth& op) const {
    return op.inverse ? "depth_to_space" : "space_to_depth";
  }
  std::string_view operator()(const Yolo&) const { return "yolo"; }
  std::string_view operator()(const Opaque&) const { return "opaque"; }
};

// Group normalisation without groups is instance normalisation, so the other name needs a number to
// start from: Wu and He, "Group Normalization" (2018), section 4.1, use 32.
constexpr std::int64_t usual_norm_groups = 32;

/// One operator per name that can be given, with default attributes, in the order of operators.hpp.
class Prototypes {
 public:
  Prototypes() { add_all(std::make_index_sequence<std::variant_size_v<AnyOperator>>()); }
  std::vector<Operator> all;

 private:
  template <std::size_t... indices>
  void add_all(std::index_sequence<indices...>) {
    (add(std::variant_alternative_t<indices, AnyOperator>()), ...);
  }

  template <class Op>
  void add(Op op) {
    if constexpr (requires { op.kind; }) {
      add_kinds(op, op.kind);
    } else if constexpr (requires { op.cell; }) {
      add_kinds(op, op.cell);
    } else {
      all.emplace_back(std::move(op));
    }
  }
  void add(Convolution op) { add_switch(op, op.transposed); }
  void add(Softmax op) { add_switch(op, op.log); }
  void add(SpaceToDepth op) { add_switch(op, op.inverse); }
  void add(GroupNorm op) {
    all.emplace_back(GroupNorm{.groups = usual_norm_groups});
    all.emplace_back(op);
  }

  static constexpr std::size_t count(CellKind) { return cell_names.entries.size(); }
  static constexpr std::size_t count(PoolKind) { return pool_names.entries.size(); }
  static constexpr std::size_t count(UnaryKind) { return unary_names.entries.size(); }
  static constexpr std::size_t count(ElementwiseKind) { return elementwise_names.entries.size(); }
  static constexpr std::size_t count(ReduceKind) { return reduce_names.entries.size(); }
  static constexpr std::size_t count(ResizeKind) { return resize_names.entries.size(); }

  // `kind` is a member of `op`.
  template <class Op, class Kind>
  void add_kinds(Op& op, Kind& kind) {
    for (std::size_t i = 0; i < count(Kind{}); ++i) {
      kind = static_cast<Kind>(i);
      all.emplace_back(op);
    }
  }
  template <class Op>
  void add_switch(Op& op, bool& member) {
    for (const bool value : {false, true}) {
      member = value;
      all.emplace_back(op);
    }
  }
};

const std::vector<Operator>& prototypes() {
  static const Prototypes made;
  return made.all;
}

}  // namespace

std::string_view name_of(const Operator& op) { return std::visit(NameOf{}, op); }

std::optional<Operator> operator_named(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Operator*> made;
    for (const Operator& op : prototypes()) made.emplace(name_of(op), &op);
    return made;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? std::nullopt : std::optional(*found->second);
}

std::span<const std::string_view> operator_names() {
  static const auto names = [] {
    std::vector<std::string_view> made;
    for (const Operator& op : prototypes()) made.push_back(name_of(op));
    return made;
  }();
  return names;
}

std::string_view operator_word(const Graph& graph, const Node& node) {
  const auto* opaque = std::get_if<Opaque>(&node.op);
  if (graph.recording == nullptr || opaque == nullptr) return name_of(node.op);
  return opaque->type;
}

}  // namespace strata
