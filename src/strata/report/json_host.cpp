// SPDX-License-Identifier: Apache-2.0
#include "strata/report/json_host.hpp"

#include <nlohmann/json.hpp>

namespace strata {

nlohmann::ordered_json dispatch_host_json(const DispatchHost& host) {
  return {{"calibration", host.calibration}, {"title", host.title}, {"slower", host.slower}};
}

}  // namespace strata
