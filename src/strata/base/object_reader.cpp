// SPDX-License-Identifier: Apache-2.0
#include "strata/base/object_reader.hpp"

#include "strata/base/text.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

constexpr std::size_t most_text_bytes = 4096;
constexpr std::size_t most_name_bytes = 80;  // of an unknown field, in a message

double finite_number(const nlohmann::json& json, std::string_view place) {
  if (!json.is_number())
    fail(ErrorKind::input, "{}: expected a number, got {}", place, json.type_name());
  const auto number = json.get<double>();
  if (!std::isfinite(number))
    fail(ErrorKind::input, "{}: expected a finite number, got {}", place, number);
  return number;
}

}  // namespace

double positive_number(const nlohmann::json& json, std::string_view place) {
  const double number = finite_number(json, place);
  if (number <= 0) fail(ErrorKind::input, "{}: must be positive, got {}", place, number);
  return number;
}

double not_negative_number(const nlohmann::json& json, std::string_view place) {
  const double number = finite_number(json, place);
  if (number < 0) fail(ErrorKind::input, "{}: must not be negative, got {}", place, number);
  return number;
}

std::string plain_text(const nlohmann::json& json, std::string_view place) {
  if (!json.is_string())
    fail(ErrorKind::input, "{}: expected text, got {}", place, json.type_name());
  auto text = json.get<std::string>();
  if (text.size() > most_text_bytes) {
    fail(ErrorKind::input, "{}: expected at most {} bytes of text, got {}", place, most_text_bytes,
         text.size());
  }
  return text;
}

ObjectReader::ObjectReader(const Json& json, std::string place)
    : json_(json), place_(std::move(place)) {
  if (!json.is_object())
    fail(ErrorKind::input, "{}: expected an object, got {}", place_, json.type_name());
}

const ObjectReader::Json* ObjectReader::find(const char* key) {
  asked_.emplace_back(key);
  const auto found = json_.find(key);
  return found == json_.end() ? nullptr : &*found;
}

const ObjectReader::Json& ObjectReader::required(const char* key) {
  const Json* found = find(key);
  if (found == nullptr) fail(ErrorKind::input, "{}: '{}' is missing", place_, key);
  return *found;
}

std::string ObjectReader::text(const char* key) { return plain_text(required(key), place_of(key)); }

bool ObjectReader::truth(const char* key) {
  const Json& json = required(key);
  if (!json.is_boolean()) {
    fail(ErrorKind::input, "{}: expected true or false, got {}", place_of(key), json.type_name());
  }
  return json.get<bool>();
}

double ObjectReader::positive(const char* key) {
  return positive_number(required(key), place_of(key));
}

std::optional<double> ObjectReader::maybe_positive(const char* key) {
  return maybe(key, positive_number);
}

std::optional<double> ObjectReader::maybe_not_negative(const char* key) {
  return maybe(key, not_negative_number);
}

std::optional<std::int64_t> ObjectReader::maybe_count(const char* key) {
  return maybe(key, [](const Json& json, const std::string& place) {
    constexpr double most = 1e9;
    const double number = positive_number(json, place);
    if (std::floor(number) != number || number > most)
      fail(ErrorKind::input, "{}: expected a count from 1 to {}, got {}", place, most, number);
    return static_cast<std::int64_t>(number);
  });
}

std::size_t ObjectReader::choice(const char* key, std::span<const std::string_view> names) {
  const std::string name = text(key);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    const std::vector<std::string> candidates(names.begin(), names.end());
    fail(ErrorKind::input, "{}: expected {}, got '{}'{}", place_of(key), alternatives(names), name,
         did_you_mean(name, candidates));
  }
  return static_cast<std::size_t>(found - names.begin());
}

void ObjectReader::check_list(const Json& json, const char* key, std::size_t most) const {
  if (!json.is_array())
    fail(ErrorKind::input, "{}: expected a list, got {}", place_of(key), json.type_name());
  if (json.size() > most) {
    fail(ErrorKind::input, "{}: expected at most {} entries, got {}", place_of(key), most,
         json.size());
  }
}

void ObjectReader::finish() const {
  for (const auto& entry : json_.items()) {
    if (entry.key() == "notes") continue;
    if (std::find(asked_.begin(), asked_.end(), entry.key()) != asked_.end()) continue;
    const std::string name = entry.key().substr(0, most_name_bytes);
    std::vector<std::string> known = asked_;  // a field may be looked at more than once
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    fail(ErrorKind::input, "{}: unknown field '{}'{}", place_, name, did_you_mean(name, known));
  }
}

}  // namespace strata
