// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/document.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

namespace strata::network {
namespace {

constexpr std::size_t longest_quote = 60;

std::string description_of(const Value& value) {
  struct Describe {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const {
      const std::string digits = fmt::format("{}", number);
      const bool looks_whole = digits.find_first_not_of("-0123456789") == std::string::npos;
      return looks_whole ? digits + ".0" : digits;  // else "expected a whole number, got 3"
    }
    std::string operator()(const std::string& text) const {
      return fmt::format("the text {}", in_quotes(text));
    }
    std::string operator()(const List& list) const {
      return list.empty() ? "an empty list" : "a list";
    }
    std::string operator()(const Table&) const { return "a table"; }
  };
  return std::visit(Describe{}, value.content);
}

template <class Content>
const Content& content_of(const Value& value, std::string_view what) {
  const Content* content = std::get_if<Content>(&value.content);
  if (content == nullptr) fail_expected(what, value);
  return *content;
}

}  // namespace

Value parse(std::string_view text) {
  std::string_view start = text;
  if (start.starts_with("\xEF\xBB\xBF")) start.remove_prefix(3);  // a byte order mark
  return trimmed(start).starts_with('{') ? parse_json(text) : parse_toml(text);
}

bool truth_of(const Value& value) { return content_of<bool>(value, "true or false"); }

std::int64_t whole_number_of(const Value& value) {
  return content_of<std::int64_t>(value, "a whole number");
}

double number_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.content)) {
    return static_cast<double>(*whole);
  }
  return content_of<double>(value, "a number");
}

const std::string& text_of(const Value& value) { return content_of<std::string>(value, "a text"); }
const List& list_of(const Value& value) { return content_of<List>(value, "a list"); }
const Table& table_of(const Value& value) { return content_of<Table>(value, "a table"); }

void fail_expected(std::string_view what, const Value& value) {
  fail(ErrorKind::input, "expected {}, got {}", what, description_of(value));
}

void check_text(std::string_view text) {
  if (text.size() > longest_text) {
    fail(ErrorKind::input, "a text of {} bytes, the most is {}", text.size(), longest_text);
  }
  if (!is_text(text)) {
    fail(ErrorKind::input, "expected printable UTF-8, got {}", in_quotes(text));
  }
}

std::string in_quotes(std::string_view text) {
  std::string shown = "'";
  std::size_t at = 0;
  while (at < text.size() && at < longest_quote) {
    const std::string_view character = next_character(text.substr(at));
    if (is_printable_character(character)) {
      shown += character;
    } else {  // an escape sequence must not reach a terminal
      for (const char c : character) {
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
    at += character.size();
  }
  return shown + (at < text.size() ? "…'" : "'");
}

TableReader::TableReader(const Table& table, std::uint32_t& line)
    : table_(table), line_(line), is_taken_(table.size(), false) {}

const Value* TableReader::take(std::string_view key) {
  asked_.emplace_back(key);
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (table_[i].key != key) continue;
    is_taken_[i] = true;
    line_ = table_[i].value.line;
    return &table_[i].value;
  }
  return nullptr;
}

void TableReader::expect_all_taken() const {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (is_taken_[i]) continue;
    line_ = table_[i].value.line;
    fail(ErrorKind::input, "unknown key {}{}", in_quotes(table_[i].key),
         did_you_mean(table_[i].key, asked_));
  }
}

}  // namespace strata::network
