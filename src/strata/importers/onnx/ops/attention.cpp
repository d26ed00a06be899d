// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"
#include "strata/importers/onnx/ops/product.hpp"

#include <array>
#include <optional>

// Attention as one node: opset 23, and ONNX Runtime's forms. Strata's Attention takes Q, K and V as
// [N, T, heads·d]; some of these have [N, heads, T, d].
namespace strata::onnx {
namespace {

Axes swap_heads() { return {0, 2, 1, 3}; }

// [N, heads, T, d] → [N, T, heads·d]; other tensors stay.
DraftId heads_last(OpContext& context, DraftId x) {
  const Shape shape = context.draft().shape(x);
  if (shape.size() != 4) return x;
  const Dim width = context.symbols().multiply(shape[1], shape[3]);
  return context.reshaped(context.transposed(x, swap_heads(), "heads_last"),
                          {shape[0], shape[2], width}, "join_heads");
}

// [N, T, heads·d] → [N, heads, T, d]
DraftId heads_first(OpContext& context, DraftId x, std::int64_t heads) {
  const Shape shape = context.draft().shape(x);
  const std::int64_t width = number_of(context, shape[2], "the width");
  const DraftId split =
      context.reshaped(x, {shape[0], shape[1], heads, width / heads}, "split_heads");
  return context.transposed(split, swap_heads(), "heads_first");
}

void expect_heads(std::int64_t heads) {
  if (heads < 1) fail(ErrorKind::input, "the number of heads is {}", heads);
}

// A mask as one that broadcasts to [N, heads, S, T]; lengths per sample are no mask.
std::optional<DraftId> mask_of(OpContext& context, std::size_t input) {
  if (!context.has(input)) return std::nullopt;
  const DraftId mask = context.tensor(input);
  const Shape s = context.draft().shape(mask);
  switch (s.size()) {
    case 2: return context.reshaped(mask, {s[0], 1, 1, s[1]}, "mask");
    case 3: return context.reshaped(mask, {s[0], 1, s[1], s[2]}, "mask");
    case 4: return mask;
    default: return std::nullopt;
  }
}

/// What all forms come down to.
struct Parts {
  DraftId q = no_tensor;
  DraftId k = no_tensor;
  DraftId v = no_tensor;
  std::optional<DraftId> mask;
  std::optional<DraftId> bias;
};

// Earlier keys and values, [N, heads, P, d], come before the new ones.
DraftId with_past(OpContext& context, std::size_t past, DraftId x) {
  if (!context.has(past)) return x;
  const DraftId earlier = heads_last(context, context.tensor(past));
  return context.add(Concat{1}, {earlier, x}, {}, "past");
}

DraftId attention(OpContext& context, const Attention& op, const Parts& parts) {
  std::vector<DraftId> inputs = {parts.q, parts.k, parts.v};
  if (parts.mask && parts.bias) {
    inputs.push_back(context.add(Elementwise{}, {*parts.bias, *parts.mask}, {}, "masks"));
  } else if (parts.mask || parts.bias) {
    inputs.push_back(parts.mask ? *parts.mask : *parts.bias);
  }
  return context.add(op, inputs);
}

// ---- opset 23 -----------------------------------------------------------------------------------

void lower_attention(OpContext& context) {
  const std::size_t rank = context.rank(0);
  if (rank != 3 && rank != 4) fail(ErrorKind::input, "Q has {} axes, expected 3 or 4", rank);
  const auto heads_of = [&](std::size_t input, std::string_view attribute) {
    if (rank == 3) return context.integer(attribute, 0);
    if (context.rank(input) != 4) fail(ErrorKind::input, "Q, K and V differ in their axes");
    return number_of(context, context.shape(input)[1], "the number of heads");
  };
  const std::int64_t heads = heads_of(0, "q_num_heads");
  const std::int64_t kv_heads = heads_of(1, "kv_num_heads");
  expect_heads(heads);
  expect_heads(kv_heads);
  Parts parts{heads_last(context, context.tensor(0)), heads_last(context, context.tensor(1)),
              heads_last(context, context.tensor(2)), mask_of(context, 3), std::nullopt};
  parts.k = with_past(context, 4, parts.k);
  parts.v = with_past(context, 5, parts.v);
  const bool is_causal = context.integer("is_causal", 0) != 0;
  const DraftId y = attention(context, {heads, kv_heads == heads ? 0 : kv_heads, is_causal}, parts);
  context.set(0, rank == 4 ? heads_first(context, y, heads) : y);
  if (context.wants(1)) context.set(1, heads_first(context, parts.k, kv_heads));
  if (context.wants(2)) context.set(2, heads_first(context, parts.v, kv_heads));
}

// ---- ONNX Runtime -------------------------------------------------------------------------------

// Q, K and V in one tensor, side by side on the last axis.
Parts split_parts(OpContext& context, DraftId packed, const std::vector<std::int64_t>& sizes) {
  const std::vector<DraftId> parts =
      context.add_all(Split{2, sizes, 0}, std::array{packed}, {}, "split");
  return {parts[0], parts[1], parts[2], std::nullopt, std::nullopt};
}

// past and present are [2, N, heads, T, d]: keys, then values.
DraftId past_part(OpContext& context, std::size_t input, std::int64_t part) {
  const Shape past = context.shape(input);
  if (past.size() != 5) fail(ErrorKind::input, "the past has {} axes, expected 5", past.size());
  const DraftId one = context.add(Slice{{0}, {part}, {part + 1}, {1}}, {context.tensor(input)}, {},
                                  part == 0 ? "past_keys" : "past_values");
  return heads_last(context, context.reshaped(one, {past[1], past[2], past[3], past[4]}));
}

void set_present(OpContext& context, const Parts& parts, std::int64_t heads) {
  if (!context.wants(1)) return;
  const auto stacked = [&](DraftId x) {
    const DraftId first = heads_first(context, x, heads);
    const Shape s = context.draft().shape(first);
    return context.reshaped(first, {1, s[0], s[1], s[2], s[3]}, "stack");
  };
  context.set(1, context.add(Concat{0}, {stacked(parts.k), stacked(parts.v)}, {}, "present"));
}

void lower_microsoft_attention(OpContext& context) {
  const std::int64_t heads = context.integer("num_heads", 0);
  expect_heads(heads);
  if (context.rank(0) != 3 || !is_matrix_weight(context, 1)) {
    fail(ErrorKind::unsupported, "expected an input of 3 axes and a stored matrix");
  }
  const std::int64_t width = number_of(context, context.shape(1)[1], "the width of the weight");
  const std::vector<std::int64_t> sizes =
      context.integers("qkv_hidden_sizes")
          .value_or(std::vector<std::int64_t>{width / 3, width / 3, width - width / 3 * 2});
  if (sizes.size() != 3) fail(ErrorKind::input, "qkv_hidden_sizes has {} entries", sizes.size());
  const DraftId packed = linear(context, context.tensor(0), {.bias = 2}, "qkv");
  Parts parts = split_parts(context, packed, sizes);
  if (context.has(4)) {
    parts.k = context.add(Concat{1}, {past_part(context, 4, 0), parts.k}, {}, "keys");
    parts.v = context.add(Concat{1}, {past_part(context, 4, 1), parts.v}, {}, "values");
  }
  parts.mask = mask_of(context, 3);
  parts.bias = mask_of(context, 5);
  const bool is_causal = context.integer("unidirectional", 0) != 0;
  context.set(0, attention(context, {heads, 0, is_causal}, parts));
  set_present(context, parts, heads);
}

// One bias for Q, K and V, side by side.
void add_biases(OpContext& context, std::size_t input, Parts& parts) {
  if (!context.has(input)) return;
  const DraftId biases = context.tensor(input);
  std::int64_t begin = 0;
  for (DraftId* const part : {&parts.q, &parts.k, &parts.v}) {
    const Shape& shape = context.draft().shape(*part);
    if (shape.empty()) fail(ErrorKind::input, "one of Q, K and V has no axes");
    const std::int64_t width = number_of(context, shape.back(), "a width of Q, K or V");
    const std::int64_t end = checked_add(begin, width);
    const DraftId bias = context.add(Slice{{0}, {begin}, {end}, {1}}, {biases}, {}, "bias");
    *part = context.add(Elementwise{}, {*part, bias}, {}, "add_bias");
    begin = end;
  }
}

// [N, T, heads, parts, d] → the parts as [N, T, heads·d].
std::vector<DraftId> unpacked(OpContext& context, std::size_t input, std::int64_t parts) {
  const Shape s = context.shape(input);
  if (s.size() != 5) fail(ErrorKind::input, "packed keys and values have 5 axes, got {}", s.size());
  std::vector<DraftId> result =
      context.add_all(Split{3, {}, parts}, std::array{context.tensor(input)}, {}, "unpack");
  const Dim width = context.symbols().multiply(s[2], s[4]);
  for (DraftId& part : result) part = context.reshaped(part, {s[0], s[1], width}, "join_heads");
  return result;
}

void lower_multi_head_attention(OpContext& context) {
  const std::int64_t heads = context.integer("num_heads", 0);
  expect_heads(heads);
  Parts parts;
  if (!context.has(1)) {
    const std::vector<DraftId> packed = unpacked(context, 0, 3);
    parts = {packed[0], packed[1], packed[2], std::nullopt, std::nullopt};
  } else if (!context.has(2)) {
    const std::vector<DraftId> packed = unpacked(context, 1, 2);
    parts = {context.tensor(0), packed[0], packed[1], std::nullopt, std::nullopt};
  } else {
    parts = {context.tensor(0), heads_last(context, context.tensor(1)),
             heads_last(context, context.tensor(2)), std::nullopt, std::nullopt};
  }
  add_biases(context, 3, parts);
  parts.mask = mask_of(context, 4);
  parts.bias = mask_of(context, 5);
  parts.k = with_past(context, 6, parts.k);
  parts.v = with_past(context, 7, parts.v);
  const bool is_causal = context.integer("unidirectional", 0) != 0;
  context.set(0, attention(context, {heads, 0, is_causal}, parts));
  if (context.wants(1)) context.set(1, heads_first(context, parts.k, heads));
  if (context.wants(2)) context.set(2, heads_first(context, parts.v, heads));
}

// ---- rotary -------------------------------------------------------------------------------------

DraftId rotated(OpContext& context, DraftId x, std::int64_t heads) {
  const Shape shape = context.draft().shape(x);
  if (shape.size() != 3) fail(ErrorKind::input, "rotary embedding of {} axes", shape.size());
  const std::int64_t width = number_of(context, shape[2], "the width");
  if (heads < 1 || width % heads != 0 || width / heads % 2 != 0) {
    fail(ErrorKind::input, "width {} does not split into {} heads of even width", width, heads);
  }
  const TensorType table{{shape[1], width / heads / 2}, context.draft().type(x).dtype};
  Session& session = context.session();
  const DraftId cosine = session.new_weight({}, table, "cosine", TensorKind::constant);
  const DraftId sine = session.new_weight({}, table, "sine", TensorKind::constant);
  return context.add(RotaryEmbedding{heads}, {x}, {cosine, sine}, "rotary");
}

// ONNX: X, cos, sin, positions; ONNX Runtime: X, positions, cos, sin.
template <std::size_t cosine>
void lower_rotary(OpContext& context) {
  if (context.rank(0) != 3 && context.rank(0) != 4) {
    fail(ErrorKind::input, "rotary embedding of {} axes, expected 3 or 4", context.rank(0));
  }
  const bool has_heads_axis = context.rank(0) == 4;
  std::int64_t heads = context.integer("num_heads", 0);
  if (has_heads_axis) heads = number_of(context, context.shape(0)[1], "the number of heads");
  if (heads == 0 && context.has(cosine) && !context.shape(cosine).empty()) {
    const std::int64_t pairs = number_of(context, context.shape(cosine).back(), "a table's width");
    if (pairs < 1) fail(ErrorKind::input, "a table of width {}", pairs);
    heads = number_of(context, context.shape(0).back(), "the width") / checked_mul(pairs, 2);
  }
  if (context.integer("rotary_embedding_dim", 0) != 0) {
    context.warn(WarningCode::value_assumed,
                 context.place() + ": rotates a part of each head; counted as all of it");
  }
  const DraftId y = rotated(context, heads_last(context, context.tensor(0)), heads);
  context.set(0, has_heads_axis ? heads_first(context, y, heads) : y);
}

void lower_group_query_attention(OpContext& context) {
  const std::int64_t heads = context.integer("num_heads", 0);
  const std::int64_t kv_heads = context.integer("kv_num_heads", heads);
  expect_heads(heads);
  expect_heads(kv_heads);
  Parts parts;
  if (context.has(1) && context.has(2)) {
    parts = {context.tensor(0), context.tensor(1), context.tensor(2), std::nullopt, std::nullopt};
  } else {
    if (context.rank(0) != 3) fail(ErrorKind::input, "Q has {} axes, expected 3", context.rank(0));
    const std::int64_t width = number_of(context, context.shape(0)[2], "the width");
    const std::int64_t head = width / checked_add(heads, checked_mul(kv_heads, 2));
    parts = split_parts(
        context, context.tensor(0),
        {checked_mul(heads, head), checked_mul(kv_heads, head), checked_mul(kv_heads, head)});
  }
  if (context.integer("do_rotary", 0) != 0) {
    parts.q = rotated(context, parts.q, heads);
    parts.k = rotated(context, parts.k, kv_heads);
  }
  parts.k = with_past(context, 3, parts.k);
  parts.v = with_past(context, 4, parts.v);
  context.set(0, attention(context, {heads, kv_heads == heads ? 0 : kv_heads, true}, parts));
  if (context.wants(1)) context.set(1, heads_first(context, parts.k, kv_heads));
  if (context.wants(2)) context.set(2, heads_first(context, parts.v, kv_heads));
}

constexpr std::array attention_rows = {
    OpRow{"Attention", lower_attention, ""},
    OpRow{"Attention", lower_microsoft_attention, microsoft},
    OpRow{"GroupQueryAttention", lower_group_query_attention},
    OpRow{"MultiHeadAttention", lower_multi_head_attention},
    OpRow{"RotaryEmbedding", lower_rotary<1>, ""},
    OpRow{"RotaryEmbedding", lower_rotary<2>, microsoft},
};

}  // namespace

std::span<const OpRow> attention_ops() { return attention_rows; }

}  // namespace strata::onnx
