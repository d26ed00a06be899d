// SPDX-License-Identifier: Apache-2.0
#include "strata/api/predict.hpp"
#include "strata/api/sweep_state.hpp"
#include "strata/report/prediction_reuse.hpp"

namespace strata {
namespace {

PointSpeed speed_of(SweepProgram& program, const Hardware& hardware, std::int64_t samples) {
  const double time_s = program.at(hardware).time_s;
  return {.time_s = time_s, .samples_per_s = static_cast<double>(samples) / time_s};
}

std::int64_t batch_of(const BoundGraph& bound) {
  const auto batch = bound.binding.find("batch");
  return batch == bound.binding.end() ? 0 : batch->second;
}

}  // namespace

const std::vector<std::string>& Sweep::derived_columns() const { return state_->derived; }
const std::vector<std::string>& Sweep::constraints() const { return state_->where; }

std::string Sweep::model_at(std::int64_t point) const {
  const std::size_t axis = state_->axis_named("model");
  return state_->grid.axes()[axis].at(state_->grid.index_of(point, axis)).text;
}

SensitivityAnswer Sweep::sensitivity_at(std::int64_t point) const {
  const PointResult here = worker()->at(point);
  if (!here.error.empty()) fail(ErrorKind::input, "--sensitivity: point {}: {}", point, here.error);
  const PredictRequest request = state_->request_at(point);
  const std::shared_ptr<const BuiltProgram> built = state_->program_at(point, request);
  SweepProgram program(built->program, request.options);
  const OperatingPoint base{.hardware = here.hardware, .batch = batch_of(built->bound)};
  return strata::sensitivity_at(base, [&](const OperatingPoint& asked) {
    if (asked.batch == base.batch) return speed_of(program, asked.hardware, built->program.samples);
    PredictRequest other = request;
    set_batch(other.sizes, asked.batch);
    const BoundGraph bound = bind_model(*built->bound.graph, other.sizes);
    const Program larger = make_program(bound, other.training);
    SweepProgram on_larger(larger, other.options);
    return speed_of(on_larger, asked.hardware, larger.samples);
  });
}

std::vector<ScopeReuse> Sweep::reuse_at(std::int64_t point) const {
  const std::shared_ptr<const BuiltProgram> built =
      state_->program_at(point, state_->request_at(point));
  Plan nothing_stays;
  nothing_stays.uses.resize(built->program.uses.size());
  return reuse_by_scope(built->program, nothing_stays);
}

}  // namespace strata
