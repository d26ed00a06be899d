// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/priced_bound.hpp"

#include "strata/base/checked.hpp"
#include "strata/predict/bounds/hold_network.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace strata {

namespace {

constexpr StepId nowhere = std::numeric_limits<StepId>::max();

/// Finds what holding a value can save. A read that has its price may be loaded in the last
/// free step before and held until its use; a write may be put off by holding the value until the
/// first free step after. Without a free step in between, only holding the value all the time
/// helps.
class PricedHolds {
 public:
  /// `fits`: which intervals can be kept at all.
  PricedHolds(const KeepIntervals& keep, const std::vector<bool>& is_marked,
              const std::vector<bool>& fits)
      : keep_(keep),
        is_marked_(is_marked),
        fits_(fits),
        free_before_(is_marked.size() + 1, nowhere),
        free_from_(is_marked.size() + 1, nowhere) {
    const auto steps = static_cast<StepId>(is_marked.size());
    for (StepId step = 0; step < steps; ++step)
      free_before_[step + 1] = is_marked[step] ? free_before_[step] : step;
    for (StepId step = steps; step-- > 0;)
      free_from_[step] = is_marked[step] ? free_from_[step + 1] : step;
  }

  void add_all() {
    for (const FirstRead& read : keep_.first_reads) add_first_read(read);
    std::vector<bool> has_write(keep_.intervals.size());
    for (const ValueVersion& version : keep_.versions) add_write(version, has_write);
    for (std::uint32_t i = 0; i < keep_.intervals.size(); ++i)
      add_interval(keep_.intervals[i], has_write[i]);
  }

  std::vector<Hold> holds;
  Count price;  ///< when nothing is held

 private:
  /// A value that was given is loaded for its first use, or in the last free step before.
  void add_first_read(const FirstRead& read) {
    if (!is_marked_[read.step]) return;
    price += read.bytes;
    if (free_before_[read.step] != nowhere)
      holds.push_back({free_before_[read.step], read.step, not_a_use, read.use, read.bytes, 1});
  }

  /// A version that is written has its price when no free step is between its making and where it
  /// leaves. That is charged to one of its intervals for which this may be so: to one that cannot
  /// be kept if there is one, otherwise to the longest.
  void add_write(const ValueVersion& version, std::vector<bool>& has_write) {
    if (!is_marked_[version.made_at]) return;
    const StepId free = free_from_[version.made_at];
    if (version.is_result && (version.intervals == 0 || free == nowhere)) {
      price += version.bytes;
      if (free != nowhere)
        holds.push_back({version.made_at, free, version.write_use, not_a_use, version.bytes, 1});
      return;
    }
    if (version.intervals == 0) return;
    price += version.bytes;
    // A result leaves in any case, but where it does so for nothing is known of the first interval
    // only.
    const std::uint32_t choice = version.is_result ? 1 : version.intervals;
    std::uint32_t charged = version.first_interval;
    for (std::uint32_t i = charged; i < version.first_interval + choice; ++i) {
      if (free <= keep_.intervals[i].begin) break;
      if (rank(i) > rank(charged)) charged = i;
    }
    has_write[charged] = true;
  }

  std::pair<bool, StepId> rank(std::uint32_t i) const {
    return {!fits_[i], keep_.intervals[i].end - keep_.intervals[i].begin};
  }

  void add_interval(const KeepInterval& interval, bool has_write) {
    const std::int64_t write = has_write ? 1 : 0;
    const std::int64_t read = is_marked_[interval.end] ? 1 : 0;
    price += Count(interval.bytes) * read;
    const StepId leaves = free_from_[interval.begin + 1];
    if (leaves >= interval.end) {  // no free step in between
      if (read + write > 0)
        holds.push_back({interval.begin, interval.end, interval.first_use, interval.last_use,
                         interval.bytes, read + write});
      return;
    }
    if (write > 0)
      holds.push_back(
          {interval.begin, leaves, interval.first_use, not_a_use, interval.bytes, write});
    if (read > 0)
      holds.push_back({free_before_[interval.end], interval.end, not_a_use, interval.last_use,
                       interval.bytes, read});
  }

  const KeepIntervals& keep_;
  const std::vector<bool>& is_marked_;
  const std::vector<bool>& fits_;
  std::vector<StepId> free_before_;  // the last free step before a step
  std::vector<StepId> free_from_;    // the first free step at or after it
};

}  // namespace

std::int64_t least_priced_bytes(const Program& program, const KeepIntervals& keep,
                                const std::vector<bool>& is_marked, std::int64_t capacity_bytes,
                                std::int64_t granularity_bytes) {
  const std::vector<StepOwn> owns = owns_up_to(program, capacity_bytes);
  const auto fitting = [&](std::span<const Hold> holds) {
    return which_fit(program, owns, capacity_bytes, granularity_bytes, holds);
  };
  const std::vector<bool> fits = fitting(holds_of(keep));
  PricedHolds priced(keep, is_marked, fits);
  priced.add_all();
  drop_what_does_not_fit(fitting(priced.holds), priced.holds);
  const FlowNetwork network = step_network(is_marked.size(), priced.holds);
  Count bytes = priced.price;
  for (const FlowPiece& piece : network.cheapest_first(capacity_bytes, 0))
    bytes += Count(piece.amount) * piece.cost;
  return bytes.value();
}

}  // namespace strata
