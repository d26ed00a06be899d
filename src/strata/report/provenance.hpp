// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace strata {

/// Where a result comes from: the only part of a JSON document that varies between equal analyses.
struct Provenance {
  std::string command = {};  ///< the command line that made it, for people
  std::string request = {};  ///< JSON of what was asked of it, for programs; empty: none
};

nlohmann::ordered_json to_json(const Provenance& provenance);

}  // namespace strata
