// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/fields.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/operator_fields.hpp"
#include "strata/graph/operator_names.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace strata::network {
namespace {

/// Gives every field of an operator a random value, valid for a file, not for mathematics.
class RandomFill {
 public:
  explicit RandomFill(Symbols& symbols) : symbols_(symbols) {}

  void operator()(const Field&, std::int64_t& member) { member = number(); }
  void operator()(const Field&, bool& member) { member = *rc::gen::arbitrary<bool>(); }
  void operator()(const Field&, double& member) { member = *rc::gen::inRange(0, 1000) / 1000.0; }
  void operator()(const Field&, std::string& member) {
    member = *rc::gen::element<std::string>("", "NonZero", "é\"\\\n");
  }
  void operator()(const Field&, DType& member) { member = *rc::gen::elementOf(dtypes()); }
  void operator()(const Field&, Extents& member) { fill(member, Extents::most()); }
  void operator()(const Field&, Axes& member) { fill(member, Axes::most()); }
  void operator()(const Field&, std::vector<std::int64_t>& member) { fill(member, 20); }
  void operator()(const Field&, Ends<Extents> ends) {
    fill(ends.begin, Extents::most());
    if (*rc::gen::arbitrary<bool>()) {
      ends.end = ends.begin;
    } else {
      fill(ends.end, Extents::most());
    }
  }
  void operator()(const Field&, Shape& member) { fill(member); }
  void operator()(const Field&, std::vector<Dim>& member) {
    Shape dims;
    fill(dims);
    member.assign(dims.begin(), dims.end());
  }
  void operator()(const Field&, std::vector<Shape>& member) {
    member.resize(*rc::gen::inRange<std::size_t>(1, 4));
    for (Shape& shape : member) {
      fill(shape);
      for (Dim& extent : shape)
        extent = extent.factor < 1 ? Dim(1) : extent;  // outputs have positive extents
    }
  }

 private:
  static std::vector<DType> dtypes() { return {all_dtypes().begin(), all_dtypes().end()}; }
  static std::int64_t number() { return *rc::gen::inRange<std::int64_t>(-3, 1000); }

  template <class Numbers>
  void fill(Numbers& numbers, std::size_t most) {
    numbers = Numbers();
    const bool is_alike = *rc::gen::arbitrary<bool>();
    const std::int64_t first = number();
    const auto size = *rc::gen::inRange<std::size_t>(0, most + 1);
    for (std::size_t i = 0; i < size; ++i) numbers.push_back(is_alike ? first : number());
  }

  void fill(Shape& shape) {
    shape = Shape();
    const auto size = *rc::gen::inRange<std::size_t>(0, most_axes + 1);
    for (std::size_t i = 0; i < size; ++i) {
      const Dim symbol =
          *rc::gen::element(symbols_.parameter("batch"), symbols_.parameter("seq"), Dim(1));
      shape.push_back(symbols_.multiply(number(), symbol));
    }
  }

  Symbols& symbols_;
};

Operator random_operator(Symbols& symbols) {
  const auto names = operator_names();
  Operator op = *operator_named(names[*rc::gen::inRange<std::size_t>(0, names.size())]);
  visit_fields(op, RandomFill(symbols));
  return op;
}

RC_GTEST_PROP(FieldsProperty, every_operator_survives_writing_and_reading, ()) {
  Symbols symbols;
  const Operator op = random_operator(symbols);
  const auto spatial_axes = *rc::gen::inRange<std::size_t>(1, 4);
  const std::string text = written_fields(op, symbols, spatial_axes).dump();

  const Value tree = parse_json(text);
  std::uint32_t line = 0;
  TableReader keys(table_of(tree), line);
  DimReader dims(symbols);
  Operator again = *operator_named(name_of(op));
  read_fields(again, keys, dims, spatial_axes);
  keys.expect_all_taken();
  RC_ASSERT(again == op);
}

Operator read(std::string_view name, std::string_view json, std::size_t spatial_axes) {
  Symbols symbols;
  DimReader dims(symbols);
  const Value tree = parse_json(json);
  std::uint32_t line = 0;
  TableReader keys(table_of(tree), line);
  Operator op = *operator_named(name);
  read_fields(op, keys, dims, spatial_axes);
  keys.expect_all_taken();
  return op;
}

TEST(Fields, one_number_stands_for_every_spatial_axis) {
  const Operator flat = read("max_pool", R"({"kernel": 3, "pad": 1})", 2);
  EXPECT_EQ(flat, Operator(Pool{.kernel = {3, 3}, .pad_begin = {1, 1}, .pad_end = {1, 1}}));
  const Operator deep = read("max_pool", R"({"kernel": 3, "stride": [1, 2, 2]})", 3);
  EXPECT_EQ(deep, Operator(Pool{.kernel = {3, 3, 3}, .stride = {1, 2, 2}}));
}

TEST(Fields, padding_at_one_end) {
  const Operator op = read("max_pool", R"({"kernel": 3, "pad_end": 1})", 2);
  EXPECT_EQ(op, Operator(Pool{.kernel = {3, 3}, .pad_end = {1, 1}}));
}

TEST(Fields, what_is_as_usual_is_not_written) {
  const Symbols symbols;
  const Convolution op{.channels = 8, .kernel = {3, 3}, .pad_begin = {1, 1}, .pad_end = {1, 1}};
  EXPECT_EQ(written_fields(op, symbols, 2).dump(), R"({"channels":8,"kernel":3,"pad":1})");
  EXPECT_EQ(written_fields(Unary{}, symbols, 2).dump(), "{}");
}

TEST(Fields, missing_fields_are_named) {
  Symbols symbols;
  DimReader dims(symbols);
  std::uint32_t line = 0;
  const Table nothing;
  TableReader keys(nothing, line);
  Operator op = Linear{};
  EXPECT_EQ(read_fields(op, keys, dims, 1),
            "'features' is missing: outputs of the layer, on the last axis");
}

TEST(Fields, spatial_axes) {
  EXPECT_EQ(spatial_axes_of({1, 3, 8}), 1U);
  EXPECT_EQ(spatial_axes_of({1, 3, 8, 8}), 2U);
  EXPECT_EQ(spatial_axes_of({1, 3, 8, 8, 8}), 3U);
  EXPECT_EQ(spatial_axes_of({1, 3, 8, 8, 8, 8}), 3U);  // no window fits; inference says so
  EXPECT_EQ(spatial_axes_of({}), 1U);
}

// A layer's own keys stand beside those of its operator: no two may have one name.
TEST(NetworkFields, no_operator_has_a_field_named_like_a_key_of_every_layer) {
  for (const std::string_view op : operator_names()) {
    for (const FieldDescription& field : fields_of(*operator_named(op))) {
      for (const std::string_view key :
           {"op", "name", "inputs", "outputs", "block", "weights", "weights_of"}) {
        EXPECT_NE(field.name, key) << op;
      }
    }
  }
}

}  // namespace
}  // namespace strata::network
