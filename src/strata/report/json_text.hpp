// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/warning.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace strata {

/// Writes a JSON document entry by entry, with one line per entry and one per item of a list:
/// readable, friendly to grep and diff, and half the size of full indentation. Only one item is
/// ever held as a tree, so a list of a million is no burden. Strings that are not UTF-8 get U+FFFD
/// in place of the bytes that are wrong.
class JsonText {
 public:
  void add(std::string_view key, const nlohmann::ordered_json& value);

  /// A list with `to_item(item)` for each of the items.
  template <class Items, class ToItem>
  void add_list(std::string_view key, const Items& items, const ToItem& to_item) {
    begin_list(key);
    for (const auto& item : items) add_item(to_item(item));
    end_list();
  }

  std::string finish() &&;

 private:
  void begin_entry(std::string_view key);
  void begin_list(std::string_view key);
  void add_item(const nlohmann::ordered_json& item);
  void end_list();

  std::string text_ = "{";
  bool has_entries_ = false;
  bool has_items_ = false;
};

/// What is not known is null.
nlohmann::ordered_json number_or_null(const std::optional<double>& number);

/// A count that was computed with fractions, as the nearest integer. What has more than 63 bits
/// stays a number; what is not known is null.
nlohmann::ordered_json count_json(const std::optional<double>& count);

/// An item of every document's `warnings`.
nlohmann::ordered_json warning_json(const Warning& warning);

}  // namespace strata
