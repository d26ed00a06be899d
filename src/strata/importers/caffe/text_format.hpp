// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Protobuf's text format as it is found in the wild, without a schema: `name: value`,
/// `name { … }`, `name: { … }`, `name < … >`, lists in brackets, separators or none, comments,
/// texts in either quotes. What the fields mean is asked for later, by name.
namespace strata::caffe {

/// Bounds on what a file may ask for; far beyond real networks (ResNet-152 has 20,000 fields), and
/// small enough that no file ends the program.
inline constexpr std::size_t most_bytes = std::size_t{16} << 20;
inline constexpr std::size_t most_fields = 500'000;
inline constexpr std::size_t deepest_nesting = 32;
inline constexpr std::size_t longest_name = 256;

struct Field;

/// The fields between two braces, in the order of the file. Questions name the field and give what
/// is to hold when it is absent; where a single value is asked for and several stand there the last
/// one counts, as in protobuf. Errors name field and line, what was expected and what came.
struct Message {
  std::vector<Field> fields;

  const Field* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::size_t count(std::string_view name) const;

  std::int64_t number(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  bool flag(std::string_view name, bool otherwise) const;
  /// An enumerator ("MAX") or a text, as it stands there.
  std::string text(std::string_view name, std::string_view otherwise) const;
  /// All values of a repeated field.
  std::vector<std::int64_t> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::vector<const Message*> messages(std::string_view name) const;
  /// The message of that name; an empty one when it is absent.
  const Message& message(std::string_view name) const;
};

enum class FieldKind : std::uint8_t { word, text, message };

struct Field {
  std::string_view name;
  std::string_view value;  ///< of a word: itself; of a text: with its quotes and escapes
  std::uint32_t line = 0;
  FieldKind kind = FieldKind::word;
  Message message;
};

/// The tree of a text, which must outlive it. Errors (input) say the line.
Message parse_text_format(std::string_view text);

/// Errors unless the text can be a name: not too long, no control characters.
const std::string& checked_name(const std::string& name);

}  // namespace strata::caffe
