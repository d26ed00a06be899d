// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/change.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What explain can find in a profile, and in a recording. The list is closed: each code has a row
/// in finding.cpp and a page in docs/findings/, and a test compares the two.
namespace strata {

enum class FindingCode : std::uint8_t {
  out_of_memory,
  host_bound,
  memory_bound,
  one_layer,
  launch_bound,
  between_kernels,
  low_utilisation,
  low_bandwidth,
  zero_flop,
  vector_products,
  wide_type,
  wide_products,
  backward_heavy,
  gradient_sums,
  update_share,
  stall_on_value,
  capacity_below_scope,
  sliced_weights,
  far_from_bound,
  above_roof,
  missing_column,
  prediction_limit,
  // of counters
  warp_stalls,
  cache_hits,
  interconnect_bound,
  extra_traffic,
  other_algorithm,
  // of recordings; some are of counters, too
  host_gaps,
  launch_gaps,
  queued_kernels,
  sync_gaps,
  data_loader,
  exposed_copies,
  serial_copies,
  small_copies,
  slow_copies,
  pageable_copies,
  exposed_collectives,
  communication,
  low_concurrency,
  few_blocks,
  slower_algorithm,
  low_occupancy,
  allocation_calls,
  uncoalesced,
  bank_conflicts,
  divergence,
  // of many devices
  pipeline_bubble,
  recomputation,
  lost_records,
  recorder_overhead,
};

struct FindingKind {
  FindingCode code;
  std::string_view name;   ///< "memory-bound": how it is written; docs/findings/NAME.md is its page
  std::string_view title;  ///< for people
  bool is_about_time;      ///< false: it says how far the numbers can be trusted
};
std::span<const FindingKind> finding_kinds();
const FindingKind& kind_of(FindingCode code);

/// What a number of the evidence counts; decides how it is shown.
enum class Measure : std::uint8_t {
  seconds,
  bytes,
  capacity,  ///< bytes that a memory holds
  flop,
  bytes_per_s,
  flop_per_s,
  flop_per_byte,
  share,
  ratio,
  count
};
std::string_view name_of(Measure measure);

struct EvidenceNumber {
  std::string what;
  double value = 0;
  Measure measure = Measure::count;
};

/// How the answer to "what if" was found.
enum class Basis : std::uint8_t {
  predicted_again,  ///< the same iteration, predicted with the change
  row_by_row,       ///< every row by the roofline: the larger of its compute and bandwidth time
};
std::string_view name_of(Basis basis);

/// The iteration with one thing changed.
struct WhatIf {
  Change change;
  double base_s = 0;             ///< the iteration as it is
  std::optional<double> time_s;  ///< with the change; of a larger batch, per old batch
  std::string reason;            ///< why there is no time
  Basis basis = Basis::row_by_row;
  bool is_expected = false;  ///< of the expected time of a prediction, not of its limit
  /// What was changed before: the gain is what `change` adds to it, and base_s the time with it.
  std::optional<Change> beyond = {};
  /// That it takes on the fullest device, where that is known.
  std::optional<std::int64_t> memory_bytes = {};

  double gain_s() const { return time_s ? base_s - *time_s : 0; }
  double gain_share() const { return base_s > 0 ? gain_s() / base_s : 0; }
};

/// Who can make a change: whoever trains (precision, batch, options), whoever buys another machine,
/// or whoever designs a chip. What is only supposed ("these rows ran at their roof") nobody can
/// set.
enum class ChangedBy : std::uint8_t { user, machine, chip, supposed };
std::string_view name_of(ChangedBy by);
ChangedBy changed_by(const WhatIf& what_if);

/// "2.61 GiB on-chip instead of 586 MiB on-chip".
std::string text_of(const WhatIf& what_if);

/// One thing that stands out in a profile.
struct ProfileFinding {
  FindingCode code = FindingCode::memory_bound;
  std::string subject;  ///< the layer, operator, value or scope that it is about; may be empty
  std::string what;     ///< one sentence
  std::vector<EvidenceNumber> evidence;
  double cost_s = 0;
  double cost_share = 0;          ///< of the iteration
  bool is_expected = false;       ///< of the expected time of a prediction, not of its limit
  bool is_of_recording = false;   ///< the share is of all that was recorded, and taken as a step's
  bool is_cost_on_top = false;    ///< the cost is not in the profile's time, but comes to it
  bool is_cost_the_gain = false;  ///< it costs what the best of its what-ifs would save
  std::string advice;
  std::vector<WhatIf> what_ifs;

  /// What the best of its what-ifs saves.
  double gain_s() const;
};

/// The largest gain first; what only another machine gives behind what a user can change, and TF32
/// before types of 16 bits, which ask for more.
void sort_by_gain(std::vector<WhatIf>& what_ifs);

}  // namespace strata
