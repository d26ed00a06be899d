// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/text_format.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/importers/caffe/scanner.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace strata::caffe {
namespace {

using network::in_quotes;

class Parser {
 public:
  explicit Parser(std::string_view text) : scanner_(text) { advance(); }

  Message parse() {
    Message root = parse_fields('\0', 0);
    if (here_.kind != TokenKind::end) fail_expected("a field");
    return root;
  }

 private:
  void advance() { here_ = scanner_.next(); }

  [[noreturn]] void fail_expected(std::string_view what) const {
    fail(ErrorKind::input, "line {}: expected {}, got {}", here_.line, what, shown(here_));
  }

  bool accept(char c) {
    if (!here_.is(c)) return false;
    advance();
    return true;
  }

  // Fields up to the closing mark, or to the end of the text when there is none.
  Message parse_fields(char closing, std::size_t depth) {
    if (depth > deepest_nesting) {
      fail(ErrorKind::input, "line {}: nested deeper than {} levels", here_.line, deepest_nesting);
    }
    Message message;
    while (!(closing == '\0' ? here_.kind == TokenKind::end : here_.is(closing))) {
      parse_field(message, depth);
      if (!accept(',')) accept(';');
    }
    return message;
  }

  std::string_view parse_name() {
    const bool is_extension = accept('[');
    if (here_.kind != TokenKind::word) fail_expected("the name of a field");
    const std::string_view name = here_.content;
    advance();
    if (is_extension && !accept(']')) fail_expected("']'");
    return name;
  }

  void parse_field(Message& message, std::size_t depth) {
    const std::uint32_t line = here_.line;
    const std::string_view name = parse_name();
    const bool has_colon = accept(':');
    if (!has_colon && !here_.is('{') && !here_.is('<')) {
      fail_expected(fmt::format("':' or '{{' after {}", in_quotes(name)));
    }
    if (!accept('[')) {
      message.fields.push_back(parse_value(name, line, depth));
      return;
    }
    while (!accept(']')) {
      message.fields.push_back(parse_value(name, line, depth));
      if (!accept(',') && !here_.is(']')) fail_expected("',' or ']'");
    }
  }

  Field parse_value(std::string_view name, std::uint32_t line, std::size_t depth) {
    if (++count_ > most_fields) {
      fail(ErrorKind::input, "line {}: more than {} fields", line, most_fields);
    }
    Field field{name, here_.content, line, FieldKind::word, {}};
    const char closing = here_.is('{') ? '}' : here_.is('<') ? '>' : '\0';
    if (closing != '\0') {
      advance();
      field.kind = FieldKind::message;
      field.message = parse_fields(closing, depth + 1);
    } else if (here_.kind == TokenKind::text) {
      field.kind = FieldKind::text;
      field.value = parse_texts();
      return field;
    } else if (here_.kind != TokenKind::word) {
      fail_expected(fmt::format("a value for {}", in_quotes(name)));
    }
    advance();
    return field;
  }

  // "one" "two" is one text in pieces: everything from the first quote to the last.
  std::string_view parse_texts() {
    const char* begin = here_.content.data();
    const char* end = begin;
    while (here_.kind == TokenKind::text) {
      end = here_.content.data() + here_.content.size();
      advance();
    }
    return {begin, static_cast<std::size_t>(end - begin)};
  }

  Scanner scanner_;
  Token here_;
  std::size_t count_ = 0;
};

std::string description_of(const Field& field) {
  return field.kind == FieldKind::message ? "a message" : in_quotes(field.value);
}

[[noreturn]] void fail_value(const Field& field, std::string_view what) {
  fail(ErrorKind::input, "field '{}' (line {}): expected {}, got {}", field.name, field.line, what,
       description_of(field));
}

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::int64_t whole_number(const Field& field) {
  if (field.kind == FieldKind::word) {
    if (const auto number = parsed<std::int64_t>(field.value)) return *number;
  }
  fail_value(field, "a whole number");
}

std::string text_of(const Field& field) {
  if (field.kind == FieldKind::message) fail_value(field, "a text");
  return field.kind == FieldKind::text ? unquoted(field.value) : std::string(field.value);
}

template <class Take>
auto all(const Message& message, std::string_view name, const Take& take) {
  std::vector<decltype(take(std::declval<const Field&>()))> values;
  for (const Field& field : message.fields) {
    if (field.name == name) values.push_back(take(field));
  }
  return values;
}

const Message* message_of(const Field& field) {
  if (field.kind != FieldKind::message) fail_value(field, "a message in braces");
  return &field.message;
}

}  // namespace

Message parse_text_format(std::string_view text) {
  if (text.size() > most_bytes) {
    fail(ErrorKind::input, "{} bytes, the most is {}", text.size(), most_bytes);
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  return Parser(text).parse();
}

const std::string& checked_name(const std::string& name) {
  if (!is_text(name) || name.size() > longest_name) {
    fail(ErrorKind::input, "expected a name of at most {} printable characters, got {}",
         longest_name, in_quotes(name));
  }
  return name;
}

const Field* Message::find(std::string_view name) const {
  const auto found = std::find_if(fields.rbegin(), fields.rend(),
                                  [&](const Field& field) { return field.name == name; });
  return found == fields.rend() ? nullptr : &*found;
}

std::size_t Message::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; }));
}

std::int64_t Message::number(std::string_view name, std::int64_t otherwise) const {
  const Field* field = find(name);
  return field == nullptr ? otherwise : whole_number(*field);
}

double Message::real(std::string_view name, double otherwise) const {
  const Field* field = find(name);
  if (field == nullptr) return otherwise;
  std::string_view value = field->value;
  if (value.ends_with('f')) value.remove_suffix(1);  // 0.5f
  const std::optional<double> number = parsed<double>(value);
  if (field->kind != FieldKind::word || !number) fail_value(*field, "a number");
  return *number;
}

bool Message::flag(std::string_view name, bool otherwise) const {
  const Field* field = find(name);
  if (field == nullptr) return otherwise;
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), field->value) != words.end();
  };
  if (field->kind == FieldKind::word && is_one_of({"true", "True", "t", "1"})) return true;
  if (field->kind == FieldKind::word && is_one_of({"false", "False", "f", "0"})) return false;
  fail_value(*field, "true or false");
}

std::string Message::text(std::string_view name, std::string_view otherwise) const {
  const Field* field = find(name);
  return field == nullptr ? std::string(otherwise) : text_of(*field);
}

std::vector<std::int64_t> Message::numbers(std::string_view name) const {
  return all(*this, name, whole_number);
}

std::vector<std::string> Message::texts(std::string_view name) const {
  return all(*this, name, text_of);
}

std::vector<const Message*> Message::messages(std::string_view name) const {
  return all(*this, name, message_of);
}

const Message& Message::message(std::string_view name) const {
  static const Message empty;
  const Field* field = find(name);
  return field == nullptr ? empty : *message_of(*field);
}

}  // namespace strata::caffe
