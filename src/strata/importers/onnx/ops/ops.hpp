// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/op_context.hpp"

#include <span>
#include <string_view>

/// One row per operator of ONNX and of ONNX Runtime: a function that turns a node of the file into
/// nodes of the draft. To add an operator: a row in the table of its family.
namespace strata::onnx {

using Lower = void (*)(OpContext& context);

struct OpRow {
  std::string_view op;
  Lower lower;
  std::string_view domain = any_domain;

  /// ONNX's own domain and ONNX Runtime's.
  static constexpr std::string_view any_domain = "*";
};

inline constexpr std::string_view microsoft = "com.microsoft";

// One table per family, in the file of that name.
std::span<const OpRow> attention_ops();
std::span<const OpRow> convolution_ops();
std::span<const OpRow> loss_ops();
std::span<const OpRow> lookup_ops();
std::span<const OpRow> movement_ops();
std::span<const OpRow> normalization_ops();
std::span<const OpRow> pointwise_ops();
std::span<const OpRow> pool_ops();
std::span<const OpRow> product_ops();
std::span<const OpRow> quantization_ops();
std::span<const OpRow> recurrent_ops();
std::span<const OpRow> reduction_ops();
std::span<const OpRow> resize_ops();
std::span<const OpRow> refused_ops();
std::span<const OpRow> uncounted_ops();

/// nullptr when Strata does not know the operator.
Lower find_op(std::string_view domain, std::string_view op);
bool is_known_operator(std::string_view domain, std::string_view op);

/// Reads every node of the flat graph into the draft.
void lower_all(Session& session);

/// The node as one that is not counted, with outputs of these types.
void set_uncounted(OpContext& context, std::span<const TensorType> types);
void set_uncounted(OpContext& context, std::initializer_list<TensorType> types);
/// The same with the types that the file declares, or, for a single output, that of the first
/// input.
void lower_unknown(OpContext& context);

/// The number behind an extent that decides about structure.
std::int64_t number_of(OpContext& context, Dim dim, std::string_view what);

}  // namespace strata::onnx
