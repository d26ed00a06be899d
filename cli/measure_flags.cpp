// SPDX-License-Identifier: Apache-2.0
#include "cli/measure_flags.hpp"

#include "cli/machine_at_hand.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/this_run.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace strata {
namespace {

constexpr std::int64_t most_iterations = 1'000'000;

std::size_t count_in(const Arguments& given, const Flag& flag, std::size_t otherwise) {
  const auto text = given.value(flag);
  if (!text) return otherwise;
  return static_cast<std::size_t>(
      parse_whole_number(*text, fmt::format("--{}", flag.name), 1, most_iterations));
}

// "NVIDIA H200" is the H200 that ships; where several could be meant, none is.
const Machine* shipped_machine_titled(std::string_view device) {
  const std::string name = lower_case(device);
  const Machine* found = nullptr;
  for (const Machine& machine : shipped_machines()) {
    const std::string title = lower_case(machine.title);
    if (title != name && !title.starts_with(name + " ")) continue;
    if (found != nullptr) return nullptr;
    found = &machine;
  }
  return found;
}

}  // namespace

std::unique_ptr<TrainingDevice> opened(const ChosenDevice& device, const DeviceChoices& choices) {
  return device.is_gpu ? cuda_training_device(device.index, choices) : cpu_training_device(choices);
}

DeviceChoices device_choices(const Arguments& given, DType dtype) {
  return {.dtype = dtype, .convolution = std::string(given.value(measure_conv_flag).value_or(""))};
}

MeasureOptions measure_options(const Arguments& given, const ChosenDevice& device) {
  MeasureOptions options;
  options.iterations = count_in(given, measure_iterations_flag, options.iterations);
  options.warm_up = count_in(given, measure_warm_up_flag, options.warm_up);
  options.times_whole_apart = device.is_gpu;
  options.wants_recording = given.has(measure_graph_flag);
  if (const auto metrics = given.value(measure_metrics_flag)) options.metrics = *metrics;
  options.counts_kernels = given.has(measure_kernels_flag);
  options.patches_kernels = !given.has(measure_no_patch_flag);
  for (const Flag* flag : {&measure_kernels_flag, &measure_no_patch_flag}) {
    if (given.has(*flag) && options.metrics == "time")
      fail(ErrorKind::usage, "--{} is about counters and goes with --metrics", flag->name);
  }
  options.engine.training.inference = given.has(inference_flag);
  for (const Flag* flag : {&optimizer_flag, &loss_flag}) {
    if (given.has(*flag) && options.engine.training.inference)
      fail(ErrorKind::usage, "--{} is about training and does not go with --inference", flag->name);
  }
  PredictRequest request;  // knows the words
  if (const auto optimizer = given.value(optimizer_flag))
    set_option(request, optimizer_flag.name, *optimizer);
  options.engine.training.optimizer = request.training.optimizer;
  // Kingma and Ba ("Adam", 2014) recommend it; Adam's steps do not shrink with the gradient.
  constexpr double adam_learning_rate = 0.001;
  if (request.training.optimizer == Optimizer::adam)
    options.engine.rule.learning_rate = adam_learning_rate;
  if (const auto seed = given.value(measure_seed_flag))
    options.engine.seed = static_cast<std::uint64_t>(parse_whole_number(*seed, "--seed", 0));
  return options;
}

Loss measure_loss(const Arguments& given) {
  PredictRequest request;
  if (const auto loss = given.value(loss_flag)) set_option(request, loss_flag.name, *loss);
  return request.training.loss;
}

MeasureView measure_view(const Arguments& given) {
  MeasureView view;
  if (const auto by = given.value(measure_by_flag)) {
    const auto* const at = std::find(measure_groupings.begin(), measure_groupings.end(), *by);
    view.by = static_cast<MeasureBy>(at - measure_groupings.begin());
  }
  if (const auto layers = given.value(measure_layers_flag)) {
    view.layers = *layers == "all"
                      ? every_layer
                      : static_cast<std::size_t>(parse_whole_number(*layers, "--top (or all)", 0));
  }
  return view;
}

std::optional<Machine> machine_of_device(const Arguments& given, const ChosenDevice& device,
                                         std::string_view device_name) {
  if (const auto name = given.value(measure_on_flag)) return load_machine(*name);
  return machine_at_hand_of(device, device_name);
}

std::optional<Machine> machine_at_hand_of(const ChosenDevice& device,
                                          std::string_view device_name) {
  if (const auto folder = measured_machines_folder()) {
    const std::string part = device.is_gpu ? fmt::format("gpu{}", device.index) : "cpu";
    const std::filesystem::path file = *folder / measured_machine_file(this_host(), part);
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) return load_machine(file.string());
  }
  if (const Machine* machine = shipped_machine_titled(device_name)) return *machine;
  return std::nullopt;
}

}  // namespace strata
