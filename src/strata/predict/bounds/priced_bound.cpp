// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/priced_bound.hpp"

#include "strata/base/checked.hpp"
#include "strata/predict/bounds/hold_network.hpp"

#include <algorithm>
#include <limits>

namespace strata {

namespace {

constexpr StepId nowhere = std::numeric_limits<StepId>::max();

/// Lays out what may be held to dodge prices. A read that has its price may be loaded in the last
/// free step before and held until its use; a write may be put off by holding the value until the
/// first free step after. Without a free step in between, only holding the value all the time
/// helps.
class PricedHolds {
 public:
  PricedHolds(const ReuseIntervals& reuse, const std::vector<bool>& is_marked)
      : reuse_(reuse),
        is_marked_(is_marked),
        free_before_(is_marked.size() + 1, nowhere),
        free_from_(is_marked.size() + 1, nowhere) {
    const auto steps = static_cast<StepId>(is_marked.size());
    for (StepId step = 0; step < steps; ++step)
      free_before_[step + 1] = is_marked[step] ? free_before_[step] : step;
    for (StepId step = steps; step-- > 0;)
      free_from_[step] = is_marked[step] ? free_from_[step + 1] : step;
  }

  void add_all() {
    std::vector<bool> has_write(reuse_.intervals.size());
    for (const ValueVersion& version : reuse_.versions) add_write(version, has_write);
    for (std::uint32_t i = 0; i < reuse_.intervals.size(); ++i)
      add_interval(reuse_.intervals[i], has_write[i]);
  }

  /// A value that was given is loaded for its first use, or in the last free step before.
  void add_first_read(std::uint32_t use, StepId step, std::int64_t bytes) {
    if (!is_marked_[step]) return;
    price += bytes;
    if (free_before_[step] != nowhere)
      holds.push_back({free_before_[step], step, not_a_use, use, bytes, 1});
  }

  std::vector<Hold> holds;
  Count price;  ///< when nothing is held

 private:
  /// A version that is written has its price when no free step is between its making and where it
  /// leaves. That is charged to the longest of its intervals for which this may be so.
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
      const ReuseInterval& interval = reuse_.intervals[i];
      if (free <= interval.begin) break;
      const ReuseInterval& longest = reuse_.intervals[charged];
      if (interval.end - interval.begin > longest.end - longest.begin) charged = i;
    }
    has_write[charged] = true;
  }

  void add_interval(const ReuseInterval& interval, bool has_write) {
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

  const ReuseIntervals& reuse_;
  const std::vector<bool>& is_marked_;
  std::vector<StepId> free_before_;  // the last free step before a step
  std::vector<StepId> free_from_;    // the first free step at or after it
};

}  // namespace

std::int64_t least_priced_bytes(const ReuseIntervals& reuse, const std::vector<bool>& is_marked,
                                std::int64_t capacity_bytes) {
  PricedHolds priced(reuse, is_marked);
  priced.add_all();
  for (const FirstRead& read : reuse.first_reads)
    priced.add_first_read(read.use, read.step, read.bytes);
  const FlowNetwork network = step_network(is_marked.size(), priced.holds);
  return (priced.price + network.least_cost(capacity_bytes)).value();
}

}  // namespace strata
