// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/synthetic_data.hpp"

#include "strata/convolution/lab/on_all_cores.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

namespace strata {
namespace {

using Kind = Initializer::Kind;

struct Reader {
  const Node* node = nullptr;
  std::size_t input = 0;
};

std::vector<Reader> readers_of(const Graph& graph, TensorId tensor) {
  std::vector<Reader> readers;
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == tensor) readers.push_back({&node, i});
    }
  }
  return readers;
}

Initializer constant(double value) { return {Kind::constant, value, value}; }
Initializer around_zero(double limit) { return {Kind::uniform, -limit, limit}; }

// Uniform numbers within ±l have the variance l²/3.
Initializer he_uniform(double fan_in) { return around_zero(std::sqrt(6 / std::max(1.0, fan_in))); }

double product_from(const BoundTensor& tensor, std::size_t axis) {
  double product = 1;
  for (; axis < tensor.axes(); ++axis) product *= static_cast<double>(tensor[axis]);
  return product;
}

constexpr double prelu_slope = 0.25;    // PyTorch's
constexpr double table_limit = 0.05;    // looked up rows, positions
constexpr std::size_t mask_input = 3;   // of Attention
constexpr double fewest_of_no_use = 2;  // whole numbers that choose nothing we know of

/// Of a tensor that belongs to the operator; `own` counts from its first.
class OwnInitializer {
 public:
  OwnInitializer(const BoundTensor& tensor, std::size_t own) : tensor_(tensor), own_(own) {}

  Initializer operator()(const Convolution& op) const {
    if (own_ > 0) return constant(0);
    const double fan_in = op.transposed
                              ? static_cast<double>(tensor_[0]) / static_cast<double>(op.groups) *
                                    product_from(tensor_, 2)
                              : product_from(tensor_, 1);
    return he_uniform(fan_in);
  }
  Initializer operator()(const Linear&) const {
    return own_ > 0 ? constant(0) : he_uniform(product_from(tensor_, 1));
  }
  Initializer operator()(const Recurrent& op) const {
    return around_zero(1 / std::sqrt(static_cast<double>(op.hidden)));
  }
  Initializer operator()(const BatchNorm& op) const {
    const std::size_t learnt = (op.scale ? 1 : 0) + (op.shift ? 1 : 0);
    if (own_ >= learnt) return constant(own_ == learnt ? 0 : 1);  // running mean, variance
    return constant(own_ == 0 && op.scale ? 1 : 0);
  }
  Initializer operator()(const LayerNorm& op) const { return scale_or_shift(op.scale); }
  Initializer operator()(const GroupNorm& op) const { return scale_or_shift(op.scale); }
  Initializer operator()(const RmsNorm&) const { return constant(1); }
  Initializer operator()(const Unary&) const { return constant(prelu_slope); }
  Initializer operator()(const Embedding&) const { return around_zero(table_limit); }
  Initializer operator()(const RotaryEmbedding&) const {
    return {own_ == 0 ? Kind::cosine : Kind::sine, 0, 0};
  }
  template <class Op>
  Initializer operator()(const Op&) const {
    return tensor_.axes() > 1 ? he_uniform(product_from(tensor_, 1)) : constant(0);
  }

 private:
  Initializer scale_or_shift(bool has_scale) const {
    return constant(own_ == 0 && has_scale ? 1 : 0);
  }

  const BoundTensor& tensor_;
  std::size_t own_;
};

/// Of a learnt or fixed tensor that is an operand like any other.
Initializer operand_initializer(const Reader& reader, const BoundTensor& tensor, bool is_learnt) {
  const Operator& op = reader.node->op;
  if (!is_floating(tensor.dtype)) return constant(0);
  if (std::holds_alternative<Attention>(op) && reader.input == mask_input) return constant(0);
  if (const auto* join = std::get_if<Elementwise>(&op)) {
    const bool adds = join->kind == ElementwiseKind::add || join->kind == ElementwiseKind::subtract;
    if (adds) return is_learnt ? around_zero(table_limit) : constant(0);
    return constant(1);
  }
  if (!is_learnt) return constant(1);
  if (const auto* product = std::get_if<MatMul>(&op); product && tensor.axes() > 1) {
    const bool is_b = reader.input == 1;
    const bool is_transposed = is_b ? product->transpose_b : product->transpose_a;
    const std::size_t summed = tensor.axes() - (is_b != is_transposed ? 2 : 1);
    return he_uniform(static_cast<double>(tensor[summed]));
  }
  return around_zero(table_limit);
}

bool passes_numbers_on(const Operator& op) {
  return std::visit(
      [](const auto& it) {
        using Op = std::remove_cvref_t<decltype(it)>;
        return std::is_same_v<Op, Reshape> || std::is_same_v<Op, Flatten> ||
               std::is_same_v<Op, Transpose> || std::is_same_v<Op, Slice> ||
               std::is_same_v<Op, Concat> || std::is_same_v<Op, Split> ||
               std::is_same_v<Op, Cast> || std::is_same_v<Op, Expand> || std::is_same_v<Op, Pad>;
      },
      op);
}

std::optional<double> chosen_from(const BoundGraph& bound, const Reader& reader) {
  const Operator& op = reader.node->op;
  if (const auto* embedding = std::get_if<Embedding>(&op); embedding && reader.input == 0)
    return static_cast<double>(embedding->vocabulary);
  const BoundTensor& first = bound.tensors[reader.node->inputs[0]];
  if (const auto* gather = std::get_if<Gather>(&op); gather && reader.input == 1)
    return static_cast<double>(first[normal_axis(gather->axis, first.axes())]);
  if (const auto* loss = std::get_if<SoftmaxCrossEntropy>(&op); loss && reader.input == 1)
    return static_cast<double>(first[normal_axis(loss->axis, first.axes())]);
  return std::nullopt;
}

// The smallest table that the numbers choose from, directly or after they were moved about.
Initializer whole_initializer(const BoundGraph& bound, TensorId tensor) {
  std::vector<bool> is_seen(bound.tensors.size(), false);
  std::vector<TensorId> open = {tensor};
  is_seen[tensor] = true;
  std::optional<double> below;
  while (!open.empty()) {
    const TensorId at = open.back();
    open.pop_back();
    for (const Reader& reader : readers_of(*bound.graph, at)) {
      if (const auto choices = chosen_from(bound, reader))
        below = std::min(below.value_or(*choices), *choices);
      if (!passes_numbers_on(reader.node->op)) continue;
      for (const TensorId output : reader.node->outputs) {
        if (!is_seen[output]) open.push_back(output);
        is_seen[output] = true;
      }
    }
  }
  return {Kind::whole, 0, below.value_or(fewest_of_no_use)};
}

std::uint64_t scrambled(std::uint64_t z) {  // splitmix64, as measure/convolution has it
  z += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

double unit_number(std::uint64_t key, std::int64_t index) {
  return static_cast<double>(scrambled(key + static_cast<std::uint64_t>(index)) >> 11) * 0x1p-53;
}

// Su et al., "RoFormer", 2021: position × 10000^(−2·pair/width).
double angle(std::int64_t index, const BoundTensor& table) {
  const std::int64_t pairs = table[table.axes() - 1];
  const std::int64_t row = index / pairs;
  const auto position = static_cast<double>(row);
  const double part = static_cast<double>(index % pairs) / static_cast<double>(pairs);
  return position * std::pow(10000.0, -part);
}

}  // namespace

Initializer initializer_of(const BoundGraph& bound, TensorId id) {
  const Tensor& tensor = bound.graph->tensors[id];
  const BoundTensor& shape = bound.tensors[id];
  const std::vector<Reader> readers = readers_of(*bound.graph, id);
  if (tensor.kind == TensorKind::input) {
    if (!is_floating(shape.dtype)) return whole_initializer(bound, id);
    const bool is_mask = std::any_of(readers.begin(), readers.end(), [](const Reader& reader) {
      return std::holds_alternative<Attention>(reader.node->op) && reader.input == mask_input;
    });
    return is_mask ? constant(0) : around_zero(1);
  }
  if (readers.empty()) return constant(0);
  for (const Reader& reader : readers) {
    if (reader.input >= reader.node->first_own)
      return std::visit(OwnInitializer(shape, reader.input - reader.node->first_own),
                        reader.node->op);
  }
  return operand_initializer(readers.front(), shape, tensor.kind == TensorKind::parameter);
}

Initializer stand_in_initializer(const BoundTensor& tensor) {
  return is_floating(tensor.dtype) ? around_zero(1) : constant(0);
}

Initializer given_gradient_initializer(const BoundTensor& tensor) {
  if (tensor.elements == 1) return constant(1);
  return around_zero(1 / std::sqrt(static_cast<double>(tensor.elements)));
}

std::uint64_t fill_key(std::uint64_t seed, std::uint64_t thing) {
  return scrambled(scrambled(seed) ^ thing);
}

void fill(std::span<double> numbers, std::int64_t begin, const Initializer& initializer,
          const BoundTensor& shape, std::uint64_t key) {
  const auto number = [&](std::int64_t index) {
    switch (initializer.kind) {
      case Kind::constant: return initializer.low;
      case Kind::uniform:
        return initializer.low + (initializer.high - initializer.low) * unit_number(key, index);
      case Kind::whole:
        return std::floor(initializer.low +
                          (initializer.high - initializer.low) * unit_number(key, index));
      case Kind::cosine: return std::cos(angle(index, shape));
      case Kind::sine: return std::sin(angle(index, shape));
    }
    return 0.0;
  };
  constexpr std::int64_t worth_it = 1 << 16;
  on_all_cores(static_cast<std::int64_t>(numbers.size()), worth_it,
               [&](std::int64_t first, std::int64_t last) {
                 for (std::int64_t i = first; i < last; ++i)
                   numbers[static_cast<std::size_t>(i)] = number(begin + i);
               });
}

}  // namespace strata
