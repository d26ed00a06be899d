// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/machine/sourced.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A Machine is what a prediction or a roofline needs to know of hardware: peak rates per data
/// type, memory levels, links, latencies. It is a JSON file with a source for every number
/// (docs/machines.md); data/machines/ holds those that ship, `strata machine measure` writes one
/// for the machine at hand. Rates are dense and in base units.
namespace strata {

/// Which part of the chip reaches the rate: vector units, or matrix (tensor) units.
enum class ComputeUnit : std::uint8_t { vector, matrix };

/// A ceiling of arithmetic.
struct Peak {
  DType dtype = DType::fp32;
  ComputeUnit unit = ComputeUnit::vector;
  Sourced flop_per_s;
  std::optional<Sourced> flop_per_clock = std::nullopt;  ///< of one of Machine::units
  std::optional<Sourced> clock_hz = std::nullopt;  ///< where the rate is not for the boost clock
  std::optional<Sourced> lasting = std::nullopt;   ///< share of it that large products keep up

  bool operator==(const Peak&) const = default;
};

/// What a kernel does to memory while its bandwidth is taken.
enum class AccessMix : std::uint8_t { read, write, copy, triad };

struct MixBandwidth {
  AccessMix mix = AccessMix::read;
  Sourced bytes_per_s;

  bool operator==(const MixBandwidth&) const = default;
};

/// One level of memory, innermost first in a Machine. Capacity and bandwidth are those of the whole
/// machine: of all L1 caches together.
struct MemoryLevel {
  std::string name;
  bool is_on_chip = false;
  Sourced capacity_bytes;
  std::optional<Sourced> bandwidth_bytes_per_s;  ///< the best of the mixes; unknown for many levels
  std::int64_t instances = 1;       ///< in how many equal parts it comes: one L1 per core
  std::vector<MixBandwidth> mixes;  ///< at most one of each
  std::optional<Sourced> lasting = std::nullopt;  ///< share of it that long copies reach

  bool operator==(const MemoryLevel&) const = default;
};

/// A point of a curve over sizes.
struct SizeRate {
  double bytes = 0;
  double bytes_per_s = 0;

  bool operator==(const SizeRate&) const = default;
};

/// Bandwidth over the size of what is touched again and again: the levels show as steps.
struct WorkingSetCurve {
  AccessMix mix = AccessMix::read;
  std::string source;
  std::vector<SizeRate> points;  ///< sizes rise

  bool operator==(const WorkingSetCurve&) const = default;
};

enum class LinkKind : std::uint8_t { host_to_device, device_to_host, peer, network, numa };
enum class HostMemory : std::uint8_t { pinned, pageable };

/// A way out of the machine, or between its parts.
struct Link {
  std::string name;  ///< "PCIe 5.0 x16", "gpu0 to gpu1"
  LinkKind kind = LinkKind::host_to_device;
  std::optional<HostMemory> host_memory;
  Sourced bandwidth_bytes_per_s;  ///< in one direction
  std::optional<Sourced> latency_s;
  std::vector<SizeRate> points;       ///< sizes of one transfer, rising
  std::optional<std::int64_t> joins;  ///< so many devices; nothing: all of a node

  bool operator==(const Link&) const = default;
};

struct Clocks {
  std::optional<Sourced> base_hz;
  std::optional<Sourced> boost_hz;
  std::optional<Sourced> seen_hz;    ///< under load
  std::optional<Sourced> memory_hz;  ///< of the outermost memory

  bool operator==(const Clocks&) const = default;
};

/// What the rates are counted in: cores, SMs, compute units.
struct Units {
  std::string name;  ///< "SM"
  Sourced count;

  bool operator==(const Units&) const = default;
};

/// The way a kernel was launched, and what that took.
struct LaunchVariant {
  std::string name;  ///< "grid 132, block 1024", "4000 bytes of arguments", "2 streams"
  Sourced latency_s;

  bool operator==(const LaunchVariant&) const = default;
};

/// What an hour of it costs somebody; no shipped machine has one.
struct Price {
  Sourced per_hour;
  std::string currency = {};  ///< as the owner writes it, "EUR"; may be empty

  bool operator==(const Price&) const = default;
};

struct Process {
  std::string node;  ///< "5nm", as area_mm2 takes it
  std::string source;

  bool operator==(const Process&) const = default;
};

struct Version {
  std::string of;  ///< "driver"
  std::string version;

  bool operator==(const Version&) const = default;
};

/// When and where the numbers were taken; absent when they come from documents.
struct Measured {
  std::string host;
  std::string date;  ///< 2026-03-01, with or without a time after it
  std::vector<Version> versions;
  std::vector<std::string> warnings;

  bool operator==(const Measured&) const = default;
};

struct Machine {
  std::string name;    ///< "rtx-2080-ti": how it is called on the command line
  std::string title;   ///< for people
  std::string kind;    ///< "cpu", "gpu", …
  std::string vendor;  ///< "NVIDIA"; empty: not said
  std::vector<Peak> peaks;
  std::vector<MemoryLevel> memory;
  std::optional<Sourced> launch_latency_s = std::nullopt;      ///< of one kernel
  std::optional<Sourced> graph_node_latency_s = std::nullopt;  ///< of one kernel in a graph
  std::vector<LaunchVariant> launch_variants = {};
  Clocks clocks = {};
  std::optional<Units> units = std::nullopt;
  std::optional<Sourced> power_w = std::nullopt;  ///< the limit, of the vendor or as set
  std::optional<Price> price = std::nullopt;
  std::optional<Process> process = std::nullopt;
  std::vector<Link> links = {};
  std::vector<WorkingSetCurve> curves = {};
  std::optional<Measured> measured = std::nullopt;

  bool operator==(const Machine& other) const;

  // Defined in the source: else every file that copies one compiles all that it takes.
  Machine();
  Machine(const Machine& other);
  Machine(Machine&& other) noexcept;
  Machine& operator=(const Machine& other);
  Machine& operator=(Machine&& other) noexcept;
  ~Machine();
};

/// Reads a machine file's text. Errors (input) name the field, what was expected and what came.
Machine read_machine(std::string_view json_text);

/// The machine as a file: read_machine of it gives an equal machine.
std::string to_json(const Machine& machine);

/// Every machine that ships, sorted by name.
const std::vector<Machine>& shipped_machines();

/// Nothing when the machine does not say.
const Peak* find_peak(const Machine& machine, DType dtype, ComputeUnit unit);
/// The on-chip level that is nearest to the memory outside.
const MemoryLevel* last_on_chip(const Machine& machine);
/// The outermost level when it is off chip.
const MemoryLevel* off_chip(const Machine& machine);
/// Of the access mix that reads and writes most similarly, where the level knows it; else the best.
/// Nothing when the machine does not say.
std::optional<double> bandwidth_for(const MemoryLevel& level, double read_share);
/// Units × FLOP per clock × clock, when the machine says all three.
std::optional<double> arithmetic_peak(const Machine& machine, const Peak& peak);
/// FLOP per byte of the outermost memory at which arithmetic and memory take equal time.
std::optional<double> balance_of(const Machine& machine, const Peak& peak);

std::string_view name_of(ComputeUnit unit);
std::string_view name_of(AccessMix mix);
std::string_view name_of(LinkKind kind);
std::string_view name_of(HostMemory memory);

/// In the order of the enumerators: "vector", "matrix"; and so on.
std::span<const std::string_view> compute_unit_names();
std::span<const std::string_view> access_mix_names();
std::span<const std::string_view> link_kind_names();
std::span<const std::string_view> host_memory_names();

}  // namespace strata
