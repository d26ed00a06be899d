// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/aten_launches.hpp"

#include "strata/base/error.hpp"
#include "strata/operations/aten_shapes.hpp"
#include "strata/operations/aten_table.hpp"
#include "strata/operations/multi_tensor.hpp"

#include <algorithm>
#include <string>

namespace strata {
namespace {

OperationClass class_named(std::string_view name) {
  const auto found = operation_class_named(name);
  STRATA_CHECK(found.has_value(), "a class of kernels that rules name exists");
  return *found;
}

double number(std::int64_t count) { return static_cast<double>(count); }

/// The shares of an update with momentum that lists of tensors take: it reads and writes eight
/// numbers per weight.
double list_share(std::string_view base) {
  constexpr double all = 8;
  if (base.starts_with("_fused_sgd")) return 5 / all;
  if (base.starts_with("_foreach_norm")) return 1 / all;
  if (base.starts_with("_foreach_addc") || base.starts_with("_foreach_lerp")) return 4 / all;
  return 2 / all;
}

class Launches {
 public:
  Launches(const RecordedOperations& recording, const RecordedOperation& operation, bool is_tf32)
      : recording_(recording),
        operation_(operation),
        shapes_(recording, operation),
        is_tf32_(is_tf32) {}

  std::vector<RecordedLaunch> written() && {
    const AtenRule* rule = aten_rule(operation_.name);
    if (rule == nullptr) {
      stream_bytes();
    } else {
      for (const AtenLaunch& launch : rule->launches) {
        if (shapes_.holds(launch.when)) add(launch);
      }
    }
    return std::move(result_);
  }

 private:
  void add(const AtenLaunch& launch) {
    switch (launch.form) {
      case AtenForm::of_class: return of_class(launch);
      case AtenForm::product: return product(shapes_.product());
      case AtenForm::grouped: return product(shapes_.grouped_product());
      case AtenForm::convolution: return convolution();
      case AtenForm::convolution_backward: return convolution_backward();
      case AtenForm::attention: return attention("attention.forward");
      case AtenForm::attention_backward: return attention("attention.backward");
      case AtenForm::recurrent: return recurrent(".forward");
      case AtenForm::recurrent_backward: return recurrent(".backward");
      case AtenForm::sum: return sum();
      case AtenForm::copy: return copy();
      case AtenForm::resize: return elements("stream.copy", shapes_.elements(AtenWhere::output));
      case AtenForm::list: return list();
      case AtenForm::encoder: return encoder();
    }
  }

  /// A share of a class's time is another kernel of the same kind.
  void push(OperationClass kernel_class, KernelDims dims, double share = 1) {
    const DType stored = shapes_.precision();
    const KernelForm form = form_of(kernel_class);
    const bool multiplies = form == KernelForm::product || form == KernelForm::convolution ||
                            form == KernelForm::depthwise || form == KernelForm::recurrent ||
                            form == KernelForm::attention;
    const bool in_tf32 = stored == DType::fp32 && multiplies && is_tf32_;
    result_.push_back(
        {kernel_class, in_tf32 ? DType::tf32 : stored, dims, share, share == 1 ? 0.0 : 1.0});
  }

  void elements(std::string_view name, std::int64_t count, double share = 1) {
    if (count > 0) push(class_named(name), {number(count)}, share);
  }

  void of_class(const AtenLaunch& launch) {
    const std::int64_t count = shapes_.elements(launch.of);
    if (count == 0) return;
    const AtenRows rows = shapes_.rows();
    const OperationClass kernel_class = laid_out(launch.kernel_class);
    switch (form_of(kernel_class)) {
      case KernelForm::rows:
        return push(kernel_class, {number(rows.rows), number(rows.columns)}, launch.share);
      case KernelForm::channels: {
        const RecordedTensor* x =
            launch.of == AtenWhere::output ? shapes_.output() : shapes_.first_input();
        const std::int64_t channels = x == nullptr || x->axes() < 2 ? 1 : x->shape[1];
        return push(kernel_class, {number(channels), number(count / channels)}, launch.share);
      }
      case KernelForm::pool: return pool(launch);
      case KernelForm::lookup: return lookup(launch.kernel_class);
      default: return push(pointwise_class(kernel_class), {number(count)}, launch.share);
    }
  }

  /// Batch norm has kernels of its own for images with channels last.
  OperationClass laid_out(OperationClass kernel_class) const {
    constexpr std::string_view prefix = "batch_norm.";
    const std::string_view name = name_of(kernel_class);
    if (!name.starts_with(prefix) || !shapes_.is_channels_last()) return kernel_class;
    return class_named("batch_norm_nhwc." + std::string(name.substr(prefix.size())));
  }

  /// Sums and products of two tensors of which one is repeated take other kernels.
  OperationClass pointwise_class(OperationClass kernel_class) const {
    static const OperationClass add = class_named("stream.add"), mul = class_named("stream.mul"),
                                strided = class_named("heads.add_mask");
    const bool is_of_two = kernel_class == add || kernel_class == mul;
    return is_of_two && shapes_.is_strided() ? strided : kernel_class;
  }

  void pool(const AtenLaunch& launch) {
    const RecordedTensor *in = shapes_.first_input(), *out = shapes_.output();
    if (in == nullptr || out == nullptr) return;
    const std::int64_t larger = std::max(in->elements, out->elements);
    const std::int64_t smaller = std::min(in->elements, out->elements);
    push(launch.kernel_class, {number(larger), number(smaller), number(shapes_.window())},
         launch.share);
  }

  /// embedding(table, tokens), embedding_dense_backward(gradient, tokens).
  void lookup(OperationClass kernel_class) {
    const RecordedTensor *tokens = shapes_.input(1), *result = shapes_.output();
    const RecordedTensor* table =
        operation_.base().find("backward") == std::string_view::npos ? shapes_.input(0) : result;
    if (tokens == nullptr || table == nullptr || table->axes() < 2) return stream_bytes();
    push(kernel_class,
         {number(tokens->elements), number(table->shape[0]), number(table->shape.back())});
  }

  void product(const AtenProduct& p) {
    const KernelDims dims = {number(p.batch), number(p.m), number(p.n), number(p.k)};
    if (p.is_batched)
      return push(class_named(p.is_first_transposed    ? "batched.tn"
                              : p.is_second_transposed ? "batched.nt"
                                                       : "batched.nn"),
                  dims);
    // By which operand lies transposed in memory, as the products of a linear layer are told apart.
    std::string_view name = "linear.backward_input";
    if (p.is_second_transposed) name = "linear.forward_no_bias";
    if (p.is_first_transposed) name = "linear.backward_weight";
    if (p.has_bias) name = "linear.forward";
    push(class_named(name), dims);
  }

  std::string convolution_kind(const AtenConvolution& c) const {
    std::string kind = c.is_volume ? "convolution_3d" : "convolution";
    if (c.groups == 1 && c.channels <= 4 && !c.is_volume) kind = "first";
    if (c.groups > 1) kind = c.groups == c.channels ? "depthwise" : "grouped";
    return c.is_channels_last && !c.is_volume ? kind + "_nhwc" : kind;
  }

  void convolution_kernel(const AtenConvolution& c, std::string_view pass) {
    // A transposed convolution is the adjoint: its forward is the other's gradient of the input.
    if (c.is_transposed && pass != ".backward_weight")
      pass = pass == ".forward" ? ".backward_input" : ".forward";
    push(class_named(convolution_kind(c) + std::string(pass)),
         {number(c.samples), number(c.channels), number(c.filters), number(c.input_pixels),
          number(c.output_pixels), number(c.window), number(c.groups)});
  }

  void convolution() {
    const AtenConvolution c = shapes_.convolution();
    convolution_kernel(c, ".forward");
    if (c.has_bias) elements("channels.add_bias", c.result_elements);
  }

  void convolution_backward() {
    const AtenConvolution c = shapes_.convolution();
    if (c.wants_input) convolution_kernel(c, ".backward_input");
    if (c.wants_weight) convolution_kernel(c, ".backward_weight");
    if (c.has_bias) elements("channels.sum_to_channels", c.result_elements);
  }

  void attention(std::string_view name) {
    const AtenAttention a = shapes_.attention();
    push(class_named(name), {number(a.samples), number(a.heads), number(a.queries), number(a.keys),
                             number(a.width), a.is_causal ? 2.0 : 1.0});
  }

  void recurrent(std::string_view pass) {
    const AtenRecurrent r = shapes_.recurrent();
    const std::string name = r.cell == AtenCell::lstm ? "lstm" : "gru";
    push(class_named(name + std::string(pass)),
         {number(r.samples), number(r.time_steps), number(r.width), number(r.hidden),
          number(checked_mul(r.layers, r.directions))});
  }

  void sum() {
    const RecordedTensor *in = shapes_.first_input(), *out = shapes_.output();
    if (in == nullptr || out == nullptr || in->elements == 0 || out->elements == 0)
      return stream_bytes();
    const double rows = number(out->elements), columns = number(in->elements) / rows;
    if (out->elements == 1) return elements("stream.sum", in->elements);
    const auto* axes = operation_.find("dim");
    if (axes == nullptr || axes->empty())
      return push(class_named("global_pool.forward"), {rows, columns});
    const auto is_summed = [&](std::size_t axis) {
      return std::any_of(axes->begin(), axes->end(), [&](double one) {
        return (one < 0 ? one + number(static_cast<std::int64_t>(in->axes())) : one) ==
               number(static_cast<std::int64_t>(axis));
      });
    };
    if (is_summed(in->axes() - 1))  // what lies together is summed
      return in->axes() > 2 && out->elements == in->shape[1] && !is_summed(1)
                 ? elements("channels.sum_to_channels", in->elements)
                 : push(class_named("global_pool.forward"), {rows, columns});
    constexpr double few = 16;  // numbers that a thread adds up by itself
    if (columns <= few) return elements("stream.copy", in->elements);
    push(class_named("column_sum"), {columns, rows});
  }

  /// A copy in the same order streams; another order gathers.
  void copy() {
    const RecordedTensor* to = shapes_.output();
    const bool is_in_place = operation_.base() == "copy_" || operation_.base() == "copy";
    const RecordedTensor* from = shapes_.input(is_in_place ? 1 : 0);
    if (to == nullptr) return;
    if (from == nullptr || from->elements != to->elements)
      return elements("stream.copy", to->elements);
    if (from->dtype != to->dtype) return elements("stream.cast", to->elements);
    if (from->stride == to->stride || from->axes() != to->axes())
      return elements("stream.copy", to->elements);
    const bool last_moves = from->axes() > 0 && from->shape.back() > 1 && !from->stride.empty() &&
                            from->stride.back() != 1;
    elements(last_moves ? "heads.transpose_contiguous" : "heads.permute_contiguous", to->elements);
  }

  void list() {
    const std::int64_t count = shapes_.elements(AtenWhere::all);
    if (count == 0) return;
    double tensors = 1;
    for (const auto& one : operation_.inputs) {
      if (one.empty()) continue;
      tensors = static_cast<double>(one.size());
      break;
    }
    const std::string_view base = operation_.base();
    const KernelDims dims = {tensors, number(count)};
    if (base.starts_with("_fused_adam"))
      return push(class_named("update.adamw_fused"), {tensors, number(count)});
    const bool reads_two = operation_.inputs.size() > 1 && operation_.inputs[1].size() > 1;
    push(class_named("update.momentum"), dims,
         reads_two && list_share(base) < 0.3 ? 3.0 / 8 : list_share(base));
    if (base.starts_with("_foreach_")) result_.back().kernels = number(list_launches());
  }

  /// Lists are read together, and what does not work in place writes one more.
  std::int64_t list_launches() const {
    const RecordedOperation::Tensors* first = nullptr;
    std::size_t lists = operation_.mutates.empty() && !operation_.base().ends_with('_') ? 1 : 0;
    for (const auto& list : operation_.inputs) {
      if (list.empty() || (list.size() < 2 && first != nullptr)) continue;
      if (first == nullptr) first = &list;
      ++lists;
    }
    std::vector<std::int64_t> sizes;
    for (const std::uint32_t one : *first) sizes.push_back(recording_.tensors[one].elements);
    return multi_tensor_launches(sizes, lists);
  }

  /// A fused layer of a transformer in inference: its products, its attention.
  void encoder() {
    const RecordedTensor* x = shapes_.first_input();
    if (x == nullptr || x->axes() != 3) return stream_bytes();
    const double words = number(checked_mul(x->shape[0], x->shape[1]));
    for (std::size_t i = 1; i < operation_.inputs.size(); ++i) {
      const RecordedTensor* weight = shapes_.input(i);
      if (weight == nullptr || weight->axes() != 2) continue;
      push(class_named("linear.forward"),
           {1, words, number(weight->shape[0]), number(weight->shape[1])});
    }
    const double heads =
        std::max(1.0, operation_.number("num_head", operation_.number("num_heads", 1)));
    push(class_named("attention.forward"), {number(x->shape[0]), heads, number(x->shape[1]),
                                            number(x->shape[1]), number(x->shape[2]) / heads, 1});
  }

  void stream_bytes() {
    Count bytes;
    for (const auto& inputs : operation_.inputs) {
      for (const std::uint32_t one : inputs) bytes += recording_.tensors[one].bytes();
    }
    for (const std::uint32_t one : operation_.outputs) bytes += recording_.tensors[one].bytes();
    const std::int64_t numbers = bytes.value() / 2 / bytes_per_element(shapes_.precision());
    elements("stream.copy", std::max<std::int64_t>(numbers, 1));
  }

  const RecordedOperations& recording_;
  const RecordedOperation& operation_;
  AtenShapes shapes_;
  bool is_tf32_;
  std::vector<RecordedLaunch> result_;
};

}  // namespace

std::vector<RecordedLaunch> launches_of(const RecordedOperations& recording,
                                        const RecordedOperation& operation, bool is_tf32) {
  return Launches(recording, operation, is_tf32).written();
}

}  // namespace strata
