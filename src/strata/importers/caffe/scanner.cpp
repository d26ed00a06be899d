// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/scanner.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/network/document.hpp"

#include <algorithm>
#include <optional>

namespace strata::caffe {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '+' || c == '/';
}

std::optional<int> digit(char c, int base) {
  int value = 16;
  if (c >= '0' && c <= '9') value = c - '0';
  if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
  if (c >= 'A' && c <= 'F') value = c - 'A' + 10;
  if (value >= base) return std::nullopt;
  return value;
}

/// Reads up to `most` digits of a character code from the front of `rest`.
char character_code(std::string_view& rest, int base, int most) {
  int code = 0;
  for (int i = 0; i < most && !rest.empty(); ++i) {
    const std::optional<int> value = digit(rest.front(), base);
    if (!value) break;
    code = code * base + *value;
    rest.remove_prefix(1);
  }
  return static_cast<char>(code & 0xFF);
}

/// The character after a backslash, taken from the front of `rest`.
char escaped(std::string_view& rest) {
  if (digit(rest.front(), 8)) return character_code(rest, 8, 3);
  const char c = rest.front();
  rest.remove_prefix(1);
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'v': return '\v';
    case 'x':
    case 'X': return character_code(rest, 16, 2);
    default: return c;
  }
}

}  // namespace

void Scanner::skip_blank() {
  while (!rest_.empty()) {
    const char c = rest_.front();
    if (c == '#') {
      rest_.remove_prefix(std::min(rest_.size(), rest_.find('\n')));
    } else if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
      if (c == '\n') ++line_;
      rest_.remove_prefix(1);
    } else {
      return;
    }
  }
}

Token Scanner::quoted() {
  const char quote = rest_.front();
  const std::uint32_t line = line_;
  for (std::size_t i = 1; i < rest_.size(); ++i) {
    if (rest_[i] == '\n') break;
    if (rest_[i] == '\\') {
      ++i;
    } else if (rest_[i] == quote) {
      const Token token{TokenKind::text, rest_.substr(0, i + 1), line};
      rest_.remove_prefix(i + 1);
      return token;
    }
  }
  fail(ErrorKind::input, "line {}: a text without its closing quote: {}", line,
       network::in_quotes(rest_.substr(0, rest_.find('\n'))));
}

Token Scanner::next() {
  skip_blank();
  if (rest_.empty()) return {TokenKind::end, {}, line_};
  if (rest_.front() == '"' || rest_.front() == '\'') return quoted();
  const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_word_character);
  auto length = static_cast<std::size_t>(end - rest_.begin());
  const TokenKind kind = length == 0 ? TokenKind::punctuation : TokenKind::word;
  length = std::max<std::size_t>(length, 1);
  const Token token{kind, rest_.substr(0, length), line_};
  rest_.remove_prefix(length);
  return token;
}

std::string unquoted(std::string_view quoted) {
  std::string result;
  Scanner pieces(quoted);
  for (Token piece = pieces.next(); piece.kind != TokenKind::end; piece = pieces.next()) {
    std::string_view rest = piece.content.substr(1, piece.content.size() - 2);
    while (!rest.empty()) {
      const char c = rest.front();
      rest.remove_prefix(1);
      // A lone backslash cannot be last: the scanner would have taken the quote behind it with it.
      result += c == '\\' && !rest.empty() ? escaped(rest) : c;
    }
  }
  return result;
}

std::string shown(const Token& token) {
  return token.kind == TokenKind::end ? "the end of the file" : network::in_quotes(token.content);
}

}  // namespace strata::caffe
