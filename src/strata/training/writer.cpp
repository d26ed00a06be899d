// SPDX-License-Identifier: Apache-2.0
#include "strata/training/writer.hpp"

#include "strata/base/error.hpp"
#include "strata/training/step_limit.hpp"

#include <limits>
#include <utility>

namespace strata {
namespace {

// Ids and indices are 32 bits wide: half the memory, and far beyond what anybody waits for.
constexpr std::size_t most_entries = most_uses;
static_assert(most_uses < std::numeric_limits<std::uint32_t>::max());
constexpr std::uint32_t never_used = ~std::uint32_t{0};

void require_room(std::size_t count, const char* what) {
  if (count >= most_entries)
    fail(ErrorKind::unsupported, "the iteration has more than {} {}", most_entries, what);
}

}  // namespace

ValueId ProgramWriter::add(const Value& value) {
  require_room(program_.values.size(), "values");
  STRATA_CHECK(value.bytes > 0 && value.row_bytes > 0, "a value has a size and a row");
  program_.values.push_back(value);
  last_use_.push_back(never_used);
  return static_cast<ValueId>(program_.values.size() - 1);
}

void ProgramWriter::begin(Step step) {
  require_few_steps(static_cast<std::int64_t>(program_.steps.size()) + 1);
  step.first_use = static_cast<std::uint32_t>(program_.uses.size());
  program_.steps.push_back(step);
}

Use& ProgramWriter::use_of(ValueId id, StepOperand as) {
  std::uint32_t& last = last_use_[id];
  if (last == never_used || last < program_.steps.back().first_use) {
    require_room(program_.uses.size(), "uses");
    if (as.index >= Use::most_operands)
      fail(ErrorKind::unsupported, "a node has more than {} operands", Use::most_operands);
    last = static_cast<std::uint32_t>(program_.uses.size());
    program_.uses.push_back({id, false, false, as});
  } else if (program_.uses[last].is() != as) {
    share(id, as);
  }
  return program_.uses[last];
}

void ProgramWriter::share(ValueId id, StepOperand as) {
  const auto step = static_cast<StepId>(program_.steps.size() - 1);
  for (const SharedOperand& earlier : program_.shared_operands_of(step)) {
    if (earlier.is == as && earlier.value == id) return;
  }
  program_.shared_operands.push_back({step, as, id});
}

void ProgramWriter::reads(ValueId id, StepOperand as) {
  Use& use = use_of(id, as);
  use.reads = use.reads || !use.writes;
}

void ProgramWriter::writes(ValueId id, StepOperand as) { use_of(id, as).writes = true; }

void ProgramWriter::lacks(StepOperand as) { share(no_value, as); }

void ProgramWriter::add_work(std::int64_t flop, std::int64_t mac) {
  Step& step = program_.steps.back();
  step.flop = checked_add(step.flop, flop);
  step.mac = checked_add(step.mac, mac);
}

Program ProgramWriter::finish(std::int64_t samples) {
  program_.samples = samples;
  return std::move(program_);
}

}  // namespace strata
