// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"
#include "strata/profile/profile.hpp"
#include "strata/roofline/roofline.hpp"

#include <functional>
#include <string>
#include <vector>

/// What rows of a profile would take if something were different, by the roofline: a row keeps its
/// distance from the roof, so its time scales with the larger of F/P and B/W. A measured row never
/// gets shorter than starting its kernels takes. In the time-based roofline that is the same as the
/// larger of its compute and its bandwidth time, each scaled by itself.
namespace strata {

/// A profile's rows under the roofs of a machine; refers to both.
class RowTimes {
 public:
  /// The profile needs FLOP and bytes.
  RowTimes(const Profile& profile, const Machine& machine);

  const std::vector<RooflineRow>& rows() const { return rows_; }
  const Roofs& roofs() const { return roofs_; }

  /// The time of the row without its traffic: its arithmetic alone. A prediction states it.
  double without_traffic_s(std::size_t row) const;
  /// The larger of the times of its arithmetic and of its bytes.
  double roof_s(std::size_t row) const { return rows_[row].point.roof_s; }
  /// Its time at the roof: at most its time now, at least that of its launches.
  double at_roof_s(std::size_t row) const;
  /// Whether neither its arithmetic nor its bytes are why it takes so long.
  bool is_far_from_roof(std::size_t row) const;

  /// Time of each row with the work or the machine changed.
  using ChangeWork = std::function<void(Work& work, const ProfileRow& row)>;
  std::vector<double> with_work(const ChangeWork& change) const;
  std::vector<double> with_machine(const Machine& machine) const;
  /// The same of both.
  std::vector<double> with(const Machine& machine, const ChangeWork& change) const;

 private:
  double floored(std::size_t row, double time_s) const;

  const Profile& profile_;
  const Machine& machine_;
  Roofs roofs_;
  std::vector<RooflineRow> rows_;
  bool knows_stalls_ = false;
};

/// Sets arithmetic and bytes to another data type. Products go to matrix units where the machine
/// has them in that type; bytes scale with the size of a number.
void to_dtype(Work& work, const ProfileRow& row, DType from, DType to, const Machine& machine);

/// The outermost memory that much faster; every level of it.
Machine with_bandwidth(Machine machine, double factor);
/// All peaks that much higher.
Machine with_throughput(Machine machine, double factor);

}  // namespace strata
