// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

/// The half of CUPTI's profiler that needs no GPU: which counters a chip has, and how often work
/// must be repeated to read them.
namespace strata {

/// Chips whose counters can be planned here ("GH100"). Errors (environment) when there is no CUPTI.
std::vector<std::string> countable_chips();

class CounterHost {
 public:
  virtual ~CounterHost() = default;

  /// Of these names, those that the chip has.
  virtual std::set<std::string> accepted(std::span<const std::string> metrics) const = 0;

  /// Times that the work must run for all of these; errors (environment) when one is unknown.
  virtual int passes(std::span<const std::string> metrics) const = 0;
};

/// Errors (environment): no CUPTI, or one that does not know the chip.
std::unique_ptr<CounterHost> counter_host(const std::string& chip);

}  // namespace strata
