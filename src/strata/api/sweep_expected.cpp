// SPDX-License-Identifier: Apache-2.0
#include "strata/api/sweep_expected.hpp"

#include "strata/base/error.hpp"

namespace strata {

void SweepExpected::set_request(const PredictRequest& request) {
  const auto wanted = expected_request(machines_.front(), request);
  const std::string framework = wanted ? wanted->framework : "";
  if (request.host.name != host_.name) {
    host_ = request.host;
    for (OnMachine& on : known_) {
      if (on.times) on.times.emplace(on.times->by(host_));
    }
  }
  // All other options are in the program.
  const bool is_same =
      framework == framework_ && request.training.inference == is_inference_ && !known_.empty();
  if (is_same) return;
  framework_ = framework;
  is_inference_ = request.training.inference;
  known_ = std::vector<OnMachine>(machines_.size());
}

const SweepExpected::OnMachine& SweepExpected::on_machine(std::size_t index,
                                                          const PredictRequest& request) {
  OnMachine& on = known_[index];
  if (on.is_known) return on;
  on.is_known = true;
  // One framework for all machines, by the first of them: their points share its programs.
  const auto wanted = expected_request(machines_.front(), request);
  on.reason = wanted ? ExpectedTimes::reason_against(machines_[index], *wanted).value_or("")
                     : "not asked for";
  if (on.reason.empty()) on.times.emplace(machines_[index], *wanted);
  return on;
}

PointExpected SweepExpected::at(std::size_t index, const Machine& machine,
                                const PredictRequest& request, const ExpectedProgram& program) {
  const OnMachine& on = on_machine(index, request);
  if (!on.times) {
    if (request.names_expected()) fail(ErrorKind::unsupported, "no expected time: {}", on.reason);
    return {};
  }
  const bool is_changed =
      &machine != &machines_[index] || request.hardware.bytes_per_s || request.hardware.flop_per_s;
  const ExpectedTotals totals =
      is_changed ? on.times->on(with_overrides(machine, request.hardware)).totals(program)
                 : on.times->totals(program);
  if (totals.launches == 0) return {};
  return {.time_s = totals.time_s,
          .low_s = totals.low_s,
          .high_s = totals.high_s,
          .memory_bytes = on.times->memory_bytes(program),
          .device_bytes = outer_memory_bytes(machine).value_or(0)};
}

}  // namespace strata
