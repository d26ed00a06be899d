// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/row_times.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

void scale_number(Sourced& number, double factor) {
  number.value *= factor;
  number.source = "what if";
}

}  // namespace

RowTimes::RowTimes(const Profile& profile, const Machine& machine)
    : profile_(profile),
      machine_(machine),
      roofs_(roofs_of(machine)),
      rows_(roofline_of(profile, roofs_, RooflineBy::row)) {
  STRATA_CHECK(rows_.size() == profile.rows.size(),
               "a row of the roofline for each of the profile");
  knows_stalls_ = profile.evidence == Evidence::predicted &&
                  std::any_of(profile.rows.begin(), profile.rows.end(), [](const ProfileRow& row) {
                    return row.totals.compute_s > 0 || row.totals.stall_s > 0;
                  });
}

// Predictions know nothing of launches, so these set no limit there.
double RowTimes::floored(std::size_t row, double time_s) const {
  if (profile_.evidence == Evidence::predicted) return time_s;
  return std::max(time_s, std::min(rows_[row].work.time_s, rows_[row].point.overhead_s));
}

double RowTimes::without_traffic_s(std::size_t row) const {
  const Totals& totals = profile_.rows[row].totals;
  if (knows_stalls_) return std::max(0.0, totals.time_s - totals.stall_s);
  return floored(row, std::min(rows_[row].point.compute_time_s, totals.time_s));
}

double RowTimes::at_roof_s(std::size_t row) const {
  return floored(row, std::min(rows_[row].work.time_s, roof_s(row)));
}

bool RowTimes::is_far_from_roof(std::size_t row) const {
  constexpr double far = 1.5;  // times the time at the roof
  return roof_s(row) > 0 && rows_[row].work.time_s >= far * roof_s(row);
}

std::vector<double> RowTimes::with(const Machine& machine, const ChangeWork& change) const {
  const Roofs roofs = roofs_of(machine);
  std::vector<double> times;
  times.reserve(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Work work = rows_[i].work;
    if (change) change(work, profile_.rows[i]);
    const double before = rows_[i].point.roof_s;
    const double after = place(work, roofs).roof_s;
    const double time_s = rows_[i].work.time_s;
    times.push_back(before > 0 ? floored(i, time_s * after / before) : time_s);
  }
  return times;
}

std::vector<double> RowTimes::with_work(const ChangeWork& change) const {
  return with(machine_, change);
}
std::vector<double> RowTimes::with_machine(const Machine& machine) const {
  return with(machine, {});
}

void to_dtype(Work& work, const ProfileRow& row, DType from, DType to, const Machine& machine) {
  const double ratio =
      static_cast<double>(bytes_per_element(to)) / static_cast<double>(bytes_per_element(from));
  const auto scaled = [&](std::int64_t bytes) {
    return static_cast<std::int64_t>(std::llround(static_cast<double>(bytes) * ratio));
  };
  work.bytes = scaled(work.bytes);
  if (work.read_bytes) work.read_bytes = scaled(*work.read_bytes);
  for (LevelBytes& level : work.levels) level.bytes = scaled(level.bytes);
  const bool has_units = find_peak(machine, to, ComputeUnit::matrix) != nullptr;
  const bool goes_to_matrix = is_dense(row) && has_units;
  for (TypedFlop& part : work.arithmetic) {
    if (!is_floating(part.dtype)) continue;
    part.dtype = to;
    part.is_matrix = goes_to_matrix;
  }
  work.otherwise.dtype = to;
  work.otherwise.is_matrix = goes_to_matrix;
}

Machine with_bandwidth(Machine machine, double factor) {
  STRATA_CHECK(!machine.memory.empty(), "a machine has memory");
  MemoryLevel& outer = machine.memory.back();
  if (outer.bandwidth_bytes_per_s) scale_number(*outer.bandwidth_bytes_per_s, factor);
  for (MixBandwidth& mix : outer.mixes) scale_number(mix.bytes_per_s, factor);
  return machine;
}

Machine with_throughput(Machine machine, double factor) {
  for (Peak& peak : machine.peaks) scale_number(peak.flop_per_s, factor);
  return machine;
}

}  // namespace strata
