// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/gpu/range_counters.hpp"
#include "strata/measure/this_run.hpp"
#include "strata/measure/training/engine.hpp"
#include "strata/measure/training/measure_training.hpp"
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
/// Bytes of every level, and arithmetic on every unit.
constexpr std::array<std::string_view, 3> counted_sessions = {"traffic", "tensor", "flop"};

/// Position in `passes`; whatever is not forward happens on the way back.
std::size_t pass_of(const Engine::Part& part) { return part.pass == Pass::forward ? 0 : 1; }

/// What both passes of one shape in one data type are like; copied into every sweep that has it.
using ShapePoints = std::array<MeasuredPoint, passes.size()>;

/// Tells the counters where a pass begins. The device is idle there, so that kernels are counted
/// where they belong.
class PassRanges final : public Stopwatch {
 public:
  PassRanges(const Engine& engine, TrainingDevice& device, RangeMarks& marks)
      : engine_(engine), device_(device), marks_(marks) {}

  void mark(std::size_t index) override {
    const auto running = engine_.running();
    if (index == running.size()) return close();
    const std::size_t pass = pass_of(engine_.parts()[running[index]]);
    if (open_ == pass) return;
    close();
    marks_.push(passes[pass]);
    open_ = pass;
  }
  std::vector<double> seconds() override { return {}; }  // counting slows the work

 private:
  void close() {
    device_.wait();
    if (open_) marks_.pop();
    open_.reset();
  }

  const Engine& engine_;
  TrainingDevice& device_;
  RangeMarks& marks_;
  std::optional<std::size_t> open_;
};

/// Opened when a device is in use for the first time; what is in the way is told once.
class SweepCounters {
 public:
  explicit SweepCounters(const SweepProtocol& protocol)
      : gpu_(protocol.counted_gpu), problem_(protocol.no_counters) {}

  void count(Engine& engine, TrainingDevice& device, ShapePoints& points) {
    if (gpu_ && !counters_ && problem_.empty()) open();
    if (counters_) {
      try {
        take(counters_->count(plan_, [&](RangeMarks& marks) {
          PassRanges ranges(engine, device, marks);
          engine.iterate(&ranges);
        }), points);
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::internal) throw;
        problem_ = error.what();
        counters_.reset();
      }
    }
    for (MeasuredPoint& point : points) {
      if (point.counters.empty()) point.no_counters = problem_;
    }
  }

 private:
  void open() {
    try {
      counters_ = open_range_counters(*gpu_);
      plan_ = counters_->plan("full");
      std::erase_if(plan_.sessions, [](const PlannedSession& session) {
        return std::find(counted_sessions.begin(), counted_sessions.end(), session.name) ==
               counted_sessions.end();
      });
    } catch (const Error& error) {
      problem_ = error.what();
      counters_.reset();
    }
  }

  static void take(const CounterTable& table, ShapePoints& points) {
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      for (std::size_t pass = 0; pass < passes.size(); ++pass) {
        std::optional<double> sum;
        for (const RangeCounts& range : table.ranges) {
          if (range.range != passes[pass] || !range.values[column]) continue;
          sum = sum.value_or(0) + *range.values[column];
        }
        if (sum && adds_up(table.columns[column].unit))
          points[pass].counters.push_back({table.columns[column].key, *sum});
      }
    }
  }

  std::optional<int> gpu_;
  std::unique_ptr<RangeCounters> counters_;
  CounterPlan plan_;
  std::string problem_;
};

class SweepMeasuring {
 public:
  SweepMeasuring(const SweepProtocol& protocol, const SweepHooks& hooks)
      : protocol_(protocol), hooks_(hooks), counters_(protocol) {
    result_.warm_up = protocol.warm_up;
    result_.iterations = protocol.iterations;
    result_.host = this_host();
    result_.date = this_moment();
    for (const KernelSweep& sweep : protocol.sweeps) total_ += sweep.values.size();
    total_ *= std::size(measured_dtypes);
  }

  MeasuredSweeps result() && {
    for (const DType dtype : measured_dtypes) {
      known_.clear();
      if (!open(dtype)) continue;
      for (const KernelSweep& sweep : protocol_.sweeps) {
        for (const std::int64_t value : sweep.values) {
          if (hooks_.is_interrupted && hooks_.is_interrupted()) return std::move(result_);
          add(sweep, value, dtype, points_of(sweep, value, dtype));
        }
      }
    }
    if (result_.device.empty()) fail(ErrorKind::environment, "{}", problem_);
    return std::move(result_);
  }

 private:
  /// What does not open at all is a reason for every point of its type.
  bool open(DType dtype) {
    device_.reset();
    try {
      device_ = hooks_.open(dtype);
      result_.device = device_->name();
      result_.versions = device_->versions();
      return true;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::usage || error.kind() == ErrorKind::internal) throw;
      problem_ = error.what();
      for (const KernelSweep& sweep : protocol_.sweeps) {
        for (const std::int64_t value : sweep.values) add(sweep, value, dtype, not_run(problem_));
      }
      return false;
    }
  }

  void add(const KernelSweep& sweep, std::int64_t value, DType dtype, ShapePoints points) {
    for (std::size_t pass = 0; pass < passes.size(); ++pass) {
      MeasuredPoint& point = points[pass];
      point.kernel = sweep.kernel;
      point.parameter = sweep.parameter;
      point.value = value;
      point.dtype = dtype;
      point.pass = passes[pass];
      result_.points.push_back(std::move(point));
    }
    ++done_;
    if (hooks_.on_point)
      hooks_.on_point(result_, static_cast<double>(done_) / static_cast<double>(total_));
  }

  static ShapePoints not_run(const std::string& reason) {
    ShapePoints points;
    for (MeasuredPoint& point : points) point.not_run = reason;
    return points;
  }

  const ShapePoints& points_of(const KernelSweep& sweep, std::int64_t value, DType dtype) {
    const SweepNetwork network = sweep_network(sweep, value);
    const BoundGraph bound = bind_graph(network.graph, network.binding, dtype);
    std::string shape(sweep.kernel);
    for (const BoundTensor& tensor : bound.tensors)
      shape += fmt::format(" {}", fmt::join(tensor.shape, "x"));
    const auto [place, is_new] = known_.try_emplace(shape);
    if (!is_new) return place->second;
    try {
      place->second = measured(bound);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::usage || error.kind() == ErrorKind::internal) throw;
      place->second = not_run(error.what());
    }
    return place->second;
  }

  // Forward and backward of one training iteration, without loss and update.
  ShapePoints measured(const BoundGraph& bound) {
    Engine::Options options;
    options.training.optimizer = Optimizer::none;
    options.training.loss = Loss::none;
    Engine engine(bound, *device_, options);
    ShapePoints points;
    for (const Engine::Part& part : engine.parts()) add_part(points[pass_of(part)], part);
    {
      const std::unique_ptr<ConditionWatch> watch = device_->watch();
      for (std::size_t i = 0; i < protocol_.warm_up; ++i) engine.iterate(nullptr);
      time(engine, points);
      if (watch) saw(watch->stop());
    }
    trace(engine, points);
    counters_.count(engine, *device_, points);
    return points;
  }

  static void add_part(MeasuredPoint& point, const Engine::Part& part) {
    if (!part.not_run.empty()) {
      point.not_run = part.not_run;
      return;
    }
    point.flop = checked_add(point.flop, part.flop);
    point.bytes = checked_add(point.bytes, checked_add(part.read_bytes, part.write_bytes));
    point.launches += 1;
    point.zero_flop_launches += part.flop == 0 ? 1 : 0;
    if (!part.implementation.empty()) {
      point.implementation +=
          (point.implementation.empty() ? "" : ", ") + part.implementation;
    }
  }

  void time(Engine& engine, ShapePoints& points) {
    const auto running = engine.running();
    const std::unique_ptr<Stopwatch> watch = device_->stopwatch(running.size() + 1);
    for (std::size_t round = 0; round < protocol_.iterations; ++round) {
      engine.iterate(watch.get());
      const std::vector<double> marks = watch->seconds();
      for (MeasuredPoint& point : points) point.wall_samples_s.push_back(0);
      for (std::size_t i = 0; i < running.size(); ++i) {
        MeasuredPoint& point = points[pass_of(engine.parts()[running[i]])];
        point.wall_samples_s.back() += marks[i + 1] - marks[i];
      }
    }
  }

  void trace(Engine& engine, ShapePoints& points) const {
    const std::size_t rounds = protocol_.iterations;
    const std::vector<KernelRun> runs = engine.trace(rounds);
    if (runs.empty()) return;
    const auto parts = engine.parts();
    for (MeasuredPoint& point : points) {
      point.kernel_samples_s.assign(rounds, 0);
      point.launches = point.zero_flop_launches = 0;
    }
    for (const KernelRun& run : runs) {
      const Engine::Part& part = parts[run.part % parts.size()];
      const std::size_t round = run.part / parts.size();
      MeasuredPoint& point = points[pass_of(part)];
      point.kernel_samples_s.at(round) += run.seconds;
      if (round > 0) continue;
      ++point.launches;
      if (part.flop > 0 && !only_moves_data(run.name)) continue;
      ++point.zero_flop_launches;
      point.zero_flop_s += run.seconds;
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

  const SweepProtocol& protocol_;
  const SweepHooks& hooks_;
  SweepCounters counters_;
  MeasuredSweeps result_;
  std::unique_ptr<TrainingDevice> device_;
  std::map<std::string, ShapePoints> known_;
  std::string problem_;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

MeasuredSweeps measure_sweeps(const SweepProtocol& protocol, const SweepHooks& hooks) {
  if (protocol.iterations == 0) fail(ErrorKind::usage, "at least one iteration is needed");
  return SweepMeasuring(protocol, hooks).result();
}

}  // namespace strata
