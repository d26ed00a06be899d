// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/points.hpp"
#include "strata/convolution/lab/strategy.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// What the lab found, as it is stored. Everything that a person sees is a function of this.
namespace strata {

enum class ConvStatus : std::uint8_t {
  measured,
  refused,  ///< the strategy cannot, or there is not the memory for it
  wrong,    ///< its result is farther from the reference than it says itself
  failed,   ///< it ended with an error
};
std::string_view name_of(ConvStatus status);
std::span<const std::string_view> conv_status_names();

/// Between which the middle four fifths of the samples lie.
struct ConvScatter {
  double low_s = 0;
  double high_s = 0;
};

/// One strategy on one pass of one convolution.
struct ConvCell {
  ConvShape shape;
  ConvPass pass = ConvPass::forward;
  std::string strategy;
  ConvStatus status = ConvStatus::measured;
  std::string reason;  ///< of what is not measured

  std::vector<double> samples_s;
  std::int64_t tensor_bytes = 0;  ///< input, weights and output
  std::int64_t scratch_bytes = 0;
  std::optional<std::int64_t> flop;  ///< of the algorithm itself
  double error = 0;                  ///< relative, L2, against double precision
  double tolerance = 0;
  std::int64_t checked = 0;  ///< numbers of the result that were compared
  std::vector<RoleTime> roles;
  std::vector<KernelFacts> kernels;
  std::optional<HostTransfers> transfers;
  std::optional<ConvEfficiencies> efficiencies;  ///< nothing: not asked for
  std::optional<double> clock_hz;                ///< right after the samples
  /// The share of the processors' time that other programs had meanwhile; nothing: nobody looked.
  std::optional<double> others_share = {};

  bool is_timed() const { return !samples_s.empty(); }
  bool is_measured() const { return status == ConvStatus::measured && is_timed(); }
  double time_s() const;       ///< the median of the samples; 0 when there are none
  double deviation_s() const;  ///< the median of their distances from it
  ConvScatter scatter() const;
  double spread() const;  ///< half the width of the scatter over the time: 0.1 is ± 10 %
  std::int64_t peak_bytes() const { return tensor_bytes + scratch_bytes; }
};

/// Shares of an iteration's time that wait for the input: copied from ordinary memory while nothing
/// else runs, and from page-locked memory behind the computation of the batch before.
struct TransferShares {
  double pageable = 0;
  double pinned = 0;
};
std::optional<TransferShares> transfer_shares(const ConvCell& cell);

/// The six efficiencies, as the results call them.
struct ConvEfficiencyName {
  std::string_view key;    ///< "gld_efficiency"
  std::string_view title;  ///< of a column, for people
  std::optional<double> ConvEfficiency::*value = nullptr;
  bool is_share = true;  ///< of 1; else a rate
};
std::span<const ConvEfficiencyName> conv_efficiency_names();

/// Over the roles, each weighted with the time that it takes; nothing where no role has a value.
std::optional<double> mean_efficiency(const ConvCell& cell,
                                      std::optional<double> ConvEfficiency::*value);

/// A strategy as the results know it.
struct ConvStrategyName {
  std::string name;
  bool is_vendor = false;
  friend bool operator==(const ConvStrategyName&, const ConvStrategyName&) = default;
};

/// Whether it is the pick that a library makes by itself: "cudnn:pick", "onednn".
bool is_vendor_default(const ConvStrategyName& strategy);

/// When and with what results were measured. Results of an older Strata have none of it.
struct ConvOrigin {
  std::string date;  ///< "2026-03-01T12:00:00Z", when the first of them began; empty: unknown
  ConvDeviceFacts facts;
};

struct ConvResults {
  std::string device;
  ConvOrigin origin;
  DType dtype = DType::fp32;
  std::vector<ConvPass> passes;
  std::vector<ConvStrategyName> strategies;
  std::vector<ConvSeries> series;
  std::uint64_t seed = 1;
  int samples = 10;
  std::optional<std::int64_t> memory_limit_bytes;
  bool has_efficiencies = false;  ///< they were asked for
  std::vector<ConvCell> cells;
};

/// A closer look at results: only some passes and strategies (empty: all), and strategies that need
/// more memory than a limit refused as if they had never run.
struct ConvRestriction {
  std::vector<ConvPass> passes;
  std::vector<std::string> strategies;
  std::optional<std::int64_t> memory_limit_bytes;
};
/// Errors (usage) name what the results do not have.
ConvResults restricted(ConvResults results, const ConvRestriction& restriction);

/// Passes, strategies and cells of both; what both have is the first's, and so are the series.
/// Errors (input): they are of different devices or data types.
ConvResults joined(ConvResults first, ConvResults second);

/// Whether any cell has efficiencies, asked for or not.
bool has_any_efficiency(const ConvResults& results);

/// "needs 3.10 GiB, the limit is 2.00 GiB".
std::string beyond_limit_text(std::int64_t needed_bytes, std::int64_t limit_bytes);

/// The median of the clocks that were read after the samples; nothing where none was.
std::optional<double> clock_hz_of(const ConvResults& results);

/// Cells by what they are of. Refers to the results.
class ConvIndex {
 public:
  explicit ConvIndex(const ConvResults& results);
  /// Nothing when it has not been looked at.
  const ConvCell* find(const ConvShape& shape, ConvPass pass, std::string_view strategy) const;

 private:
  std::unordered_map<std::string, const ConvCell*> cells_;
};

}  // namespace strata
