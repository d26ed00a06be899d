// SPDX-License-Identifier: Apache-2.0
#include "strata/api/predict.hpp"

#include "strata/api/request_as_recorded.hpp"
#include "strata/api/what_if.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/predict/bounds/time_bound.hpp"
#include "strata/predict/bounds/traffic_bound.hpp"
#include "strata/predict/planning_memory.hpp"
#include "strata/predict/thesis.hpp"
#include "strata/report/setup_text.hpp"
#include "strata/roofline/roofline.hpp"
#include "strata/training/split.hpp"

#include <optional>
#include <string_view>

namespace strata {

Hardware hardware_for(const Machine& machine, DType dtype, const PredictRequest& request) {
  Hardware hardware = hardware_of(machine, dtype, request.hardware);
  hardware.mac_is_one = request.mac_is_one;
  return hardware;
}

BoundGraph bind_request(const Graph& graph, const PredictRequest& request) {
  return bind_micro_batch(graph, request.sizes, request.training.micro_batches);
}

namespace {

/// What a small program takes need not be asked of the system.
constexpr std::int64_t little_memory_bytes = 256'000'000;

void require_memory(std::int64_t bytes, const Program& program) {
  if (bytes <= little_memory_bytes) return;
  const std::int64_t free_bytes = cpu::free_memory_bytes();
  if (bytes <= free_bytes) return;
  fail(
      ErrorKind::environment,
      "planning {} steps with {} uses of {} tensors takes about {}, and {} of memory are free: ask "
      "for a shorter sequence (--seq), fewer micro-batches (--micro-batches), larger parts "
      "(--granularity), or a smaller network",
      program.steps.size(), program.uses.size(), program.values.size(),
      format_capacity(static_cast<double>(bytes)),
      format_capacity(static_cast<double>(free_bytes)));
}

}  // namespace

Program limit_program(const BoundGraph& bound, const PredictRequest& request) {
  Program program = make_program(bound, request.training);
  const std::int64_t part_bytes = request.options.granularity_bytes;
  if (part_bytes > 0) program = split_values(program, part_bytes);
  require_memory(planning_bytes(program), program);
  return program;
}

namespace {

void find_bounds(PredictionSummary& summary, const AccessList& list, const Hardware& hardware,
                 const Prediction& prediction, WantBounds wanted) {
  if (wanted == WantBounds::not_at_all) summary.no_bounds_reason = "not asked for";
  if (wanted == WantBounds::automatic)
    summary.no_bounds_reason = reason_against_bounds(list.program).value_or("");
  if (!summary.no_bounds_reason.empty()) return;
  const std::int64_t capacity_bytes = hardware.capacity_bytes;
  const std::int64_t model_bytes = model_traffic_bound_at(list.program, capacity_bytes);
  const TimeBound time = time_bound(list, hardware, model_bytes, &prediction);
  summary.bounds = {
      .traffic_physical_bytes = physical_traffic_bound(list.program).bytes_at(capacity_bytes),
      .traffic_model_bytes = model_bytes,
      .time_s = time.time_s,
      .time_from = std::string(name_of(time.largest))};
}

/// A machine without the peaks of the network (rates that were given by hand) has no roofs; the
/// prediction stands without them.
void add_roofs(Profile& profile, const Machine& machine) {
  try {
    set_roofs(profile, machine);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
  }
}

/// What its head lines say of how it is trained.
void describe_setup(PredictionSummary& summary, const PredictRequest& asked,
                    const Machine& machine) {
  summary.training = limit_request(asked).training;
  const std::string usual = default_framework(machine);
  if (asked.framework && *asked.framework != "none" && *asked.framework != usual)
    summary.framework = *asked.framework;
  const std::string precision =
      precision_text(summary.dtype, asked.framework_options.autocast.has_value(), summary.training);
  std::string setup = setup_text(precision, summary.training, summary.totals.samples,
                                 request_of_preset(asked.preset).training);
  if (setup != summary.dtype) summary.profile.subject.setup = std::move(setup);
}

}  // namespace

Machine with_overrides(Machine machine, const HardwareOverrides& overrides) {
  constexpr std::string_view who = "as asked";
  if (overrides.bytes_per_s && !machine.memory.empty()) {
    MemoryLevel& outer = machine.memory.back();
    outer.bandwidth_bytes_per_s = Sourced{*overrides.bytes_per_s, std::string(who)};
    outer.mixes.clear();
  }
  if (overrides.flop_per_s) {
    for (Peak& peak : machine.peaks) peak.flop_per_s = {*overrides.flop_per_s, std::string(who)};
  }
  return machine;
}

PredictRequest limit_request(const PredictRequest& request) {
  if (!request.framework_options.autocast) return request;
  if (request.sizes.dtype && *request.sizes.dtype != DType::fp32 &&
      *request.sizes.dtype != DType::tf32)
    fail(ErrorKind::usage, "--amp is for networks in fp32, not with --dtype {}",
         name_of(*request.sizes.dtype));
  PredictRequest lower = request;
  lower.sizes.dtype = request.framework_options.autocast;
  lower.training.master_weights = true;
  return lower;
}

PredictRequest thesis_request() {
  PredictRequest request;
  request.preset = "thesis";
  request.framework = "none";
  request.mac_is_one = true;
  request.training = thesis_training();
  request.options = thesis_prediction();
  return request;
}

double predicted_time_s(const Graph& graph, const Machine& machine, const PredictRequest& asked) {
  const PredictRequest request = limit_request(request_as_recorded(graph, asked));
  const BoundGraph bound = bind_request(graph, request);
  const Program program = limit_program(bound, request);
  return predict(AccessList(program), hardware_for(machine, main_dtype(bound), request),
                 request.options, Record::totals)
      .time_s;
}

PredictedIteration predict_model(const Graph& graph, const Machine& machine,
                                 const PredictRequest& as_typed) {
  const PredictRequest asked = request_as_recorded(graph, as_typed);
  const PredictRequest request = limit_request(asked);
  PredictedIteration iteration;
  iteration.bound = std::make_unique<BoundGraph>(bind_request(graph, request));
  const DType dtype = main_dtype(*iteration.bound);
  const Hardware hardware = hardware_for(machine, dtype, request);
  iteration.program = limit_program(*iteration.bound, request);
  std::optional<AccessList> list(iteration.program);
  iteration.decision = decide(*list, hardware, request.options);
  iteration.prediction = simulate(*list, iteration.decision,
                                  request.wants_transfers ? Record::transfers : Record::steps);

  PredictionSummary& summary = iteration.summary;
  summary = summarize(iteration.program, iteration.decision.plan, iteration.prediction, hardware);
  summary.dtype = name_of(dtype);
  summary.machine = machine.name;
  summary.machine_title = machine.title;
  summary.machine_kind = machine.kind;
  summary.profile.subject = {.network = summary.network,
                             .title = summary.title,
                             .dtype = summary.dtype,
                             .machine = machine.name,
                             .machine_title = machine.title};
  add_roofs(summary.profile, with_overrides(machine, request.hardware));
  describe_setup(summary, asked, machine);
  summary.device_memory_bytes = outer_memory_bytes(machine);
  summary.options = iteration.decision.options;
  summary.preset = request.preset;
  summary.least_traffic_bytes = iteration.decision.least_traffic_bytes;
  find_bounds(summary, *list, hardware, iteration.prediction, request.bounds);
  list.reset();  // of a million steps it takes a hundred megabytes, and alternatives need theirs
  // The solver takes its time, and wants the process for itself; what takes no time (a network of
  // reshapes) cannot take less.
  if (request.wants_alternatives && request.options.policy != Policy::exact &&
      summary.totals.time_s > 0)
    summary.alternatives = alternatives_to(graph, machine, asked, iteration);
  add_expected(summary, graph, machine, asked);
  return iteration;
}

}  // namespace strata
