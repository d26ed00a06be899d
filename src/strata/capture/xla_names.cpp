// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/xla_names.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace strata {
namespace {

/// The value of a key in "key=value,key=value": values hold commas, too, so it ends where another
/// key that XLA writes begins.
std::string_view value_of(std::string_view text, std::string_view key) {
  constexpr std::array<std::string_view, 6> keys = {
      "name=", "hlo_op=", "hlo_module=", "program_id=", "unique_hlo_op_id=", "is_dummy="};
  std::size_t at = text.starts_with(key) ? 0 : std::string_view::npos;
  for (std::size_t comma = text.find(','); at == text.npos && comma != text.npos;
       comma = text.find(',', comma + 1)) {
    if (text.substr(comma + 1).starts_with(key)) at = comma + 1;
  }
  if (at == text.npos) return {};
  const std::string_view value = text.substr(at + key.size());
  for (std::size_t comma = value.find(','); comma != value.npos;
       comma = value.find(',', comma + 1)) {
    const std::string_view rest = value.substr(comma + 1);
    if (std::any_of(keys.begin(), keys.end(),
                    [&](std::string_view other) { return rest.starts_with(other); }))
      return value.substr(0, comma);
  }
  return value;
}

/// Parts between slashes that are in no brackets.
std::vector<std::string_view> parts_of_path(std::string_view path) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= path.size(); ++i) {
    if (i == path.size() || (path[i] == '/' && depth == 0)) {
      if (i > begin) parts.push_back(path.substr(begin, i - begin));
      begin = i + 1;
    } else if (path[i] == '(' || path[i] == '[') {
      ++depth;
    } else if ((path[i] == ')' || path[i] == ']') && depth > 0) {
      --depth;
    }
  }
  return parts;
}

/// What a transformation of JAX is applied to: "Dense_0" of "transpose(jvp(Dense_0))". A function
/// that is compiled on its own, "jit(relu)", is no scope.
std::string_view unwrapped(std::string_view part) {
  while (part.ends_with(')')) {
    const std::size_t open = part.find('(');
    if (open == part.npos) break;
    const std::string_view function = part.substr(0, open);
    if (function == "jit" || function == "pjit" || function == "xla_call") return {};
    part = part.substr(open + 1, part.size() - open - 2);
  }
  return part;
}

}  // namespace

std::optional<XlaRange> xla_range(std::string_view name) {
  const std::size_t open = name.find(":#");
  if (open == name.npos || !name.ends_with('#') || open + 3 > name.size()) return std::nullopt;
  const std::string_view what = name.substr(0, open);
  const std::string_view fields = name.substr(open + 2, name.size() - open - 3);
  XlaRange range{.path = std::string(value_of(fields, "name=")),
                 .hlo_op = std::string(value_of(fields, "hlo_op=")),
                 .module = std::string(value_of(fields, "hlo_module="))};
  if (what == "XlaModule") {
    range.kind = XlaKind::module;
    return range;
  }
  if (what != "Thunk" || range.hlo_op.empty()) return std::nullopt;
  if (range.hlo_op.starts_with("command_buffer")) range.kind = XlaKind::command_buffer;
  return range;
}

WorkPass pass_of_xla_path(std::string_view path) {
  if (path.find("transpose(") != path.npos) return WorkPass::backward;
  return path.find("jvp(") == path.npos ? WorkPass::unknown : WorkPass::forward;
}

std::string scopes_of_xla_path(std::string_view path) {
  std::vector<std::string_view> parts = parts_of_path(path);
  if (!parts.empty()) parts.pop_back();  // the operator
  std::string scopes;
  for (const std::string_view part : parts) {
    const std::string_view scope = unwrapped(part);
    if (scope.empty()) continue;
    if (!scopes.empty()) scopes += '.';
    scopes += scope;
  }
  return scopes;
}

std::string layer_of_xla(std::string_view path, std::string_view hlo_op) {
  std::string scopes = scopes_of_xla_path(path);
  return scopes.empty() ? std::string(hlo_op) : scopes;
}

}  // namespace strata
