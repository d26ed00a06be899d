// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/name_table.hpp"

#include "strata/base/error.hpp"

#include <limits>

namespace strata {

NameTable::NameTable() { id_of(""); }

NameId NameTable::id_of(std::string_view text) {
  const auto known = ids_.find(text);
  if (known != ids_.end()) return known->second;
  if (texts_.size() >= std::numeric_limits<NameId>::max())
    fail(ErrorKind::input, "more different names than can be numbered");
  const auto id = static_cast<NameId>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

std::string_view NameTable::text(NameId id) const {
  if (id >= texts_.size()) fail(ErrorKind::internal, "a name that is not in the table");
  return texts_[id];
}

}  // namespace strata
