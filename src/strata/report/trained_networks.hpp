// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The built-in networks as they were trained on devices: a row each, from files that
/// `strata measure --all --json FILE` wrote.
namespace strata {

struct TrainedNetwork {
  std::string name;
  std::string device;
  std::string dtype;
  std::string sizes;  ///< "batch 4, seq 50"
  std::string date;
  double time_s = 0;  ///< of one iteration
  std::optional<double> loss_before;
  std::optional<double> loss_after;
  std::int64_t steps = 0;   ///< between the two losses
  std::int64_t layers = 0;  ///< layers in a pass
  std::int64_t layers_not_run = 0;
  std::string reason;  ///< why it did not run; empty: it did
};

/// Errors (input): not such a file.
std::vector<TrainedNetwork> read_trained_networks(std::string_view json_text);

/// All that ship, device by device.
std::vector<TrainedNetwork> shipped_trained_networks();

std::string to_text(std::span<const TrainedNetwork> networks, const TextStyle& style);
std::string to_json(std::span<const TrainedNetwork> networks, const Provenance& provenance);

}  // namespace strata
