// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

enum class JsonToken : std::uint8_t {
  begin_object,
  end_object,
  begin_list,
  end_list,
  key,
  text,
  number,   ///< text() is how it is written
  literal,  ///< true, false, null
  end       ///< of the document
};

/// The tokens of a JSON document (RFC 8259) of any size, from a window of bounded size. A tree of a
/// trace of gigabytes does not fit, and a parser that goes byte by byte takes three times as long.
class JsonStream {
 public:
  explicit JsonStream(ByteSource& source);

  /// Errors (input) name the byte: no JSON, nested too deep, a single text that is too long.
  JsonToken next();

  /// Of a key, a text (without escapes) or a number; until next() is called.
  std::string_view text() const { return text_; }

  std::size_t depth() const { return is_object_.size(); }
  /// Nothing is left of the source. After an error it tells a document that was cut off.
  bool is_at_end() const { return at_ == end_ && is_source_at_end_; }

 private:
  enum class Expect : std::uint8_t {
    value,
    value_or_end,
    key_or_end,
    key,
    colon,
    comma_or_end,
    end
  };

  JsonToken value(char first);
  JsonToken open(bool is_object);
  JsonToken close(bool is_object);
  void read_text();
  void read_number();
  void read_literal();
  void unescape(std::string_view raw);
  void append_character(std::uint32_t code);
  /// The first byte that is no white space; 0 at the end.
  char skip_space();
  /// More bytes behind the window, keeping those from `at_`; false at the end.
  bool refill();
  [[noreturn]] void fail_here(std::string_view why) const;

  ByteSource& source_;
  std::vector<char> window_;
  std::size_t at_ = 0;        ///< in the window
  std::size_t end_ = 0;       ///< of what is filled
  std::uint64_t before_ = 0;  ///< bytes of the source before the window
  bool is_source_at_end_ = false;
  Expect expect_ = Expect::value;
  std::vector<bool> is_object_;  ///< what is open, outermost first
  std::string_view text_;
  std::string unescaped_;
};

}  // namespace strata
