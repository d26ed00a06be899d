// SPDX-License-Identifier: Apache-2.0
#include "strata/api/device.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

namespace strata {

ChosenDevice chosen_device(std::optional<std::string_view> given) {
  const std::string_view text = given.value_or("cpu");
  if (text == "cpu") return {};
  if (text == "cuda") return {.is_gpu = true};
  constexpr std::string_view numbered = "cuda:";
  constexpr int most_devices = 1024;
  if (!text.starts_with(numbered))
    fail(ErrorKind::usage, "--device expects cpu, cuda or cuda:N, got '{}'", text);
  const std::int64_t index =
      parse_whole_number(text.substr(numbered.size()), "--device cuda:N", 0, most_devices);
  return {.is_gpu = true, .index = static_cast<int>(index)};
}

std::unique_ptr<TrainingDevice> open_training_device(const ChosenDevice& device,
                                                     const DeviceChoices& choices) {
  return device.is_gpu ? cuda_training_device(device.index, choices) : cpu_training_device(choices);
}

}  // namespace strata
