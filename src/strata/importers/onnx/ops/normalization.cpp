// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/onnx/ops/ops.hpp"

#include <algorithm>
#include <array>

namespace strata::onnx {
namespace {

std::int64_t channels_of(OpContext& context) {
  if (context.rank(0) < 2) fail(ErrorKind::input, "a normalisation of {} axes", context.rank(0));
  return number_of(context, context.shape(0)[1], "the number of channels");
}

// PyTorch writes ones and zeros where a normalisation has no scale and shift: nobody learns them.
bool is_written_out(OpContext& context, std::size_t input, std::int64_t value) {
  const Constant* const given = context.constant(input);
  if (given == nullptr || given->is_learnt) return false;
  const KnownNumbers numbers = context.numbers(input);
  return numbers == nullptr || std::all_of(numbers->begin(), numbers->end(),
                                           [value](Number number) { return number.is(value); });
}

// Scale and shift as far as they are more than ones and zeros; the operator then has none.
template <class Norm>
std::vector<DraftId> scale_and_shift(OpContext& context, Norm& op, const Shape& channels) {
  op.scale = !is_written_out(context, 1, 1);
  op.shift = !is_written_out(context, 2, 0);
  std::vector<DraftId> own;
  if (op.scale) own.push_back(context.weight_or_made(1, channels, "weight"));
  if (op.shift) own.push_back(context.weight_or_made(2, channels, "bias"));
  return own;
}

void lower_instance_norm(OpContext& context) {
  const Shape channels = {channels_of(context)};
  GroupNorm op;
  const std::vector<DraftId> own = scale_and_shift(context, op, channels);
  context.set(0, context.add(op, std::array{context.tensor(0)}, own));
}

// Of a single sample, with the statistics of the moment: how PyTorch standardises the weight of a
// convolution, [1, channels, rest]. Nothing is kept from one iteration to the next.
bool standardises(OpContext& context) {
  return context.shape(0)[0].is(1) && context.is_made(3) && context.is_made(4);
}

void lower_batch_norm(OpContext& context) {
  const Shape channels = {channels_of(context)};
  if (standardises(context)) return lower_instance_norm(context);
  BatchNorm op;
  std::vector<DraftId> own = scale_and_shift(context, op, channels);
  own.push_back(context.weight(3, channels, "running_mean", TensorKind::buffer));
  own.push_back(context.weight(4, channels, "running_var", TensorKind::buffer));
  context.set(0, context.add(op, std::array{context.tensor(0)}, own));
}

// Opset 18 scaled each group, opset 21 each channel.
void lower_group_norm(OpContext& context) {
  const std::int64_t channels = channels_of(context);
  const std::int64_t groups = context.integer("num_groups", 1);
  const bool is_per_channel = elements_of(context.shape(1), context.symbols()).is(channels);
  GroupNorm op{groups, is_per_channel, is_per_channel};
  std::vector<DraftId> own;
  if (is_per_channel) {
    own = {context.weight(1, {channels}, "weight"), context.weight(2, {channels}, "bias")};
  } else {
    context.warn(WarningCode::part_ignored,
                 context.place() + ": its scale and shift per group are not counted");
  }
  context.set(0, context.add(op, std::array{context.tensor(0)}, own));
}

// ---- over the last axes -------------------------------------------------------------------------

Shape from_axis(const Shape& x, std::int64_t axis) {
  const std::span<const Dim> extents = x;
  return Shape(extents.subspan(normal_axis(axis, x.size())));
}

// A scale or shift that the operator can own: stored, one number for each that is normalised.
bool fits(OpContext& context, std::size_t input, const Shape& normalised) {
  if (!context.is_constant(input)) return false;
  return elements_of(context.shape(input), context.symbols()) ==
         elements_of(normalised, context.symbols());
}

/// Layer or RMS normalisation of `x` with scale and shift at these inputs; what is not stored, or
/// has another shape, becomes a product or a sum of its own.
struct NormInputs {
  std::size_t scale = 1;
  std::size_t shift = 2;
};

DraftId normalised(OpContext& context, DraftId x, std::int64_t axis, const NormInputs& inputs,
                   bool is_rms) {
  const Shape extents = from_axis(context.draft().shape(x), axis);
  const bool has_scale = context.has(inputs.scale);
  const bool has_shift = context.has(inputs.shift);
  const bool owns_scale = has_scale && fits(context, inputs.scale, extents);
  // What comes after a free-standing scale cannot be inside.
  const bool owns_shift =
      !is_rms && has_shift && owns_scale == has_scale && fits(context, inputs.shift, extents);
  std::vector<DraftId> own;
  if (owns_scale) own.push_back(context.weight(inputs.scale, extents, "weight"));
  if (owns_shift) own.push_back(context.weight(inputs.shift, extents, "bias"));
  const Operator op = is_rms ? Operator(RmsNorm{axis, owns_scale})
                             : Operator(LayerNorm{axis, owns_scale, owns_shift});
  DraftId y = context.add(op, std::array{x}, own);
  if (has_scale && !owns_scale) {
    y = context.add(Elementwise{ElementwiseKind::multiply}, {y, context.tensor(inputs.scale)}, {},
                    "scale");
  }
  if (has_shift && !owns_shift) {
    y = context.add(Elementwise{}, {y, context.tensor(inputs.shift)}, {}, "shift");
  }
  return y;
}

constexpr std::size_t none = 1000;  // an input that the operator does not have

template <bool is_rms>
void lower_layer_norm(OpContext& context) {
  const NormInputs inputs{1, is_rms ? none : 2};
  context.set(0,
              normalised(context, context.tensor(0), context.integer("axis", -1), inputs, is_rms));
}

// LayerNorm(x + skip + bias); the sum is the fourth output.
template <bool is_rms>
void lower_skip_layer_norm(OpContext& context) {
  DraftId sum = context.add(Elementwise{}, {context.tensor(0), context.tensor(1)}, {}, "skip");
  const std::size_t bias = is_rms ? 3 : 4;
  if (context.has(bias)) {
    sum = context.add(Elementwise{}, {sum, context.tensor(bias)}, {}, "bias");
  }
  const NormInputs inputs{2, is_rms ? none : 3};
  context.set(0, normalised(context, sum, -1, inputs, is_rms));
  context.set(3, sum);
}

// Word, position and segment vectors, summed and normalised.
void lower_embed_layer_norm(OpContext& context) {
  const auto embedded = [&](std::size_t indices, std::size_t table, const char* suffix) {
    const Shape shape = context.shape(table);
    if (shape.size() != 2) fail(ErrorKind::input, "a table of {} axes", shape.size());
    const Embedding op{number_of(context, shape[0], "the rows of a table"),
                       number_of(context, shape[1], "the width of a table")};
    const DraftId weight = context.weight(table, shape, "weight");
    return context.add(op, {context.tensor(indices)}, {weight}, suffix);
  };
  const DraftId words = embedded(0, 2, "words");
  DraftId sum = words;
  if (context.has(8)) {
    sum = context.add(Elementwise{}, {sum, embedded(8, 3, "positions")}, {}, "add_positions");
  } else {
    // Positions count from 0: the table's first rows, one per token.
    const DraftId table = context.tensor(3);
    const Slice rows{{0}, {0}, {context.draft().shape(words)[1]}, {1}};
    const DraftId positions = context.add(rows, {table}, {}, "positions");
    sum = context.add(Elementwise{}, {sum, positions}, {}, "add_positions");
  }
  if (context.has(1) && context.has(4)) {
    sum = context.add(Elementwise{}, {sum, embedded(1, 4, "segments")}, {}, "add_segments");
  }
  context.set(0, normalised(context, sum, -1, {5, 6}, false));
  context.set(2, sum);
}

// ---- the rest -----------------------------------------------------------------------------------

void lower_local_response_norm(OpContext& context) {
  context.set(0, context.add(LocalResponseNorm{context.integer("size", 5)}, {context.tensor(0)}));
}

void lower_lp_norm(OpContext& context) {
  const DraftId x = context.tensor(0);
  const Axes axis = {context.integer("axis", -1)};
  const DraftId length =
      context.integer("p", 2) == 1
          ? context.add(Reduce{ReduceKind::sum, axis, true},
                        {context.add(Unary{UnaryKind::absolute}, {x}, {}, "abs")}, {}, "length")
          : context.add(Reduce{ReduceKind::l2, axis, true}, {x}, {}, "length");
  context.set(0, context.add(Elementwise{ElementwiseKind::divide}, {x, length}));
}

void lower_mean_variance_norm(OpContext& context) {
  const std::vector<std::int64_t> axes =
      context.integers("axes").value_or(std::vector<std::int64_t>{0, 2, 3});
  const Reduce mean{ReduceKind::mean, Axes(std::span<const std::int64_t>(axes)), true};
  const DraftId x = context.tensor(0);
  const DraftId centred = context.add(Elementwise{ElementwiseKind::subtract},
                                      {x, context.add(mean, {x}, {}, "mean")}, {}, "centre");
  const DraftId squared = context.add(Unary{UnaryKind::square}, {centred}, {}, "square");
  const DraftId variance = context.add(mean, {squared}, {}, "variance");
  const DraftId deviation = context.add(Unary{UnaryKind::square_root}, {variance}, {}, "deviation");
  context.set(0, context.add(Elementwise{ElementwiseKind::divide}, {centred, deviation}));
}

constexpr std::array normalization_rows = {
    OpRow{"BatchNormalization", lower_batch_norm},
    OpRow{"EmbedLayerNormalization", lower_embed_layer_norm},
    OpRow{"GroupNormalization", lower_group_norm},
    OpRow{"InstanceNormalization", lower_instance_norm},
    OpRow{"LRN", lower_local_response_norm},
    OpRow{"LayerNormalization", lower_layer_norm<false>},
    OpRow{"LpNormalization", lower_lp_norm},
    OpRow{"MeanVarianceNormalization", lower_mean_variance_norm},
    OpRow{"RMSNormalization", lower_layer_norm<true>},
    OpRow{"SimplifiedLayerNormalization", lower_layer_norm<true>},
    OpRow{"SkipLayerNormalization", lower_skip_layer_norm<false>},
    OpRow{"SkipSimplifiedLayerNormalization", lower_skip_layer_norm<true>},
};

}  // namespace

std::span<const OpRow> normalization_ops() { return normalization_rows; }

}  // namespace strata::onnx
