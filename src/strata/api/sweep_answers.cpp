// SPDX-License-Identifier: Apache-2.0
#include "strata/api/predict.hpp"
#include "strata/api/sweep_state.hpp"
#include "strata/report/prediction_reuse.hpp"

namespace strata {
namespace {

PointSpeed speed_of(double time_s, std::int64_t samples) {
  return {.time_s = time_s, .samples_per_s = static_cast<double>(samples) / time_s};
}

/// Of all micro-batches; 0: the network has a fixed one.
std::int64_t batch_of(const BuiltProgram& built) {
  return built.bound.binding.contains("batch") ? built.program.samples : 0;
}

/// A point, and what it was asked with.
struct AskedPoint {
  PredictRequest request;
  std::shared_ptr<const BuiltProgram> built;
  OperatingPoint base;
};

SensitivityAnswer limit_sensitivity(const AskedPoint& point) {
  // References, not a structured binding: clang before 16 does not let a lambda capture one.
  const PredictRequest& request = point.request;
  const std::shared_ptr<const BuiltProgram>& built = point.built;
  const OperatingPoint& base = point.base;
  SweepProgram program(built->program, request.options);
  return strata::sensitivity_at(base, [&](const OperatingPoint& asked) {
    if (asked.batch == base.batch)
      return speed_of(program.at(asked.hardware).time_s, built->program.samples);
    PredictRequest other = limit_request(request);
    set_batch(other.sizes, asked.batch);
    const BoundGraph bound = bind_request(*built->bound.graph, other);
    const Program larger = make_program(bound, other.training);
    SweepProgram on_larger(larger, other.options);
    return speed_of(on_larger.at(asked.hardware).time_s, larger.samples);
  });
}

/// Of the expected time: it knows bandwidth, peaks and batch, and nothing of the on-chip memory.
SensitivityAnswer expected_sensitivity(const AskedPoint& point, const Machine& machine) {
  const PredictRequest& request = point.request;
  const std::shared_ptr<const BuiltProgram>& built = point.built;
  const OperatingPoint& base = point.base;
  const ExpectedTimes times(machine, *expected_request(machine, request));
  SensitivityAnswer answer = strata::sensitivity_at(base, [&](const OperatingPoint& asked) {
    if (asked.hardware.capacity_bytes != base.hardware.capacity_bytes)
      fail(ErrorKind::unsupported, "expected times do not know it; --framework none does");
    Machine changed = machine;
    for (Peak& peak : changed.peaks)
      peak.flop_per_s.value *= asked.hardware.dense_flop_per_s / base.hardware.dense_flop_per_s;
    if (MemoryLevel& outer = changed.memory.back(); outer.bandwidth_bytes_per_s)
      outer.bandwidth_bytes_per_s->value *= asked.hardware.bytes_per_s / base.hardware.bytes_per_s;
    const ExpectedTimes on_changed = times.on(changed);
    if (asked.batch == base.batch)
      return speed_of(on_changed.totals(*built->expected).time_s, built->program.samples);
    PredictRequest other = request;
    set_batch(other.sizes, asked.batch);
    const BoundGraph bound = bind_request(*built->bound.graph, other);
    other.training.unroll_recurrent = false;
    const Program larger = make_program(bound, other.training);
    const ExpectedProgram program(larger, *expected_request(machine, other),
                                  other.training.optimizer);
    return speed_of(on_changed.totals(program).time_s, larger.samples);
  });
  answer.is_expected = true;
  return answer;
}

}  // namespace

const std::vector<std::string>& Sweep::derived_columns() const { return state_->derived; }
const std::vector<std::string>& Sweep::constraints() const { return state_->where; }

std::string Sweep::model_at(std::int64_t point) const {
  const std::size_t axis = state_->axis_named("model");
  return state_->grid.axes()[axis].at(state_->grid.index_of(point, axis)).text;
}

SensitivityAnswer Sweep::sensitivity_at(std::int64_t point) const {
  if (is_parallel())
    fail(ErrorKind::usage, "--sensitivity is of one device; sweep the rates of a cluster instead");
  const PointResult here = worker()->at(point);
  if (!here.error.empty()) fail(ErrorKind::input, "--sensitivity: point {}: {}", point, here.error);
  AskedPoint asked{.request = state_->request_at(point), .built = {}, .base = {}};
  asked.built = state_->program_at(point, asked.request);
  asked.base = {.hardware = here.hardware, .batch = batch_of(*asked.built)};
  if (!here.expected.is_there()) return limit_sensitivity(asked);
  Machine scratch;
  return expected_sensitivity(
      asked, with_overrides(state_->machine_at(point, scratch), state_->overrides_at(point)));
}

std::vector<ScopeReuse> Sweep::reuse_at(std::int64_t point) const {
  const std::shared_ptr<const BuiltProgram> built =
      state_->program_at(point, state_->request_at(point));
  Plan nothing_stays;
  nothing_stays.uses.resize(built->program.uses.size());
  return reuse_by_scope(built->program, nothing_stays);
}

}  // namespace strata
