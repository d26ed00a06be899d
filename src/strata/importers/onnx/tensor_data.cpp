// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/tensor_data.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <protozero/pbf_reader.hpp>

#include <cmath>
#include <cstring>
#include <string>
#include <unordered_set>

namespace strata::onnx {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// TensorProto.DataType, as far as numbers of it are looked at.
enum Type : std::int32_t {
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
};

std::size_t width_of(std::int32_t type) {
  switch (type) {
    case uint8:
    case int8:
    case boolean: return 1;
    case uint16:
    case int16:
    case float16:
    case bfloat16: return 2;
    case float32:
    case int32:
    case uint32: return 4;
    case int64:
    case uint64:
    case float64: return 8;
    default: return 0;
  }
}

double real_of_half(std::uint32_t bits) {
  const std::uint32_t exponent = (bits >> 10) & 0x1F;
  const double fraction = bits & 0x3FF;
  double value = 0;
  if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else if (exponent < 31) {
    value = std::ldexp(fraction + 1024, static_cast<int>(exponent) - 25);
  } else {
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

double real_of_bfloat(std::uint32_t bits) {
  return static_cast<double>(std::bit_cast<float>(bits << 16));
}

Number of_unsigned(std::uint64_t value) {
  return value > static_cast<std::uint64_t>(INT64_MAX) ? Number::real(static_cast<double>(value))
                                                       : Number(Dim(std::int64_t(value)));
}

template <class Stored>
Stored load(const char* bytes) {
  Stored value;
  std::memcpy(&value, bytes, sizeof(Stored));  // ONNX is little-endian, as every host of Strata
  return value;
}

Number number_at(const char* bytes, std::int32_t type) {
  switch (type) {
    case float32: return Number::real(static_cast<double>(load<float>(bytes)));
    case float64: return Number::real(load<double>(bytes));
    case float16: return Number::real(real_of_half(load<std::uint16_t>(bytes)));
    case bfloat16: return Number::real(real_of_bfloat(load<std::uint16_t>(bytes)));
    case uint8: return Dim(load<std::uint8_t>(bytes));
    case int8: return Dim(load<std::int8_t>(bytes));
    case boolean: return Number::truth(load<std::uint8_t>(bytes) != 0);
    case uint16: return Dim(load<std::uint16_t>(bytes));
    case int16: return Dim(load<std::int16_t>(bytes));
    case int32: return Dim(load<std::int32_t>(bytes));
    case uint32: return Dim(load<std::uint32_t>(bytes));
    case uint64: return of_unsigned(load<std::uint64_t>(bytes));
    default: return Dim(load<std::int64_t>(bytes));
  }
}

// int32_data also holds narrower types, and halves by their bits.
Number number_of_int32_data(std::int32_t value, std::int32_t type) {
  const auto bits = static_cast<std::uint32_t>(value) & 0xFFFF;
  switch (type) {
    case float16: return Number::real(real_of_half(bits));
    case bfloat16: return Number::real(real_of_bfloat(bits));
    case boolean: return Number::truth(value != 0);
    default: return Dim(value);
  }
}

constexpr std::uint32_t packed(std::uint32_t number) {
  return protozero::tag_and_type(number, pbf_wire_type::length_delimited);
}
constexpr std::uint32_t single(std::uint32_t number, pbf_wire_type type) {
  return protozero::tag_and_type(number, type);
}

// Collects the numbers of whichever data field the tensor uses, and never more than it may have.
class NumberReader {
 public:
  NumberReader(const TensorDef& tensor, std::size_t expected)
      : type_(tensor.type), expected_(expected) {}

  Numbers read(Bytes message) {
    pbf_reader reader(message.data(), message.size());
    while (reader.next()) read_field(reader);
    return std::move(numbers_);
  }

 private:
  void read_field(pbf_reader& reader) {
    switch (reader.tag_and_type()) {
      case packed(4): add_all(reader.get_packed_float()); break;
      case single(4, pbf_wire_type::fixed32): add(real(reader.get_float())); break;
      case packed(5):
        for (const std::int32_t value : reader.get_packed_int32()) {
          add(number_of_int32_data(value, type_));
        }
        break;
      case single(5, pbf_wire_type::varint):
        add(number_of_int32_data(reader.get_int32(), type_));
        break;
      case packed(7):
        for (const std::int64_t value : reader.get_packed_int64()) add(Dim(value));
        break;
      case single(7, pbf_wire_type::varint): add(Dim(reader.get_int64())); break;
      case packed(9): add_raw(reader.get_view()); break;
      case packed(10): add_all(reader.get_packed_double()); break;
      case single(10, pbf_wire_type::fixed64): add(real(reader.get_double())); break;
      case packed(11):
        for (const std::uint64_t value : reader.get_packed_uint64()) add(of_unsigned(value));
        break;
      case single(11, pbf_wire_type::varint): add(of_unsigned(reader.get_uint64())); break;
      default: reader.skip();
    }
  }

  static Number real(double value) { return Number::real(value); }

  template <class Range>
  void add_all(const Range& range) {
    for (const auto value : range) add(real(value));
  }

  void add_raw(const protozero::data_view& raw) {
    const std::size_t width = width_of(type_);
    for (std::size_t at = 0; at + width <= raw.size(); at += width) {
      add(number_at(raw.data() + at, type_));
    }
  }

  void add(Number number) {
    if (numbers_.size() >= expected_) {
      fail(ErrorKind::input, "more numbers than its extents say, {}", expected_);
    }
    numbers_.push_back(number);
  }

  std::int32_t type_;
  std::size_t expected_;
  Numbers numbers_;
};

// The bytes of raw_data or of packed float_data: one number after the other.
Bytes plain_bytes(const TensorDef& tensor) {
  pbf_reader reader(tensor.message.data(), tensor.message.size());
  while (reader.next()) {
    const std::uint32_t field = reader.tag_and_type();
    if (field == packed(9) || (field == packed(4) && tensor.type == float32)) {
      const protozero::data_view data = reader.get_view();
      return {data.data(), data.size()};
    }
    reader.skip();
  }
  return {};
}

// Two different numbers and no third, over more places than a short vector has.
bool holds_two_numbers(Bytes bytes, std::size_t width) {
  constexpr std::size_t fewest = 16;
  if (bytes.size() < fewest * width) return false;
  const Bytes first = bytes.substr(0, width);
  Bytes other;
  for (std::size_t at = width; at + width <= bytes.size(); at += width) {
    const Bytes number = bytes.substr(at, width);
    if (number == first || number == other) continue;
    if (!other.empty()) return false;
    other = number;
  }
  return !other.empty();
}

// The side of a square table whose leading axes are 1; 0 for any other shape.
std::int64_t side_of_square(std::span<const std::int64_t> extents) {
  if (extents.size() < 2) return 0;
  const std::int64_t side = extents.back();
  if (side < 2 || extents[extents.size() - 2] != side) return 0;
  for (const std::int64_t extent : extents.first(extents.size() - 2)) {
    if (extent != 1) return 0;
  }
  return side;
}

template <class NumberAt>
bool is_triangle(std::int64_t side, NumberAt&& number_at_place) {
  constexpr std::int64_t looked_into = 64;
  bool may_select = true;
  bool may_add = true;
  for (std::int64_t row = 0; row < side; ++row) {
    const bool is_looked_at = row < looked_into || row + 2 > side;
    for (std::int64_t column = 0; is_looked_at && column < side; ++column) {
      const Number number = number_at_place(row * side + column);
      const bool is_seen = column <= row;
      const bool is_hidden = number.is_plain() && number.value() <= as_good_as_minus_infinity;
      may_select = may_select && number.is(is_seen ? 1 : 0);
      may_add = may_add && (is_seen ? number.is(0) : is_hidden);
    }
    if (!may_select && !may_add) return false;
  }
  return true;
}

}  // namespace

std::int64_t elements_of(const TensorDef& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.extents) {
    if (extent < 0) {
      fail(ErrorKind::input, "an extent must not be negative, got {}", extent);
    }
    elements = checked_mul(elements, extent);
  }
  return elements;
}

KnownNumbers numbers_of(const TensorDef& tensor) {
  const std::int64_t elements = elements_of(tensor);
  if (tensor.is_external || elements > most_known_numbers || width_of(tensor.type) == 0) {
    return nullptr;
  }
  try {
    const auto expected = static_cast<std::size_t>(elements);
    Numbers numbers = NumberReader(tensor, expected).read(tensor.message);
    if (numbers.empty() && elements > 0) return nullptr;  // the file was made without weights
    if (numbers.size() != expected) {
      fail(ErrorKind::input, "{} numbers where its extents say {}", numbers.size(), expected);
    }
    return std::make_shared<const Numbers>(std::move(numbers));
  } catch (const protozero::exception& problem) {
    fail(ErrorKind::input, "broken protobuf in a tensor ({})", problem.what());
  }
}

std::optional<bool> is_uniform(const TensorDef& tensor, std::size_t most_bytes) {
  const std::size_t width = width_of(tensor.type);
  if (tensor.is_external || width == 0) return std::nullopt;
  const Bytes bytes = plain_bytes(tensor);
  if (bytes.size() < 2 * width || bytes.size() > most_bytes) return std::nullopt;
  return std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

bool looks_like_mask(const TensorDef& tensor) {
  const std::size_t width = width_of(tensor.type);
  const std::optional<DType> dtype = dtype_of(tensor.type);
  if (tensor.is_external || width == 0 || !dtype || !is_floating(*dtype)) return false;
  const Bytes bytes = plain_bytes(tensor);
  const std::size_t end = std::min<std::size_t>(bytes.size(), most_known_numbers * width);
  for (std::size_t at = 0; at + width <= end; at += width) {
    const Number number = number_at(bytes.data() + at, tensor.type);
    if (number.value() <= as_good_as_minus_infinity) return true;
  }
  return holds_two_numbers(bytes, width);
}

bool looks_like_sinusoids(const TensorDef& tensor) {
  if (tensor.is_external || tensor.type != float32 || tensor.extents.size() < 2) return false;
  constexpr std::size_t fewest_rows = 4;
  const Bytes bytes = plain_bytes(tensor);
  const auto row = static_cast<std::size_t>(tensor.extents.back());
  const std::size_t count = bytes.size() / sizeof(float);
  if (row < 4 || count < fewest_rows * row) return false;
  std::size_t zeros = 0;
  std::size_t ones = 0;
  for (std::size_t at = 0; at < count; ++at) {
    const auto number = load<float>(bytes.data() + at * sizeof(float));
    if (!(std::abs(number) <= 1.0F)) return false;
    if (at >= row) continue;
    zeros += number == 0.0F ? 1 : 0;
    ones += number == 1.0F ? 1 : 0;
    if (zeros + ones <= at) return false;
  }
  return zeros == ones;
}

std::optional<std::int64_t> different_columns(const TensorDef& tensor, std::int64_t rows) {
  constexpr std::size_t most_bytes = std::size_t{1} << 24;
  const std::size_t width = width_of(tensor.type);
  if (tensor.is_external || width == 0 || rows < 1) return std::nullopt;
  const Bytes bytes = plain_bytes(tensor);
  const std::size_t columns = bytes.size() / width / static_cast<std::size_t>(rows);
  if (columns == 0 || bytes.size() > most_bytes) return std::nullopt;
  std::unordered_set<std::string> seen;
  for (std::size_t column = 0; column < columns; ++column) {
    std::string numbers;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      numbers += bytes.substr((row * columns + column) * width, width);
    }
    seen.insert(std::move(numbers));
  }
  return static_cast<std::int64_t>(seen.size());
}

std::optional<bool> is_blur(const TensorDef& tensor, std::int64_t channels) {
  constexpr std::size_t most_bytes = std::size_t{1} << 24;
  const std::size_t width = width_of(tensor.type);
  if (tensor.is_external || width == 0 || channels < 2) return std::nullopt;
  const Bytes bytes = plain_bytes(tensor);
  const std::size_t count = bytes.size() / width / static_cast<std::size_t>(channels);
  if (bytes.empty() || bytes.size() > most_bytes) return std::nullopt;
  if (count < 2 || bytes.size() != count * width * static_cast<std::size_t>(channels)) return false;
  // Every channel is the first one again: the bytes are their own continuation, a kernel further.
  const std::size_t kernel = count * width;
  if (bytes.substr(kernel) != bytes.substr(0, bytes.size() - kernel)) return false;
  for (std::size_t at = 0; at < count; ++at) {
    const Number number = number_at(bytes.data() + at * width, tensor.type);
    const Number mirrored = number_at(bytes.data() + (count - 1 - at) * width, tensor.type);
    if (!(number.value() > 0) || number != mirrored) return false;
  }
  return true;
}

bool are_same_matrix(const TensorDef& a, const TensorDef& b) {
  constexpr std::size_t looked_at = 4096;
  const std::size_t width = width_of(a.type);
  if (a.is_external || b.is_external || a.type != b.type || width == 0) return false;
  if (a.extents.size() != 2 || b.extents.size() != 2) return false;
  const Bytes first = plain_bytes(a);
  const Bytes second = plain_bytes(b);
  const auto rows = static_cast<std::size_t>(a.extents[0]);
  const auto columns = static_cast<std::size_t>(a.extents[1]);
  const std::size_t count = rows * columns;
  if (count == 0 || first.size() != count * width || second.size() != first.size()) return false;
  const bool is_transposed = a.extents[0] == b.extents[1] && a.extents[1] == b.extents[0];
  const bool is_alike = a.extents[0] == b.extents[0] && a.extents[1] == b.extents[1];
  const auto is_equal = [&](bool transposed) {
    bool is_varied = false;
    for (std::size_t i = 0; i < looked_at; ++i) {
      const std::size_t at = i * 1'000'003 % count;
      const std::size_t place = transposed ? at % columns * rows + at / columns : at;
      const Bytes number = first.substr(at * width, width);
      if (number != second.substr(place * width, width)) return false;
      is_varied = is_varied || number != first.substr(0, width);
    }
    return is_varied;
  };
  return (is_alike && is_equal(false)) || (is_transposed && is_equal(true));
}

bool is_triangle(const TensorDef& tensor) {
  constexpr std::int64_t largest_side = 16'384;
  const std::int64_t side = side_of_square(tensor.extents);
  const std::size_t width = width_of(tensor.type);
  if (side == 0 || side > largest_side || width == 0 || tensor.is_external) return false;
  const Bytes bytes = plain_bytes(tensor);
  if (bytes.size() != static_cast<std::size_t>(side * side) * width) return false;
  return is_triangle(side, [&](std::int64_t place) {
    return number_at(bytes.data() + static_cast<std::size_t>(place) * width, tensor.type);
  });
}

bool is_triangle(const Numbers& numbers, const Shape& shape) {
  std::vector<std::int64_t> extents;
  for (const Dim extent : shape) extents.push_back(extent.is_number() ? extent.factor : 0);
  const std::int64_t side = side_of_square(extents);
  if (side == 0 || numbers.size() != static_cast<std::size_t>(side * side)) return false;
  return is_triangle(side,
                     [&](std::int64_t place) { return numbers[static_cast<std::size_t>(place)]; });
}

}  // namespace strata::onnx
