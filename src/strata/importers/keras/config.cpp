// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/config.hpp"

#include "strata/base/error.hpp"

namespace strata::keras {
namespace {

std::string_view first(Names names) { return *names.begin(); }

[[noreturn]] void fail_missing(std::string_view what, Names names) {
  fail(ErrorKind::input, "expected {} for '{}', got nothing", what, first(names));
}

Extents extents_of(const Json& value, std::size_t axes, std::string_view what) {
  const Json* list = list_in(value);
  if (list == nullptr) return Extents(axes, whole_number(value, what));
  if (list->size() == 1) return Extents(axes, whole_number(list->front(), what));
  if (list->size() != axes) {
    fail(ErrorKind::input, "expected {} numbers for '{}', got {}", axes, what, list->size());
  }
  Extents extents;
  for (const Json& item : *list) extents.push_back(whole_number(item, what));
  return extents;
}

}  // namespace

const Json* Config::find(Names names) const {
  for (const char* name : names) {
    if (const Json* value = member(*object_, name)) return value;
  }
  return nullptr;
}

std::int64_t Config::whole(Names names) const {
  const Json* value = find(names);
  if (value == nullptr) fail_missing("a whole number", names);
  return whole_number(*value, first(names));
}

std::int64_t Config::whole(Names names, std::int64_t otherwise) const {
  const Json* value = find(names);
  return value == nullptr ? otherwise : whole_number(*value, first(names));
}

double Config::number(Names names, double otherwise) const {
  const Json* value = find(names);
  if (value == nullptr) return otherwise;
  if (!value->is_number()) fail_expected("a number", first(names), *value);
  return value->get<double>();
}

bool Config::truth(Names names, bool otherwise) const {
  const Json* value = find(names);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail_expected("true or false", first(names), *value);
  return value->get<bool>();
}

std::string Config::word(Names names, std::string_view otherwise) const {
  const Json* value = find(names);
  if (value == nullptr) return std::string(otherwise);
  return word_in(*value, first(names));
}

Extents Config::extents(Names names, std::size_t axes) const {
  const Json* value = find(names);
  if (value == nullptr) fail_missing("whole numbers", names);
  return extents_of(*value, axes, first(names));
}

Extents Config::extents(Names names, std::size_t axes, std::int64_t otherwise) const {
  const Json* value = find(names);
  return value == nullptr ? Extents(axes, otherwise) : extents_of(*value, axes, first(names));
}

std::vector<std::int64_t> Config::numbers(Names names) const {
  const Json* value = find(names);
  if (value == nullptr) return {};
  const Json* list = list_in(*value);
  if (list == nullptr) return {whole_number(*value, first(names))};
  std::vector<std::int64_t> numbers;
  numbers.reserve(list->size());
  for (const Json& item : *list) numbers.push_back(whole_number(item, first(names)));
  return numbers;
}

}  // namespace strata::keras
