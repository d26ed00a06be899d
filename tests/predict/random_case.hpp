// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/plan.hpp"
#include "strata/training/random_program_test.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>
#include <vector>

namespace strata {

/// A random program, hardware and options, all from one number: Case(seed) is all that it takes to
/// see a failure again.
struct Case {
  explicit Case(std::uint32_t number) : seed(number), random(number) {
    random_programs::ProgramShape shape;
    shape.most_steps = pick(2, 24);
    shape.most_values = pick(2, 16);
    shape.most_uses = pick(1, 6);
    shape.most_bytes = pick(1, 30);
    shape.most_flop = pick(0, 3) == 0 ? 0 : pick(2, 300);  // some programs compute nothing at all
    program = random_programs::any_program(number, shape);
    hardware.capacity_bytes = any_capacity();

    const bool is_exact = pick(0, 1) == 0;  // powers of two: events often fall together
    const auto rate = [&] { return is_exact ? std::ldexp(1.0, pick(-2, 3)) : odd_rate(); };
    hardware.bytes_per_s = rate();
    hardware.dense_flop_per_s = rate();
    hardware.other_flop_per_s = pick(0, 1) == 0 ? hardware.dense_flop_per_s : rate();
    hardware.mac_is_one = pick(0, 3) == 0;
    options.prefetch = static_cast<Prefetch>(pick(0, 4));
    options.offload = static_cast<Offload>(pick(0, 1));
    options.policy = pick(0, 3) == 0 ? Policy::belady : Policy::thesis;
    options.strict_minimum = pick(0, 3) == 0;
    options.channel = static_cast<ChannelOrder>(pick(0, 1));
    hardware.is_cache = number % 3 == 0;
  }

  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random); }

  /// Such that no two events fall together unless they must.
  double odd_rate() { return std::uniform_real_distribution(0.1, 10.0)(random); }

  /// The same with sizes so large and odd that capacities fall between those that are used.
  void make_larger() {
    const std::int64_t factor = 2 * pick(20, 40'000) + 1;
    for (Value& value : program.values) {
      value.bytes *= factor;
      value.row_bytes *= factor;
    }
    hardware.capacity_bytes = hardware.capacity_bytes * factor + pick(0, static_cast<int>(factor));
    hardware.bytes_per_s *= static_cast<double>(factor);
  }

  /// A worth for every use, as packed_plan wants it.
  std::vector<double> any_worth() {
    std::vector<double> worth(program.uses.size());
    for (double& of_use : worth) of_use = odd_rate();
    return worth;
  }

  /// The capacity below which a step's rows do not fit.
  std::int64_t lowest_capacity() const {
    std::int64_t lowest = 0;
    for (StepId step = 0; step < program.steps.size(); ++step) {
      std::int64_t rows = 0;
      for (const Use& use : program.uses_of(step)) rows += program.values[use.value].row_bytes;
      lowest = std::max(lowest, rows);
    }
    return lowest;
  }

  std::uint32_t seed;
  std::mt19937 random;
  Program program;
  Hardware hardware;
  PredictOptions options;

 private:
  // Below one row up to above everything; often about what the largest step needs, or less.
  std::int64_t any_capacity() {
    std::int64_t all = 0;
    for (const Value& value : program.values) all += value.bytes;
    std::int64_t largest = 0;
    for (StepId step = 0; step < program.steps.size(); ++step) {
      std::int64_t bytes = 0;
      for (const Use& use : program.uses_of(step)) bytes += program.values[use.value].bytes;
      largest = std::max(largest, bytes);
    }
    switch (pick(0, 2)) {
      case 0: return pick(1, static_cast<int>(all) + 2);
      case 1: return pick(1, 2 * static_cast<int>(largest));
      default: return pick(static_cast<int>(lowest_capacity()), static_cast<int>(largest));
    }
  }
};

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  out << "seed " << c.seed << ", capacity " << c.hardware.capacity_bytes << ", bytes/s "
      << c.hardware.bytes_per_s << ", prefetch " << static_cast<int>(*c.options.prefetch)
      << ", offload " << static_cast<int>(*c.options.offload) << ", policy "
      << static_cast<int>(c.options.policy) << ", channel " << static_cast<int>(c.options.channel)
      << '\n';
  for (std::size_t id = 0; id < c.program.values.size(); ++id) {
    const Value& value = c.program.values[id];
    out << "  v" << id << ' ' << value.bytes << " bytes, row " << value.row_bytes << ", kind "
        << static_cast<int>(value.kind) << (value.is_result ? ", result\n" : "\n");
  }
  for (StepId step = 0; step < c.program.steps.size(); ++step) {
    const bool is_dense = c.program.steps[step].layer_class == LayerClass::dense;
    out << "  step " << step << (is_dense ? " dense" : "") << ", flop "
        << c.program.steps[step].flop << ':';
    for (const Use& use : c.program.uses_of(step)) {
      out << " v" << use.value << (use.reads ? "r" : "") << (use.writes ? "w" : "");
    }
    out << '\n';
  }
  return out;
}

}  // namespace strata
