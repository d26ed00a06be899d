// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/measure_training.hpp"

#include "strata/base/error.hpp"
#include "strata/base/this_run.hpp"
#include "strata/capture/kernel_class.hpp"
#include "strata/machine/sourced.hpp"
#include "strata/measure/engine/count_layers.hpp"
#include "strata/measure/engine/measured_rows.hpp"
#include "strata/measure/engine/occupancy_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace strata {
namespace {

constexpr std::size_t most_traced_rounds = 10;

class Measuring {
 public:
  Measuring(const BoundGraph& bound, TrainingDevice& device, const MeasureOptions& options,
            const MeasureHooks& hooks)
      : device_(device), options_(options), hooks_(hooks) {
    const auto begin = std::chrono::steady_clock::now();
    engine_ = made_engine(bound);
    result_.set_up_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    MeasuredRows rows = rows_of(engine_->parts(), bound, options.network_nodes);
    result_.profile.evidence = Evidence::measured;
    result_.profile.rows = std::move(rows.rows);
    row_of_ = std::move(rows.row_of);
    result_.samples = engine_->samples();
    result_.device = device.name();
    result_.versions = device.versions();
    result_.notes = device.take_notes();
    refuse_where_nothing_runs();
  }

  TrainingMeasurement result() && {
    note_load();
    warm_up();
    if (options_.times_whole_apart) time_whole_iterations();
    if (options_.wants_recording) time_recorded();
    {
      // Not while whole iterations are timed: asking the driver for clocks may hold up launches.
      const std::unique_ptr<ConditionWatch> watch = device_.watch();
      time_parts();
      if (watch) result_.conditions = watch->stop();
    }
    trace_kernels();  // last: a tracing library may slow down what comes after it
    result_.loss_after = engine_->loss();
    for (ProfileRow& row : rows()) finish(row);
    finish_iteration();
    note_conditions();
    if (result_.has_times()) count_layers(result_, {device_, *engine_, row_of_, options_, hooks_});
    add_occupancy_limits(result_);
    return std::move(result_);
  }

 private:
  std::vector<ProfileRow>& rows() { return result_.profile.rows; }

  std::unique_ptr<Engine> made_engine(const BoundGraph& bound) {
    Engine::Options options = options_.engine;
    if (hooks_.on_progress) {
      options.on_node = [this](std::size_t done, std::size_t total) {
        hooks_.on_progress("choosing kernels", done, total);
      };
    }
    options.is_interrupted = hooks_.is_interrupted;
    return std::make_unique<Engine>(bound, device_, options);
  }

  /// Of a network that does not run at all there is nothing to measure.
  void refuse_where_nothing_runs() const {
    const bool is_interrupted = hooks_.is_interrupted && hooks_.is_interrupted();
    const std::span<const std::size_t> running = engine_->running();
    const bool has_layer = std::any_of(running.begin(), running.end(), [&](std::size_t part) {
      return engine_->parts()[part].pass == Pass::forward;
    });
    if (has_layer || is_interrupted) return;
    if (result_.profile.rows.empty()) {
      fail(ErrorKind::unsupported, "there is nothing to measure: no layer of it does anything");
    }
    fail(ErrorKind::unsupported, "no layer of it runs on {}: {}", result_.device,
         result_.profile.rows.front().not_run);
  }

  /// One more round of a phase may begin.
  bool goes_on(std::string_view phase, std::size_t done, std::size_t total) {
    if (hooks_.on_progress) hooks_.on_progress(phase, done, total);
    if (hooks_.is_interrupted && hooks_.is_interrupted()) result_.is_interrupted = true;
    return done < total && !result_.is_interrupted;
  }

  // Other programs take cores and memory from this program, or from the device.
  void note_load() {
    constexpr double quiet_share = 0.25;
    const auto cores = static_cast<double>(std::max(1U, std::thread::hardware_concurrency()));
    const std::optional<double> load = recent_load();
    if (load && *load > quiet_share * cores) {
      result_.notes.push_back(
          fmt::format("{:.1f} threads were running before, on {:.0f} cores: other work disturbs",
                      *load, cores));
    }
  }

  void note_conditions() {
    constexpr double steady_share = 0.05;
    if (!result_.conditions.note.empty()) result_.notes.push_back(result_.conditions.note);
    if (result_.iteration_s.empty()) return;
    const double middle_s = median_of(result_.iteration_s);
    constexpr double disturbed_share = 0.02;
    if (disturbed_s_ > disturbed_share * middle_s) {
      result_.notes.push_back(
          fmt::format("traced kernels took {:.0f} % of an iteration longer than layers between "
                      "marks, which count: some ran side by side, or somebody else used the device",
                      100 * disturbed_s_ / middle_s));
    }
    const double spread_s = median_deviation_of(result_.iteration_s);
    if (spread_s > steady_share * middle_s) {
      result_.notes.push_back(fmt::format("times vary by {:.0f} % (median absolute deviation)",
                                          100 * spread_s / middle_s));
    }
  }

  void warm_up() {
    const std::size_t rounds = std::max<std::size_t>(options_.warm_up, 1);
    for (std::size_t round = 0; goes_on("warming up", round, rounds); ++round) {
      engine_->iterate(nullptr);
      ++result_.iterations_run;
      if (round == 0) result_.loss_before = engine_->loss();
    }
    device_.wait();
  }

  // No waiting in between: the program runs ahead of the device as far as it can.
  template <class Iterate>
  std::vector<double> times_of_rounds(std::string_view phase, const Iterate& iterate) {
    const std::size_t rounds = options_.iterations;
    const std::unique_ptr<Stopwatch> watch = device_.stopwatch(rounds + 1);
    std::size_t done = 0;
    for (; goes_on(phase, done, rounds); ++done) {
      watch->mark(done);
      iterate();
      ++result_.iterations_run;
    }
    for (std::size_t rest = done; rest <= rounds; ++rest) watch->mark(rest);
    const std::vector<double> marks = watch->seconds();
    std::vector<double> times;
    for (std::size_t i = 0; i < done; ++i) times.push_back(marks[i + 1] - marks[i]);
    return times;
  }

  void time_whole_iterations() {
    result_.iteration_s = times_of_rounds("timing iterations", [&] { engine_->iterate(nullptr); });
  }

  void time_parts() {
    const std::span<const std::size_t> running = engine_->running();
    const std::unique_ptr<Stopwatch> watch = device_.stopwatch(running.size() + 1);
    for (std::size_t round = 0; goes_on("timing layers", round, options_.iterations); ++round) {
      engine_->iterate(watch.get());
      ++result_.iterations_run;
      const std::vector<double> marks = watch->seconds();
      for (ProfileRow& row : rows()) row.samples_s.push_back(0);
      result_.parts.clear();
      for (std::size_t i = 0; i < running.size(); ++i) {
        const std::size_t row = row_of_[running[i]];
        const double seconds = marks[i + 1] - marks[i];
        rows()[row].samples_s.back() += seconds;
        result_.parts.push_back({rows()[row].layer, row, marks[i], seconds});
      }
      if (!options_.times_whole_apart) result_.iteration_s.push_back(marks.back());
    }
  }

  void trace_kernels() {
    if (result_.is_interrupted) return;
    const std::size_t rounds = std::min(options_.iterations, most_traced_rounds);
    const std::vector<KernelRun> runs = engine_->trace(rounds);
    if (runs.empty()) return;
    result_.iterations_run += static_cast<std::int64_t>(rounds);
    const std::size_t parts = engine_->parts().size();
    for (ProfileRow& row : rows()) {
      row.kernel_samples_s.assign(rounds, 0);
      row.totals.launches = row.totals.zero_flop_launches = 0;
    }
    const std::optional<MultiprocessorLimits> multiprocessor = device_.multiprocessor();
    double begin_s = runs.front().begin_s;
    for (const KernelRun& run : runs) begin_s = std::min(begin_s, run.begin_s);
    for (const KernelRun& run : runs) {
      STRATA_CHECK(run.part < parts * rounds, "a kernel belongs to a part of the traced work");
      const std::size_t round = run.part / parts;
      const std::size_t at = row_of_[run.part % parts];
      ProfileRow& row = rows()[at];
      row.kernel_samples_s[round] += run.seconds;
      if (round > 0) continue;
      ++row.totals.launches;
      if (row.totals.flop == 0 || only_moves_data(run)) {
        ++row.totals.zero_flop_launches;
        row.totals.zero_flop_s += run.seconds;
      }
      TimelineSpan kernel{run.name, at, run.begin_s - begin_s, run.seconds, run.launch};
      if (multiprocessor) kernel.occupancy = occupancy_of(run.launch, *multiprocessor);
      result_.kernels.push_back(std::move(kernel));
      add_algorithm(row.implementation, run.name);
    }
  }

  void time_recorded() {
    if (result_.is_interrupted) return;
    if (!engine_->iterate_recorded()) {
      result_.no_recording = "the device cannot record this work";
      return;
    }
    device_.wait();
    result_.recorded_s =
        times_of_rounds("timing the recorded iteration", [&] { engine_->iterate_recorded(); });
  }

  void finish(ProfileRow& row) {
    const double marked_s = row.samples_s.empty() ? 0 : median_of(row.samples_s);
    row.totals.time_s = marked_s;
    if (!row.kernel_samples_s.empty()) {
      // Kernels run between their marks; a longer traced time comes from other processes.
      const double traced_s = median_of(row.kernel_samples_s);
      row.totals.time_s = std::min(traced_s, marked_s);
      row.wall_s = marked_s;
      disturbed_s_ += traced_s - row.totals.time_s;
    } else if (row.totals.flop == 0) {
      row.totals.zero_flop_s = marked_s;
    }
    row.totals.zero_flop_s = std::min(row.totals.zero_flop_s, row.totals.time_s);
  }

  void finish_iteration() {
    Profile& profile = result_.profile;
    profile.peak_memory_bytes = engine_->peak_bytes();
    if (result_.iteration_s.empty()) return;
    profile.iteration_s = median_of(result_.iteration_s);
    profile.iteration_from =
        options_.times_whole_apart ? TimeFrom::whole_iterations : TimeFrom::layer_runs;
  }

  TrainingDevice& device_;
  const MeasureOptions& options_;
  const MeasureHooks& hooks_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::size_t> row_of_;  // by part of the engine
  TrainingMeasurement result_;
  double disturbed_s_ = 0;  // by which traced kernels exceed the time between their marks
};

}  // namespace

bool only_moves_data(const KernelRun& run) {
  return run.work != DeviceWork::kernel || is_zero_flop_kernel(run.name);
}

TrainingMeasurement measure_training(const BoundGraph& bound, TrainingDevice& device,
                                     const MeasureOptions& options, const MeasureHooks& hooks) {
  if (options.iterations == 0) fail(ErrorKind::usage, "at least one iteration is needed");
  return Measuring(bound, device, options, hooks).result();
}

}  // namespace strata
