// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/explain.hpp"
#include "strata/explain/row_times.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The context that every rule reads: the profile, the machine, and what was predicted.
namespace strata {

/// Shares of the iteration below which a rule says nothing.
inline constexpr double noticeable_share = 0.01;

class ExplainContext {
 public:
  /// `is_expected`: the profile has the times of a framework's kernels.
  explicit ExplainContext(const ExplainInput& input, bool is_expected = false);

  const Profile& profile() const { return input_.profile; }
  const Machine& machine() const { return input_.machine; }
  const PredictionFacts* facts() const { return input_.facts; }
  bool is_measured() const { return profile().evidence == Evidence::measured; }
  /// Whether the times are those of kernels, not the limit's.
  bool has_kernel_times() const { return is_measured() || is_expected_; }
  const std::vector<Change>& changes() const { return input_.changes; }
  bool predicts_again() const { return static_cast<bool>(input_.predict_again); }
  /// Absent where FLOP or bytes are not known.
  const RowTimes* times() const { return times_ ? &*times_ : nullptr; }
  const IterationTime& iteration() const { return iteration_; }
  /// Whether the time is a recording's, in which gaps are what they were.
  bool is_of_recording() const {
    return iteration_.from == TimeFrom::step || iteration_.from == TimeFrom::recording;
  }
  /// Whether the recording itself was asked why no kernel ran, and what communication hides.
  bool has_recorded_findings() const { return input_.recorded != nullptr; }
  double time_s() const { return iteration_.time_s; }
  bool is_noticeable(double cost_s) const { return cost_s >= noticeable_share * time_s(); }

  /// A what-if whose answer is the time of the iteration minus what is saved; a recorded step gets
  /// no shorter than the host takes to launch it.
  WhatIf computed(std::string text, double saved_s) const;
  /// A what-if that a new prediction answers, or the roofline where nobody predicts again.
  WhatIf asked(Change change) const;
  /// A finding with its cost and the share of it.
  ProfileFinding finding(FindingCode code, std::string about, double cost_s) const;

 private:
  WhatIf row_by_row(Change change) const;
  double time_without(double saved_s) const;

  const ExplainInput& input_;
  bool is_expected_;
  std::optional<RowTimes> times_;
  IterationTime iteration_;
};

/// Rows of one kind: indexes into the profile, in order.
struct RowSet {
  std::string name;
  std::vector<std::size_t> rows;
  double time_s = 0;
};
std::vector<RowSet> rows_by(const Profile& profile,
                            const std::function<std::string(const ProfileRow&)>& key);

/// The operator, or the layer where none is named.
std::string operator_of(const ProfileRow& row);
/// "layer1.0.conv1 backward"
std::string row_name(const ProfileRow& row);
/// "1 row", "12 rows"
std::string counted(std::size_t count, std::string_view thing);
/// "12 %", "0.4 %"
std::string percent_of(double part, double whole);

/// Each rule adds its findings. `asked` what-ifs are answered after all rules ran.
using Findings = std::vector<ProfileFinding>;
void find_out_of_memory(const ExplainContext& context, Findings& found);
void find_host_bound(const ExplainContext& context, Findings& found);
void find_slow_precision(const ExplainContext& context, Findings& found);

void find_memory_bound(const ExplainContext& context, Findings& found);
void find_one_layer(const ExplainContext& context, Findings& found);
void find_zero_flop(const ExplainContext& context, Findings& found);

void find_low_utilisation(const ExplainContext& context, Findings& found);
void find_low_bandwidth(const ExplainContext& context, Findings& found);
void find_above_roof(const ExplainContext& context, Findings& found);

void find_launch_bound(const ExplainContext& context, Findings& found);
void find_between_kernels(const ExplainContext& context, Findings& found);

void find_vector_products(const ExplainContext& context, Findings& found);
void find_wide_type(const ExplainContext& context, Findings& found);
void find_wide_products(const ExplainContext& context, Findings& found);

void find_backward_heavy(const ExplainContext& context, Findings& found);
void find_gradient_sums(const ExplainContext& context, Findings& found);
void find_update_share(const ExplainContext& context, Findings& found);

void find_stalls(const ExplainContext& context, Findings& found);
void find_capacity_below_scope(const ExplainContext& context, Findings& found);
void find_sliced_weights(const ExplainContext& context, Findings& found);
void find_far_from_bound(const ExplainContext& context, Findings& found);

void find_warp_stalls(const ExplainContext& context, Findings& found);
void find_counted_occupancy(const ExplainContext& context, Findings& found);
void find_idle_processors(const ExplainContext& context, Findings& found);
void find_access_efficiency(const ExplainContext& context, Findings& found);

void find_cache_hits(const ExplainContext& context, Findings& found);
void find_interconnect_bound(const ExplainContext& context, Findings& found);
void find_extra_traffic(const ExplainContext& context, Findings& found);
void find_other_algorithm(const ExplainContext& context, Findings& found);

void find_communication(const ExplainContext& context, Findings& found);

void find_missing_columns(const ExplainContext& context, Findings& found);
void find_prediction_limit(const ExplainContext& context, Findings& found);

/// The next capacity at which more of a scope stays on chip; nothing when there is none above.
std::optional<std::int64_t> next_capacity(const ReuseFacts& reuse, std::int64_t capacity_bytes);
std::string reuse_text(const ReuseFacts& reuse, std::int64_t capacity_bytes);
/// The 16-bit type in which the machine multiplies; nothing where the network has one already, or
/// the machine has no rate for one.
std::optional<DType> lower_precision(const ExplainContext& context);
/// Whether the machine multiplies fp32 faster with TF32, which changes nothing else.
bool could_allow_tf32(const ExplainContext& context);

}  // namespace strata
