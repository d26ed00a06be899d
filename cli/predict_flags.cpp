// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_flags.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

namespace strata {
namespace {

constexpr std::string_view default_machine = "h100-sxm";

std::int64_t positive_bytes(std::string_view text, std::string_view what) {
  const std::int64_t bytes = parse_bytes(text, what);
  if (bytes < 1) fail(ErrorKind::usage, "{} must be at least 1 byte, got '{}'", what, text);
  return bytes;
}

void read_hardware(const Arguments& given, HardwareOverrides& hardware) {
  if (const auto text = given.value(capacity_flag))
    hardware.capacity_bytes = positive_bytes(*text, "--capacity");
  if (const auto text = given.value(bandwidth_flag))
    hardware.bytes_per_s = parse_bytes_per_s(*text, "--bandwidth");
  if (const auto text = given.value(throughput_flag))
    hardware.flop_per_s = parse_flop_per_s(*text, "--throughput");
}

// Sets `to` when the flag was given.
template <class Enum, std::size_t count>
void read_choice(const Arguments& given, const Flag& flag,
                 const std::array<std::string_view, count>& names, Enum& to) {
  if (const auto text = given.value(flag)) to = named<Enum>(names, *text, flag.name);
}

void read_training(const Arguments& given, TrainingOptions& training) {
  training.inference = given.has(inference_flag);
  read_choice(given, optimizer_flag, optimizer_names, training.optimizer);
  read_choice(given, loss_flag, loss_names, training.loss);
  read_choice(given, recompute_flag, recompute_names, training.recompute);
  if (const auto text = given.value(micro_batches_flag))
    training.micro_batches = parse_whole_number(*text, "--micro-batches");
  training.master_weights = given.has(master_weights_flag);
  if (!training.inference) return;
  for (const Flag& flag : training_flags) {
    if (given.has(flag))
      fail(ErrorKind::usage, "--{} is about training and does not go with --inference", flag.name);
  }
}

void read_schedule(const Arguments& given, PredictOptions& options) {
  read_choice(given, policy_flag, policy_names, options.policy);
  read_choice(given, prefetch_flag, prefetch_names, options.prefetch);
  read_choice(given, offload_flag, offload_names, options.offload);
  read_choice(given, objective_flag, objective_names, options.objective);
  if (const auto text = given.value(granularity_flag))
    options.granularity_bytes = positive_bytes(*text, "--granularity");
  if (given.has(strict_minimum_flag)) {
    options.strict_minimum = true;
    options.minimum_slack = 0;
  }
}

}  // namespace

Machine machine_of(const Arguments& given) {
  Machine machine = load_machine(given.value(on_flag).value_or(default_machine));
  for (const std::string& assignment : given.values(set_flag)) set_field(machine, assignment);
  return machine;
}

PredictRequest predict_request(const Arguments& given) {
  PredictRequest request = given.has(preset_flag) ? thesis_request() : PredictRequest{};
  request.sizes = model_sizes(given);
  read_hardware(given, request.hardware);
  read_training(given, request.training);
  read_schedule(given, request.options);
  read_choice(given, bounds_flag, bounds_names, request.bounds);
  return request;
}

}  // namespace strata
