// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/interrupt.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_flags.hpp"
#include "cli/progress.hpp"
#include "strata/api/page.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/measure/engine/memory_plan.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>

#include <utility>

namespace strata {
namespace {

constexpr Flag measure_json_flag{.name = "json",
                                 .value = "FILE",
                                 .help = "A profile with every sample; - is standard output.",
                                 .offer = Offer::output};
constexpr Flag measure_csv_flag{.name = "csv",
                                .value = "FILE",
                                .help = "A line per layer and pass; - is standard output.",
                                .offer = Offer::output};
constexpr Flag measure_trace_flag{.name = "trace",
                                  .value = "FILE",
                                  .help = "A timeline for Perfetto; - is standard output.",
                                  .offer = Offer::output};

constexpr Argument measure_arguments[] = {{.name = "MODEL",
                                           .help = "Built-in networks, or files of networks.",
                                           .offer = Offer::model,
                                           .is_required = false,
                                           .repeats = true}};
/// How it is measured.
constexpr std::array<Flag, 10> protocol_flags = {
    measure_iterations_flag, measure_warm_up_flag, optimizer_flag,       loss_flag,
    measure_conv_flag,       measure_graph_flag,   measure_metrics_flag, measure_kernels_flag,
    measure_no_patch_flag,   measure_seed_flag};
constexpr auto measure_flags = joined_flags(
    std::array<Flag, 1>{measure_device_flag}, size_flags, std::array<Flag, 1>{measure_all_flag},
    protocol_flags,
    std::array<Flag, 8>{measure_on_flag, measure_by_flag, measure_layers_flag, measure_json_flag,
                        measure_csv_flag, measure_trace_flag, html_flag, measure_dry_run_flag},
    import_flags);

// What the engine refuses to run (measure/engine/lowering.cpp), said before anything is loaded.
constexpr RefusedFlag measure_refused[] = {
    {"recompute",
     "is for predictions: the engine keeps all saved activations; strata predict --recompute says "
     "what recomputing costs and saves"},
    {"micro-batches",
     "is for predictions: the engine updates weights after each batch; strata predict "
     "--micro-batches says what splitting it does"},
    {"master-weights",
     "is for predictions: the engine keeps weights in the type that it computes in; strata predict "
     "--master-weights counts fp32 weights beside them"}};

std::string plan_text(const BoundGraph& bound, const MeasureOptions& options) {
  const LoweredProgram program =
      lower_program(runnable_program(bound, options.engine.training),
                    abilities_by_cost(bound, !options.engine.training.inference));
  std::int64_t flop = 0;
  for (const LoweredStep& step : program.steps) flop = checked_add(flop, step.flop);
  const MemoryPlan plan = plan_memory(program);
  return fmt::format(
      "{}: {} parts, {} per iteration\n{} of memory, without the scratch of kernels\n{} iterations "
      "after {} to warm up\n",
      bound.graph->name, program.steps.size(), format_flop(static_cast<double>(flop)),
      format_capacity(static_cast<double>(plan.total_bytes())), options.iterations,
      options.warm_up);
}

std::unique_ptr<TrainableModel> prepared(const Arguments& given, std::string_view model) {
  const MeasureRequest request{
      .sizes = model_sizes(given),
      .loss = measure_loss(given),
      .options = measure_options(given, chosen_device(given.value(measure_device_flag)))};
  std::unique_ptr<TrainableModel> made =
      trainable_model(load_model(model, import_options(given)), request);
  warn(made->graph.warnings);
  return made;
}

/// What was asked, as the profile holds it: its numbers can be measured again from any folder.
std::string measured_request(const Arguments& given) {
  RequestText words{.model = std::string(given.word(0)),
                    .import = import_options(given),
                    .machine = std::string(given.value(measure_on_flag).value_or("")),
                    .settings = {},
                    .preset = {},
                    .sizes = model_sizes(given),
                    .options = {}};
  add_given(words, given, std::array<Flag, 2>{measure_device_flag, inference_flag});
  add_given(words, given, protocol_flags);
  remember_files(words);
  return to_json(words);
}

/// The device that was asked for. It stays open from network to network: what it found fastest for
/// a shape it need not look for again.
class MeasuredDevice {
 public:
  explicit MeasuredDevice(const Arguments& given)
      : given_(given), choice_(chosen_device(given.value(measure_device_flag))) {}

  const ChosenDevice& choice() const { return choice_; }
  TrainingDevice& for_type(DType dtype) {
    if (!device_ || dtype != dtype_) {
      device_.reset();
      device_ = opened(choice_, device_choices(given_, dtype));
      dtype_ = dtype;
    }
    return *device_;
  }

 private:
  const Arguments& given_;
  ChosenDevice choice_;
  DType dtype_ = DType::fp32;
  std::unique_ptr<TrainingDevice> device_;
};

MeasuredModel measured_with_progress(const Arguments& given, std::unique_ptr<TrainableModel> model,
                                     MeasuredDevice& devices, const InterruptWatch& interrupts) {
  TrainingDevice& device = devices.for_type(model->dtype);
  std::optional<Machine> machine = machine_of_device(given, devices.choice(), device.name());
  const ProgressPart shown;
  const std::string metrics = model->options.metrics;
  const MeasureHooks hooks{
      .on_progress =
          [](std::string_view phase, std::size_t done, std::size_t total) {
            show_progress(fmt::format("{}: {} of {}", phase, done, total));
          },
      .is_interrupted = [&] { return interrupts.was_asked(); },
      .on_counting =
          [&](const CounterCost& cost, double least_s) {
            print_to_stderr(fmt::format("counting {}: {}, {} or more\n", metrics, to_text(cost),
                                        format_time(least_s, 2)));
          }};
  return measure_model(std::move(model), device, std::move(machine), hooks);
}

int report_interrupt() {
  print_to_stderr("interrupted before anything was measured\n");
  return exit_code::interrupted;
}

int run_one(const Request& request) {
  const Arguments& given = request.arguments;
  const MeasureView view = measure_view(given);
  std::unique_ptr<TrainableModel> made = prepared(given, given.word(0));
  if (given.has(measure_dry_run_flag)) {
    print(plan_text(made->bound, made->options));
    return exit_code::done;
  }
  MeasuredDevice device(given);
  const InterruptWatch interrupts;
  const MeasuredModel measured = measured_with_progress(given, std::move(made), device, interrupts);
  if (!measured.has_times()) return report_interrupt();
  const MeasurementSummary& summary = measured.summary;
  OutputFiles outputs(given);
  const Provenance provenance{.command = request.command_line, .request = measured_request(given)};
  outputs.write(measure_json_flag, [&] { return to_json(summary, provenance); });
  outputs.write(measure_csv_flag, [&] { return to_csv(summary); });
  outputs.write(measure_trace_flag, [&] { return to_trace(summary); });
  outputs.write(html_flag, [&] {
    const PageSection part = page_section(measured, provenance);
    return page_text(part.name, {part});
  });
  if (!outputs.took_stdout()) print(to_text(summary, view, request.style));
  return summary.measured.is_interrupted ? exit_code::interrupted : exit_code::done;
}

// What cannot be measured, one of many, is a line with a reason; what is asked wrongly is wrong for
// all.
int run_several(const Request& request, const std::vector<std::string>& models) {
  const Arguments& given = request.arguments;
  for (const Flag* flag : {&measure_trace_flag, &measure_by_flag, &measure_layers_flag,
                           &measure_metrics_flag, &measure_dry_run_flag}) {
    if (given.has(*flag))
      fail(ErrorKind::usage, "--{} is for one network; {} were given", flag->name, models.size());
  }
  std::vector<NetworkMeasurement> networks;
  std::vector<PageSection> pages;
  const auto json = [&] { return to_json(networks, {.command = request.command_line}); };
  const auto csv = [&] { return to_csv(networks); };
  OutputFiles outputs(given);
  MeasuredDevice device(given);
  const InterruptWatch interrupts;
  bool is_interrupted = false;
  for (const std::string& model : models) {
    NetworkMeasurement network{.model = model};
    try {
      MeasuredModel measured =
          measured_with_progress(given, prepared(given, model), device, interrupts);
      if (!measured.has_times()) network.reason = "interrupted";
      if (measured.has_times() && given.has(html_flag))
        pages.push_back(page_section(measured, {.command = request.command_line}));
      if (measured.has_times()) network.summary = std::move(measured.summary);
      is_interrupted = !network.summary || network.summary->measured.is_interrupted;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::usage || error.kind() == ErrorKind::internal) throw;
      network.reason = error.what();
    }
    networks.push_back(std::move(network));
    if (is_interrupted) break;
    // Many networks take long; whoever kills this loses the one at work.
    outputs.write_so_far(measure_json_flag, json);
    outputs.write_so_far(measure_csv_flag, csv);
  }
  outputs.write(measure_json_flag, json);
  outputs.write(measure_csv_flag, csv);
  if (!pages.empty())
    outputs.write(html_flag, [&] { return page_text("Measured networks", pages); });
  else if (given.has(html_flag))
    print_to_stderr("note: no page is written, as none of the networks was measured\n");
  if (!outputs.took_stdout()) print(to_text(networks, request.style));
  return is_interrupted ? exit_code::interrupted : exit_code::done;
}

int run_measure(const Request& request) {
  const Arguments& given = request.arguments;
  check_outputs(given, {&measure_json_flag, &measure_csv_flag, &measure_trace_flag, &html_flag});
  std::vector<std::string> models = given.words();
  if (given.has(measure_all_flag)) {
    if (!models.empty()) fail(ErrorKind::usage, "--all is every network; none is named beside it");
    for (const Network& network : networks()) models.emplace_back(network.name);
  }
  if (models.empty()) fail(ErrorKind::usage, "MODEL is missing; or --all for every network");
  return models.size() > 1 ? run_several(request, models) : run_one(request);
}

}  // namespace

constexpr Command measure_command{.name = "measure",
                                  .summary = "Train a network on this machine and time every layer",
                                  .arguments = measure_arguments,
                                  .flags = measure_flags,
                                  .run = run_measure,
                                  .refused = measure_refused,
                                  .shows_waiting = false};

}  // namespace strata
