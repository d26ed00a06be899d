// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/simulate.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/timed_pass.hpp"

#include <utility>

namespace strata {

std::int64_t operations_of(const Step& step, const Hardware& hardware) {
  return hardware.mac_is_one ? step.flop - step.mac : step.flop;
}

double compute_time_s(const Step& step, const Hardware& hardware) {
  const auto operations = static_cast<double>(operations_of(step, hardware));
  return operations / (step.layer_class == LayerClass::dense ? hardware.dense_flop_per_s
                                                             : hardware.other_flop_per_s);
}

void compute_times(const Program& program, const Hardware& hardware, std::vector<double>& times_s) {
  times_s.resize(program.steps.size());
  for (std::size_t i = 0; i < times_s.size(); ++i)
    times_s[i] = compute_time_s(program.steps[i], hardware);
}

namespace {

Prediction simulate_within(std::int64_t capacity_bytes, const AccessList& list, const Plan& plan,
                           const Hardware& hardware, const PredictOptions& options, Record record) {
  STRATA_CHECK(hardware.capacity_bytes >= plan.capacity_bytes,
               "a plan needs the capacity it was made for");
  std::vector<double> compute_s;
  compute_times(list.program, hardware, compute_s);
  PlannedSteps planned(list);
  planned.schedule(plan, options, compute_s, hardware.bytes_per_s);
  TimedPass pass;
  const PassLimits limits{capacity_bytes, hardware.bytes_per_s, options.channel};
  return std::move(pass.run(planned, limits, compute_s, record));
}

}  // namespace

Prediction simulate(const AccessList& list, const Plan& plan, const Hardware& hardware,
                    const PredictOptions& options, Record record) {
  return simulate_within(hardware.capacity_bytes, list, plan, hardware, options, record);
}

Prediction simulate_as_planned(const AccessList& list, const Plan& plan, const Hardware& hardware,
                               const PredictOptions& options, Record record) {
  return simulate_within(plan.capacity_bytes, list, plan, hardware, options, record);
}

}  // namespace strata
