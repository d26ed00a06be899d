// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/profile/counters.hpp"
#include "strata/profile/expected_iteration.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What happened to each layer in each pass: predicted on a machine, or measured on one. Both are
/// the same type, so everything that shows, explains or compares takes either. On disk it is the
/// JSON that commands write with --json: `layers[]` are the rows.
namespace strata {

/// Who says so.
enum class Evidence : std::uint8_t { predicted, measured };
std::string_view name_of(Evidence evidence);

/// What can be added up over steps or kernels, in base units.
struct Totals {
  std::int64_t steps = 0;  ///< steps of a program, or kernels
  double time_s = 0;
  double compute_s = 0;  ///< of the time, what arithmetic alone takes
  double stall_s = 0;    ///< the rest: waiting for memory
  std::int64_t flop = 0;
  std::int64_t in_bytes = 0;       ///< from off-chip memory
  std::int64_t out_bytes = 0;      ///< to it
  std::int64_t refetch_bytes = 0;  ///< of the bytes in, those read again because a weight was cut
  std::int64_t launches = 0;       ///< kernels started; of a prediction, one per step
  std::int64_t zero_flop_launches = 0;  ///< of them, those that only move data
  double zero_flop_s = 0;               ///< of the time, what those take

  std::int64_t traffic_bytes() const { return in_bytes + out_bytes; }
  Totals& operator+=(const Totals& other);
};

/// Arithmetic in one data type on one kind of unit.
struct TypedFlop {
  DType dtype = DType::fp32;
  bool is_matrix = false;  ///< on matrix (tensor) units, not on vector units
  std::int64_t flop = 0;

  bool operator==(const TypedFlop&) const = default;
};

/// What passed through one level of memory inside the outermost.
struct LevelBytes {
  std::string level;  ///< as the machine calls it: "L2"
  std::int64_t bytes = 0;

  bool operator==(const LevelBytes&) const = default;
};

/// What crossed the outermost memory during some time, for whatever it was.
struct MovedBytes {
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;

  bool operator==(const MovedBytes&) const = default;
};

/// What a framework's kernels for a row are expected to take (predict/expected/).
struct ExpectedRow {
  double busy_s = 0;     ///< while at least one of them runs
  double kernels_s = 0;  ///< all of them added up
  double host_s = 0;     ///< that the host takes to dispatch them
  std::int64_t launches = 0;

  bool operator==(const ExpectedRow&) const = default;
};

/// The operator of a row that adds the gradients of one tensor, which has several readers.
inline constexpr std::string_view gradient_sum_op = "gradient_sum";

/// A row is keyed by layer and pass, and whether it is a sum of gradients; how rows of several
/// profiles belong together is in joined_rows.hpp.
struct ProfileRow {
  std::string layer;
  std::string pass;   ///< forward, recompute, backward, backward_input, backward_weight, update
  std::string op;     ///< operator; "gradient_sum" and "update" for the steps that are none
  std::string block;  ///< group of layers; the layer itself where it belongs to none
  std::string layer_class;  ///< dense, pointwise, communication, other
  Totals totals;
  std::string cause;                       ///< what it waited for longest; empty: it did not wait
  double cause_s = 0;                      ///< and how long
  std::vector<TypedFlop> arithmetic = {};  ///< the FLOP by what did them; empty: not known
  std::vector<LevelBytes> levels = {};     ///< empty: only the outermost memory is known
  std::optional<double> wall_s = {};       ///< from outside, with what passes between kernels
  CounterValues counters = {};             ///< as the profile's columns; empty: not counted
  std::string implementation = {};         ///< what computed it; empty: not said
  std::string not_run = {};                ///< why it did not run; empty: it ran
  /// What its FLOP at their peak or its bytes at their bandwidth take, whichever is longer
  /// (set_roofs in roofline/). Nothing: no machine is known.
  std::optional<double> roof_s = {};
  /// The outermost memory moved these bytes while it ran, as a counter there would see it; its own
  /// bytes (totals) are loaded ahead of it and written back after it. Nothing: not predicted.
  std::optional<MovedBytes> moved = {};
  /// Most of the on-chip memory that is in use while it runs; nothing: not predicted.
  std::optional<std::int64_t> peak_on_chip_bytes = {};
  std::optional<ExpectedRow> expected = {};   ///< nothing: no framework is asked for
  std::vector<double> samples_s = {};         ///< measured between marks, one per iteration
  std::vector<double> kernel_samples_s = {};  ///< of its kernels alone; empty without tracing
  /// The row's part of a recorded step in which kernels ran at the same time: each moment is shared
  /// equally by what ran in it. Nothing: it is the row's time.
  std::optional<double> step_s = {};

  /// The samples whose median is the row's time.
  const std::vector<double>& timed_samples_s() const {
    return kernel_samples_s.empty() ? samples_s : kernel_samples_s;
  }
};

/// Whether the row is a sum of products (convolution, matrix product), which matrix units compute.
bool is_dense(const ProfileRow& row);
/// Whether it exchanges data with other devices: it has no FLOP, and no roof of arithmetic.
bool is_communication(const ProfileRow& row);
inline constexpr std::string_view communication_class = "communication";

/// Of a row that several kinds of kernels compute: names each once.
void add_implementation(std::string& all, const std::string& one);
/// Whether what computed a row does fewer operations than its formula has, whose FLOP are counted:
/// Winograd's algorithm, or the FFT.
bool does_fewer_operations(std::string_view implementation);
/// Adds such an algorithm where only the name of a kernel tells it: "cudnn:engine_17 (winograd)".
void add_algorithm(std::string& implementation, std::string_view kernel);

/// What a profile is of.
struct ProfileSubject {
  std::string network;
  std::string title;  ///< for people
  std::string dtype;
  std::string machine;
  std::string machine_title;
  /// How it is trained, for people: "bf16 autocast, optimizer adam"; empty: the data type says it.
  std::string setup = {};

  const std::string& setup_or_dtype() const { return setup.empty() ? dtype : setup; }
};

/// Which columns its rows have. What a recorded trace lacks, it lacks in every row.
struct ProfileColumns {
  bool has_time = true;
  bool has_flop = true;
  bool has_bytes = true;
  bool has_launches = true;
};

/// How the time of the iteration was obtained.
enum class TimeFrom : std::uint8_t {
  rows,              ///< nobody said it: the wall times of the rows, else their times, added up
  simulation,        ///< from the first step to the last write-back
  whole_iterations,  ///< the median of iterations that were timed as a whole
  layer_runs,        ///< the median of the iterations in which each layer was timed
  step,              ///< the median step of a recording, from its first kernel to its last
  recording,         ///< all of a recording in which no steps were found, likewise
  framework,         ///< expected: the host and the kernels of a framework
};
std::string_view name_of(TimeFrom from);

/// Time of a recorded step in which no kernel ran.
struct IdleShare {
  std::string cause;  ///< "host", "launch", …: why (docs/recordings.md)
  double time_s = 0;

  bool operator==(const IdleShare&) const = default;
};

/// What a recording says of its step, or of itself where it has none, beside the rows.
struct RecordedStep {
  double busy_s = 0;            ///< while at least one kernel ran
  std::vector<IdleShare> idle;  ///< adds up to the rest of the step
  /// That the host took to launch the kernels, without its waits for the device: no faster kernel
  /// makes the step shorter. Nothing: launches are not recorded.
  std::optional<double> host_s = {};
};

/// One iteration: time_s = busy_s − overlap_s + gaps_s + drain_s. Where rows ran side by side and
/// nobody says how long, there is no overlap and there are no gaps.
struct IterationTime {
  double time_s = 0;
  TimeFrom from = TimeFrom::rows;
  double busy_s = 0;     ///< all rows together
  double gaps_s = 0;     ///< between kernels, or outside of layers
  double overlap_s = 0;  ///< of busy_s, what ran at the same time as other rows
  double drain_s = 0;    ///< of a prediction: the last write-backs, after the last step

  double share_of(double part_s) const { return time_s > 0 ? part_s / time_s : 0; }
};

/// What a prediction was made with, where it was read from a file: its machine's numbers, or others
/// that were asked for instead.
struct PredictedRates {
  double bytes_per_s = 0;
  double dense_flop_per_s = 0;
  double other_flop_per_s = 0;
};

struct Profile {
  Evidence evidence = Evidence::predicted;
  ProfileSubject subject = {};
  ProfileColumns columns = {};
  std::vector<ProfileRow> rows;  ///< in the order in which they first ran
  /// What whoever made the profile knows of the whole iteration; iteration_of adds the rest.
  std::optional<double> iteration_s = {};
  TimeFrom iteration_from = TimeFrom::rows;
  double drain_s = 0;
  /// Whether its FLOP, and the rates that its times are of, count a multiply-add as 1 operation.
  bool mac_is_one = false;
  std::optional<PredictedRates> predicted_rates = {};
  std::optional<RecordedStep> recorded = {};  ///< of recordings that say when kernels ran
  /// Weights, activations, gradients, states and all scratch; nothing: not known.
  std::optional<std::int64_t> peak_memory_bytes = {};
  std::optional<ExpectedIteration> expected = {};  ///< of predictions; nothing: the limit alone
  ProfileCounters counters = {};
  std::vector<CountedKernel> counted_kernels = {};  ///< in the order in which they ran

  // Defined in the source: else every file that copies one compiles all that it takes.
  Profile();
  Profile(const Profile& other);
  Profile(Profile&& other) noexcept;
  Profile& operator=(const Profile& other);
  Profile& operator=(Profile&& other) noexcept;
  ~Profile();
};

/// Nothing where the profile lacks the column or the row has no value in it.
std::optional<double> counter_of(const Profile& profile, const ProfileRow& row,
                                 std::string_view key);

/// Rows that have something in common, added up.
struct ProfileGroup {
  std::string name;
  Totals totals;
  double expected_s = 0;  ///< of its kernels in a framework; 0: none is asked for
};

/// Adds up by data type and unit, and by level.
void add(std::vector<TypedFlop>& sum, const std::vector<TypedFlop>& more);
void add(std::vector<LevelBytes>& sum, const std::vector<LevelBytes>& more);

/// Groups in the order in which they first appear.
std::vector<ProfileGroup> grouped(const Profile& profile, std::string ProfileRow::*key);

Totals total_of(const Profile& profile);

/// The iteration's time, which every table, document and comparison shows, and of which every share
/// is taken.
IterationTime iteration_of(const Profile& profile);

}  // namespace strata
