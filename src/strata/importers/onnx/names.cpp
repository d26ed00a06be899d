// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/importers/onnx/flat_graph.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <fmt/format.h>

namespace strata::onnx {
namespace {

constexpr std::size_t longest_quote = 120;

}  // namespace

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
