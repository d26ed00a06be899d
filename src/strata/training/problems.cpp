// SPDX-License-Identifier: Apache-2.0
#include "strata/training/program.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace strata {
namespace {

constexpr std::size_t most_problems = 20;  // a program that is wrong is often wrong everywhere

class Inspection {
 public:
  explicit Inspection(const Program& program)
      : program_(program),
        is_made_(program.values.size(), false),
        last_step_(program.values.size(), ~StepId{0}) {}

  std::vector<std::string> problems() && {
    look_at_values();
    if (has_ordered_uses()) {
      for (StepId step = 0; step < program_.steps.size(); ++step) look_at(step);
      look_at_shared_operands();
      look_at_results();
    }
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    if (problems_.size() < most_problems)
      problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void look_at_values() {
    for (ValueId id = 0; id < program_.values.size(); ++id) {
      const Value& value = program_.values[id];
      is_made_[id] = value.is_given;
      if (value.bytes <= 0) say("value {} has {} bytes", id, value.bytes);
      if (value.row_bytes < 0 || value.row_bytes > value.bytes)
        say("value {} of {} bytes has a row of {}", id, value.bytes, value.row_bytes);
    }
  }

  bool has_ordered_uses() {
    std::size_t begin = 0;
    for (StepId step = 0; step < program_.steps.size(); ++step) {
      const std::size_t first = program_.steps[step].first_use;
      if (first < begin || first > program_.uses.size() || (step == 0 && first != 0)) {
        say("step {} begins at use {}, out of order", step, first);
        return false;
      }
      begin = first;
    }
    if (program_.steps.empty() && !program_.uses.empty()) say("uses without steps");
    return true;
  }

  void look_at(StepId step) {
    const Step& it = program_.steps[step];
    if (it.flop < 0 || it.mac < 0 || it.mac > it.flop / 2)
      say("step {} has {} FLOP and {} multiply-adds", step, it.flop, it.mac);
    for (const Use& use : program_.uses_of(step)) {
      if (use.value >= program_.values.size()) {
        say("step {} uses value {}, which does not exist", step, use.value);
        continue;
      }
      if (last_step_[use.value] == step) say("step {} uses value {} twice", step, use.value);
      last_step_[use.value] = step;
      if (!use.reads && !use.writes) say("step {} does nothing with value {}", step, use.value);
      if (use.reads && !is_made_[use.value])
        say("step {} reads value {}, which nobody made", step, use.value);
    }
    for (const Use& use : program_.uses_of(step)) {
      if (use.value < program_.values.size() && use.writes) is_made_[use.value] = true;
    }
  }

  void look_at_shared_operands() {
    StepId before = 0;
    for (const SharedOperand& shared : program_.shared_operands) {
      if (shared.step < before || shared.step >= program_.steps.size())
        return say("a shared operand of step {} is out of order", shared.step);
      before = shared.step;
      const auto uses = program_.uses_of(shared.step);
      if (shared.value != no_value && std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
            return use.value == shared.value;
          }))
        say("step {} shares value {}, which it does not use", shared.step, shared.value);
    }
  }

  void look_at_results() {
    for (ValueId id = 0; id < program_.values.size(); ++id) {
      if (program_.values[id].is_result && !is_made_[id])
        say("value {} is a result, but nobody makes it", id);
    }
  }

  const Program& program_;
  std::vector<bool> is_made_;
  std::vector<StepId> last_step_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> problems_of(const Program& program) {
  return Inspection(program).problems();
}

}  // namespace strata
