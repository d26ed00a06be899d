// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/operands.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::keras {
namespace {

// TensorFlowOpLayer keeps the constants among its operands by their position.
const Json* kept_constant(const LayerCall& call, std::size_t position) {
  const Json* constants = call.config.find({"constants"});
  return constants == nullptr ? nullptr : member(*constants, fmt::format("{}", position).c_str());
}

std::size_t kept_constants_before(const LayerCall& call, std::size_t position) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < position; ++i) count += kept_constant(call, i) != nullptr ? 1 : 0;
  return count;
}

Operand operand_in(const Given& argument) {
  if (!argument.values.empty()) return {argument.values.front(), nullptr};
  return {std::nullopt, argument.json};
}

// The extents of nested lists of numbers.
Shape extents_of(const Json& constant) {
  Shape shape;
  for (const Json* list = list_in(constant); list != nullptr;) {
    if (list->empty()) fail(ErrorKind::input, "a constant is an empty list");
    shape.push_back(static_cast<std::int64_t>(list->size()));
    list = list_in(list->front());
  }
  return shape;
}

}  // namespace

Operand operand(const LayerCall& call, std::size_t position, Names names) {
  for (const char* name : names) {
    if (const Given* argument = call.named(name)) return operand_in(*argument);
  }
  if (const Json* kept = kept_constant(call, position)) return {std::nullopt, kept};
  std::size_t at = position - kept_constants_before(call, position);
  for (const Given& argument : call.arguments) {
    if (!argument.name.empty()) continue;
    if (at == 0) return operand_in(argument);
    --at;
  }
  return {std::nullopt, call.config.find(names)};
}

Value tensor_operand(const LayerCall& call, std::size_t position, Names names) {
  const Operand found = operand(call, position, names);
  if (!found.tensor) {
    fail(ErrorKind::input, "expected a tensor as argument {} ('{}')", position + 1, *names.begin());
  }
  return *found.tensor;
}

std::optional<std::vector<std::int64_t>> numbers_operand(const LayerCall& call,
                                                         std::size_t position, Names names) {
  const Operand found = operand(call, position, names);
  if (found.tensor) {
    fail(ErrorKind::unsupported, "'{}' is computed by the network", *names.begin());
  }
  if (found.constant == nullptr || found.constant->is_null()) return std::nullopt;
  const Json* list = list_in(*found.constant);
  if (list == nullptr) return std::vector{whole_number(*found.constant, *names.begin())};
  std::vector<std::int64_t> numbers;
  for (const Json& item : *list) {
    numbers.push_back(item.is_null() ? -1 : whole_number(item, *names.begin()));
  }
  return numbers;
}

TensorId constant_tensor(LayerCall& call, Value x, const Json& constant, std::string_view what) {
  const Shape extents = extents_of(constant);
  const std::size_t rank = std::max(call.rank(x), extents.size());
  if (extents.size() > call.rank(x)) {
    fail(ErrorKind::unsupported, "a constant of {} axes beside a tensor of {}", extents.size(),
         call.rank(x));
  }
  Shape wide(rank, 1);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    wide[rank - extents.size() + i] = extents[i];
  }
  return call.stored(what, stored_shape(wide, x.channels_at), TensorKind::constant);
}

Value with_leading_axes(LayerCall& call, Value x, std::size_t rank, std::size_t channels_at,
                        std::string_view suffix) {
  const Shape shape = call.shape(x);
  if (shape.size() == rank) return call.with_channels_at(x, channels_at);
  Shape wide(rank, 1);
  for (std::size_t i = 0; i < shape.size(); ++i) wide[rank - shape.size() + i] = shape[i];
  const Value expanded{call.add(Reshape{wide}, {call.plain(x).id}, suffix), 0};
  return call.with_channels_at(expanded, channels_at);
}

}  // namespace strata::keras
