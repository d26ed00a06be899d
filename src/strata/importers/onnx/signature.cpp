// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/signature.hpp"

namespace strata::onnx {
namespace {

// What stands between the first `open` and the next `close`.
std::string_view between(std::string_view text, std::string_view open, char close) {
  const std::size_t begin = text.find(open);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = text.substr(begin + open.size());
  const std::size_t length = rest.find(close);
  return length == std::string_view::npos ? std::string_view() : rest.substr(0, length);
}

}  // namespace

Signature::Signature(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.starts_with("# outputs")) break;
    const std::string_view kind = between(line, ": ", ' ');
    const std::string_view target = between(line, " target='", '\'');
    if (!target.empty()) is_learnt_.emplace(target, kind == "PARAMETER");
  }
}

std::optional<bool> Signature::is_learnt(std::string_view name) const {
  const auto place = is_learnt_.find(name);
  if (place == is_learnt_.end()) return std::nullopt;
  return place->second;
}

std::string_view Signature::name_in_file(std::string_view name) const {
  const auto place = is_learnt_.find(name);
  return place == is_learnt_.end() ? std::string_view() : place->first;
}

}  // namespace strata::onnx
