// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>

namespace strata::network {
namespace {

/// Iterates over the text and counts lines in a shared counter, because the parser does not say
/// where it is.
class CountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::uint32_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') ++*line_;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  std::uint32_t* line_;
};

// "[json.exception.parse_error.101] parse error at line 3, column 4: syntax error while …" without
// what only a programmer wants to know.
std::string message_of(const nlohmann::detail::exception& exception) {
  std::string_view message = exception.what();
  for (const std::string_view noise : {"] ", "parse error at "}) {
    if (const std::size_t at = message.find(noise); at != std::string_view::npos) {
      message.remove_prefix(at + noise.size());
    }
  }
  constexpr std::size_t longest = 300;  // it may quote the whole of what it could not read
  return message.size() <= longest ? std::string(message)
                                   : fmt::format("{}…", message.substr(0, longest));
}

/// Receives the events of the parser and grows the tree.
class JsonTree : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonTree(const std::uint32_t& line) : line_(line) {}

  Value root;

  bool null() override { return scalar(std::monostate{}); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) {
      fail(ErrorKind::input, "line {}: the number {} is too large", line_, value);
    }
    return scalar(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
  bool string(string_t& value) override { return scalar(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in JSON

  bool start_object(std::size_t) override { return open(Table()); }
  bool end_object() override {
    refuse_duplicates(std::get<Table>(open_.back()->content));
    return close();
  }
  bool start_array(std::size_t) override { return open(List()); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    std::get<Table>(open_.back()->content).push_back({std::move(value), Value{{}, line_}});
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    fail(ErrorKind::input, "not valid JSON: {}", message_of(exception));
  }

 private:
  // A number may end where the next line begins, so only what opens or is a key takes the counter's
  // line.
  template <class Content>
  bool scalar(Content&& content) {
    Value& place = next_place();
    place.content = std::forward<Content>(content);
    return true;
  }

  template <class Container>
  bool open(Container&& container) {
    if (open_.size() >= deepest_nesting) {
      fail(ErrorKind::input, "line {}: nested deeper than {} levels", line_, deepest_nesting);
    }
    Value& place = next_place();
    place.content = std::forward<Container>(container);
    place.line = line_;
    // Stays valid: while a container is open, none of those around it grows.
    open_.push_back(&place);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Value& next_place() {
    if (++count_ > most_values) fail(ErrorKind::input, "more than {} values", most_values);
    if (open_.empty()) return root;
    Value& container = *open_.back();
    if (auto* list = std::get_if<List>(&container.content)) {
      return list->emplace_back(Value{{}, container.line});
    }
    return std::get<Table>(container.content).back().value;
  }

  void refuse_duplicates(const Table& table) const {
    std::vector<std::string_view> keys;
    keys.reserve(table.size());
    for (const Member& member : table) keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice != keys.end()) {
      fail(ErrorKind::input, "line {}: the key {} is given twice", line_, in_quotes(*twice));
    }
  }

  const std::uint32_t& line_;
  std::vector<Value*> open_;
  std::size_t count_ = 0;
};

}  // namespace

Value parse_json(std::string_view text) {
  if (text.size() > most_json_bytes) {
    fail(ErrorKind::input, "{} bytes of JSON, the most is {}", text.size(), most_json_bytes);
  }
  std::uint32_t line = 1;
  JsonTree tree(line);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &line),
                            CountingIterator(text.data() + text.size(), &line), &tree);
  return std::move(tree.root);
}

}  // namespace strata::network
