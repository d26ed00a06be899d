// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "strata/base/units.hpp"
#include "strata/measure/this_run.hpp"
#include "strata/measure/training/memory_plan.hpp"
#include "strata/predict_parts.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace strata {
namespace {

constexpr Flag json_flag{.name = "json",
                         .value = "FILE",
                         .help = "A profile with every sample as JSON; - is standard output.",
                         .offer = Offer::file};
constexpr Flag csv_flag{.name = "csv",
                        .value = "FILE",
                        .help = "A line per layer and pass; - is standard output.",
                        .offer = Offer::file};
constexpr Flag trace_flag{.name = "trace",
                          .value = "FILE",
                          .help = "A timeline for Perfetto; - is standard output.",
                          .offer = Offer::file};

constexpr Argument arguments[] = {model_argument};
constexpr auto flags =
    joined_flags(std::array<Flag, 1>{measure_device_flag}, size_flags,
                 std::array<Flag, 8>{measure_iterations_flag, measure_warm_up_flag, optimizer_flag,
                                     loss_flag, measure_conv_flag, measure_engine_flag,
                                     measure_graph_flag, measure_seed_flag},
                 std::array<Flag, 7>{measure_on_flag, measure_by_flag, measure_layers_flag,
                                     json_flag, csv_flag, trace_flag, measure_dry_run_flag},
                 import_flags);

/// "timing layers: 3 of 10" on a terminal; nothing elsewhere.
class MeasureProgress {
 public:
  MeasureProgress() = default;
  ~MeasureProgress() {
    if (is_shown_) print_to_stderr("\r\x1b[K");
  }
  MeasureProgress(const MeasureProgress&) = delete;
  MeasureProgress& operator=(const MeasureProgress&) = delete;

  void show(std::string_view phase, std::size_t done, std::size_t total) const {
    if (is_shown_) print_to_stderr(fmt::format("\r\x1b[K{}: {} of {}", phase, done, total));
  }

 private:
  bool is_shown_ = ::isatty(STDERR_FILENO) == 1;
};

std::string plan_text(const BoundGraph& bound, const MeasureOptions& options) {
  const Wiring wiring = wire(bound, options.engine.training,
                             abilities_by_cost(bound, !options.engine.training.inference));
  std::int64_t flop = 0;
  for (const WiredPart& part : wiring.parts) flop = checked_add(flop, part.flop);
  const MemoryPlan plan = plan_memory(wiring);
  return fmt::format(
      "{}: {} parts, {} per iteration\n{} of memory, without the scratch of kernels\n{} iterations "
      "after {} to warm up\n",
      bound.graph->name, wiring.parts.size(), format_flop(static_cast<double>(flop)),
      format_bytes(static_cast<double>(plan.total_bytes())), options.iterations, options.warm_up);
}

TrainingMeasurement measured_with_progress(const BoundGraph& bound, TrainingDevice& device,
                                           const MeasureOptions& options) {
  const InterruptWatch interrupts;
  const MeasureProgress progress;
  const MeasureHooks hooks{
      .on_progress = [&](std::string_view phase, std::size_t done,
                         std::size_t total) { progress.show(phase, done, total); },
      .is_interrupted = [&] { return interrupts.was_asked(); }};
  return measure_training(bound, device, options, hooks);
}

int run(const Request& request) {
  const Arguments& given = request.arguments;
  check_outputs(given, {&json_flag, &csv_flag, &trace_flag});
  const MeasureView view = measure_view(given);
  const MeasureDevice choice = measure_device(given);
  MeasureOptions options = measure_options(given, choice);
  const Loss loss = measure_loss(given);

  const Graph network = load_model(given.word(0), import_options(given));
  options.network_nodes = network.nodes.size();
  const Graph graph = options.engine.training.inference ? network : with_loss(network, loss);
  const BoundGraph bound = bind_model(graph, model_sizes(given));
  const DType dtype = main_dtype(bound);
  warn(graph.warnings);
  if (given.has(measure_dry_run_flag)) {
    print(plan_text(bound, options));
    return exit_code::done;
  }
  const std::unique_ptr<TrainingDevice> device =
      opened(choice, {.dtype = dtype,
                      .convolution = std::string(given.value(measure_conv_flag).value_or("")),
                      .engine = std::string(given.value(measure_engine_flag).value_or(""))});
  const std::optional<Machine> machine = machine_of_device(given, choice, device->name());
  TrainingMeasurement measured = measured_with_progress(bound, *device, options);
  if (!measured.has_times()) {
    print_to_stderr("interrupted before anything was measured\n");
    return exit_code::interrupted;
  }
  const bool is_interrupted = measured.is_interrupted;
  MeasurementSummary summary = summarize(bound, std::move(measured), options, dtype, machine);
  summary.host = this_host();
  summary.date = this_moment();

  OutputFiles outputs(given);
  outputs.write(json_flag, [&] { return to_json(summary, {.command = request.command_line}); });
  outputs.write(csv_flag, [&] { return to_csv(summary); });
  outputs.write(trace_flag, [&] { return to_trace(summary); });
  if (!outputs.took_stdout()) print(to_text(summary, view, request.style));
  return is_interrupted ? exit_code::interrupted : exit_code::done;
}

}  // namespace

constexpr Command measure_command{.name = "measure",
                                  .summary = "Train a network on this machine and time every layer",
                                  .arguments = arguments,
                                  .flags = flags,
                                  .run = run};

}  // namespace strata
