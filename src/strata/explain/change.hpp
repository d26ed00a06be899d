// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// A change of a "what if", as data. A prediction can be made again with it; the roofline answers
/// most changes, too.
namespace strata {

struct BandwidthTimes {
  double factor = 2;
  bool operator==(const BandwidthTimes&) const = default;
};
struct ThroughputTimes {
  double factor = 2;
  bool operator==(const ThroughputTimes&) const = default;
};
struct CapacityOf {
  std::int64_t bytes = 0;
  bool operator==(const CapacityOf&) const = default;
};
struct InDType {
  DType dtype = DType::bf16;
  bool operator==(const InDType&) const = default;
};
/// Compared per sample: twice the batch may take twice the time.
struct BatchTimes {
  std::int64_t factor = 2;
  bool operator==(const BatchTimes&) const = default;
};
/// So many samples instead; compared per sample, too.
struct BatchOf {
  std::int64_t samples = 1;
  bool operator==(const BatchOf&) const = default;
};
/// Any other option of a prediction by the name of its flag; a switch is "true".
struct OptionSet {
  std::string name;
  std::string value;
  bool operator==(const OptionSet&) const = default;
};
/// Another machine that ships.
struct OnMachine {
  std::string name;
  bool operator==(const OnMachine&) const = default;
};
/// Many devices: the split over them with one part changed, "micro=8".
struct OtherSplit {
  std::string text;
  bool operator==(const OtherSplit&) const = default;
};
/// Many devices with other links: "twice the network".
struct OtherCluster {
  std::string text;
  bool operator==(const OtherCluster&) const = default;
};
/// A change that arithmetic on the profile answers by itself; `text` says what it is.
struct Computed {
  std::string text;
  bool operator==(const Computed&) const = default;
};

using Change = std::variant<BandwidthTimes, ThroughputTimes, CapacityOf, InDType, BatchTimes,
                            BatchOf, OptionSet, OnMachine, OtherSplit, OtherCluster, Computed>;

/// Nothing where twice the capacity does not fit 64 bits.
std::optional<CapacityOf> twice_the_capacity(std::int64_t capacity_bytes);

/// "twice the bandwidth", "128 MiB on-chip", "bf16": completes "with …" or "if …".
std::string text_of(const Change& change);

/// The iteration with a change; of another batch, per old batch. No time: the reason says why.
struct ChangeAnswer {
  std::optional<double> time_s;
  std::string reason;
};

/// Predicts the profile's own iteration again, once per change; answers in the same order. Whoever
/// can predict gives it; explain/ itself cannot.
using PredictAgain = std::function<std::vector<ChangeAnswer>(std::span<const Change>)>;

}  // namespace strata
