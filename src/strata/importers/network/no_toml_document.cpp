// SPDX-License-Identifier: Apache-2.0
// Stands for toml_document.cpp in a build without toml++.
#include "strata/base/error.hpp"
#include "strata/importers/network/document.hpp"

namespace strata::network {

Value parse_toml(std::string_view) {
  fail(ErrorKind::environment,
       "this strata was built without toml++ and does not read TOML; write the network as JSON, or "
       "convert it where one does: strata convert NETWORK -o network.json");
}

}  // namespace strata::network
