// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strata::caffe {

enum class TokenKind : std::uint8_t { end, word, text, punctuation };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view content;  ///< of a text: with its quotes
  std::uint32_t line = 1;

  bool is(char c) const { return kind == TokenKind::punctuation && content.front() == c; }
};

/// Cuts a text into words (names, numbers, enumerators), quoted texts and single punctuation marks.
/// White space and comments go.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  Token next();

 private:
  void skip_blank();
  Token quoted();

  std::string_view rest_;
  std::uint32_t line_ = 1;
};

/// What quoted texts, one behind the other, say: quotes gone, escapes resolved, joined.
std::string unquoted(std::string_view quoted);

/// "'}'", "the end of the file": a token as it stands in messages.
std::string shown(const Token& token);

}  // namespace strata::caffe
