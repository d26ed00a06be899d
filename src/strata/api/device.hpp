// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/device.hpp"

#include <memory>
#include <optional>
#include <string_view>

namespace strata {

/// Where something is measured: the CPU, or a GPU by its number.
struct ChosenDevice {
  bool is_gpu = false;
  int index = 0;
};

/// Of "cpu", "cuda" or "cuda:N"; the CPU where nothing was given. Errors (usage) say what came.
ChosenDevice chosen_device(std::optional<std::string_view> given);

/// Errors (environment) say why it cannot be opened.
std::unique_ptr<TrainingDevice> open_training_device(const ChosenDevice& device,
                                                     const DeviceChoices& choices);

}  // namespace strata
