// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/this_run.hpp"
#include "strata/measure/engine/measure_training.hpp"
#include "strata/reproduce/measured_sweeps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace strata {
namespace {

constexpr std::array<std::string_view, 2> passes = {"forward", "backward"};
constexpr DType measured_dtypes[] = {DType::fp16, DType::fp32};

/// Position in `passes`; whatever is not forward happens on the way back.
std::size_t pass_at(const ProfileRow& row) { return row.pass == passes[0] ? 0 : 1; }

/// What both passes of one shape in one data type are like; copied into every sweep that has it.
using ShapePoints = std::array<MeasuredPoint, passes.size()>;

struct SweepShape {
  SweepNetwork network;
  BoundGraph bound;
  TrainingDevice* device = nullptr;
  ShapePoints points = {};
  std::vector<std::size_t> places = {};  ///< where the result has its forward points

  SweepShape(SweepNetwork made, DType dtype)
      : network(std::move(made)), bound(bind_graph(network.graph, network.binding, dtype)) {}
  SweepShape(const SweepShape&) = delete;
  SweepShape& operator=(const SweepShape&) = delete;

  /// Kernel and sizes: what several sweeps may have in common.
  std::string key(std::string_view kernel) const {
    std::string key(kernel);
    for (const BoundTensor& tensor : bound.tensors)
      key += fmt::format(" {}", fmt::join(tensor.shape, "x"));
    return key;
  }
};

bool is_for_the_user(const Error& error) {
  return error.kind() == ErrorKind::usage || error.kind() == ErrorKind::internal;
}

void add_samples(std::vector<double>& sums, const std::vector<double>& samples) {
  sums.resize(std::max(sums.size(), samples.size()));
  for (std::size_t i = 0; i < samples.size(); ++i) sums[i] += samples[i];
}

/// Rows of one pass, added up.
ShapePoints points_of(const Profile& profile) {
  ShapePoints points;
  for (const ProfileRow& row : profile.rows) {
    MeasuredPoint& point = points[pass_at(row)];
    if (!row.not_run.empty()) {
      point.not_run = row.not_run;
      continue;
    }
    point.flop = checked_add(point.flop, row.totals.flop);
    point.bytes = checked_add(point.bytes, row.totals.traffic_bytes());
    point.launches += row.totals.launches;
    point.zero_flop_launches += row.totals.zero_flop_launches;
    point.zero_flop_s += row.totals.zero_flop_s;
    add_samples(point.wall_samples_s, row.samples_s);
    add_samples(point.kernel_samples_s, row.kernel_samples_s);
    add_implementation(point.implementation, row.implementation);
  }
  return points;
}

/// Counters that add up, of the rows of one pass.
std::vector<SweepCounter> counters_of(const Profile& profile, std::size_t pass) {
  std::vector<SweepCounter> counters;
  const std::vector<CounterColumn>& columns = profile.counters.columns;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    if (!adds_up(columns[column].unit)) continue;
    std::optional<double> sum;
    for (const ProfileRow& row : profile.rows) {
      if (pass_at(row) != pass || column >= row.counters.size() || !row.counters[column]) continue;
      sum = sum.value_or(0) + *row.counters[column];
    }
    if (sum) counters.push_back({columns[column].key, *sum});
  }
  return counters;
}

class SweepMeasuring {
 public:
  SweepMeasuring(const SweepProtocol& protocol, const SweepHooks& hooks)
      : protocol_(protocol), hooks_(hooks) {
    result_.warm_up = protocol.warm_up;
    result_.iterations = protocol.iterations;
    result_.host = this_host();
    result_.date = this_moment();
    for (const KernelSweep& sweep : protocol.sweeps) steps_ += sweep.values.size();
    steps_ *= std::size(measured_dtypes);
  }

  MeasuredSweeps result() && {
    for (const DType dtype : measured_dtypes) time_all(dtype);
    if (result_.device.empty()) fail(ErrorKind::environment, "{}", problem_);
    if (protocol_.counts) count_all();
    return std::move(result_);
  }

 private:
  bool is_interrupted() const { return hooks_.is_interrupted && hooks_.is_interrupted(); }

  void time_all(DType dtype) {
    std::map<std::string, SweepShape*> known;
    const std::string no_device = open(dtype);
    for (const KernelSweep& sweep : protocol_.sweeps) {
      for (const std::int64_t value : sweep.values) {
        if (is_interrupted()) return;
        auto shape = std::make_unique<SweepShape>(sweep_network(sweep, value), dtype);
        const auto [place, is_new] = known.try_emplace(shape->key(sweep.kernel), shape.get());
        if (is_new) {
          time(*shape, no_device);
          shapes_.push_back(std::move(shape));
        }
        add(sweep, value, dtype, *place->second);
      }
    }
  }

  /// Why there is no device for the type; empty: there is.
  std::string open(DType dtype) {
    try {
      devices_.push_back(hooks_.open(dtype));
      result_.device = devices_.back()->name();
      result_.versions = devices_.back()->versions();
      return "";
    } catch (const Error& error) {
      if (is_for_the_user(error)) throw;
      problem_ = error.what();
      return problem_;
    }
  }

  void add(const KernelSweep& sweep, std::int64_t value, DType dtype, SweepShape& shape) {
    shape.places.push_back(result_.points.size());
    for (std::size_t pass = 0; pass < passes.size(); ++pass) {
      MeasuredPoint point = shape.points[pass];
      point.kernel = sweep.kernel;
      point.parameter = sweep.parameter;
      point.value = value;
      point.dtype = dtype;
      point.pass = passes[pass];
      result_.points.push_back(std::move(point));
    }
    ++done_;
    tell();
  }

  void tell() const {
    const std::size_t all = steps_ + (protocol_.counts ? shapes_.size() : 0);
    if (hooks_.on_point)
      hooks_.on_point(result_, static_cast<double>(done_) / static_cast<double>(all));
  }

  // Forward and backward of one training iteration, without loss and update.
  static MeasureOptions options_for(const SweepShape& shape) {
    MeasureOptions options;
    options.network_nodes = shape.network.graph.nodes.size();
    options.engine.training.optimizer = Optimizer::none;
    options.engine.training.loss = Loss::none;
    return options;
  }

  void time(SweepShape& shape, const std::string& no_device) {
    std::string reason = no_device;
    if (reason.empty()) {
      shape.device = devices_.back().get();
      reason = reason_against([&] {
        MeasureOptions options = options_for(shape);
        options.warm_up = protocol_.warm_up;
        options.iterations = protocol_.iterations;
        const TrainingMeasurement measured = measure_training(shape.bound, *shape.device, options);
        shape.points = points_of(measured.profile);
        saw(measured.conditions);
      });
    }
    for (MeasuredPoint& point : shape.points) {
      point.no_counters = protocol_.no_counters;
      if (!reason.empty()) point.not_run = reason;
    }
  }

  /// Runs it; what stands in the way is the result, and empty is good.
  template <class Function>
  static std::string reason_against(const Function& function) {
    try {
      function();
      return "";
    } catch (const Error& error) {
      if (is_for_the_user(error)) throw;
      return error.what();
    }
  }

  void saw(const ConditionsSeen& seen) {
    if (seen.clock_hz) {
      const double hz = *seen.clock_hz;
      result_.least_clock_hz = std::min(hz, result_.least_clock_hz.value_or(hz));
      result_.most_clock_hz = std::max(hz, result_.most_clock_hz.value_or(hz));
    }
    if (seen.note.empty()) return;
    if (std::find(result_.notes.begin(), result_.notes.end(), seen.note) == result_.notes.end())
      result_.notes.push_back(seen.note);
  }

  /// When everything has been timed: nothing is traced while somebody holds the counters. What is
  /// in the way of one is in the way of those after it.
  void count_all() {
    std::string problem;
    for (const std::unique_ptr<SweepShape>& shape : shapes_) {
      if (is_interrupted()) problem = "interrupted";
      const bool ran = shape->device != nullptr && shape->points[0].not_run.empty();
      if (problem.empty() && ran) problem = reason_against([&] { count(*shape); });
      for (const std::size_t place : shape->places) {
        for (std::size_t pass = 0; pass < passes.size(); ++pass) {
          MeasuredPoint& point = result_.points[place + pass];
          point.counters = shape->points[pass].counters;
          if (point.counters.empty() && point.not_run.empty()) point.no_counters = problem;
        }
      }
      ++done_;
      tell();
    }
  }

  void count(SweepShape& shape) const {
    MeasureOptions options = options_for(shape);
    options.warm_up = options.iterations = 1;
    options.metrics = "full";
    options.sessions = {"traffic", "tensor", "flop"};  // bytes of every level, every unit's FLOP
    const Profile profile = measure_training(shape.bound, *shape.device, options).profile;
    if (!profile.counters.reason.empty())
      fail(ErrorKind::environment, "{}", profile.counters.reason);
    for (std::size_t pass = 0; pass < passes.size(); ++pass)
      shape.points[pass].counters = counters_of(profile, pass);
  }

  const SweepProtocol& protocol_;
  const SweepHooks& hooks_;
  MeasuredSweeps result_;
  std::vector<std::unique_ptr<TrainingDevice>> devices_;
  std::vector<std::unique_ptr<SweepShape>> shapes_;
  std::string problem_;
  std::size_t steps_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

MeasuredSweeps measure_sweeps(const SweepProtocol& protocol, const SweepHooks& hooks) {
  if (protocol.iterations == 0) fail(ErrorKind::usage, "at least one iteration is needed");
  return SweepMeasuring(protocol, hooks).result();
}

}  // namespace strata
