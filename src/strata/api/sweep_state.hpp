// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/sweep.hpp"
#include "strata/machine/cluster.hpp"
#include "strata/predict/shared_search.hpp"
#include "strata/training/batch_programs.hpp"

#include <cstdint>
#include <map>
#include <mutex>

/// What a Sweep is made of; for its own sources.
namespace strata {

/// What changes when a parameter changes. Points are ordered by it, the most costly slowest, so
/// that what is made for one point serves as many as possible behind it.
enum class Depends : std::uint8_t {
  model,     ///< the network
  program,   ///< the steps: sizes, data type, how it is trained
  options,   ///< how the on-chip memory is managed
  capacity,  ///< plans
  machine,
  rates,
  strategy,  ///< how many devices share the work
};

struct SweepParameter {
  std::string name;
  AxisKind kind = AxisKind::text;
  Depends depends = Depends::program;
};

/// The parameter of a name; errors (usage) suggest the nearest. In a sweep over many devices
/// "recompute" and "micro-batches" are parts of the strategy.
SweepParameter parameter_named(const std::string& name, std::string_view place,
                               bool is_parallel = false);

/// The axes of a request in the order of the points, every value checked; "model" and "machine" are
/// always among them.
struct SweepAxes {
  std::vector<Axis> axes;
  std::vector<SweepParameter> parameters;  ///< one per axis
  bool is_parallel = false;                ///< points are strategies over many devices
};
SweepAxes axes_of(const SweepRequest& request);

/// One program and what all points on it share.
struct BuiltProgram {
  BoundGraph bound;
  Program program;  ///< of the limit; where nobody wants one, of the expected time
  DType dtype = DType::fp32;
  std::int64_t footprint_bytes = 0;
  std::unique_ptr<const ExpectedProgram> expected;  ///< null: no point has an expected time
};

struct Sweep::State {
  State(const SweepRequest& request, SweepAxes found);

  std::string preset;
  bool wants_limit = true;
  std::vector<SweepParameter> parameters;
  Grid grid;
  std::vector<std::string> derived;  // columns
  std::vector<std::string> where;
  SweepColumns columns;
  SweepIdentity identity;
  std::vector<Graph> graphs;      // one per value of "model"
  std::vector<Machine> machines;  // one per value of "machine"
  std::vector<Cluster> clusters;  // the same; empty unless is_parallel
  bool is_parallel = false;       // a machine is a cluster, or an axis is of the strategy
  std::int64_t in_cluster = 1;    // points that differ in their strategy alone
  std::int64_t in_program = 1;    // points that share a program
  std::int64_t in_options = 1;    // and the options
  bool changes_on_chip = false;   // an axis is of the on-chip memory

  /// The request that a point asks for, but for its hardware.
  PredictRequest request_at(std::int64_t point) const;
  /// The machine of a point, with the numbers that axes change; `scratch` may hold it.
  const Machine& machine_at(std::int64_t point, Machine& scratch) const;
  /// What capacity, bandwidth and throughput of a point are instead of its machine's.
  HardwareOverrides overrides_at(std::int64_t point) const;
  /// Whether points of a request have an expected time where their machine allows one. It is of
  /// chips as they are: what other on-chip memory brings it does not know, and says nothing then
  /// unless a framework was asked for.
  bool wants_expected(const PredictRequest& request) const;
  /// The program of a point, made by whoever asks first.
  std::shared_ptr<const BuiltProgram> program_at(std::int64_t point, const PredictRequest& request);
  /// Whether policy `best` is among those of the points.
  bool plans_best() const;
  /// What policy `best` finds for the program and options of a point.
  std::shared_ptr<SharedSearch> search_at(std::int64_t point);
  std::size_t axis_named(std::string_view name) const;

 private:
  /// Made once, kept as long as somebody works on it.
  struct Shared {
    std::mutex mutex;
    std::weak_ptr<const BuiltProgram> program;
  };
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<Shared>> programs_;
  std::map<std::int64_t, std::weak_ptr<SharedSearch>> searches_;  // by group of points

  /// The program that an expected time is of, at a point of a long axis of batches made from those
  /// of other batches.
  Program expected_program_at(std::int64_t point, const PredictRequest& request,
                              const BoundGraph& bound);
  void add_expected_program(std::int64_t point, const PredictRequest& request, BuiltProgram& built);
  std::mutex batch_mutex_;
  /// By what points have in common but for the batch; nothing: they have more than that.
  std::map<std::string, std::optional<BatchPrograms>> batch_programs_;
};

}  // namespace strata
