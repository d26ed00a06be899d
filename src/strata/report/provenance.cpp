// SPDX-License-Identifier: Apache-2.0
#include "strata/report/provenance.hpp"

#include "strata/version.hpp"

#include <nlohmann/json.hpp>

namespace strata {

nlohmann::ordered_json to_json(const Provenance& provenance) {
  return {{"strata_version", version}, {"command", provenance.command}};
}

}  // namespace strata
