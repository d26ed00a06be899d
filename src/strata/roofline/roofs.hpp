// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"
#include "strata/profile/profile.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The roofs of a machine: which of its peak rates limits which arithmetic, the bandwidths of its
/// memory, and what starting a kernel costs.
namespace strata {

/// A rate of arithmetic with its name: "fp16 matrix".
struct PeakRoof {
  std::string name;
  double flop_per_s = 0;

  bool operator==(const PeakRoof&) const = default;
};

struct MemoryRoof {
  std::string name;
  double bytes_per_s = 0;
};

/// Which peak is the roof.
struct RoofChoice {
  enum class Kind : std::uint8_t {
    automatic,  ///< of the data type and unit that each part of the arithmetic really uses
    tensor,     ///< the matrix units in fp16 (else bf16, else their fastest), whatever is used
    named,      ///< one data type, whatever is used
  };
  Kind kind = Kind::automatic;
  DType dtype = DType::fp32;
  std::optional<ComputeUnit> unit = {};  ///< named: default vector, matrix where there is no vector
};

/// "auto", "tensor", "fp32", "fp16-matrix". Errors (usage) list what there is.
RoofChoice parse_roof(std::string_view text);
std::string name_of(const RoofChoice& choice);

/// What limits work on a machine.
struct Roofs {
  const Machine* machine = nullptr;  ///< must outlive this
  RoofChoice choice;
  std::vector<MemoryRoof> memory;          ///< levels with a bandwidth, innermost first
  std::optional<double> launch_latency_s;  ///< of one kernel

  /// The outermost memory: the one that bytes without a level are of.
  const MemoryRoof& outer() const { return memory.back(); }
  const MemoryRoof* find(std::string_view level) const;
};

/// Errors (input): the machine says no bandwidth of its outermost memory, or lacks the peak.
Roofs roofs_of(const Machine& machine, const RoofChoice& choice = {});

/// The roof of arithmetic in that data type on that unit. Where the machine has no such rate: its
/// lanes in that type, its matrix units, its lanes in fp32. Errors (input) when it has none.
PeakRoof peak_for(const Roofs& roofs, DType dtype, bool is_matrix);

/// Time of the arithmetic at its roofs, Σ F_d / P_d, and what that makes the rate.
struct PeakTime {
  double time_s = 0;
  double flop_per_s = 0;        ///< F / Σ F_d/P_d; of no FLOP, the first roof
  std::vector<PeakRoof> roofs;  ///< those used, the one with most FLOP first
};

/// `flop` is what the parts add up to, or more: what no part names is taken for the first part's.
/// Without parts it is taken for `otherwise`.
PeakTime peak_time(const Roofs& roofs, std::int64_t flop, std::span<const TypedFlop> parts,
                   const TypedFlop& otherwise);

}  // namespace strata
