// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/operator_fields.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

/// Puts the fields that are visited into words.
class Describe {
 public:
  explicit Describe(std::vector<FieldDescription>& fields) : fields_(fields) {}

  void operator()(const Field& field, std::int64_t value) const {
    add(field, "whole number", field.is_required ? "" : fmt::format("{}", value));
  }
  void operator()(const Field& field, bool value) const {
    add(field, "true or false", fmt::format("{}", value));
  }
  void operator()(const Field& field, double value) const {
    add(field, "number", fmt::format("{}", value));
  }
  void operator()(const Field& field, DType) const { add(field, "data type"); }
  void operator()(const Field& field, const std::string&) const { add(field, "text"); }
  void operator()(const Field& field, const Extents&) const { add(field, window_type); }
  void operator()(const Field& field, const Axes&) const { add(field, "list of whole numbers"); }
  void operator()(const Field& field, const std::vector<std::int64_t>&) const {
    add(field, "list of whole numbers");
  }
  void operator()(const Field& field, const Shape&) const { add(field, "shape"); }
  void operator()(const Field& field, const std::vector<Dim>&) const { add(field, "shape"); }
  void operator()(const Field& field, const std::vector<Shape>&) const {
    add(field, "list of shapes");
  }
  void operator()(const Field& field, const Ends<const Extents>&) const {
    add(field, window_type);
    fields_.push_back({fmt::format("{}_begin", field.name), "the same at the begin only",
                       window_type, "", false});
    fields_.push_back(
        {fmt::format("{}_end", field.name), "the same at the end only", window_type, "", false});
  }

 private:
  static constexpr std::string_view window_type = "whole number, or one per spatial axis";

  void add(const Field& field, std::string_view type, std::string default_value = {}) const {
    fields_.push_back(
        {std::string(field.name), field.help, type, std::move(default_value), field.is_required});
  }

  std::vector<FieldDescription>& fields_;
};

struct HelpOf {
  using Text = std::string_view;
  Text operator()(const Convolution&) const {
    return "Slides filters over one, two or three spatial axes of a tensor [N, C, …]. Transposed: "
           "the "
           "adjoint, which enlarges.";
  }
  Text operator()(const Linear&) const { return "Fully connected layer on the last axis."; }
  Text operator()(const MatMul&) const {
    return "Matrix product of two inputs on their last two axes; leading axes broadcast.";
  }
  Text operator()(const Attention&) const {
    return "Scaled dot product attention. Inputs: query [N, S, heads·d], key [N, T, kv_heads·d], "
           "value "
           "[N, T, kv_heads·dv] and, optionally, a mask that is added.";
  }
  Text operator()(const Recurrent&) const {
    return "A stack of recurrent layers over [N, T, features]. Inputs after the first are the "
           "initial "
           "states. Outputs: the sequence, the last hidden state (\"name:1\") and, for an LSTM, "
           "the last "
           "cell state (\"name:2\").";
  }
  Text operator()(const Pool&) const { return "Pools over a window that slides over [N, C, …]."; }
  Text operator()(const AdaptivePool&) const {
    return "Pools the spatial axes of [N, C, …] to a given size, or to 1.";
  }
  Text operator()(const BatchNorm&) const {
    return "Normalises each channel over samples and space; keeps a running mean and variance.";
  }
  Text operator()(const LayerNorm&) const {
    return "Normalises over the last axes to mean 0 and variance 1.";
  }
  Text operator()(const RmsNorm&) const {
    return "Divides by the root of the mean square over the last axes.";
  }
  Text operator()(const GroupNorm&) const {
    return "Normalises each sample over groups of channels and space; instance normalisation has a "
           "group per channel.";
  }
  Text operator()(const LocalResponseNorm&) const {
    return "Divides by a power of the sum of squares of neighbouring channels (AlexNet).";
  }
  Text operator()(const Unary&) const {
    return "A function of each number. prelu learns one slope per channel.";
  }
  Text operator()(const Elementwise&) const {
    return "A function of two or more inputs, number by number, with broadcasting as in NumPy. "
           "add, "
           "multiply, maximum, minimum and mean take any number of inputs; select takes a "
           "condition and "
           "two choices.";
  }
  Text operator()(const Softmax&) const { return "Softmax along one axis, or its logarithm."; }
  Text operator()(const Dropout&) const {
    return "Sets random elements to zero in training and enlarges the others.";
  }
  Text operator()(const RotaryEmbedding&) const {
    return "Rotates pairs of features of [N, T, heads·d] by an angle that grows with the position.";
  }
  Text operator()(const Cast&) const { return "Changes the data type."; }
  Text operator()(const Reduce&) const { return "Reduces axes to one number."; }
  Text operator()(const SoftmaxCrossEntropy&) const {
    return "The usual loss of a classifier. Inputs: logits, and the classes as whole numbers.";
  }
  Text operator()(const SquaredError&) const {
    return "Mean of squared differences. Inputs: prediction and target.";
  }
  Text operator()(const Concat&) const { return "Joins its inputs along an axis."; }
  Text operator()(const Split&) const {
    return "Cuts an axis into parts, one output each: \"name\", \"name:1\", …";
  }
  Text operator()(const Slice&) const { return "A part of a tensor, as in NumPy."; }
  Text operator()(const Reshape&) const { return "The same numbers in another shape."; }
  Text operator()(const Flatten&) const { return "Joins the axes from one to the last."; }
  Text operator()(const Transpose&) const { return "Permutes the axes."; }
  Text operator()(const Expand&) const { return "Repeats axes of extent 1."; }
  Text operator()(const Resize&) const { return "Scales the spatial axes of [N, C, …]."; }
  Text operator()(const Pad&) const { return "Adds elements at both ends of every axis."; }
  Text operator()(const Embedding&) const {
    return "Looks up rows of a learnt table. The input holds whole numbers.";
  }
  Text operator()(const Gather&) const {
    return "Picks along an axis. Inputs: data, and the positions as whole numbers.";
  }
  Text operator()(const ChannelShuffle&) const {
    return "Interleaves the channels of groups (ShuffleNet).";
  }
  Text operator()(const SpaceToDepth&) const {
    return "Moves blocks of space into channels (darknet's reorg), or back.";
  }
  Text operator()(const Yolo&) const {
    return "darknet's detection layer on [N, boxes·(5 + classes), H, W].";
  }
  Text operator()(const Opaque&) const {
    return "An operator that Strata does not know: it takes any inputs, its shapes are given, its "
           "cost is "
           "not counted, and results say so.";
  }
};

}  // namespace

std::string_view help_of(const Operator& op) { return std::visit(HelpOf{}, op); }

std::vector<FieldDescription> fields_of(const Operator& op) {
  std::vector<FieldDescription> fields;
  visit_fields(op, Describe(fields));
  return fields;
}

}  // namespace strata
