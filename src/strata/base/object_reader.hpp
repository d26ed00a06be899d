// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace strata {

/// An object of a file that a person may have written. Every error (input) says where, what was
/// expected and what came: "machine.peaks[0].flop_per_s: must be positive, got -1". Since almost
/// everything may be left out, a misspelt field would be lost without a word: finish() refuses
/// what nobody asked for, except `notes`, which may say anything.
class ObjectReader {
 public:
  using Json = nlohmann::json;

  ObjectReader(const Json& json, std::string place);

  const Json* find(const char* key);  ///< nothing when it is absent
  const Json& required(const char* key);
  std::string place_of(const char* key) const { return fmt::format("{}.{}", place_, key); }

  std::string text(const char* key);
  bool truth(const char* key);
  double positive(const char* key);
  std::optional<double> maybe_positive(const char* key);
  std::optional<double> maybe_not_negative(const char* key);
  std::optional<std::int64_t> maybe_count(const char* key);
  /// Position of the text among `names`.
  std::size_t choice(const char* key, std::span<const std::string_view> names);

  /// `read(json, place)` of what is there.
  template <class Read>
  auto maybe(const char* key, Read read)
      -> std::optional<decltype(read(std::declval<const Json&>(), std::string()))> {
    const Json* found = find(key);
    if (found == nullptr) return std::nullopt;
    return read(*found, place_of(key));
  }

  /// `read(json, place)` of each item; an absent list is empty. Files of strangers hold no more
  /// than `most`.
  template <class Read>
  auto list(const char* key, std::size_t most, Read read) {
    std::vector<std::decay_t<decltype(read(std::declval<const Json&>(), std::string()))>> items;
    const Json* found = find(key);
    if (found == nullptr) return items;
    check_list(*found, key, most);
    items.reserve(found->size());
    for (std::size_t i = 0; i < found->size(); ++i)
      items.push_back(read((*found)[i], fmt::format("{}[{}]", place_of(key), i)));
    return items;
  }

  void finish() const;

 private:
  void check_list(const Json& json, const char* key, std::size_t most) const;

  const Json& json_;
  std::string place_;
  std::vector<std::string> asked_;
};

double not_negative_number(const nlohmann::json& json, std::string_view place);
double positive_number(const nlohmann::json& json, std::string_view place);
std::string plain_text(const nlohmann::json& json, std::string_view place);

}  // namespace strata
