// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/aten_shapes.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

std::int64_t product_of(const std::vector<std::int64_t>& shape, std::size_t from, std::size_t to) {
  Count product = 1;
  for (std::size_t axis = from; axis < std::min(to, shape.size()); ++axis) product *= shape[axis];
  return product.value();
}

/// A number of a file as an extent: at least 1, never beyond what can be counted.
std::int64_t extent_of(double number) {
  constexpr double most = 1e15;
  return static_cast<std::int64_t>(std::clamp(std::round(number), 1.0, most));
}

std::size_t axis_of(double number, std::size_t axes) {
  const double axis = number < 0 ? number + static_cast<double>(axes) : number;
  return static_cast<std::size_t>(
      std::clamp(axis, 0.0, static_cast<double>(std::max<std::size_t>(axes, 1) - 1)));
}

/// Channels lie together; of an image of one pixel every order is the same.
bool has_channels_last(const RecordedTensor& tensor) {
  return tensor.axes() >= 4 && tensor.stride.size() == tensor.axes() && tensor.shape[1] > 1 &&
         tensor.stride[1] == 1 && tensor.elements > tensor.shape[0] * tensor.shape[1];
}

/// Its last axis lies together in memory, and each axis before it around those behind.
bool is_contiguous(const RecordedTensor& tensor) {
  if (tensor.stride.size() != tensor.axes()) return true;
  std::int64_t inside = 1;
  for (std::size_t axis = tensor.axes(); axis-- > 0; inside *= tensor.shape[axis]) {
    if (tensor.shape[axis] > 1 && tensor.stride[axis] != inside) return false;
  }
  return true;
}

}  // namespace

bool is_transposed(const RecordedTensor& tensor) {
  const std::size_t axes = tensor.axes();
  if (axes < 2 || tensor.stride.size() != axes || tensor.shape[axes - 1] == 1) return false;
  return tensor.stride[axes - 2] == 1 && tensor.stride[axes - 1] > 1;
}

std::int64_t AtenConvolution::mac() const {
  const Count per_output = Count(channels / std::max<std::int64_t>(groups, 1)) * window;
  return (Count(samples) * filters * output_pixels * per_output).value();
}

std::int64_t AtenAttention::rows() const { return checked_mul(samples, heads, queries); }

std::int64_t AtenAttention::pairs() const {
  const Count all = Count(samples) * heads;
  if (!is_causal) return (all * queries * keys).value();
  // Query i sees keys up to i + keys − queries.
  const std::int64_t seen = std::min(queries, keys);
  const Count triangle = Count(seen) * (seen + 1);
  return (all * (triangle.value() / 2 + (Count(seen) * (keys - seen)).value())).value();
}

std::int64_t AtenRecurrent::gates() const {
  return cell == AtenCell::lstm ? 4 : cell == AtenCell::gru ? 3 : 1;
}

std::int64_t AtenRecurrent::mac() const {
  const Count first = Count(gates()) * hidden * (Count(width) + hidden);
  const Count others = Count(gates()) * hidden * (Count(hidden) * directions + hidden);
  return (Count(samples) * time_steps * directions * (first + others * (layers - 1))).value();
}

const RecordedTensor* AtenShapes::tensor(std::uint32_t number) const {
  return number == RecordedOperation::no_tensor ? nullptr : &recording_.tensors[number];
}

const RecordedTensor* AtenShapes::input(std::size_t position) const {
  return tensor(operation_.input(position));
}

const RecordedTensor* AtenShapes::first_input() const {
  for (const auto& tensors : operation_.inputs) {
    if (!tensors.empty()) return tensor(tensors.front());
  }
  return nullptr;
}

const RecordedTensor* AtenShapes::output() const {
  const RecordedTensor* largest = nullptr;
  for (const auto* list : {&operation_.outputs, &operation_.mutates}) {
    for (const std::uint32_t number : *list) {
      const RecordedTensor& one = recording_.tensors[number];
      if (largest == nullptr || one.elements > largest->elements) largest = &one;
    }
  }
  return largest;
}

bool AtenShapes::is_backward() const {
  return operation_.base().find("backward") != std::string_view::npos;
}

std::int64_t AtenShapes::elements(AtenWhere where) const {
  const RecordedTensor* first = first_input();
  switch (where) {
    case AtenWhere::output: return output() == nullptr ? 0 : output()->elements;
    case AtenWhere::input: return first == nullptr ? elements(AtenWhere::output) : first->elements;
    case AtenWhere::rows: return rows().rows;
    case AtenWhere::channels: return first == nullptr || first->axes() < 2 ? 1 : first->shape[1];
    case AtenWhere::one: return 1;
    case AtenWhere::nothing: return 0;
    case AtenWhere::all: break;
  }
  Count all;
  for (const auto& list : operation_.inputs) {
    for (const std::uint32_t number : list) all += recording_.tensors[number].elements;
    if (!list.empty()) break;
  }
  return all.value();
}

std::int64_t AtenShapes::window() const {
  Count window = 1;
  if (const auto* kernel = operation_.find("kernel_size")) {
    for (const double extent : *kernel) window *= extent_of(extent);
    // One number stands for both axes of an image.
    if (kernel->size() == 1 && operation_.base().find("2d") != std::string_view::npos)
      window *= extent_of(kernel->front());
    return window.value();
  }
  const RecordedTensor *in = first_input(), *out = output();
  if (in == nullptr || out == nullptr) return 1;
  const std::int64_t more = std::max(in->elements, out->elements);
  return std::max<std::int64_t>(
      1, more / std::max<std::int64_t>(1, std::min(in->elements, out->elements)));
}

bool AtenShapes::holds(AtenWhen when) const {
  // cuDNN's operations call it "training", others "train".
  const double training = operation_.number("training", operation_.number("train", 1));
  const double alpha = operation_.number("alpha", 1);
  switch (when) {
    case AtenWhen::always: return true;
    case AtenWhen::training: return training != 0;
    case AtenWhen::inference: return training == 0;
    case AtenWhen::inference_low: return training == 0 && bytes_per_element(precision()) < 4;
    case AtenWhen::alpha: return alpha != 1;
    case AtenWhen::no_alpha: return alpha == 1;
    case AtenWhen::strided: return input(0) != nullptr && !is_contiguous(*input(0));
    case AtenWhen::second_strided: return input(1) != nullptr && !is_contiguous(*input(1));
    case AtenWhen::few: return is_few();
    case AtenWhen::many: return !is_few();
    case AtenWhen::whole: return smallest_operand() >= elements(AtenWhere::output);
    case AtenWhen::spread:
      return smallest_operand() > 1 && smallest_operand() < elements(AtenWhere::output);
    case AtenWhen::number: return smallest_operand() <= 1 && elements(AtenWhere::output) > 1;
  }
  return true;
}

/// A number that is no tensor has one element.
std::int64_t AtenShapes::smallest_operand() const {
  const RecordedTensor *first = input(0), *second = input(1);
  if (first == nullptr || second == nullptr) return 1;
  return std::min(first->elements, second->elements);
}

/// So few rows of a table's gradient are added without sorting them
/// (embedding_dense_backward_cuda in aten/src/ATen/native/cuda/Embedding.cu).
bool AtenShapes::is_few() const {
  constexpr std::int64_t most = 3072;
  const RecordedTensor* words = input(1);
  return words != nullptr && words->elements <= most;
}

AtenRows AtenShapes::rows() const {
  const std::string_view base = operation_.base();
  if (const auto* groups = operation_.find("group"); groups != nullptr && !groups->empty()) {
    const std::int64_t rows =
        checked_mul(extent_of(operation_.number("N", 1)), extent_of(groups->front()));
    return {rows, std::max<std::int64_t>(1, elements(AtenWhere::output) / rows)};
  }
  if (base.find("nll_loss") != std::string_view::npos) {
    const RecordedTensor* targets = input(is_backward() ? 2 : 1);
    const std::int64_t rows = targets == nullptr ? 1 : std::max<std::int64_t>(1, targets->elements);
    return {rows, 1};
  }
  const RecordedTensor* main = first_input() == nullptr ? output() : first_input();
  if (main == nullptr) return {};
  if (base.find("batch_norm") != std::string_view::npos && main->axes() > 2) {
    const std::int64_t images = std::max<std::int64_t>(1, product_of(main->shape, 0, 2));
    return {images, std::max<std::int64_t>(1, main->elements / images)};
  }
  std::int64_t columns = main->axes() == 0 ? 1 : main->shape.back();
  if (const auto* normalized = operation_.find("normalized_shape")) {
    Count all = 1;
    for (const double extent : *normalized) all *= extent_of(extent);
    columns = all.value();
  } else if (const auto* dim = operation_.find("dim");
             dim && dim->size() == 1 && main->axes() > 0) {
    columns = main->shape[axis_of(dim->front(), main->axes())];
  }
  columns = std::max<std::int64_t>(columns, 1);
  return {std::max<std::int64_t>(1, main->elements / columns), columns};
}

AtenProduct AtenShapes::product() const {
  AtenProduct product;
  const std::string_view base = operation_.base();
  const bool adds = base.starts_with("add") || base.starts_with("baddbmm");
  const RecordedTensor *a = input(adds ? 1 : 0), *b = input(adds ? 2 : 1);
  if (a == nullptr || b == nullptr) return product;
  product.has_bias = adds;
  product.is_batched = a->axes() == 3;
  const std::size_t axes = a->axes();
  product.k = axes == 0 ? 1 : a->shape[axes - 1];
  product.m = axes < 2 ? 1 : a->shape[axes - 2];
  product.n = b->axes() < 2 ? 1 : b->shape.back();
  product.batch = axes > 2 ? product_of(a->shape, 0, axes - 2) : 1;
  product.is_first_transposed = is_transposed(*a);
  product.is_second_transposed = is_transposed(*b);
  return product;
}

AtenProduct AtenShapes::grouped_product() const {
  AtenProduct product;
  const RecordedTensor *a = input(0), *b = input(1), *result = output();
  if (a == nullptr || b == nullptr || result == nullptr || a->axes() < 2 || b->axes() < 2)
    return product;
  // Rows of experts lie below each other in one of the three; the other two are stacks of matrices.
  product.m = a->shape[a->axes() - 2];
  product.k = a->shape.back();
  product.n = b->shape.back();
  product.is_first_transposed = is_transposed(*a);
  product.is_second_transposed = is_transposed(*b);
  return product;
}

AtenConvolution AtenShapes::convolution() const {
  AtenConvolution found;
  const bool backward = operation_.base() == "convolution_backward";
  const RecordedTensor *x = input(backward ? 1 : 0), *w = input(backward ? 2 : 1);
  const RecordedTensor* y = backward ? input(0) : output();
  if (x == nullptr || w == nullptr || y == nullptr || x->axes() < 3 || w->axes() < 3 ||
      y->axes() < 3)
    return found;
  found.is_channels_last = has_channels_last(*x) || has_channels_last(*y);
  found.result_elements = y->elements;
  found.is_transposed = operation_.number("transposed", 0) != 0;
  if (found.is_transposed) std::swap(x, y);
  found.samples = x->shape[0];
  found.channels = x->shape[1];
  found.filters = y->shape[1];
  found.input_pixels = product_of(x->shape, 2, x->axes());
  found.output_pixels = product_of(y->shape, 2, y->axes());
  found.window = product_of(w->shape, 2, w->axes());
  found.groups = extent_of(operation_.number("groups", 1));
  found.is_volume = x->axes() == 5;
  found.has_bias = !backward && input(2) != nullptr && operation_.base() != "cudnn_convolution";
  if (const auto* mask = operation_.find("output_mask"); backward && mask && mask->size() == 3) {
    found.wants_input = (*mask)[0] != 0;
    found.wants_weight = (*mask)[1] != 0;
    found.has_bias = (*mask)[2] != 0;
  }
  return found;
}

AtenAttention AtenShapes::attention() const {
  AtenAttention found;
  const std::size_t first = is_backward() ? 1 : 0;
  const RecordedTensor *q = input(first), *k = input(first + 1), *v = input(first + 2);
  if (q == nullptr || k == nullptr || v == nullptr || q->axes() != 4 || k->axes() != 4 ||
      v->axes() != 4)
    return found;
  found.samples = q->shape[0];
  found.heads = q->shape[1];
  found.queries = q->shape[2];
  found.keys = k->shape[2];
  found.width = q->shape[3];
  found.value_width = v->shape[3];
  found.is_causal = operation_.number("is_causal", 0) != 0;
  const RecordedTensor* mask = input(is_backward() ? 6 : 3);
  found.has_mask = !is_backward() && mask != nullptr && mask->axes() >= 2;
  return found;
}

AtenRecurrent AtenShapes::recurrent() const {
  AtenRecurrent found;
  const RecordedTensor* x = input(0);
  if (x == nullptr || x->axes() != 3) return found;
  const std::string_view mode = operation_.text("mode");
  const double number = operation_.number("mode", mode.empty() ? 2 : -1);  // as cuDNN counts them
  found.cell = mode == "lstm" || number == 2  ? AtenCell::lstm
               : mode == "gru" || number == 3 ? AtenCell::gru
                                              : AtenCell::rnn;
  const bool batch_first = operation_.number("batch_first", 0) != 0;
  found.samples = x->shape[batch_first ? 0 : 1];
  found.time_steps = x->shape[batch_first ? 1 : 0];
  found.width = x->shape[2];
  found.hidden = extent_of(operation_.number("hidden_size", 1));
  found.layers = extent_of(operation_.number("num_layers", 1));
  const bool both = operation_.number("bidirectional", 0) != 0;
  found.directions = extent_of(operation_.number("directions", both ? 2 : 1));
  return found;
}

bool AtenShapes::is_channels_last() const {
  return first_input() != nullptr && has_channels_last(*first_input());
}

bool AtenShapes::is_strided() const {
  const RecordedTensor* result = output();
  if (result == nullptr) return false;
  for (const auto& list : operation_.inputs) {
    for (const std::uint32_t number : list) {
      const RecordedTensor& one = recording_.tensors[number];
      if (one.elements > 1 && (one.shape != result->shape || one.stride != result->stride))
        return true;
    }
  }
  return false;
}

DType AtenShapes::precision() const {
  for (const auto& list : operation_.inputs) {
    for (const std::uint32_t number : list) {
      const DType dtype = recording_.tensors[number].dtype;
      if (is_floating(dtype)) return dtype;
    }
  }
  const RecordedTensor* result = output();
  return result != nullptr && is_floating(result->dtype) ? result->dtype : DType::fp32;
}

}  // namespace strata
