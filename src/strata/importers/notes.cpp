// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/notes.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

namespace strata {

void Notes::add(WarningCode code, std::string_view place, std::string_view what) {
  if (is_strict_ && code == WarningCode::operator_not_counted) {
    fail(ErrorKind::unsupported, "{}", what);
  }
  for (Note& known : notes_) {
    if (known.code != code || known.what != what) continue;
    ++known.count;
    return;
  }
  constexpr std::size_t most_notes = 100;  // nobody reads further
  if (notes_.size() < most_notes) {
    notes_.push_back({code, std::string(place), std::string(what), 1});
  }
}

std::vector<Warning> Notes::warnings() const {
  std::vector<Warning> result;
  for (const Note& note : notes_) {
    const std::string more = note.count > 1 ? fmt::format(" and {} more", note.count - 1) : "";
    result.push_back({note.code, fmt::format("{}{}: {}", note.place, more, note.what)});
  }
  return result;
}

}  // namespace strata
