// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"

#include "strata/base/error.hpp"

#include <algorithm>

namespace strata {

Arguments::Arguments(std::span<const Flag> flags) {
  for (const Flag& flag : flags) values_.push_back({flag.name, {}});
}

const std::vector<std::string>& Arguments::values(const Flag& flag) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const auto& entry) { return entry.first == flag.name; });
  STRATA_CHECK(found != values_.end(), "a command asks only for flags that are in its table");
  return found->second;
}

std::optional<std::string_view> Arguments::value(const Flag& flag) const {
  const std::vector<std::string>& given = values(flag);
  return given.empty() ? std::nullopt : std::optional<std::string_view>(given.back());
}

std::string_view Arguments::word(std::size_t index) const {
  return index < words_.size() ? std::string_view(words_[index]) : std::string_view();
}

void Arguments::add(const Flag& flag, std::string value) {
  for (auto& [name, values] : values_) {
    if (name == flag.name) return values.push_back(std::move(value));
  }
}

}  // namespace strata
