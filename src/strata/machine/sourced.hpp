// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

/// A number of a machine and why it may be believed.
namespace strata {

/// What a measured number is of the one that the vendor or arithmetic promises.
struct PeakShare {
  double share = 0;  ///< 0.975: 97.5 % of it
  std::string of;    ///< "datasheet: 4.8 TB/s", "132 SM x 256 FLOP x 1.98 GHz"

  bool operator==(const PeakShare&) const = default;
};

/// How a number was measured.
struct Measurement {
  std::string method;                     ///< "4 GiB read, 16 bytes per thread, best of 20"
  std::vector<double> samples_s;          ///< each repetition, in seconds, as it came
  std::optional<double> deviation_s;      ///< median absolute deviation of the samples
  std::optional<double> relative_spread;  ///< that over their median
  std::optional<double> clock_hz;         ///< of the units that worked, seen while they did
  std::optional<double> power_w;
  std::optional<PeakShare> share;
  std::vector<std::string> notes;  ///< "power cap during 12 of 20 samples"

  bool operator==(const Measurement&) const = default;
};

/// A measurement with the spread of the samples filled in.
Measurement evidence_of(std::string method, std::span<const double> samples_s);

/// A number and who says so.
struct Sourced {
  double value = 0;
  std::string source;  ///< document and place in it, or "measured"
  std::optional<Measurement> evidence = std::nullopt;

  bool operator==(const Sourced&) const = default;
};

/// Of an even count, the mean of the middle two. The list must not be empty.
double median_of(std::span<const double> numbers);
/// Median of the distances from the median.
double median_deviation_of(std::span<const double> numbers);

}  // namespace strata
