// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/chrome/json_stream.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace strata {
namespace {

constexpr std::size_t first_window_bytes = std::size_t{256} << 10;
constexpr std::size_t most_window_bytes = std::size_t{64} << 20;
constexpr std::size_t deepest = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether it is a number as JSON writes it: -0.5e+3, not 01, not 1.
bool is_json_number(std::string_view digits) {
  std::size_t at = 0;
  const auto has = [&](char c) { return at < digits.size() && digits[at] == c; };
  const auto skip_digits = [&] {
    const std::size_t first = at;
    while (at < digits.size() && is_digit(digits[at])) ++at;
    return at > first;
  };
  if (has('-')) ++at;
  if (has('0')) {
    ++at;
  } else if (!skip_digits()) {
    return false;
  }
  if (has('.')) {
    ++at;
    if (!skip_digits()) return false;
  }
  if (has('e') || has('E')) {
    ++at;
    if (has('+') || has('-')) ++at;
    if (!skip_digits()) return false;
  }
  return at == digits.size();
}

std::int32_t hex_value(std::string_view four) {
  std::int32_t value = 0;
  for (const char c : four) {
    const std::int32_t digit = is_digit(c)              ? c - '0'
                               : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                               : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                                        : -1;
    if (digit < 0) return -1;
    value = 16 * value + digit;
  }
  return value;
}

}  // namespace

JsonStream::JsonStream(ByteSource& source) : source_(source), window_(first_window_bytes) {}

void JsonStream::fail_here(std::string_view why) const {
  fail(ErrorKind::input, "{} at byte {}", is_at_end() ? "the document is cut off" : why,
       before_ + at_);
}

bool JsonStream::refill() {
  if (is_source_at_end_) return false;
  std::memmove(window_.data(), window_.data() + at_, end_ - at_);
  before_ += at_;
  end_ -= at_;
  at_ = 0;
  if (end_ == window_.size()) {
    if (window_.size() >= most_window_bytes)
      fail(ErrorKind::input, "a single text of more than {} bytes at byte {}", most_window_bytes,
           before_);
    window_.resize(2 * window_.size());
  }
  const std::size_t count = source_.read(std::span(window_).subspan(end_));
  end_ += count;
  is_source_at_end_ = count == 0;
  return count > 0;
}

char JsonStream::skip_space() {
  for (;;) {
    while (at_ < end_) {
      const char c = window_[at_];
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return c;
      ++at_;
    }
    if (!refill()) return '\0';
  }
}

JsonToken JsonStream::next() {
  for (;;) {
    const char c = skip_space();
    const bool is_end = at_ == end_;
    switch (expect_) {
      case Expect::end:
        if (!is_end) fail_here("more than one document");
        return JsonToken::end;
      case Expect::colon:
        if (c != ':') fail_here("no JSON: expected ':'");
        ++at_;
        expect_ = Expect::value;
        break;
      case Expect::comma_or_end:
        if (c == ',') {
          ++at_;
          expect_ = is_object_.back() ? Expect::key : Expect::value;
          break;
        }
        if (c != '}' && c != ']') fail_here("no JSON: expected ',' or an end");
        return close(c == '}');
      case Expect::key_or_end:
        if (c == '}') return close(true);
        [[fallthrough]];
      case Expect::key:
        if (c != '"') fail_here("no JSON: expected a key");
        read_text();
        expect_ = Expect::colon;
        return JsonToken::key;
      case Expect::value_or_end:
        if (c == ']') return close(false);
        [[fallthrough]];
      case Expect::value:
        if (is_end) fail_here("no JSON: expected a value");
        return value(c);
    }
  }
}

JsonToken JsonStream::value(char first) {
  if (first == '{' || first == '[') return open(first == '{');
  expect_ = is_object_.empty() ? Expect::end : Expect::comma_or_end;
  if (first == '"') {
    read_text();
    return JsonToken::text;
  }
  if (first == '-' || is_digit(first)) {
    read_number();
    return JsonToken::number;
  }
  read_literal();
  return JsonToken::literal;
}

JsonToken JsonStream::open(bool is_object) {
  if (is_object_.size() >= deepest) fail_here("nested too deep");
  is_object_.push_back(is_object);
  ++at_;
  expect_ = is_object ? Expect::key_or_end : Expect::value_or_end;
  return is_object ? JsonToken::begin_object : JsonToken::begin_list;
}

JsonToken JsonStream::close(bool is_object) {
  if (is_object_.back() != is_object) fail_here("no JSON: the wrong bracket closes");
  ++at_;
  is_object_.pop_back();
  expect_ = is_object_.empty() ? Expect::end : Expect::comma_or_end;
  return is_object ? JsonToken::end_object : JsonToken::end_list;
}

void JsonStream::read_text() {
  ++at_;
  std::size_t length = 0;
  bool has_escape = false;
  for (;;) {
    const char* from = window_.data() + at_ + length;
    const char* limit = window_.data() + end_;
    const char* quote =
        static_cast<const char*>(std::memchr(from, '"', static_cast<std::size_t>(limit - from)));
    const char* stop = quote == nullptr ? limit : quote;
    const char* slash =
        static_cast<const char*>(std::memchr(from, '\\', static_cast<std::size_t>(stop - from)));
    if (slash != nullptr) {  // what follows is not the end, whatever it is
      has_escape = true;
      length = static_cast<std::size_t>(slash - (window_.data() + at_)) + 2;
      while (at_ + length > end_) {
        if (!refill()) fail_here("no JSON: a text does not end");
      }
      continue;
    }
    length = static_cast<std::size_t>(stop - (window_.data() + at_));
    if (quote != nullptr) break;
    if (!refill()) {
      at_ = end_;
      fail_here("no JSON: a text does not end");
    }
  }
  const std::string_view raw(window_.data() + at_, length);
  if (std::any_of(raw.begin(), raw.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 32; }))
    fail_here("no JSON: a control character in a text");
  if (has_escape) {
    unescape(raw);
    text_ = unescaped_;
  } else {
    text_ = raw;
  }
  at_ += length + 1;
}

void JsonStream::unescape(std::string_view raw) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  unescaped_.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      unescaped_ += raw[i];
      continue;
    }
    const char letter = raw[++i];
    if (const std::size_t which = letters.find(letter); which != letters.npos) {
      unescaped_ += meanings[which];
      continue;
    }
    const auto four_at = [&](std::size_t at) {
      return at + 4 <= raw.size() ? hex_value(raw.substr(at, 4)) : -1;
    };
    const std::int32_t unit = letter == 'u' ? four_at(i + 1) : -1;
    if (unit < 0) fail_here("no JSON: an unknown escape in a text");
    i += 4;
    const bool is_high = unit >= 0xd800 && unit < 0xdc00;
    const std::int32_t low = is_high && raw.substr(i + 1).starts_with("\\u") ? four_at(i + 3) : -1;
    if (is_high && low >= 0xdc00 && low < 0xe000) {
      append_character(0x10000U + (static_cast<std::uint32_t>(unit - 0xd800) << 10U) +
                       static_cast<std::uint32_t>(low - 0xdc00));
      i += 6;
    } else {  // half a pair stands for nothing
      const bool is_half = unit >= 0xd800 && unit < 0xe000;
      append_character(is_half ? 0xfffdU : static_cast<std::uint32_t>(unit));
    }
  }
}

void JsonStream::append_character(std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { unescaped_ += static_cast<char>(byte); };
  const auto tail = [&](unsigned shift) { add(0x80U | ((code >> shift) & 0x3fU)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0U | (code >> 6U));
    tail(0);
  } else if (code < 0x10000) {
    add(0xe0U | (code >> 12U));
    tail(6);
    tail(0);
  } else {
    add(0xf0U | (code >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

void JsonStream::read_number() {
  std::size_t length = 0;
  const auto belongs = [](char c) {
    return is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
  };
  for (;;) {
    while (at_ + length < end_ && belongs(window_[at_ + length])) ++length;
    if (at_ + length < end_ || !refill()) break;
  }
  text_ = std::string_view(window_.data() + at_, length);
  if (!is_json_number(text_)) fail_here("no JSON: no number");
  at_ += length;
}

void JsonStream::read_literal() {
  for (const std::string_view word : {"true", "false", "null"}) {
    while (end_ - at_ < word.size() && refill()) {
    }
    if (!std::string_view(window_.data() + at_, end_ - at_).starts_with(word)) continue;
    text_ = std::string_view(window_.data() + at_, word.size());
    at_ += word.size();
    return;
  }
  fail_here("no JSON: expected a value");
}

}  // namespace strata
