// SPDX-License-Identifier: Apache-2.0
#include "strata/report/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string one_item_per_line(const Json& document) {
  std::string text = "{";
  const char* before_entry = "\n";
  for (const auto& [key, value] : document.items()) {
    text += fmt::format("{}  {}: ", before_entry, compact(key));
    before_entry = ",\n";
    if (!value.is_array() || value.empty()) {
      text += compact(value);
      continue;
    }
    const char* before_item = "[\n";
    for (const Json& item : value) {
      text += fmt::format("{}    {}", before_item, compact(item));
      before_item = ",\n";
    }
    text += "\n  ]";
  }
  return text + "\n}\n";
}

}  // namespace strata
