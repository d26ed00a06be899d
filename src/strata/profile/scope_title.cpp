// SPDX-License-Identifier: Apache-2.0
#include "strata/profile/scope_title.hpp"

namespace strata {

std::string_view title_of_scope(std::string_view name) {
  if (name == "recurrent") return "recurrent weights";
  if (name == "forward-backward") return "saved activations";
  if (name == "adjacent") return "adjacent layers";
  if (name == "block") return "blocks";
  return name;
}

}  // namespace strata
