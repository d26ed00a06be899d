// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/fields.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/graph/operator_fields.hpp"
#include "strata/graph/operator_names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::network {
namespace {

using Json = nlohmann::ordered_json;

class FieldReader {
 public:
  FieldReader(TableReader& keys, DimReader& dims, std::size_t spatial_axes)
      : keys_(keys), dims_(dims), spatial_axes_(spatial_axes) {}

  std::string missing;

  template <class Member>
  void operator()(const Field& field, Member& member) {
    if (!read_key(field.name, member) && field.is_required && missing.empty()) {
      missing = fmt::format("'{}' is missing: {}", field.name, field.help);
    }
  }

  void operator()(const Field& field, Ends<Extents> ends) {
    Extents both;
    const bool has_both = read_key(field.name, both);
    const bool has_begin = read_key(fmt::format("{}_begin", field.name), ends.begin);
    const bool has_end = read_key(fmt::format("{}_end", field.name), ends.end);
    if (!has_both) return;
    if (has_begin || has_end) {
      fail(ErrorKind::input, "'{0}' is for both ends: give it, or '{0}_begin' and '{0}_end'",
           field.name);
    }
    ends.begin = ends.end = both;
  }

 private:
  template <class Member>
  bool read_key(std::string_view key, Member& member) {
    const Value* value = keys_.take(key);
    if (value == nullptr) return false;
    try {
      read(*value, member);
    } catch (Error& error) {
      error.add_context(fmt::format("key '{}'", key));
      throw;
    }
    return true;
  }

  void read(const Value& value, std::int64_t& member) { member = whole_number_of(value); }
  void read(const Value& value, bool& member) { member = truth_of(value); }
  void read(const Value& value, std::string& member) { member = text_of(value); }
  void read(const Value& value, DType& member) { member = read_dtype(value); }
  void read(const Value& value, Shape& member) { member = dims_.read_shape(value); }
  void read(const Value& value, std::vector<Dim>& member) {
    const Shape dims = dims_.read_shape(value);
    member.assign(dims.begin(), dims.end());
  }

  void read(const Value& value, double& member) { member = number_of(value); }

  void read(const Value& value, Extents& member) {
    if (std::holds_alternative<std::int64_t>(value.content)) {
      member = Extents(spatial_axes_, std::get<std::int64_t>(value.content));
    } else if (std::holds_alternative<List>(value.content)) {
      read_numbers(value, member);
    } else {
      fail_expected("a whole number or a list of them, one per spatial axis", value);
    }
  }
  void read(const Value& value, Axes& member) { read_numbers(value, member); }
  void read(const Value& value, std::vector<std::int64_t>& member) { read_numbers(value, member); }

  void read(const Value& value, std::vector<Shape>& member) {
    const List& shapes = list_of(value);
    if (shapes.empty()) fail_expected("at least one shape", value);
    for (const Value& shape : shapes) member.push_back(dims_.read_positive_shape(shape));
  }

  template <class Numbers>
  static void read_numbers(const Value& value, Numbers& numbers) {
    for (const Value& number : list_of(value)) numbers.push_back(whole_number_of(number));
  }

  TableReader& keys_;
  DimReader& dims_;
  std::size_t spatial_axes_;
};

class FieldWriter {
 public:
  FieldWriter(Json& target, const Symbols& symbols, std::size_t spatial_axes)
      : target_(target), symbols_(symbols), spatial_axes_(spatial_axes) {}

  std::vector<std::string> required;  ///< keys that a file must have, whatever their value

  template <class Member>
  void operator()(const Field& field, const Member& member) {
    target_[std::string(field.name)] = written(member);
    if (field.is_required) required.emplace_back(field.name);
  }

  void operator()(const Field& field, Ends<const Extents> ends) {
    const std::string name(field.name);
    if (ends.begin == ends.end) {
      target_[name] = written(ends.begin);
    } else {
      target_[name + "_begin"] = written(ends.begin);
      target_[name + "_end"] = written(ends.end);
    }
  }

 private:
  template <class Plain>
  static Json written(const Plain& member) {
    return member;
  }
  static Json written(DType dtype) { return name_of(dtype); }
  Json written(const Shape& shape) const { return written_shape(shape, symbols_); }
  Json written(const std::vector<Dim>& dims) const { return written(Shape(std::span(dims))); }
  Json written(const std::vector<Shape>& shapes) const {
    Json list = Json::array();
    for (const Shape& shape : shapes) list.push_back(written(shape));
    return list;
  }
  static Json written(const Axes& axes) {
    return std::vector<std::int64_t>(axes.begin(), axes.end());
  }
  Json written(const Extents& extents) const {
    const bool is_alike = extents.size() == spatial_axes_ &&
                          std::count(extents.begin(), extents.end(), *extents.begin()) ==
                              static_cast<std::ptrdiff_t>(extents.size());
    if (is_alike) return *extents.begin();
    return std::vector<std::int64_t>(extents.begin(), extents.end());
  }

  Json& target_;
  const Symbols& symbols_;
  std::size_t spatial_axes_;
};

}  // namespace

std::string read_fields(Operator& op, TableReader& keys, DimReader& dims,
                        std::size_t spatial_axes) {
  FieldReader reader(keys, dims, spatial_axes);
  visit_fields(op, reader);
  return std::move(reader.missing);
}

Json written_fields(const Operator& op, const Symbols& symbols, std::size_t spatial_axes) {
  Json fields = Json::object();
  Json usual = Json::object();
  FieldWriter writer(fields, symbols, spatial_axes);
  visit_fields(op, writer);
  const Operator prototype = *operator_named(name_of(op));
  visit_fields(prototype, FieldWriter(usual, symbols, spatial_axes));
  for (const std::string& key : writer.required) usual.erase(key);
  Json written = Json::object();
  for (const auto& [key, value] : fields.items()) {
    if (!usual.contains(key) || usual[key] != value) written[key] = value;
  }
  return written;
}

Json written_shape(const Shape& shape, const Symbols& symbols) {
  Json list = Json::array();
  for (const Dim extent : shape) {
    list.push_back(extent.is_number() ? Json(extent.factor) : Json(formula_of(extent, symbols)));
  }
  return list;
}

DType read_dtype(const Value& value) {
  const std::string& name = text_of(value);
  if (const std::optional<DType> dtype = dtype_named(name)) return *dtype;
  std::vector<std::string> known;
  for (const DType dtype : all_dtypes()) known.emplace_back(name_of(dtype));
  fail(ErrorKind::input, "no data type is called {}; there are {}", in_quotes(name),
       fmt::join(known, ", "));
}

std::size_t spatial_axes_of(const Shape& shape) {
  constexpr std::size_t samples_and_channels = 2;
  const std::size_t axes = std::max(shape.size(), samples_and_channels) - samples_and_channels;
  return std::clamp<std::size_t>(axes, 1, Extents::most());
}

}  // namespace strata::network
