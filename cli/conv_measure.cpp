// SPDX-License-Identifier: Apache-2.0
#include "cli/conv_measure.hpp"

#include "cli/conv_flags.hpp"
#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/sweep_progress.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/capture/kernel_class.hpp"
#include "strata/convolution/lab/lab.hpp"
#include "strata/convolution/lab/plugin.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/measure/ceilings/cpu/system_load.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/sweep/result_file.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>

namespace strata {
namespace {

/// "12 of 240  fft, forward  b64 c3 …  3:05 min left" on a terminal; nothing elsewhere.
class ConvProgress {
 public:
  ConvProgress(std::size_t done, std::size_t total) : done_before_(done), total_(total) {}
  ~ConvProgress() { clear_progress(); }
  ConvProgress(const ConvProgress&) = delete;
  ConvProgress& operator=(const ConvProgress&) = delete;

  void show_trace(std::size_t done, std::size_t count) {
    begin_ = Clock::now();  // the time that is left is that of measuring
    show_progress(fmt::format("tracing the kernels of libraries, {} of {}", done, count));
  }

  void show(std::size_t done, const ConvCell& cell) const {
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    const double each_s = elapsed_s / static_cast<double>(done - done_before_);
    show_progress(fmt::format("{} of {}  {} left  {} {}, {}", done, total_,
                              waiting_time(each_s * static_cast<double>(total_ - done)),
                              cell.strategy, name_of(cell.pass), to_text(cell.shape)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t done_before_;
  std::size_t total_;
  Clock::time_point begin_ = Clock::now();
};

/// A device, its strategies and those of plug-ins, and what is to be done with them.
struct Laboratory {
  std::unique_ptr<ConvDevice> device;
  std::vector<std::unique_ptr<ConvStrategy>> plugins;
  std::vector<const ConvStrategy*> strategies;
  ConvPlan plan;
  std::vector<ConvTask> tasks;
  bool is_gpu = false;
};

Laboratory laboratory_of(const Arguments& given, std::vector<ConvSeries> series,
                         const std::vector<ConvPass>& default_passes) {
  Laboratory lab;
  const ChosenDevice choice = chosen_device(given.value(conv_device_flag));
  const ConvRestriction restriction = conv_restriction(given);
  lab.plan.series = std::move(series);
  lab.plan.passes = restriction.passes.empty() ? default_passes : restriction.passes;
  lab.plan.memory_limit_bytes = restriction.memory_limit_bytes;
  if (const auto dtype = given.value(conv_dtype_flag)) lab.plan.dtype = *dtype_named(*dtype);
  if (const auto samples = given.value(conv_samples_flag))
    lab.plan.samples = static_cast<int>(parse_whole_number(*samples, "--samples", 1, 100'000));
  if (const auto seed = given.value(conv_seed_flag))
    lab.plan.seed = static_cast<std::uint64_t>(parse_whole_number(*seed, "--seed", 0));
  lab.plan.has_efficiencies = given.has(conv_metrics_flag);
  lab.is_gpu = choice.is_gpu;
  lab.device = choice.is_gpu ? cuda_conv_device(choice.index) : cpu_conv_device();
  lab.plan.device = lab.device->name();
  lab.plan.origin = conv_origin_of(*lab.device);
  for (const std::string& path : given.values(conv_plugin_flag))
    lab.plugins.push_back(load_conv_plugin(path, *lab.device));
  lab.strategies = chosen_strategies(*lab.device, lab.plugins, restriction.strategies);
  for (const ConvStrategy* strategy : lab.strategies)
    lab.plan.strategies.push_back({std::string(strategy->name()), strategy->is_vendor()});
  lab.tasks = conv_tasks(lab.plan, lab.strategies);
  return lab;
}

/// How much of the processors other programs have, again and again: what was measured meanwhile is
/// as doubtful as that. Ticks of the system are long, so that a look is worth one of half a second.
class OtherPrograms {
 public:
  std::optional<double> share() {
    constexpr double look_s = 0.5;
    const cpu::SystemLoad now = cpu::system_load_now("/", processors_);
    const double passed_s = std::chrono::duration<double>(Clock::now() - begin_).count();
    if (share_ && passed_s < look_s) return share_;
    if (const auto found = cpu::others_share(before_, now)) share_ = found;
    if (passed_s >= look_s) {
      before_ = now;
      begin_ = Clock::now();
    }
    return share_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<int> processors_ = cpu::allowed_processors();
  cpu::SystemLoad before_ = cpu::system_load_now("/", processors_);
  Clock::time_point begin_ = Clock::now();
  std::optional<double> share_;
};

/// What a library's kernel is for, as the rules that ship know its name.
KernelRole role_by_name(std::string_view kernel) {
  return kernel_role_named(role_of_kernel(kernel)).value_or(KernelRole::other);
}

/// The lines of a run before, when they are continued.
std::vector<ConvCell> cells_before(const ConvLinesFile& lines, std::size_t count) {
  if (count == 0) return {};
  ConvResults before = load_conv_results(lines.path);
  STRATA_CHECK(before.cells.size() >= count, "the file was just counted");
  before.cells.resize(count);
  return std::move(before.cells);
}

/// A run that goes on keeps the date of its beginning, and what an older Strata did not write.
void take_origin_of(const ConvLinesFile& lines, ConvOrigin& origin) {
  if (lines.if_present != IfPresent::resume) return;
  try {
    const ConvOrigin before = load_conv_results(lines.path).origin;
    origin.date = before.date;
    if (before.facts.versions.empty()) origin = before;
  } catch (const Error&) {
    // Absent, or something else: whoever opens it says so.
  }
}

}  // namespace

ConvRunOutcome measure_convolutions(const Arguments& given, std::vector<ConvSeries> series,
                                    const std::vector<ConvPass>& default_passes,
                                    const std::optional<ConvLinesFile>& lines) {
  Laboratory lab = laboratory_of(given, std::move(series), default_passes);
  std::optional<ResultFile> file;
  std::size_t first = 0;
  if (lines) {
    take_origin_of(*lines, lab.plan.origin);
    const std::string head = conv_lines_head(lab.plan);
    file.emplace(lines->path, lines->if_present, std::array{ResultHead{.text = head}},
                 [](std::int64_t cell) { return conv_line_begin(static_cast<std::size_t>(cell)); });
    first = std::min(static_cast<std::size_t>(file->done()), lab.tasks.size());
    lab.plan.cells = cells_before(*lines, first);
  }
  const InterruptWatch interrupts;
  ConvRunOutcome outcome;
  outcome.total = lab.tasks.size();
  {
    ConvProgress progress(first, lab.tasks.size());
    OtherPrograms others;
    const ConvLabHooks hooks{
        .is_interrupted = [&] { return interrupts.was_asked(); },
        .on_cell =
            [&](std::size_t task, const ConvCell& cell) {
              if (file) file->append(conv_line(task, cell));
              progress.show(task + 1, cell);
            },
        .role_of_kernel = role_by_name,
        .on_trace = [&](std::size_t done, std::size_t count) { progress.show_trace(done, count); },
        .on_no_traces =
            [](std::string_view reason) {
              print_to_stderr(
                  fmt::format("note: kernels of libraries are not named: {}\n", reason));
            },
        .others_share = [&] { return lab.is_gpu ? std::nullopt : others.share(); }};
    auto cells = run_conv_lab(*lab.device, lab.plan, lab.tasks, first, hooks);
    std::move(cells.begin(), cells.end(), std::back_inserter(lab.plan.cells));
  }
  outcome.is_interrupted = lab.plan.cells.size() < lab.tasks.size();
  outcome.results = std::move(lab.plan);
  return outcome;
}

std::string conv_dry_run_text(const Arguments& given, std::vector<ConvSeries> series,
                              const std::vector<ConvPass>& default_passes) {
  const Laboratory lab = laboratory_of(given, std::move(series), default_passes);
  std::vector<std::string> names;
  for (const ConvStrategyName& strategy : lab.plan.strategies) names.push_back(strategy.name);
  std::size_t refused = 0;
  std::size_t points = 0;
  for (const ConvSeries& each : lab.plan.series) {
    points += each.points.size();
    for (const ConvPoint& point : each.points) refused += refusal_of(point.shape) ? 1 : 0;
  }
  std::size_t cannot = 0;
  for (const ConvTask& task : lab.tasks) {
    if (task.strategy->refusal({task.shape, task.pass, lab.plan.dtype})) ++cannot;
  }
  return fmt::format(
      "{}\n{} points, {} of them impossible, {} distinct\n{} strategies: {}\n{} to measure, {} "
      "refused\n",
      lab.plan.device, points, refused, distinct_points(lab.plan.series).size(), names.size(),
      fmt::join(names, ", "), lab.tasks.size() - cannot, cannot);
}

}  // namespace strata
