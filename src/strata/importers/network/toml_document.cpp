// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/network/document.hpp"

namespace strata::network {
[[noreturn]] void refuse_toml();
}

// The parser asserts what it takes for granted about its own state, but files can make some of that
// false (in 3.3 a header "[=" does), and optimised builds turn the assertion into undefined
// behaviour. Here it is checked in every build, and the file is refused. That needs the parser
// compiled here, not the one in the shared library.
#undef NDEBUG
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(condition) \
  (static_cast<bool>(condition) ? void(0) : ::strata::network::refuse_toml())
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <tuple>

namespace strata::network {
namespace {

/// What the library takes for granted. It bounds the nesting of values, but not that of dotted keys
/// (a.b.c = 1), whose tables it later destroys by recursion: a long enough key would end the
/// program. And it asks of every character outside strings and comments whether it is white space,
/// with a function that is undefined for letters such as é (in 3.3); none of these may stand there.
class TextCheck {
 public:
  explicit TextCheck(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // a byte order mark
  }

  void run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        skip_to("\n");
      } else if (c == '"' || c == '\'') {
        expect_begin_of_string();
        skip_string(c);
        last_ = c;
      } else {
        count(c);
        ++at_;
      }
    }
  }

 private:
  // Elsewhere the library reads on as if there were no string.
  void expect_begin_of_string() const {
    if (std::string_view("\n=[{,.").find(last_) != std::string_view::npos) return;
    fail(ErrorKind::input, "not valid TOML: line {}: a quote within or behind a word", line_);
  }

  void count(char c) {
    if (c == '\n') ++line_;
    if (c != ' ' && c != '\t' && c != '\r') last_ = c;
    if (static_cast<unsigned char>(c) >= 0x80) {
      fail(ErrorKind::input,
           "not valid TOML: line {}: a character beyond ASCII outside quotes and comments", line_);
    }
    if (c == '.') {
      if (++dots_ > deepest_nesting) {
        fail(ErrorKind::input, "line {}: nested deeper than {} levels", line_, deepest_nesting);
      }
    } else if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) {
      dots_ = 0;
    }
  }

  void skip_to(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    const std::size_t stop = found == std::string_view::npos ? text_.size() : found;
    line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 text_.begin() + static_cast<std::ptrdiff_t>(stop),
                                                 '\n'));
    at_ = stop;
  }

  // "…", '…', """…""" and '''…'''; a backslash escapes only between double quotes. What is
  // malformed here the library refuses at the same place, before it reads on.
  void skip_string(char quote) {
    const bool is_long = text_.substr(at_, 3) == std::string(3, quote);
    const std::string end(is_long ? 3 : 1, quote);
    at_ += end.size();
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      if (text_[at_] == '\n') ++line_;
      at_ += quote == '"' && text_[at_] == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + end.size(), text_.size());
    // A long string may end in one or two quotes of its own.
    for (int i = 0; is_long && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t dots_ = 0;
  char last_ = '\n';  // outside strings, comments and white space
};

class TomlTree {
 public:
  Value value_of(const toml::node& node, std::size_t depth) {
    if (depth > deepest_nesting) {
      fail(ErrorKind::input, "line {}: nested deeper than {} levels", line_of(node.source()),
           deepest_nesting);
    }
    Value value{{}, line_of(node.source())};
    node.visit([&](const auto& typed) { fill(value, typed, depth); });
    return value;
  }

 private:
  static std::uint32_t line_of(const toml::source_region& source) {
    return static_cast<std::uint32_t>(source.begin.line);
  }

  // The library sorts keys; people meant the order in which they wrote them.
  void fill(Value& value, const toml::table& table, std::size_t depth) {
    struct Entry {
      const toml::key* key;
      const toml::node* node;
    };
    std::vector<Entry> entries;
    for (auto&& [key, node] : table) entries.push_back({&key, &node});
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      const toml::source_position& first = a.key->source().begin;
      const toml::source_position& second = b.key->source().begin;
      return std::tie(first.line, first.column) < std::tie(second.line, second.column);
    });
    Table members;
    members.reserve(entries.size());
    for (const Entry& entry : entries) {
      members.push_back({std::string(entry.key->str()), value_of(*entry.node, depth + 1)});
      members.back().value.line = line_of(entry.key->source());
    }
    value.content = std::move(members);
  }

  void fill(Value& value, const toml::array& array, std::size_t depth) {
    List list;
    list.reserve(array.size());
    for (const toml::node& element : array) list.push_back(value_of(element, depth + 1));
    value.content = std::move(list);
  }

  template <class Native>
  void fill(Value& value, const toml::value<Native>& native, std::size_t) {
    if constexpr (std::is_same_v<Native, std::string> || std::is_same_v<Native, std::int64_t> ||
                  std::is_same_v<Native, double> || std::is_same_v<Native, bool>) {
      value.content = native.get();
    } else {
      fail(ErrorKind::input, "line {}: dates and times have no meaning here", value.line);
    }
  }
};

}  // namespace

void refuse_toml() {
  fail(ErrorKind::input,
       "not valid TOML: a key, header or value begins with what cannot begin one");
}

Value parse_toml(std::string_view text) {
  if (text.size() > most_toml_bytes) {
    fail(ErrorKind::input, "{} bytes of TOML, the most is {}; JSON may be larger", text.size(),
         most_toml_bytes);
  }
  TextCheck(text).run();
  try {
    const toml::table table = toml::parse(text);
    return TomlTree().value_of(table, 1);
  } catch (const toml::parse_error& error) {
    const toml::source_position& place = error.source().begin;
    fail(ErrorKind::input, "not valid TOML: line {}, column {}: {}", place.line, place.column,
         error.description());
  }
}

}  // namespace strata::network
