// SPDX-License-Identifier: Apache-2.0
#include "strata/report/provenance.hpp"

#include "strata/version.hpp"

#include <nlohmann/json.hpp>

namespace strata {

nlohmann::ordered_json to_json(const Provenance& provenance) {
  nlohmann::ordered_json json = {{"strata_version", version}, {"command", provenance.command}};
  if (!provenance.request.empty())
    json["request"] = nlohmann::ordered_json::parse(provenance.request);
  return json;
}

}  // namespace strata
