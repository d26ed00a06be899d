// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/base/this_run.hpp"
#include "strata/gpu/range_counters.hpp"
#include "strata/measure/engine/engine.hpp"
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

/// One network in the memory of a device. It stays there after it was timed: counters are read when
/// everything has been timed, as nothing is traced while somebody holds them.
struct SweepShape {
  SweepNetwork network;
  BoundGraph bound;
  TrainingDevice* device = nullptr;
  std::unique_ptr<Engine> engine;
  ShapePoints points;
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

/// Counters for the sums of bytes and arithmetic, forward and backward apart.
class SweepCounters {
 public:
  explicit SweepCounters(int gpu)
      : counters_(open_range_counters(gpu)), plan_(counters_->plan("full")) {
    std::erase_if(plan_.sessions, [](const PlannedSession& session) {
      return std::find(counted_sessions.begin(), counted_sessions.end(), session.name) ==
             counted_sessions.end();
    });
  }

  void count(SweepShape& shape) {
    const CounterTable table = counters_->count(plan_, [&](RangeMarks& marks) {
      PassRanges ranges(*shape.engine, *shape.device, marks);
      shape.engine->iterate(&ranges);
    });
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      if (!adds_up(table.columns[column].unit)) continue;
      for (std::size_t pass = 0; pass < passes.size(); ++pass) {
        std::optional<double> sum;
        for (const RangeCounts& range : table.ranges) {
          if (range.range != passes[pass] || !range.values[column]) continue;
          sum = sum.value_or(0) + *range.values[column];
        }
        if (sum) shape.points[pass].counters.push_back({table.columns[column].key, *sum});
      }
    }
  }

 private:
  std::unique_ptr<RangeCounters> counters_;
  CounterPlan plan_;
};

bool is_for_the_user(const Error& error) {
  return error.kind() == ErrorKind::usage || error.kind() == ErrorKind::internal;
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
    count_all();
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
          measure(*shape, no_device);
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
    const std::size_t all = steps_ + (protocol_.counted_gpu ? shapes_.size() : 0);
    if (hooks_.on_point)
      hooks_.on_point(result_, static_cast<double>(done_) / static_cast<double>(all));
  }

  void measure(SweepShape& shape, const std::string& no_device) {
    std::string reason = no_device.empty() ? timed_or_reason(shape) : no_device;
    if (no_device.empty() && !reason.empty() && make_room()) reason = timed_or_reason(shape);
    if (!protocol_.counted_gpu || !reason.empty()) shape.engine.reset();
    if (reason.empty()) return;
    for (MeasuredPoint& point : shape.points) {
      point = {};
      point.not_run = reason;
    }
  }

  std::string timed_or_reason(SweepShape& shape) {
    shape.device = devices_.back().get();
    shape.points = {};
    try {
      time_shape(shape);
      return "";
    } catch (const Error& error) {
      if (is_for_the_user(error)) throw;
      return error.what();
    }
  }

  /// Those that wait for counters go without, rather than that another has no times.
  bool make_room() {
    bool was_any = false;
    for (const std::unique_ptr<SweepShape>& shape : shapes_) {
      was_any = was_any || shape->engine;
      shape->engine.reset();
    }
    return was_any;
  }

  // Forward and backward of one training iteration, without loss and update.
  void time_shape(SweepShape& shape) {
    Engine::Options options;
    options.training.optimizer = Optimizer::none;
    options.training.loss = Loss::none;
    shape.engine = std::make_unique<Engine>(shape.bound, *shape.device, options);
    Engine& engine = *shape.engine;
    for (MeasuredPoint& point : shape.points) point.no_counters = protocol_.no_counters;
    for (const Engine::Part& part : engine.parts()) add_part(shape.points[pass_of(part)], part);
    {
      const std::unique_ptr<ConditionWatch> watch = shape.device->watch();
      for (std::size_t i = 0; i < protocol_.warm_up; ++i) engine.iterate(nullptr);
      time(engine, *shape.device, shape.points);
      if (watch) saw(watch->stop());
    }
    trace(engine, shape.points);
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
    if (part.implementation.empty()) return;
    if (!point.implementation.empty()) point.implementation += ", ";
    point.implementation += part.implementation;
  }

  void time(Engine& engine, TrainingDevice& device, ShapePoints& points) const {
    const auto running = engine.running();
    const std::unique_ptr<Stopwatch> watch = device.stopwatch(running.size() + 1);
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

  /// What is in the way of one is in the way of those after it.
  void count_all() {
    if (!protocol_.counted_gpu) return;
    std::string problem;
    std::optional<SweepCounters> counters;
    for (const std::unique_ptr<SweepShape>& shape : shapes_) {
      if (is_interrupted()) problem = "interrupted";
      if (problem.empty() && shape->engine) {
        try {
          if (!counters) counters.emplace(*protocol_.counted_gpu);
          counters->count(*shape);
        } catch (const Error& error) {
          if (is_for_the_user(error)) throw;
          problem = error.what();
        }
      }
      for (const std::size_t place : shape->places) {
        for (std::size_t pass = 0; pass < passes.size(); ++pass) {
          result_.points[place + pass].counters = shape->points[pass].counters;
          if (shape->points[pass].counters.empty() && shape->points[pass].not_run.empty()) {
            result_.points[place + pass].no_counters =
                problem.empty() ? "no memory to keep it until counters are read" : problem;
          }
        }
      }
      ++done_;
      tell();
    }
  }

  const SweepProtocol& protocol_;
  const SweepHooks& hooks_;
  MeasuredSweeps result_;
  std::vector<std::unique_ptr<TrainingDevice>> devices_;
  std::vector<std::unique_ptr<SweepShape>> shapes_;  // after the devices: engines go first
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
