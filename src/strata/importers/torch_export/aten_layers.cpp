// SPDX-License-Identifier: Apache-2.0
// Layers with weights, pooling and attention.
#include "strata/base/error.hpp"
#include "strata/importers/torch_export/op_call.hpp"

#include <fmt/format.h>

#include <array>

namespace strata::torch_export {
namespace {

Integers both_sides(const Integers& padding) {
  Integers pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

/// conv1d, conv2d, conv3d, convolution, conv_transpose2d.
void translate_convolution(OpCall& call) {
  const Integers weight = call.fixed_sizes(call.value("weight"));
  if (weight.size() < 3) fail(ErrorKind::input, "a weight of {} axes", weight.size());
  const std::size_t count = weight.size() - 2;
  const bool is_transposed =
      call.flag("transposed", call.target().find("transpose") != std::string::npos);
  Attributes attributes = {{"kernel_shape", Integers(weight.begin() + 2, weight.end())},
                           {"strides", call.integers("stride", count, 1)},
                           {"dilations", call.integers("dilation", count, 1)},
                           {"group", call.integer("groups", 1)}};
  const std::string padding = call.word("padding", "");
  if (padding.empty()) {
    attributes.emplace_back("pads", both_sides(call.integers("padding", count, 0)));
  } else {
    attributes.emplace_back("auto_pad", padding == "same" ? "SAME_UPPER" : "VALID");
  }
  if (is_transposed)
    attributes.emplace_back("output_padding", call.integers("output_padding", count, 0));
  std::vector<std::string> inputs = {call.tensor("input"), call.tensor("weight")};
  if (call.has("bias")) inputs.push_back(call.tensor("bias"));
  call.add(is_transposed ? "ConvTranspose" : "Conv", std::move(inputs), std::move(attributes));
}

void translate_linear(OpCall& call) {
  const bool has_bias = call.has("bias");
  if (call.rank(call.value("input")) == 2) {
    std::vector<std::string> inputs = {call.tensor("input"), call.tensor("weight")};
    if (has_bias) inputs.push_back(call.tensor("bias"));
    return call.add("Gemm", std::move(inputs), {{"transB", std::int64_t{1}}});
  }
  const std::string turned =
      call.add_inner("Transpose", {call.tensor("weight")}, {{"perm", Integers{1, 0}}});
  if (!has_bias) return call.add("MatMul", {call.tensor("input"), turned});
  call.add("Add", {call.add_inner("MatMul", {call.tensor("input"), turned}), call.tensor("bias")});
}

void translate_addmm(OpCall& call) {
  call.add("Gemm", {call.tensor("mat1"), call.tensor("mat2"), call.tensor("self")});
}

template <const char* left, const char* right>
void translate_product(OpCall& call) {
  call.add("MatMul", {call.tensor(left), call.tensor(right)});
}
constexpr char self_word[] = "self", other_word[] = "other", mat2_word[] = "mat2";

void translate_batch_norm(OpCall& call) {
  if (!call.has("weight"))
    fail(ErrorKind::unsupported, "batch normalisation without a weight (affine=False)");
  call.add("BatchNormalization",
           {call.tensor("input"), call.tensor("weight"), call.tensor("bias"),
            call.tensor("running_mean"), call.tensor("running_var")},
           {{"epsilon", call.real("eps", 1e-5)}});
}

void translate_layer_norm(OpCall& call) {
  if (!call.has("weight"))
    fail(ErrorKind::unsupported, "layer normalisation without a weight (elementwise_affine=False)");
  const auto axes = static_cast<std::int64_t>(call.integers("normalized_shape").size());
  std::vector<std::string> inputs = {call.tensor("input"), call.tensor("weight")};
  if (call.has("bias")) inputs.push_back(call.tensor("bias"));
  const bool is_rms = call.target().starts_with("aten.rms_norm");
  call.add(is_rms ? "RMSNormalization" : "LayerNormalization", std::move(inputs),
           {{"axis", -axes}, {"epsilon", call.real("eps", 1e-5)}});
}

void translate_group_norm(OpCall& call) {
  if (!call.has("weight"))
    fail(ErrorKind::unsupported, "group normalisation without a weight (affine=False)");
  call.add("GroupNormalization", {call.tensor("input"), call.tensor("weight"), call.tensor("bias")},
           {{"num_groups", call.integer("num_groups", 1)}, {"epsilon", call.real("eps", 1e-5)}});
}

/// The first output; the places of the largest are for backward.
template <bool is_max>
void translate_pool(OpCall& call) {
  const std::size_t count =
      call.rank(call.value("self")) < 3 ? 1 : call.rank(call.value("self")) - 2;
  const Integers kernel = call.integers("kernel_size", count, 1);
  Integers stride = call.integers("stride");
  if (stride.empty()) stride = kernel;
  if (stride.size() == 1) stride.resize(count, stride.front());
  Attributes attributes = {{"kernel_shape", kernel},
                           {"strides", stride},
                           {"pads", both_sides(call.integers("padding", count, 0))},
                           {"ceil_mode", std::int64_t{call.flag("ceil_mode", false)}}};
  if (is_max) {
    attributes.emplace_back("dilations", call.integers("dilation", count, 1));
  } else {
    attributes.emplace_back("count_include_pad",
                            std::int64_t{call.flag("count_include_pad", true)});
  }
  call.add(is_max ? "MaxPool" : "AveragePool", {call.tensor("self")}, std::move(attributes));
}

/// Windows of one size, where the output divides the input.
void translate_adaptive_pool(OpCall& call) {
  const std::vector<Size>& before = call.sizes(call.value("self"));
  const std::size_t count = before.size() < 3 ? 1 : before.size() - 2;
  const Integers wanted = call.integers("output_size", count, 1);
  const bool is_max = call.target().find("max") != std::string::npos;
  bool is_global = true;
  for (const std::int64_t size : wanted) is_global = is_global && size == 1;
  if (is_global)
    return call.add(is_max ? "GlobalMaxPool" : "GlobalAveragePool", {call.tensor("self")});
  Integers window;
  for (std::size_t i = 0; i < count; ++i) {
    const Size& size = before[before.size() - count + i];
    if (!size.is_number() || wanted[i] < 1 || size.number % wanted[i] != 0)
      fail(ErrorKind::unsupported, "adaptive pooling to {}, which does not divide the input",
           wanted[i]);
    window.push_back(size.number / wanted[i]);
  }
  call.add(is_max ? "MaxPool" : "AveragePool", {call.tensor("self")},
           {{"kernel_shape", window}, {"strides", window}});
}

/// A mask that nothing of the input goes into (causal, all ones) is left out.
void translate_attention(OpCall& call) {
  std::vector<std::string> inputs = {call.tensor("query"), call.tensor("key"),
                                     call.tensor("value")};
  if (call.has("attn_mask") && !call.is_fixed(call.value("attn_mask")))
    inputs.push_back(call.tensor("attn_mask"));
  call.add("Attention", std::move(inputs),
           {{"is_causal", std::int64_t{call.flag("is_causal", false)}}});
}

void translate_embedding(OpCall& call) {
  call.add("Gather", {call.tensor("weight"), call.tensor("indices")}, {{"axis", std::int64_t{0}}});
}

struct Recurrence {
  std::string_view op;
  std::int64_t gates;
};

Recurrence recurrence_of(std::string_view target) {
  if (target.starts_with("aten.lstm")) return {"LSTM", 4};
  if (target.starts_with("aten.gru")) return {"GRU", 3};
  return {"RNN", 1};
}

/// A layer's weights are one tensor per role in ONNX: directions × gates × width.
std::string translate_recurrent_layer(OpCall& call, const std::string& sequence, std::size_t layer,
                                      std::span<const std::string> parameters,
                                      std::int64_t directions, bool has_biases) {
  const Recurrence kind = recurrence_of(call.target());
  const Integers input_weight = call.fixed_sizes(parameters[0]);
  const Integers hidden_weight = call.fixed_sizes(parameters[1]);
  if (input_weight.size() != 2 || hidden_weight.size() != 2)
    fail(ErrorKind::input, "weights of a recurrent layer have two axes");
  const std::int64_t type = call.type_of(parameters[0]);
  const auto named = [&](std::string_view role) {
    return fmt::format("{}.{}_l{}", call.output(), role, layer);
  };
  std::vector<std::string> inputs = {
      sequence,
      call.new_weight(named("weight_ih"), {directions, input_weight[0], input_weight[1]}, type),
      call.new_weight(named("weight_hh"), {directions, hidden_weight[0], hidden_weight[1]}, type)};
  if (has_biases)
    inputs.push_back(call.new_weight(named("bias"), {directions, 2 * input_weight[0]}, type));
  const std::string all =
      call.add_inner(kind.op, std::move(inputs),
                     {{"hidden_size", hidden_weight[1]},
                      {"direction", std::string(directions == 2 ? "bidirectional" : "forward")}});
  // steps × directions × batch × width
  const std::string together = call.add_inner("Transpose", {all}, {{"perm", Integers{0, 2, 1, 3}}});
  return call.add_inner("Reshape", {together, call.constant({0, 0, -1})});
}

/// States at the beginning are zeros or given: either way they are no work.
void translate_recurrent(OpCall& call) {
  const std::vector<std::string> parameters = call.values("params");
  const bool has_biases = call.flag("has_biases", true);
  const std::int64_t directions = call.flag("bidirectional", false) ? 2 : 1;
  const std::int64_t layers = call.integer("num_layers", 1);
  const std::size_t each = static_cast<std::size_t>(directions) * (has_biases ? 4 : 2);
  if (layers < 1 || layers > 1000 || parameters.size() != each * static_cast<std::size_t>(layers))
    fail(ErrorKind::unsupported, "{} weights for {} layers (projections are not read)",
         parameters.size(), layers);
  if (call.rank(call.value("input")) != 3)
    fail(ErrorKind::unsupported, "a sequence without a batch");
  const bool is_batch_first = call.flag("batch_first", false);
  std::string sequence = call.tensor("input");
  if (is_batch_first)
    sequence = call.add_inner("Transpose", {sequence}, {{"perm", Integers{1, 0, 2}}});
  const double dropout = call.real("dropout", 0);
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    if (layer > 0 && dropout > 0)
      sequence = call.add_inner("Dropout", {sequence, call.scalar(dropout, 1)});
    sequence = translate_recurrent_layer(call, sequence, layer,
                                         std::span(parameters).subspan(layer * each, each),
                                         directions, has_biases);
  }
  if (is_batch_first) return call.add("Transpose", {sequence}, {{"perm", Integers{1, 0, 2}}});
  call.add("Identity", {sequence});
}

constexpr std::array layer_table = {
    AtenRow{"aten.conv1d", translate_convolution},
    AtenRow{"aten.conv2d", translate_convolution},
    AtenRow{"aten.conv3d", translate_convolution},
    AtenRow{"aten.convolution", translate_convolution},
    AtenRow{"aten.conv_transpose1d", translate_convolution},
    AtenRow{"aten.conv_transpose2d", translate_convolution},
    AtenRow{"aten.conv_transpose3d", translate_convolution},
    AtenRow{"aten.linear", translate_linear},
    AtenRow{"aten.addmm", translate_addmm},
    AtenRow{"aten.matmul", translate_product<self_word, other_word>},
    AtenRow{"aten.mm", translate_product<self_word, mat2_word>},
    AtenRow{"aten.bmm", translate_product<self_word, mat2_word>},
    AtenRow{"aten.batch_norm", translate_batch_norm},
    AtenRow{"aten._native_batch_norm_legit", translate_batch_norm},
    AtenRow{"aten._native_batch_norm_legit_functional", translate_batch_norm},
    AtenRow{"aten._native_batch_norm_legit_no_training", translate_batch_norm},
    AtenRow{"aten.layer_norm", translate_layer_norm},
    AtenRow{"aten.native_layer_norm", translate_layer_norm},
    AtenRow{"aten.rms_norm", translate_layer_norm},
    AtenRow{"aten.group_norm", translate_group_norm},
    AtenRow{"aten.max_pool1d", translate_pool<true>},
    AtenRow{"aten.max_pool2d", translate_pool<true>},
    AtenRow{"aten.max_pool3d", translate_pool<true>},
    AtenRow{"aten.max_pool2d_with_indices", translate_pool<true>},
    AtenRow{"aten.avg_pool1d", translate_pool<false>},
    AtenRow{"aten.avg_pool2d", translate_pool<false>},
    AtenRow{"aten.avg_pool3d", translate_pool<false>},
    AtenRow{"aten.adaptive_avg_pool1d", translate_adaptive_pool},
    AtenRow{"aten.adaptive_avg_pool2d", translate_adaptive_pool},
    AtenRow{"aten._adaptive_avg_pool2d", translate_adaptive_pool},
    AtenRow{"aten.adaptive_max_pool2d", translate_adaptive_pool},
    AtenRow{"aten.scaled_dot_product_attention", translate_attention},
    AtenRow{"aten.embedding", translate_embedding},
    AtenRow{"aten.lstm", translate_recurrent},
    AtenRow{"aten.gru", translate_recurrent},
    AtenRow{"aten.rnn_tanh", translate_recurrent},
    AtenRow{"aten.rnn_relu", translate_recurrent},
};

}  // namespace

std::span<const AtenRow> layer_rows() { return layer_table; }

}  // namespace strata::torch_export
