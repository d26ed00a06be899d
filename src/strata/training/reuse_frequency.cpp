// SPDX-License-Identifier: Apache-2.0
#include "strata/training/reuse_frequency.hpp"

#include "strata/base/checked.hpp"

#include <algorithm>
#include <utility>

namespace strata {

double StepReuse::frequency() const {
  return bytes > 0 ? static_cast<double>(operations) / static_cast<double>(bytes) : 0;
}

double StepReuse::attainable_per_s(double peak_per_s, double bytes_per_s) const {
  return std::min(frequency() * bytes_per_s, peak_per_s);
}

std::vector<StepReuse> reuse_frequencies(const Program& program, CountMac count) {
  std::vector<StepReuse> all;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    const Step& step = program.steps[id];
    if (step.flop == 0 || step.time > 1) continue;
    StepReuse reuse{.step = id,
                    .operations = count == CountMac::as_one ? step.flop - step.mac : step.flop};
    for (const Use& use : program.uses_of(id)) {
      const std::int64_t bytes = program.values[use.value].bytes;
      reuse.bytes = checked_add(reuse.bytes, bytes);
      const double frequency =
          bytes > 0 ? static_cast<double>(reuse.operations) / static_cast<double>(bytes) : 0;
      reuse.values.push_back({use.value, bytes, frequency});
    }
    all.push_back(std::move(reuse));
  }
  return all;
}

}  // namespace strata
