// SPDX-License-Identifier: Apache-2.0
#include "strata/report/json_text.hpp"

#include "strata/base/printable.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

std::string compact(const Json& json) {
  return printable_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

void JsonText::begin_entry(std::string_view key) {
  text_ += has_entries_ ? ",\n  " : "\n  ";
  text_ += compact(key) + ": ";
  has_entries_ = true;
}

void JsonText::add(std::string_view key, const Json& value) {
  begin_entry(key);
  text_ += compact(value);
}

void JsonText::begin_list(std::string_view key) {
  begin_entry(key);
  text_ += '[';
  has_items_ = false;
}

void JsonText::add_item(const Json& item) {
  text_ += has_items_ ? ",\n    " : "\n    ";
  text_ += compact(item);
  has_items_ = true;
}

void JsonText::end_list() { text_ += has_items_ ? "\n  ]" : "]"; }

std::string JsonText::finish() && {
  text_ += "\n}\n";
  return std::move(text_);
}

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json count_json(const std::optional<double>& count) {
  constexpr double most = 9.2e18;
  if (!count || !(std::fabs(*count) < most)) return number_or_null(count);
  return std::llround(*count);
}

Json warning_json(const Warning& warning) {
  return {{"code", name_of(warning.code)}, {"message", warning.message}};
}

}  // namespace strata
