// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/op_context.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/onnx/declared_types.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <fmt/format.h>

namespace strata::onnx {
namespace {

TensorKind kind_of_fixed(TensorKind kind) {
  return kind == TensorKind::parameter ? TensorKind::constant : kind;
}

}  // namespace

OpContext::OpContext(Session& session, std::uint32_t node)
    : session_(session),
      node_(session.flat.nodes[node]),
      index_(node),
      opset_(opset_of(session.model, session.flat, node_)),
      inputs_(session.flat.inputs_of(node_)),
      outputs_(session.flat.outputs_of(node_)) {}

bool OpContext::has_attribute(std::string_view name) const {
  return find_attribute(session_.flat, node_, name) != nullptr;
}

std::optional<AttributeContent> OpContext::content(std::string_view name) const {
  const AttributeDef* const attribute = find_attribute(session_.flat, node_, name);
  if (attribute == nullptr) return std::nullopt;
  AttributeContent content = parse_attribute(attribute->message);
  session_.entries_read += content.entries;
  if (session_.entries_read > most_entries_read) {
    fail(ErrorKind::input, "more than {} entries of attributes once functions are inlined",
         most_entries_read);
  }
  return content;
}

std::int64_t OpContext::integer(std::string_view name, std::int64_t otherwise) const {
  const std::optional<AttributeContent> given = content(name);
  return given ? given->integer.value_or(otherwise) : otherwise;
}

double OpContext::real(std::string_view name, double otherwise) const {
  const std::optional<AttributeContent> given = content(name);
  return given && given->real ? static_cast<double>(*given->real) : otherwise;
}

std::string_view OpContext::word(std::string_view name, std::string_view otherwise) const {
  const std::optional<AttributeContent> given = content(name);
  return given ? given->text.value_or(otherwise) : otherwise;
}

std::optional<std::vector<std::int64_t>> OpContext::integers(std::string_view name) const {
  std::optional<AttributeContent> given = content(name);
  if (!given) return std::nullopt;
  if (given->integers.empty() && given->integer) return std::vector{*given->integer};
  return std::move(given->integers);
}

std::vector<float> OpContext::reals(std::string_view name) const {
  std::optional<AttributeContent> given = content(name);
  return given ? std::move(given->reals) : std::vector<float>();
}

std::vector<std::string_view> OpContext::words(std::string_view name) const {
  std::optional<AttributeContent> given = content(name);
  return given ? std::move(given->texts) : std::vector<std::string_view>();
}

std::optional<Bytes> OpContext::tensor_attribute(std::string_view name) const {
  const std::optional<AttributeContent> given = content(name);
  return given ? given->tensor : std::nullopt;
}

bool OpContext::has(std::size_t input) const {
  return input < inputs_.size() && inputs_[input] != no_flat_value;
}

Value& OpContext::value(std::size_t input) const {
  if (!has(input)) fail(ErrorKind::input, "input {} is missing", input);
  Value& value = session_.values[inputs_[input]];
  if (value.tensor == no_tensor && value.constant == no_constant) {
    fail(ErrorKind::unsupported, "input {}, {}, is not a tensor", input,
         quoted(session_.flat.value_names[inputs_[input]]));
  }
  return value;
}

const TensorType& OpContext::type(std::size_t input) const {
  const Value& given = value(input);
  if (given.constant != no_constant) return session_.constants[given.constant].type;
  return session_.draft.type(given.tensor);
}

DraftId OpContext::tensor(std::size_t input) {
  Value& given = value(input);
  if (given.tensor != no_tensor) return given.tensor;
  return session_.operand(session_.constants[given.constant]);
}

bool OpContext::is_constant(std::size_t input) const {
  return has(input) && value(input).constant != no_constant;
}

Constant* OpContext::constant(std::size_t input) {
  return is_constant(input) ? &session_.constants[value(input).constant] : nullptr;
}

bool OpContext::is_put_together(std::size_t input) {
  return is_constant(input) && value(input).tensor != no_tensor && numbers(input) == nullptr;
}

bool OpContext::is_made(std::size_t input) const {
  if (!has(input) || is_constant(input)) return false;
  return session_.draft.tensors[value(input).tensor].kind == TensorKind::activation;
}

KnownNumbers OpContext::numbers(std::size_t input) {
  Constant* const known = constant(input);
  return known == nullptr ? nullptr : session_.numbers_of(*known);
}

std::vector<Dim> OpContext::dims(std::size_t input, std::string_view what) {
  const KnownNumbers known = numbers(input);
  if (known == nullptr) {
    fail(ErrorKind::unsupported, "{} {} not known before the network runs", what,
         has(input) ? "is" : "was left out and is");
  }
  session_.numbers_computed += known->size();
  if (session_.numbers_computed > most_numbers_computed) {
    fail(ErrorKind::input, "more than {} sizes and axes in all", most_numbers_computed);
  }
  std::vector<Dim> dims;
  dims.reserve(known->size());
  for (const Number number : *known) {
    if (number.is_real()) {
      fail(ErrorKind::input, "{}: expected whole numbers, got {}", what, number.value());
    }
    dims.push_back(number.whole());
  }
  return dims;
}

std::vector<std::int64_t> OpContext::whole_numbers(std::size_t input, std::string_view what) {
  std::vector<std::int64_t> numbers;
  for (const Dim dim : dims(input, what)) {
    if (!dim.is_number()) {
      fail(ErrorKind::unsupported, "{} must be a number, got {}", what, symbols().text(dim));
    }
    numbers.push_back(dim.factor);
  }
  return numbers;
}

std::optional<double> OpContext::scalar(std::size_t input) {
  const KnownNumbers known = numbers(input);
  if (known == nullptr || known->size() != 1 || !known->front().is_plain()) return std::nullopt;
  return known->front().value();
}

std::optional<std::vector<std::int64_t>> OpContext::axes(std::size_t input,
                                                         std::string_view attribute) {
  if (has(input)) return whole_numbers(input, "axes");
  return integers(attribute);
}

bool OpContext::wants(std::size_t output) const {
  return output < outputs_.size() && outputs_[output] != no_flat_value;
}

void OpContext::set(std::size_t output, DraftId tensor) {
  if (wants(output)) session_.values[outputs_[output]] = {tensor, no_constant};
}

void OpContext::set(std::size_t output, Constant constant) {
  if (!wants(output)) return;
  if (constant.name.empty()) constant.name = session_.flat.value_names[outputs_[output]];
  session_.values[outputs_[output]] = {no_tensor, session_.add_constant(std::move(constant))};
}

void OpContext::set_moved(std::size_t output, DraftId tensor, std::size_t sources) {
  set(output, tensor);
  // What is part learnt and part fixed (a bias with zeros for the keys) is no one parameter.
  for (std::size_t i = 0; i < sources && i < inputs_.size(); ++i) {
    const Constant* const source = constant(i);
    if (source == nullptr || !source->is_learnt) return;
  }
  if (!wants(output)) return;
  session_.values[outputs_[output]].constant =
      session_.add_constant({.type = draft().type(tensor), .is_learnt = true});
}

void OpContext::pass_on(std::size_t output, std::size_t input) {
  const Value given = value(input);
  if (wants(output)) session_.values[outputs_[output]] = given;
}

std::optional<TensorType> OpContext::declared_type(std::size_t output) {
  if (!wants(output) || node_.frame != 0) return std::nullopt;
  std::optional<TensorType> type = onnx::declared_type(session_, outputs_[output]);
  // What the file declares has its own batch; what flows in has the one that may be chosen.
  const Batch& batch = session_.batch;
  if (!type || !batch.is_from_number() || type->shape.empty()) return type;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (!has(i) || is_constant(i) || shape(i).empty() || shape(i)[0] != batch.dim) continue;
    if (type->shape[0].is(batch.file_value)) type->shape[0] = batch.dim;
  }
  return type;
}

DraftId OpContext::add(Operator op, std::initializer_list<DraftId> data,
                       std::initializer_list<DraftId> own, const char* suffix) {
  return add(std::move(op), std::span(data.begin(), data.size()),
             std::span(own.begin(), own.size()), suffix);
}

DraftId OpContext::add(Operator op, std::span<const DraftId> data, std::span<const DraftId> own,
                       const char* suffix) {
  return add_all(std::move(op), data, own, suffix).front();
}

std::vector<DraftId> OpContext::add_all(Operator op, std::span<const DraftId> data,
                                        std::span<const DraftId> own, const char* suffix) {
  Draft& draft = session_.draft;
  const NodeId node = draft.append(draft.make(std::move(op), data, own, index_, suffix));
  return draft.nodes[node].outputs;
}

DraftId OpContext::reshaped(DraftId tensor, const Shape& shape, const char* suffix) {
  if (draft().shape(tensor) == shape) return tensor;
  return add(Reshape{shape}, {tensor}, {}, suffix);
}

DraftId OpContext::transposed(DraftId tensor, const Axes& permutation, const char* suffix) {
  return add(Transpose{permutation}, {tensor}, {}, suffix);
}

DraftId OpContext::weight(std::size_t input, const Shape& shape, const char* role, TensorKind kind,
                          DraftId matrix) {
  if (Constant* const known = constant(input)) {
    const bool is_fixed = !known->is_learnt && is_floating(known->type.dtype);
    const bool is_parameter = kind == TensorKind::parameter && !is_fixed;
    return session_.weight(*known, shape, role, is_parameter ? kind : kind_of_fixed(kind), matrix);
  }
  return assumed_weight(input, shape, role, kind);
}

DraftId OpContext::weight_or_made(std::size_t input, const Shape& shape, const char* role,
                                  DraftId matrix) {
  if (is_made(input) && is_floating(dtype(input))) {
    const DraftId given = value(input).tensor;
    const bool fits = elements_of(draft().shape(given), symbols()) == elements_of(shape, symbols());
    if (fits) return reshaped(given, shape, role);
  }
  return weight(input, shape, role, TensorKind::parameter, matrix);
}

DraftId OpContext::assumed_weight(std::size_t input, const Shape& shape, const char* role,
                                  TensorKind kind) {
  const TensorType given = type(input);
  const std::string_view name = session_.flat.value_names[inputs_[input]];
  const bool is_input = draft().tensors[value(input).tensor].kind == TensorKind::input;
  warn(WarningCode::value_assumed,
       fmt::format("{} of {} is {}, not stored in the file; taken for learnt", role, place(),
                   is_input ? fmt::format("the input {}", quoted(name)) : "computed"));
  return session_.new_weight(is_input ? name : std::string_view(), {shape, given.dtype}, role,
                             kind);
}

DraftId OpContext::weight_part(std::size_t input, std::uint32_t part, const Shape& shape,
                               const char* role) {
  const Constant* const whole = constant(input);
  if (whole == nullptr) return assumed_weight(input, shape, role, TensorKind::parameter);
  Constant piece = *whole;
  piece.name = {};
  piece.root = session_.part_of(whole->root, part);
  return session_.weight(piece, shape, role);
}

DraftId OpContext::scalar_like(double value, DType dtype) {
  const DraftId id = session_.new_weight({}, {{}, dtype}, "constant", TensorKind::constant);
  draft().tensors[id].numbers = std::make_shared<const Numbers>(Numbers{Number::real(value)});
  return id;
}

}  // namespace strata::onnx
