// SPDX-License-Identifier: Apache-2.0
#include "strata/roofline/roofline.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/roofline/counted_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace strata {
namespace {

constexpr std::array<std::string_view, 5> by_names = {"kernel", "layer", "type", "pass", "all"};
constexpr std::array<std::string_view, 3> bound_names = {"compute", "memory", "launch"};

double number(std::int64_t count) { return static_cast<double>(count); }

std::optional<double> intensity_of(std::int64_t flop, std::int64_t bytes) {
  if (bytes == 0) return std::nullopt;
  return number(flop) / number(bytes);
}

/// Of the access mix most like the work's, where that was measured.
double outer_bytes_per_s(const Work& work, const Roofs& roofs) {
  if (!work.read_bytes || work.bytes == 0) return roofs.outer().bytes_per_s;
  const double read_share = number(*work.read_bytes) / number(work.bytes);
  return bandwidth_for(roofs.machine->memory.back(), read_share)
      .value_or(roofs.outer().bytes_per_s);
}

std::vector<LevelUse> levels_of(const Work& work, const Roofs& roofs) {
  std::vector<LevelUse> uses;
  const auto add = [&](const MemoryRoof& roof, std::int64_t bytes, double bytes_per_s) {
    uses.push_back({roof.name, bytes, intensity_of(work.flop, bytes), number(bytes) / bytes_per_s});
  };
  for (const MemoryRoof& roof : roofs.memory) {
    if (&roof == &roofs.outer()) break;
    for (const LevelBytes& level : work.levels) {
      if (roofs.find(level.level) == &roof) add(roof, level.bytes, roof.bytes_per_s);
    }
  }
  add(roofs.outer(), work.bytes, outer_bytes_per_s(work, roofs));
  return uses;
}

/// Compute and bandwidth time: the pair on the work's AI diagonal whose larger one is T.
void place_in_time(RooflinePoint& point, double time_s) {
  if (point.complexity_bound == Bound::compute) {
    point.compute_time_s = time_s;
    point.bandwidth_time_s =
        point.memory_roof_s == 0 ? 0 : time_s * (point.memory_roof_s / point.compute_roof_s);
  } else {
    point.bandwidth_time_s = time_s;
    point.compute_time_s =
        point.memory_roof_s == 0 ? 0 : time_s * (point.compute_roof_s / point.memory_roof_s);
  }
}

/// The bytes of a predicted row are those that moved while it ran, so that they and its time are of
/// the same span: its own may have come before it, and a point of them lay above the roof.
Work work_of(const ProfileRow& row, DType dtype) {
  const std::int64_t bytes = row.moved ? checked_add(row.moved->in_bytes, row.moved->out_bytes)
                                       : row.totals.traffic_bytes();
  return {.flop = row.totals.flop,
          .bytes = bytes,
          // A prediction knows one bandwidth, whatever the mix of reads and writes.
          .read_bytes = row.moved ? std::nullopt : std::optional(row.totals.in_bytes),
          .launches = row.totals.launches,
          .time_s = row.totals.time_s,
          .zero_flop_launches = row.totals.zero_flop_launches,
          .zero_flop_s = row.totals.zero_flop_s,
          .arithmetic = row.arithmetic,
          .levels = row.levels,
          .wall_s = row.wall_s,
          .otherwise = {dtype, is_dense(row), 0},
          .does_fewer_operations = does_fewer_operations(row.implementation),
          .most_bytes = bytes};
}

/// Of a prediction, what is written back after the last step: part of the whole, of no row.
std::optional<Work> last_write_backs(const Profile& profile, DType dtype) {
  std::int64_t bytes = 0;
  for (const ProfileRow& row : profile.rows) {
    if (!row.moved) return std::nullopt;
    bytes = checked_add(bytes, row.totals.traffic_bytes() - work_of(row, dtype).bytes);
  }
  if (bytes <= 0) return std::nullopt;
  return Work{.bytes = bytes, .time_s = profile.drain_s, .otherwise = {dtype, false, 0}};
}

std::string name_in(const ProfileRow& row, RooflineBy by) {
  switch (by) {
    case RooflineBy::layer: return row.layer;
    case RooflineBy::type: return row.op.empty() ? row.layer : row.op;
    case RooflineBy::pass: return row.pass;
    case RooflineBy::all: return "all";
    case RooflineBy::row: break;
  }
  return fmt::format("{} {}{}", row.layer, row.pass, row.op == "gradient_sum" ? " sum" : "");
}

/// Rows of one group, by definition and as the device counted them.
class RowSum {
 public:
  RowSum(std::string name, const Work& first)
      : row_{.name = std::move(name), .work = {}, .point = {}}, defined_(nothing_like(first)) {}

  void add(const Work& defined) { defined_ += defined; }
  void add(const ProfileRow& row, const Work& defined, const std::optional<Work>& counted) {
    defined_ += defined;
    add_implementation(row_.implementation, row.implementation);
    const bool is_product = is_dense(row);
    if (is_product) row_.product_flop = checked_add(row_.product_flop, defined.flop);
    const bool did_run = defined.time_s > 0 || defined.launches > 0;
    if (!counted && !did_run) return;
    if (counted && !counted_) counted_ = nothing_like(*counted);
    // Counted and defined numbers do not add up to anything.
    is_mixed_ |= !counted || counted->counts_flop != counted_->counts_flop;
    if (!counted) return;
    *counted_ += *counted;
    if (is_product)
      row_.counted_product_flop = checked_add(row_.counted_product_flop, counted->flop);
  }

  RooflineRow placed(const Roofs& roofs) && {
    RooflinePoint point = place(defined_, roofs);
    if (counted_ && !is_mixed_) {
      row_.definition = Definition{std::move(defined_), std::move(point)};
      row_.work = std::move(*counted_);
      row_.point = place(row_.work, roofs);
    } else {
      row_.work = std::move(defined_);
      row_.point = std::move(point);
      row_.counted_product_flop = 0;
    }
    return std::move(row_);
  }

 private:
  /// A sum that has no parts yet.
  static Work nothing_like(const Work& first) {
    Work sum;
    sum.otherwise = first.otherwise;
    sum.read_bytes = 0;
    sum.wall_s = first.wall_s ? std::optional<double>(0) : std::nullopt;
    sum.counts_bytes = first.counts_bytes;
    sum.counts_flop = first.counts_flop;
    return sum;
  }

  RooflineRow row_;
  Work defined_;
  std::optional<Work> counted_;  ///< nothing: no part was counted
  bool is_mixed_ = false;        ///< of counted parts and others
};

void check_columns(const ProfileColumns& columns) {
  if (columns.has_flop && columns.has_bytes) return;
  const std::string_view missing = !columns.has_flop && !columns.has_bytes
                                       ? "neither FLOP ('flop') nor bytes ('traffic_in_bytes', "
                                         "'traffic_out_bytes')"
                                   : !columns.has_flop
                                       ? "no FLOP ('flop')"
                                       : "no bytes ('traffic_in_bytes', 'traffic_out_bytes')";
  fail(ErrorKind::input,
       "its rows have {}, without which there is no arithmetic intensity and no roofline; {}",
       missing,
       columns.has_time ? "the time by layer is all that it tells" : "it has no time either");
}

}  // namespace

std::string_view name_of(Bound bound) { return bound_names[static_cast<std::size_t>(bound)]; }
std::span<const std::string_view> roofline_by_names() { return by_names; }

Work& Work::operator+=(const Work& other) {
  flop = checked_add(flop, other.flop);
  bytes = checked_add(bytes, other.bytes);
  if (read_bytes && other.read_bytes) {
    *read_bytes = checked_add(*read_bytes, *other.read_bytes);
  } else {
    read_bytes.reset();
  }
  launches = checked_add(launches, other.launches);
  time_s += other.time_s;
  does_fewer_operations = does_fewer_operations || other.does_fewer_operations;
  most_bytes = std::max(most_bytes, other.most_bytes);
  is_flop_at_most = is_flop_at_most || other.is_flop_at_most;
  zero_flop_launches = checked_add(zero_flop_launches, other.zero_flop_launches);
  zero_flop_s += other.zero_flop_s;
  // What a part does not say of its arithmetic must not be taken for another part's type.
  const auto named = [](const Work& work) {
    if (!work.arithmetic.empty() || work.flop == 0) return work.arithmetic;
    return std::vector<TypedFlop>{{work.otherwise.dtype, work.otherwise.is_matrix, work.flop}};
  };
  add(arithmetic, named(other));
  add(levels, other.levels);
  if (wall_s && other.wall_s) {
    *wall_s += *other.wall_s;
  } else {
    wall_s.reset();
  }
  return *this;
}

RooflinePoint place(const Work& work, const Roofs& roofs) {
  RooflinePoint point;
  point.is_zero_flop = work.flop == 0;
  point.intensity = intensity_of(work.flop, work.bytes);
  PeakTime peak = peak_time(roofs, work.flop, work.arithmetic, work.otherwise);
  point.peaks = std::move(peak.roofs);
  point.peak_flop_per_s = peak.flop_per_s;
  point.compute_roof_s = peak.time_s;

  point.levels = levels_of(work, roofs);
  const LevelUse* slowest = &point.levels.back();  // of equals the outermost
  for (const LevelUse& level : point.levels) {
    if (level.roof_s > slowest->roof_s) slowest = &level;
  }
  point.memory_level = slowest->level;
  point.memory_roof_s = slowest->roof_s;
  point.memory_bytes_per_s = slowest->roof_s > 0 ? number(slowest->bytes) / slowest->roof_s
                                                 : roofs.find(slowest->level)->bytes_per_s;
  point.balance = point.peak_flop_per_s / point.memory_bytes_per_s;
  if (roofs.launch_latency_s) point.overhead_s = number(work.launches) * *roofs.launch_latency_s;

  const bool is_compute = !point.is_zero_flop && point.compute_roof_s >= point.memory_roof_s;
  point.complexity_bound = is_compute ? Bound::compute : Bound::memory;
  place_in_time(point, work.time_s);
  const bool is_in_box = work.time_s < point.overhead_s;
  point.bound = is_in_box ? Bound::launch : point.complexity_bound;

  point.roof_s = std::max(point.compute_roof_s, point.memory_roof_s);
  const double least_s = std::max(point.roof_s, point.overhead_s);
  point.attainable_flop_per_s = least_s > 0 ? number(work.flop) / least_s : 0;
  point.flop_per_s = work.time_s > 0 ? number(work.flop) / work.time_s : 0;
  point.distance = point.roof_s > 0 ? work.time_s / point.roof_s : 0;
  return point;
}

std::vector<RooflineRow> roofline_of(const Profile& profile, const Roofs& roofs, RooflineBy by) {
  check_columns(profile.columns);
  const DType dtype = dtype_named(profile.subject.dtype).value_or(DType::fp32);
  std::vector<RowSum> sums;
  std::unordered_map<std::string, std::size_t> index;
  for (const ProfileRow& row : profile.rows) {
    std::string name = name_in(row, by);
    Work defined = work_of(row, dtype);
    if (!profile.columns.has_launches) defined.launches = 0;
    const auto counted = counted_work(
        defined, dtype, [&](std::string_view key) { return counter_of(profile, row, key); });
    const auto [at, is_new] = index.try_emplace(name, sums.size());
    if (is_new || by == RooflineBy::row) {
      sums.emplace_back(std::move(name), defined);
      sums.back().add(row, defined, counted);
    } else {
      sums[at->second].add(row, defined, counted);
    }
  }
  if (by == RooflineBy::all && !sums.empty()) {
    if (const auto last = last_write_backs(profile, dtype)) sums.front().add(*last);
  }
  std::vector<RooflineRow> rows;
  rows.reserve(sums.size());
  for (RowSum& sum : sums) rows.push_back(std::move(sum).placed(roofs));
  return rows;
}

void set_roofs(Profile& profile, const Machine& machine) {
  const std::vector<RooflineRow> rows = roofline_of(profile, roofs_of(machine), RooflineBy::row);
  for (std::size_t i = 0; i < rows.size(); ++i) profile.rows[i].roof_s = rows[i].point.roof_s;
}

std::optional<AboveRoof> why_above_roof(const RooflineRow& row, const Machine& machine) {
  constexpr double rounding = 0.999;
  const RooflinePoint& point = row.point;
  if (point.distance <= 0 || point.distance >= rounding) return std::nullopt;
  const bool is_above_peak = row.work.time_s < rounding * point.compute_roof_s;
  // Bytes are whole: of each launch, one more may be counted than moved.
  const double one_more_s = number(row.work.launches) / point.memory_bytes_per_s;
  const bool is_above_memory = row.work.time_s < rounding * point.memory_roof_s - one_more_s;
  if (!is_above_peak && !is_above_memory) return std::nullopt;
  if (is_above_peak && !row.work.does_fewer_operations) return AboveRoof::unexplained;
  if (!is_above_memory) return AboveRoof::fewer_operations;
  const MemoryLevel* const chip = last_on_chip(machine);
  const bool fits = !row.work.counts_bytes && point.memory_level == machine.memory.back().name &&
                    chip != nullptr && number(row.work.most_bytes) <= chip->capacity_bytes.value;
  return fits ? AboveRoof::kept_on_chip : AboveRoof::unexplained;
}

std::vector<BoundShare> shares_by_bound(const std::vector<RooflineRow>& rows) {
  std::vector<BoundShare> shares = {{Bound::compute}, {Bound::memory}, {Bound::launch}};
  for (const RooflineRow& row : rows) {
    BoundShare& share = shares[static_cast<std::size_t>(row.point.bound)];
    ++share.rows;
    share.time_s += row.work.time_s;
  }
  return shares;
}

double flop_to_leave_box(double peak_flop_per_s, double launch_latency_s) {
  return peak_flop_per_s * launch_latency_s;
}

}  // namespace strata
