// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What a JSON or TOML file says, without its meaning. Both become the same tree, in
/// the order of the file and with line numbers, so that everything behind it is written once.
namespace strata::network {

struct Value;
struct Member;
using List = std::vector<Value>;
using Table = std::vector<Member>;

struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Table> content;
  std::uint32_t line = 0;  ///< where its key stands, or where it begins
};

struct Member {
  std::string key;
  Value value;
};

/// Bounds on what a file may ask for; far beyond real networks, and small enough that no file ends
/// the program.
inline constexpr std::size_t most_json_bytes = std::size_t{64} << 20;
/// Its tree takes a hundred times the memory, and it is for people.
inline constexpr std::size_t most_toml_bytes = std::size_t{1} << 20;
inline constexpr std::size_t most_values = 1'000'000;
inline constexpr std::size_t deepest_nesting = 16;

/// The tree of a text. Errors (input) say line and column.
Value parse_json(std::string_view text);
Value parse_toml(std::string_view text);

/// Parses JSON when the text begins with a brace, else TOML.
Value parse(std::string_view text);

// What a value is taken for; an error says what was expected and what came.
bool truth_of(const Value& value);
std::int64_t whole_number_of(const Value& value);
double number_of(const Value& value);
const std::string& text_of(const Value& value);
const List& list_of(const Value& value);
const Table& table_of(const Value& value);

/// "expected a whole number, got the text 'three'".
[[noreturn]] void fail_expected(std::string_view what, const Value& value);

/// Names end up in tables, on terminals and in other files: errors unless the text is printable and
/// at most longest_text bytes. What may be written is what may be read.
void check_text(std::string_view text);
inline constexpr std::size_t longest_text = 4096;

/// Text from a file as it may stand in a message: quoted, short, without control characters.
std::string in_quotes(std::string_view text);

/// Hands out the members of a table and remembers which were asked for, so that what nobody
/// understands is an error.
class TableReader {
 public:
  /// `line` follows the reading: when an error is thrown it is the line to name.
  TableReader(const Table& table, std::uint32_t& line);

  /// The value of that key, or nullptr.
  const Value* take(std::string_view key);

  /// Errors for a key that was never asked for, with the nearest that was.
  void expect_all_taken() const;

 private:
  const Table& table_;
  std::uint32_t& line_;
  std::vector<bool> is_taken_;
  std::vector<std::string> asked_;
};

}  // namespace strata::network
