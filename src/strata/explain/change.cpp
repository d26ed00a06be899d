// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/change.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <limits>

namespace strata {
namespace {

std::string times_text(double factor) {
  return factor == 2 ? "twice" : fmt::format("{:g} times", factor);
}

struct ChangeText {
  std::string operator()(const BandwidthTimes& change) const {
    return times_text(change.factor) + " the bandwidth";
  }
  std::string operator()(const ThroughputTimes& change) const {
    return times_text(change.factor) + " the arithmetic rate";
  }
  std::string operator()(const CapacityOf& change) const {
    return format_capacity(static_cast<double>(change.bytes)) + " on-chip";
  }
  std::string operator()(const InDType& change) const { return std::string(name_of(change.dtype)); }
  std::string operator()(const BatchTimes& change) const {
    return times_text(static_cast<double>(change.factor)) + " the batch, per sample";
  }
  std::string operator()(const BatchOf& change) const {
    return fmt::format("batch {}", change.samples);
  }
  std::string operator()(const OptionSet& change) const {
    return change.value == "true" ? fmt::format("--{}", change.name)
                                  : fmt::format("--{} {}", change.name, change.value);
  }
  std::string operator()(const OnMachine& change) const {
    return fmt::format("--on {}", change.name);
  }
  std::string operator()(const OtherSplit& change) const { return change.text; }
  std::string operator()(const OtherCluster& change) const { return change.text; }
  std::string operator()(const Computed& change) const { return change.text; }
};

}  // namespace

std::optional<CapacityOf> twice_the_capacity(std::int64_t capacity_bytes) {
  if (capacity_bytes > std::numeric_limits<std::int64_t>::max() / 2) return std::nullopt;
  return CapacityOf{2 * capacity_bytes};
}

std::string text_of(const Change& change) { return std::visit(ChangeText{}, change); }

}  // namespace strata
