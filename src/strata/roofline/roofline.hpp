// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/profile.hpp"
#include "strata/roofline/roofs.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The roofline of a profile on a machine, classic (Williams, Waterman, Patterson 2009) and
/// time-based ("Time-Based Roofline for Deep Learning Performance Analysis", 2020);
/// docs/roofline.md has the formulas in words. F is FLOP, B bytes, T the time of the kernels, n
/// their number; P, W, λ are the machine's peak, bandwidth and launch latency, β = P/W.
///
///     const Roofs roofs = roofs_of(load_machine("v100"));
///     for (const RooflineRow& row : roofline_of(profile, roofs, RooflineBy::layer)) …
namespace strata {

/// What a kernel, a layer or a whole pass does, and how long it took.
struct Work {
  std::int64_t flop = 0;
  std::int64_t bytes = 0;  ///< of the outermost memory
  /// Of them, those that are read: few machines read as fast as they write. Nothing: not known.
  std::optional<std::int64_t> read_bytes = {};
  std::int64_t launches = 0;
  double time_s = 0;
  std::int64_t zero_flop_launches = 0;
  double zero_flop_s = 0;
  std::vector<TypedFlop> arithmetic = {};  ///< empty: `otherwise` of the row's group
  std::vector<LevelBytes> levels = {};     ///< of the memory inside
  std::optional<double> wall_s = {};
  TypedFlop otherwise = {};            ///< whose roof arithmetic of unknown type has
  bool does_fewer_operations = false;  ///< than its FLOP say, at least in part
  std::int64_t most_bytes = 0;         ///< of its largest part
  bool counts_bytes = false;           ///< the device counted them (counted_work.hpp)
  bool counts_flop = false;            ///< the same of the FLOP
  bool is_flop_at_most = false;        ///< only an upper bound was counted

  Work& operator+=(const Work& other);
};

enum class Bound : std::uint8_t { compute, memory, launch };
std::string_view name_of(Bound bound);

/// One level of memory as the work uses it.
struct LevelUse {
  std::string level;
  std::int64_t bytes = 0;
  std::optional<double> intensity;  ///< FLOP per byte; absent: no bytes
  double roof_s = 0;  ///< B/W; of the outermost memory, W of the mix of reads and writes
};

/// Where the work lies under the roofs.
struct RooflinePoint {
  std::optional<double> intensity;  ///< AI = F/B of the outermost memory; absent: no bytes
  std::vector<LevelUse> levels;     ///< innermost first, the outermost last
  std::vector<PeakRoof> peaks;      ///< whose arithmetic it uses, most FLOP first
  double peak_flop_per_s = 0;       ///< P = F / Σ F_d/P_d
  double compute_roof_s = 0;        ///< F/P
  double memory_roof_s = 0;         ///< B/W of the level where it is largest
  std::string memory_level;         ///< that level
  double memory_bytes_per_s = 0;    ///< its W
  double balance = 0;               ///< β = P/W there
  double roof_s = 0;                ///< max(F/P, B/W): the roof of the work, wherever it is shown
  double overhead_s = 0;            ///< n·λ; 0: latency or launches unknown

  double flop_per_s = 0;             ///< F/T; 0: no time
  double attainable_flop_per_s = 0;  ///< min(P, AI·W, F/(n·λ))
  /// T over the time at the roof: how far the two symbols of the combined picture
  /// are apart. Below 1: the roofs are not this machine's, or why_above_roof says why.
  double distance = 0;
  double compute_time_s = 0;               ///< the pair of the time plane: max(pair) = T,
  double bandwidth_time_s = 0;             ///< and compute / bandwidth = AI/β
  Bound complexity_bound = Bound::memory;  ///< compute when AI ≥ β
  Bound bound = Bound::memory;             ///< launch when both times are below n·λ
  bool is_zero_flop = false;
};

RooflinePoint place(const Work& work, const Roofs& roofs);

enum class RooflineBy : std::uint8_t { row, layer, type, pass, all };
std::span<const std::string_view> roofline_by_names();

/// What the definition of the operators says: each tensor read or written once, every operation of
/// the formula done.
struct Definition {
  Work work;
  RooflinePoint point;
};

struct RooflineRow {
  std::string name;  ///< layer and pass, layer, operator, pass, or "all"
  Work work;         ///< as the device counted it, else by definition
  RooflinePoint point;
  std::optional<Definition> definition = {};  ///< beside what was counted
  std::int64_t product_flop = 0;              ///< of convolutions and products, by definition
  std::int64_t counted_product_flop = 0;      ///< the same as the device counted it
  std::string implementation = {};            ///< what computed it; empty: not said
};

/// Rows in the order in which they first ran; those of a group are added up. `kernel` keeps rows as
/// the profile has them. A row is what the device counted, where it counted all parts of it that
/// ran. The bytes of a predicted row are those that moved while it ran (ProfileRow::moved); `all`
/// has the last write-backs, too, which are of no row. Errors (input) name the column that is
/// missing and what still works.
std::vector<RooflineRow> roofline_of(const Profile& profile, const Roofs& roofs, RooflineBy by);

/// Gives each row the time at its roof under this machine. The profile needs FLOP and bytes; errors
/// (input) as roofline_of and roofs_of.
void set_roofs(Profile& profile, const Machine& machine);

/// Why work can take less time than the roofs allow.
enum class AboveRoof : std::uint8_t {
  fewer_operations,  ///< Winograd's algorithm and the FFT do fewer than are counted
  kept_on_chip,      ///< its bytes need not come from the outermost memory
  unexplained,       ///< the roofs are not this machine's, or the counts are not of this work
};
/// Nothing where it does not, but for rounding.
std::optional<AboveRoof> why_above_roof(const RooflineRow& row, const Machine& machine);

/// Time and number of the rows by what bounds them.
struct BoundShare {
  Bound bound = Bound::compute;
  std::size_t rows = 0;
  double time_s = 0;
};
std::vector<BoundShare> shares_by_bound(const std::vector<RooflineRow>& rows);

/// FLOP that one launch needs to leave the overhead box: P·λ.
double flop_to_leave_box(double peak_flop_per_s, double launch_latency_s);

}  // namespace strata
