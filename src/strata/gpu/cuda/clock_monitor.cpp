// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/cuda/clock_monitor.hpp"

#include "strata/machine/sourced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace strata::cuda {
namespace {

constexpr std::chrono::milliseconds between_readings{2};
constexpr std::size_t most_readings = 10'000;

std::optional<double> median_over(const std::vector<DeviceState>& states,
                                  double DeviceState::*member) {
  std::vector<double> numbers;
  for (const DeviceState& state : states) {
    if (state.*member > 0) numbers.push_back(state.*member);
  }
  if (numbers.empty()) return std::nullopt;
  return median_of(numbers);
}

}  // namespace

std::optional<double> ClocksSeen::sm_hz() const { return median_over(states, &DeviceState::sm_hz); }
std::optional<double> ClocksSeen::memory_hz() const {
  return median_over(states, &DeviceState::memory_hz);
}
std::optional<double> ClocksSeen::power_w() const {
  return median_over(states, &DeviceState::power_w);
}

std::string ClocksSeen::note() const {
  std::uint64_t all = 0;
  for (const DeviceState& state : states) all |= state.reasons;
  if (reasons_text(all).empty()) return {};
  const auto count = std::count_if(states.begin(), states.end(), [](const DeviceState& state) {
    return !reasons_text(state.reasons).empty();
  });
  return fmt::format("clock held back by {} in {} of {} readings", reasons_text(all), count,
                     states.size());
}

ClockMonitor::ClockMonitor(const Nvml* nvml) : nvml_(nvml) {
  if (nvml_ != nullptr) thread_ = std::thread([this] { watch(); });
}

ClockMonitor::~ClockMonitor() { stop(); }

ClocksSeen ClockMonitor::stop() {
  is_stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return std::exchange(seen_, {});
}

void ClockMonitor::watch() {
  do {
    if (const auto state = nvml_->state(); state && seen_.states.size() < most_readings)
      seen_.states.push_back(*state);
    std::this_thread::sleep_for(between_readings);
  } while (!is_stopping_);
}

}  // namespace strata::cuda
