// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace strata {

/// Where a result comes from: the only part of a JSON document that varies between equal analyses.
struct Provenance {
  std::string command;  ///< the command line that made it, ready to be run again
};

nlohmann::ordered_json to_json(const Provenance& provenance);

}  // namespace strata
