// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

/// Programs that no network stands behind, for property tests: valid, small, and odd in every way
/// that the rules allow. `bound` is null.
namespace strata::random_programs {

struct ProgramShape {
  std::uint32_t most_steps = 12;
  std::uint32_t most_values = 10;
  std::uint32_t most_uses = 4;  ///< of one step
  std::int64_t most_bytes = 8;  ///< of one value, in units
  std::int64_t unit_bytes = 1;  ///< all sizes are multiples of it
  bool equal_sizes = false;     ///< every value has most_bytes
  bool read_only = false;       ///< no step writes: all values are given
  std::int64_t most_flop = 100;
};

class Generator {
 public:
  Generator(std::uint32_t seed, const ProgramShape& shape) : random_(seed), shape_(shape) {}

  Program program() {
    Program program;
    program.samples = 1;
    const std::uint32_t values = between(1, shape_.most_values);
    for (std::uint32_t i = 0; i < values; ++i) program.values.push_back(value());
    const std::uint32_t steps = between(1, shape_.most_steps);
    for (std::uint32_t i = 0; i < steps; ++i) add_step(program);
    for (std::size_t i = 0; i < values; ++i) {  // what nobody made is no result
      program.values[i].is_result = program.values[i].is_result && made_[i];
    }
    return program;
  }

 private:
  std::uint32_t between(std::int64_t least, std::int64_t most) {
    return static_cast<std::uint32_t>(
        std::uniform_int_distribution<std::int64_t>(least, most)(random_));
  }
  bool one_in(int n) { return between(1, n) == 1; }

  Value value() {
    constexpr ValueKind kinds[] = {
        ValueKind::feature, ValueKind::feature,  ValueKind::saved,          ValueKind::weight,
        ValueKind::state,   ValueKind::gradient, ValueKind::weight_gradient};
    Value value;
    value.kind = kinds[between(0, 6)];
    const std::int64_t units =
        shape_.equal_sizes ? shape_.most_bytes : between(1, shape_.most_bytes);
    value.bytes = units * shape_.unit_bytes;
    value.row_bytes = between(1, units) * shape_.unit_bytes;
    value.is_given = shape_.read_only || one_in(2);
    value.is_result = !shape_.read_only && one_in(4);
    made_.push_back(value.is_given);
    return value;
  }

  void add_step(Program& program) {
    Step step;
    step.node = no_node;
    step.first_use = static_cast<std::uint32_t>(program.uses.size());
    step.pass = one_in(2) ? Pass::forward : Pass::backward;
    step.layer_class = one_in(2)   ? LayerClass::dense
                       : one_in(2) ? LayerClass::pointwise
                                   : LayerClass::other;
    step.mac = step.layer_class == LayerClass::dense ? between(0, shape_.most_flop / 2) : 0;
    step.flop = 2 * step.mac + between(0, shape_.most_flop - 2 * step.mac);
    program.steps.push_back(step);

    std::vector<ValueId> choice(program.values.size());
    for (ValueId id = 0; id < choice.size(); ++id) choice[id] = id;
    std::shuffle(choice.begin(), choice.end(), random_);
    choice.resize(std::min<std::size_t>(choice.size(), between(1, shape_.most_uses)));
    for (const ValueId id : choice) {
      Use use{id, false, false};
      use.reads = made_[id] && (shape_.read_only || one_in(2));
      use.writes = !shape_.read_only && (!use.reads || one_in(3));
      program.uses.push_back(use);
    }
    for (const ValueId id : choice) made_[id] = true;
  }

  std::mt19937 random_;
  ProgramShape shape_;
  std::vector<bool> made_;
};

/// Any valid program: steps use random values, in random ways; nothing is read before it was made.
inline Program any_program(std::uint32_t seed, const ProgramShape& shape = {}) {
  return Generator(seed, shape).program();
}

}  // namespace strata::random_programs
