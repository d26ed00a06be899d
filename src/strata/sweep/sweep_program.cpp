// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/sweep_program.hpp"

#include "strata/training/split.hpp"

namespace strata {

struct SweepProgram::State {
  State(const Program& program, const PredictOptions& how)
      : parts(how.granularity_bytes > 0 ? split_values(program, how.granularity_bytes) : Program{}),
        list(how.granularity_bytes > 0 ? parts : program),
        options(how) {}

  Program parts;  // of the program, when its values are cut
  AccessList list;
  PredictOptions options;
};

SweepProgram::SweepProgram(const Program& program, const PredictOptions& options)
    : state_(std::make_unique<State>(program, options)) {}

SweepProgram::~SweepProgram() = default;
SweepProgram::SweepProgram(SweepProgram&&) noexcept = default;
SweepProgram& SweepProgram::operator=(SweepProgram&&) noexcept = default;

PointTotals SweepProgram::at(const Hardware& hardware) {
  const Prediction all = predict(state_->list, hardware, state_->options, Record::totals);
  return {.time_s = all.time_s,
          .compute_s = all.compute_s,
          .stall_s = all.stall_s,
          .drain_s = all.drain_s,
          .in_bytes = all.in_bytes,
          .out_bytes = all.out_bytes,
          .refetch_bytes = all.refetch_bytes,
          .peak_occupied_bytes = all.peak_occupied_bytes};
}

}  // namespace strata
