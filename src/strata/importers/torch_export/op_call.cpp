// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/torch_export/op_call.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::torch_export {
namespace {

using keras::member;

constexpr std::size_t most_numbers_of_argument = 64;

std::string name_of_tensor(const Json& tensor) {
  const Json* name = member(tensor, "name");
  return name == nullptr ? "" : keras::word_in(*name, "name");
}

}  // namespace

const std::string& OpCall::output(std::size_t index) const {
  if (index >= node_.outputs.size())
    fail(ErrorKind::input, "{} has no output {}", node_.target, index);
  return node_.outputs[index];
}

const Json* OpCall::argument(std::string_view name) const {
  const auto found = node_.arguments.find(std::string(name));
  if (found == node_.arguments.end() || member(found->second, "as_none") != nullptr) return nullptr;
  return &found->second;
}

bool OpCall::has(std::string_view name) const { return argument(name) != nullptr; }

std::string OpCall::value(std::string_view name) const {
  const Json* found = argument(name);
  if (found == nullptr) return "";
  const Json* tensor = member(*found, "as_tensor");
  if (tensor == nullptr) tensor = member(*found, "as_optional_tensor");
  return tensor == nullptr ? "" : name_of_tensor(*tensor);
}

std::string OpCall::tensor(std::string_view name) {
  const std::string own = value(name);
  return own.empty() ? "" : model_name(own);
}

std::vector<std::string> OpCall::values(std::string_view name) const {
  std::vector<std::string> all;
  const Json* found = argument(name);
  const Json* list = found == nullptr ? nullptr : member(*found, "as_tensors");
  if (list == nullptr || !list->is_array())
    fail(ErrorKind::input, "'{}' is no list of tensors", name);
  for (const Json& tensor : *list) all.push_back(name_of_tensor(tensor));
  return all;
}

/// A value that nothing goes into is a constant of its size: positions, masks, zeros.
std::string OpCall::model_name(const std::string& own) {
  const auto known = translation_.names.find(own);
  if (known == translation_.names.end())
    fail(ErrorKind::input, "'{}' is made by nobody", own.substr(0, 200));
  if (translation_.fixed.contains(own) && translation_.stored.insert(own).second) {
    translation_.text.add_tensor(known->second, fixed_sizes(own), type_of(own));
    translation_.text.say_learnt(known->second, false);
  }
  return known->second;
}

std::int64_t OpCall::integer(std::string_view name, std::int64_t otherwise) const {
  const Json* found = argument(name);
  if (found == nullptr) return otherwise;
  if (const Json* number = member(*found, "as_int")) return keras::whole_number(*number, name);
  fail(ErrorKind::unsupported, "'{}' is no number that the file states", name);
}

double OpCall::real(std::string_view name, double otherwise) const {
  const Json* found = argument(name);
  if (found == nullptr) return otherwise;
  for (const char* kind : {"as_float", "as_int"}) {
    const Json* number = member(*found, kind);
    if (number != nullptr && number->is_number()) return number->get<double>();
  }
  return otherwise;
}

bool OpCall::flag(std::string_view name, bool otherwise) const {
  const Json* found = argument(name);
  const Json* is_on = found == nullptr ? nullptr : member(*found, "as_bool");
  return is_on != nullptr && is_on->is_boolean() ? is_on->get<bool>() : otherwise;
}

std::string OpCall::word(std::string_view name, std::string_view otherwise) const {
  const Json* found = argument(name);
  const Json* text = found == nullptr ? nullptr : member(*found, "as_string");
  return text != nullptr && text->is_string() ? text->get<std::string>() : std::string(otherwise);
}

Integers OpCall::integers(std::string_view name) const {
  const Json* found = argument(name);
  if (found == nullptr) return {};
  if (const Json* one = member(*found, "as_int")) return {keras::whole_number(*one, name)};
  Integers numbers;
  for (const char* kind : {"as_ints", "as_sym_ints"}) {
    const Json* list = member(*found, kind);
    if (list == nullptr || !list->is_array()) continue;
    if (list->size() > most_numbers_of_argument)
      fail(ErrorKind::input, "'{}' has {} numbers", name, list->size());
    for (const Json& entry : *list) {
      const Json* number = entry.is_object() ? member(entry, "as_int") : &entry;
      if (number == nullptr)
        fail(ErrorKind::unsupported, "'{}' is not a number but computed from a symbol", name);
      numbers.push_back(keras::whole_number(*number, name));
    }
  }
  return numbers;
}

Integers OpCall::integers(std::string_view name, std::size_t count, std::int64_t otherwise) const {
  Integers numbers = integers(name);
  if (numbers.empty()) numbers.assign(count, otherwise);
  if (numbers.size() == 1) numbers.resize(count, numbers.front());
  if (numbers.size() != count)
    fail(ErrorKind::input, "'{}' has {} numbers, expected {}", name, numbers.size(), count);
  return numbers;
}

std::string OpCall::operand(std::string_view name) {
  const std::string own = tensor(name);
  return own.empty() ? scalar(real(name, 0), type_of(output())) : own;
}

const std::vector<Size>& OpCall::sizes(const std::string& own) const {
  const auto found = translation_.program.tensors.find(own);
  if (found == translation_.program.tensors.end())
    fail(ErrorKind::input, "the file does not say the size of '{}'", own.substr(0, 200));
  return found->second.sizes;
}

std::int64_t OpCall::type_of(const std::string& own) const {
  sizes(own);
  const std::int64_t torch_type = translation_.program.tensors.at(own).dtype;
  const std::int64_t type = onnx_type(torch_type);
  if (type == 0)
    fail(ErrorKind::unsupported, "'{}' is of PyTorch's type {}", own.substr(0, 200), torch_type);
  return type;
}

Integers OpCall::fixed_sizes(const std::string& own) const {
  Integers numbers;
  for (const Size& size : sizes(own)) {
    if (!size.is_number())
      fail(ErrorKind::unsupported, "the size of '{}' is not a number but {}", own.substr(0, 200),
           size.expression);
    numbers.push_back(size.number);
  }
  return numbers;
}

std::size_t OpCall::axis(std::string_view name, std::size_t axes, std::int64_t otherwise) const {
  const std::int64_t given = integer(name, otherwise);
  const auto count = static_cast<std::int64_t>(axes);
  const std::int64_t from_front = given < 0 ? given + count : given;
  if (from_front < 0 || from_front >= count)
    fail(ErrorKind::input, "'{}' is {}, but there are {} axes", name, given, axes);
  return static_cast<std::size_t>(from_front);
}

void OpCall::add_to(std::string_view op, std::vector<std::string> inputs,
                    std::vector<std::string> outputs, Attributes attributes) {
  translation_.text.add({.op = op,
                         .inputs = std::move(inputs),
                         .outputs = std::move(outputs),
                         .attributes = std::move(attributes),
                         .name = output(),
                         .modules = node_.modules});
}

void OpCall::add(std::string_view op, std::vector<std::string> inputs, Attributes attributes) {
  add_to(op, std::move(inputs), {output()}, std::move(attributes));
}

std::string OpCall::add_inner(std::string_view op, std::vector<std::string> inputs,
                              Attributes attributes) {
  const std::string result = fmt::format("{}#{}", output(), ++inner_);
  add_to(op, std::move(inputs), {result}, std::move(attributes));
  return result;
}

std::string OpCall::constant(const Integers& numbers) {
  const std::string name = fmt::format("{}#{}", output(), ++inner_);
  translation_.text.add_integers(name, numbers);
  return name;
}

std::string OpCall::shape_tensor(const std::vector<Size>& wanted) {
  std::vector<std::string> pieces;
  for (const Size& size : wanted) {
    if (size.is_number()) {
      pieces.push_back(constant({size.number}));
      continue;
    }
    std::string piece;
    for (const ProgramInput& input : translation_.program.inputs) {
      if (input.kind != InputKind::user || !piece.empty()) continue;
      const std::vector<Size>& own = sizes(input.value);
      const auto at = std::find(own.begin(), own.end(), size);
      if (at == own.end()) continue;
      const std::string all = add_inner("Shape", {model_name(input.value)});
      piece = add_inner("Gather", {all, constant({at - own.begin()})}, {{"axis", std::int64_t{0}}});
    }
    if (piece.empty())
      fail(ErrorKind::unsupported, "a size that is computed from symbols: {}", size.expression);
    pieces.push_back(piece);
  }
  if (pieces.size() == 1) return pieces.front();
  return add_inner("Concat", pieces, {{"axis", std::int64_t{0}}});
}

std::string OpCall::scalar(double number, std::int64_t type) {
  const std::string name = fmt::format("{}#{}", output(), ++inner_);
  translation_.text.add_number(name, number, type);
  return name;
}

std::string OpCall::new_weight(std::string_view name, const Integers& sizes_of_it,
                               std::int64_t type) {
  translation_.text.add_tensor(name, sizes_of_it, type);
  translation_.text.say_learnt(name, true);
  return std::string(name);
}

void OpCall::add_reshape(const std::string& from_value, const std::string& from_name) {
  const std::vector<Size>& before = sizes(from_value);
  const std::vector<Size>& after = sizes(output());
  Integers shape;
  bool has_rest = false;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].is_number()) {
      shape.push_back(after[i].number);
    } else if (i < before.size() && before[i] == after[i]) {
      shape.push_back(0);  // as it was
    } else if (!has_rest) {
      shape.push_back(-1);
      has_rest = true;
    } else {
      return add("Reshape", {from_name, shape_tensor(after)});
    }
  }
  add("Reshape", {from_name, constant(shape)});
}

}  // namespace strata::torch_export
