// SPDX-License-Identifier: Apache-2.0
#include "strata/report/json_host.hpp"

#include <nlohmann/json.hpp>

namespace strata {

nlohmann::ordered_json evidence_json(const CheckedRuns& checked) {
  nlohmann::ordered_json json = {{"text", text_of(checked)}, {"runs", checked.runs}};
  if (checked.runs == 0) return json;
  json["networks"] = checked.networks;
  json["median_error"] = checked.median_error;
  json["inside"] = checked.inside;
  json["source"] = checked.source;
  return json;
}

nlohmann::ordered_json dispatch_host_json(const DispatchHost& host) {
  return {{"calibration", host.calibration}, {"title", host.title}, {"slower", host.slower}};
}

}  // namespace strata
