// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/capacity.hpp"

#include "strata/base/checked.hpp"

namespace strata {

bool must_be_whole(const Program& program, StepId step, const Use& use) {
  if (program.steps[step].layer_class != LayerClass::dense) return false;
  const ValueKind kind = program.values[use.value].kind;
  return kind == ValueKind::weight || kind == ValueKind::weight_gradient;
}

std::int64_t least_bytes(const Program& program, StepId step, const Use& use) {
  const Value& value = program.values[use.value];
  return must_be_whole(program, step, use) ? value.bytes : value.row_bytes;
}

StepNeed need_of(const Program& program, StepId step) {
  Count all;
  Count least;
  Count rows;
  for (const Use& use : program.uses_of(step)) {
    const Value& value = program.values[use.value];
    all += value.bytes;
    least += least_bytes(program, step, use);
    rows += value.row_bytes;
  }
  return {all.value(), least.value(), rows.value()};
}

std::vector<StepNeed> needs_of(const Program& program) {
  std::vector<StepNeed> needs(program.steps.size());
  for (StepId step = 0; step < program.steps.size(); ++step) needs[step] = need_of(program, step);
  return needs;
}

std::int64_t tolerated_bytes(std::int64_t capacity_bytes, const PredictOptions& options) {
  if (!options.strict_minimum) return 0;
  return capacity_bytes +
         static_cast<std::int64_t>(static_cast<double>(capacity_bytes) * options.minimum_slack);
}

Slicing slicing_of(const Program& program, StepId step, std::int64_t capacity_bytes) {
  std::int64_t whole = 0;    // what the slices are cut from
  std::int64_t rows = 0;     // of everything else
  std::int64_t rereads = 0;  // what every slice needs again
  for (const Use& use : program.uses_of(step)) {
    const Value& value = program.values[use.value];
    if (must_be_whole(program, step, use)) {
      whole += value.bytes;
    } else {
      rows += value.row_bytes;
      if (use.reads) rereads += value.bytes;
    }
  }
  const std::int64_t room = room_for_slices(rows, capacity_bytes);
  const std::int64_t slices = std::max<std::int64_t>((whole + room - 1) / room, 1);
  const bool cuts_rows = rows > capacity_bytes - room;
  return {.slices = slices,
          .held_bytes = cuts_rows ? capacity_bytes : rows + (whole + slices - 1) / slices,
          .refetch_bytes = checked_mul(slices - 1, rereads),
          .cuts_rows = cuts_rows};
}

MinimumCapacity minimum_capacity(const Program& program) {
  MinimumCapacity minimum;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const std::int64_t least = need_of(program, step).least_bytes;
    if (least > minimum.bytes) minimum = {least, step};
  }
  return minimum;
}

}  // namespace strata
