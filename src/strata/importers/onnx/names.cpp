// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/limits.hpp"
#include "strata/importers/onnx/program.hpp"

#include <fmt/format.h>

namespace strata::onnx {
namespace {

constexpr std::size_t longest_quote = 120;

// Length of the well-formed UTF-8 character at the front; 0 when there is none (RFC 3629).
std::size_t character_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool is_overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool is_surrogate = lead == 0xED && second >= 0xA0;
  const bool is_beyond = lead == 0xF4 && second >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0 || is_control(text.front())) {
      shown += '?';
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

std::string short_name(std::string_view text) { return printable(text.substr(0, longest_name)); }

std::string quoted(std::string_view text) {
  if (text.size() <= longest_quote) return fmt::format("'{}'", printable(text));
  // A cut character becomes question marks, which are dropped before the dots.
  std::string shown = printable(text.substr(0, longest_quote));
  while (!shown.empty() && shown.back() == '?') shown.pop_back();
  return fmt::format("'{}…'", shown);
}

std::string place_of(const NodeDef& node) {
  std::string_view name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs.front();
  return fmt::format("node {} ({})", quoted(name), printable(node.op.substr(0, longest_quote)));
}

}  // namespace strata::onnx
