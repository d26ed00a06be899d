// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace strata::test {

/// What is wrong with a document in the part of XML that our pictures use (elements, quoted
/// attributes, the five entities), read by the rules of XML 1.0; empty: nothing.
inline std::string problem_of_xml(std::string_view text) {
  const auto is_valid = [](std::string_view plain) {  // text or the value of an attribute
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const auto byte = static_cast<unsigned char>(plain[i]);
      if (plain[i] == '<' || (byte < 0x20 && byte != '\n')) return false;
      if (plain[i] == '&') {
        const std::string_view rest = plain.substr(i);
        bool is_known = false;
        for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
          is_known = is_known || rest.starts_with(entity);
        }
        if (!is_known) return false;
      }
      // A byte of UTF-8 that continues a character must follow one that announces it.
      std::size_t more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
      if (byte >= 0x80 && byte < 0xC0) return false;
      for (; more > 0; --more) {
        if (++i >= plain.size() || (static_cast<unsigned char>(plain[i]) & 0xC0U) != 0x80U) {
          return false;
        }
      }
    }
    return true;
  };
  std::vector<std::string_view> open;
  while (!text.empty()) {
    const std::size_t bracket = text.find('<');
    if (!is_valid(text.substr(0, bracket))) return "bad text";
    if (bracket == std::string_view::npos) break;
    const std::size_t end = text.find('>', bracket);
    if (end == std::string_view::npos) return "a tag without end";
    std::string_view tag = text.substr(bracket + 1, end - bracket - 1);
    text.remove_prefix(end + 1);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "closes what is not open";
      open.pop_back();
      continue;
    }
    const bool is_empty = tag.ends_with('/');
    if (is_empty) tag.remove_suffix(1);
    const std::string_view name = tag.substr(0, tag.find(' '));
    tag.remove_prefix(name.size());
    while (!tag.empty()) {  // ` name="value"`
      const std::size_t quote = tag.find("=\"");
      const std::size_t last = quote == tag.npos ? tag.npos : tag.find('"', quote + 2);
      if (tag.front() != ' ' || last == tag.npos) return "a bad attribute";
      if (!is_valid(tag.substr(quote + 2, last - quote - 2))) return "a bad value";
      tag.remove_prefix(last + 1);
    }
    if (!is_empty) open.push_back(name);
  }
  return open.empty() ? "" : "an element is not closed";
}

}  // namespace strata::test
