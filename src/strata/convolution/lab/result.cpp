// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/lab/result.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/machine/sourced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace strata {
namespace {

constexpr std::string_view status_names[] = {"measured", "refused", "wrong", "failed"};

constexpr ConvEfficiencyName efficiency_names[] = {
    {"occupancy", "occupancy", &ConvEfficiency::occupancy},
    {"ipc", "IPC", &ConvEfficiency::ipc, false},
    {"warp_execution_efficiency", "warp", &ConvEfficiency::warp_execution},
    {"gld_efficiency", "load", &ConvEfficiency::global_load},
    {"gst_efficiency", "store", &ConvEfficiency::global_store},
    {"shared_efficiency", "shared", &ConvEfficiency::shared}};

std::string cell_key(const ConvShape& shape, ConvPass pass, std::string_view strategy) {
  return fmt::format("{} {} {}", to_text(shape), name_of(pass), strategy);
}

}  // namespace

std::span<const std::string_view> conv_status_names() { return status_names; }

std::string_view name_of(ConvStatus status) {
  return status_names[static_cast<std::size_t>(status)];
}

double ConvCell::time_s() const { return samples_s.empty() ? 0 : median_of(samples_s); }

double ConvCell::deviation_s() const {
  return samples_s.empty() ? 0 : median_deviation_of(samples_s);
}

ConvScatter ConvCell::scatter() const {
  if (samples_s.empty()) return {};
  std::vector<double> sorted = samples_s;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t outside = sorted.size() / 10;  // at each end
  return {sorted[outside], sorted[sorted.size() - 1 - outside]};
}

double ConvCell::spread() const {
  const double middle_s = time_s();
  const ConvScatter around = scatter();
  return middle_s > 0 ? (around.high_s - around.low_s) / (2 * middle_s) : 0;
}

std::optional<TransferShares> transfer_shares(const ConvCell& cell) {
  if (!cell.transfers || !cell.is_timed()) return std::nullopt;
  const double run_s = cell.time_s();
  const double pageable_s = cell.transfers->pageable_s;
  const double pinned_s = cell.transfers->pinned_s;
  TransferShares shares;
  if (pageable_s + run_s > 0) shares.pageable = pageable_s / (pageable_s + run_s);
  if (pinned_s > run_s) shares.pinned = (pinned_s - run_s) / pinned_s;
  return shares;
}

std::span<const ConvEfficiencyName> conv_efficiency_names() { return efficiency_names; }

std::optional<double> mean_efficiency(const ConvCell& cell,
                                      std::optional<double> ConvEfficiency::*value) {
  if (!cell.efficiencies) return std::nullopt;
  double sum = 0, weights = 0, plain_sum = 0, count = 0;
  for (const ConvEfficiency& role : cell.efficiencies->roles) {
    if (!(role.*value)) continue;
    const auto time = std::find_if(cell.roles.begin(), cell.roles.end(),
                                   [&](const RoleTime& each) { return each.role == role.role; });
    const double weight = time == cell.roles.end() ? 0 : time->seconds;
    sum += weight * *(role.*value);
    weights += weight;
    plain_sum += *(role.*value);
    ++count;
  }
  if (weights > 0) return sum / weights;
  return count > 0 ? std::optional(plain_sum / count) : std::nullopt;
}

bool is_vendor_default(const ConvStrategyName& strategy) {
  const std::size_t colon = strategy.name.find(':');
  return strategy.is_vendor &&
         (colon == std::string::npos || strategy.name.substr(colon + 1) == "pick");
}

std::string beyond_limit_text(std::int64_t needed_bytes, std::int64_t limit_bytes) {
  return fmt::format("needs {}, the limit is {}",
                     format_capacity(static_cast<double>(needed_bytes)),
                     format_capacity(static_cast<double>(limit_bytes)));
}

ConvResults restricted(ConvResults results, const ConvRestriction& restriction) {
  const auto is_among = [](const auto& list, const auto& item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  };
  if (!restriction.strategies.empty()) {
    std::vector<std::string> known;
    for (const ConvStrategyName& strategy : results.strategies) known.push_back(strategy.name);
    for (const std::string& name : restriction.strategies) {
      if (!is_among(known, name)) {
        fail(ErrorKind::usage, "no strategy '{}' in these results{}; there are {}", name,
             did_you_mean(name, known), fmt::join(known, ", "));
      }
    }
    std::erase_if(results.strategies, [&](const ConvStrategyName& strategy) {
      return !is_among(restriction.strategies, strategy.name);
    });
    std::erase_if(results.cells, [&](const ConvCell& cell) {
      return !is_among(restriction.strategies, cell.strategy);
    });
  }
  if (!restriction.passes.empty()) {
    std::erase_if(results.passes,
                  [&](ConvPass pass) { return !is_among(restriction.passes, pass); });
    std::erase_if(results.cells,
                  [&](const ConvCell& cell) { return !is_among(restriction.passes, cell.pass); });
    if (results.passes.empty())
      fail(ErrorKind::usage, "these results have no {}", name_of(restriction.passes.front()));
  }
  if (!restriction.memory_limit_bytes) return results;
  results.memory_limit_bytes = restriction.memory_limit_bytes;
  for (ConvCell& cell : results.cells) {
    if (!cell.is_timed() || cell.peak_bytes() <= *restriction.memory_limit_bytes) continue;
    cell.status = ConvStatus::refused;
    cell.reason = beyond_limit_text(cell.peak_bytes(), *restriction.memory_limit_bytes);
    cell.samples_s.clear();
    cell.roles.clear();
    cell.transfers.reset();
    cell.efficiencies.reset();
    cell.clock_hz.reset();
    cell.others_share.reset();
  }
  return results;
}

ConvResults joined(ConvResults first, ConvResults second) {
  if (first.device != second.device || first.dtype != second.dtype) {
    fail(ErrorKind::input, "results of {} in {} and of {} in {} do not belong together",
         first.device, name_of(first.dtype), second.device, name_of(second.dtype));
  }
  const auto add = [](auto& list, const auto& item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  };
  for (const ConvPass pass : second.passes) add(first.passes, pass);
  for (const ConvStrategyName& strategy : second.strategies) add(first.strategies, strategy);
  std::vector<ConvCell> others;
  {
    const ConvIndex mine(first);
    for (ConvCell& cell : second.cells) {
      if (mine.find(cell.shape, cell.pass, cell.strategy) == nullptr)
        others.push_back(std::move(cell));
    }
  }
  std::move(others.begin(), others.end(), std::back_inserter(first.cells));
  return first;
}

bool has_any_efficiency(const ConvResults& results) {
  return std::any_of(results.cells.begin(), results.cells.end(),
                     [](const ConvCell& cell) { return cell.efficiencies.has_value(); });
}

std::optional<double> clock_hz_of(const ConvResults& results) {
  std::vector<double> clocks;
  for (const ConvCell& cell : results.cells)
    if (cell.clock_hz) clocks.push_back(*cell.clock_hz);
  if (clocks.empty()) return std::nullopt;
  return median_of(std::move(clocks));
}

ConvIndex::ConvIndex(const ConvResults& results) {
  cells_.reserve(results.cells.size());
  for (const ConvCell& cell : results.cells)
    cells_.try_emplace(cell_key(cell.shape, cell.pass, cell.strategy), &cell);
}

const ConvCell* ConvIndex::find(const ConvShape& shape, ConvPass pass,
                                std::string_view strategy) const {
  const auto found = cells_.find(cell_key(shape, pass, strategy));
  return found == cells_.end() ? nullptr : found->second;
}

}  // namespace strata
