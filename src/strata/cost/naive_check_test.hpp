// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/naive_test.hpp"

#include <set>
#include <string>
#include <vector>

namespace strata::naive {

/// Calls f(Random&) for so many seeds, and stops at the first that fails.
template <class F>
void for_random_cases(std::uint32_t count, F f) {
  for (std::uint32_t seed = 1; seed <= count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    f(random);
    if (::testing::Test::HasFailure()) return;
  }
}

inline Role any_role(Random& random) {
  return random.pick({Role::activation, Role::activation, Role::network_input, Role::parameter});
}
inline std::optional<DType> any_dtype(Random& random) {
  return random.pick<std::optional<DType>>({std::nullopt, DType::bf16, DType::fp64});
}

inline std::string text_of(Operand operand, AccessMode mode, std::size_t index) {
  static const char* const operands[] = {"input", "output", "saved", "output gradient",
                                         "input gradient"};
  static const char* const modes[] = {"reads", "writes", "aliases"};
  return std::string(modes[static_cast<int>(mode)]) + " " + operands[static_cast<int>(operand)] +
         " " + std::to_string(index);
}

/// Compares one pass of the cost with what the loops did.
inline void expect_pass(const PassCost& cost, const Tally& counted,
                        const Run<Counted>::Marks& marks, const Run<Counted>::Marks& whole,
                        Touch touch) {
  EXPECT_EQ(cost.mac, counted.mac) << "multiply-adds";
  EXPECT_EQ(cost.flop, counted.flop) << "FLOP";
  EXPECT_EQ(cost.accesses.size(), marks.size()) << "number of accesses";
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
  Run<Counted>::Marks seen;
  for (const Access& access : cost.accesses) {
    SCOPED_TRACE("cost " + text_of(access.operand, access.mode, access.index));
    const auto touched = marks.find({access.operand, access.mode, access.index});
    ASSERT_NE(touched, marks.end()) << "the loops do not";
    EXPECT_TRUE(seen.insert(*touched).second) << "twice";
    const std::int64_t all = whole.at(touched->first);
    if (access.mode == AccessMode::alias) {
      EXPECT_EQ(access.bytes, 0);
      continue;
    }
    if (touch == Touch::whole) {
      EXPECT_EQ(touched->second, all) << "the loops leave gaps";
    }
    EXPECT_EQ(access.bytes, touch == Touch::parts ? touched->second : all);
    (access.mode == AccessMode::read ? read_bytes : write_bytes) += access.bytes;
  }
  EXPECT_EQ(cost.read_bytes(), read_bytes);
  EXPECT_EQ(cost.write_bytes(), write_bytes);
}

/// The same keys, with the sizes of the whole tensors.
inline Run<Counted>::Marks whole_sizes(Run<Counted>& run, const Run<Counted>::Marks& marks) {
  Run<Counted>::Marks sizes;
  for (const auto& [key, bytes] : marks) {
    const auto& [operand, mode, i] = key;
    switch (operand) {
      case Operand::input: sizes[key] = run.input(i).bytes(); break;
      case Operand::output: sizes[key] = run.output(i).bytes(); break;
      case Operand::saved: sizes[key] = run.saved(i).bytes(); break;
      case Operand::output_gradient: sizes[key] = run.output_gradient(i).bytes(); break;
      case Operand::input_gradient: sizes[key] = run.input_gradient(i).bytes(); break;
      default: ADD_FAILURE() << "no operand of a node";
    }
  }
  return sizes;
}

/// What of the tensors between nodes, and of what forward saved, the loops read in backward.
class KeptByLoops {
 public:
  explicit KeptByLoops(const Subject& subject) : subject_(subject) {}

  void note(const Run<Counted>::Marks& marks, const Run<Counted>::Marks& sizes, Pass pass) {
    const Node& node = subject_.graph.nodes[subject_.node];
    for (const auto& [key, touched] : marks) {
      const auto& [operand, mode, i] = key;
      if (pass == Pass::forward) {
        if (operand == Operand::saved && mode == AccessMode::write) saved_[i] = sizes.at(key);
      } else if (mode == AccessMode::read) {
        if (operand == Operand::input) note_input(node.inputs[i]);
        if (operand == Operand::output) tensors_.insert(node.outputs[i]), output_ = true;
      }
    }
  }

  void expect(const Kept& kept) const {
    std::int64_t bytes = 0;
    for (const TensorId id : tensors_) bytes += subject_.bound.tensors[id].bytes;
    for (const auto& [index, saved_bytes] : saved_) bytes += saved_bytes;
    EXPECT_EQ(kept.bytes, bytes);
    EXPECT_EQ(kept.input, input_);
    EXPECT_EQ(kept.output, output_);
    EXPECT_EQ(kept.text == "nothing", bytes == 0) << kept.text;
  }

 private:
  void note_input(TensorId id) {
    const TensorKind kind = subject_.graph.tensors[id].kind;
    if (kind != TensorKind::input && kind != TensorKind::activation) return;
    tensors_.insert(id);
    input_ = true;
  }

  const Subject& subject_;
  std::set<TensorId> tensors_;
  std::map<std::size_t, std::int64_t> saved_;
  bool input_ = false;
  bool output_ = false;
};

/// Counts what the loops do and compares it with the cost.
template <class Naive>
void check_counts(const Naive& naive, const Subject& subject, const std::vector<Source>& sources,
                  const Options& options) {
  const NodeCost cost = cost_of(subject.bound, subject.node, options.mode);
  Run<Counted> run(subject, sources, options);
  KeptByLoops kept(subject);
  const auto check_pass = [&](Pass pass, const PassCost& expected, const char* name) {
    SCOPED_TRACE(name);
    run.begin(pass);
    tally = {};
    if (pass == Pass::forward) {
      naive.forward(run);
    } else if (run.has_backward()) {
      naive.backward(run);
    }
    const Tally counted = tally;
    const auto marks = run.marks();
    const auto sizes = whole_sizes(run, marks);
    expect_pass(expected, counted, marks, sizes, options.touch);
    kept.note(marks, sizes, pass);
  };
  check_pass(Pass::forward, cost.forward, "forward");
  check_pass(Pass::backward_input, cost.backward_input, "backward_input");
  check_pass(Pass::backward_weight, cost.backward_weight, "backward_weight");

  EXPECT_TRUE(cost.is_counted);
  ASSERT_EQ(cost.saved.size(), run.saved_things().size());
  for (std::size_t i = 0; i < cost.saved.size(); ++i) {
    EXPECT_EQ(cost.saved[i].name, run.saved_things()[i].name);
    EXPECT_EQ(cost.saved[i].bytes, run.saved_things()[i].tensor.bytes()) << cost.saved[i].name;
  }
  kept.expect(kept_for_backward(subject.bound, subject.node, cost));
}

/// Σ dY·Y over the outputs that have a gradient: the number whose gradient backward computes.
template <class Naive>
double weighted_output(const Naive& naive, Run<double>& run) {
  run.begin(Pass::forward);
  naive.forward(run);
  double sum = 0;
  for (std::size_t i = 0; i < run.output_count(); ++i) {
    if (!run.has_gradient(i)) continue;
    for (std::size_t k = 0; k < run.output(i).values.size(); ++k) {
      sum += run.output(i).values[k] * run.output_gradient(i).values[k];
    }
  }
  return sum;
}

/// Compares the loops' gradients with finite differences at a few numbers of every input.
template <class Naive>
void check_gradients(const Naive& naive, const Subject& subject, const std::vector<Source>& sources,
                     const Options& options) {
  Run<double> run(subject, sources, options);
  if (!run.has_backward()) return;
  run.begin(Pass::forward);
  naive.forward(run);
  std::vector<std::vector<double>> gradients(
      run.input_count());  // summed over the uses of a tensor
  for (const Pass pass : {Pass::backward_input, Pass::backward_weight}) {
    run.begin(pass);
    naive.backward(run);
    for (std::size_t i = 0; i < run.input_count(); ++i) {
      if (!run.wants(i)) continue;
      std::vector<double>& sum = gradients[run.first_use(i)];
      sum.resize(run.input(i).values.size());
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += run.input_gradient(i).values[k];
    }
  }
  // Each number takes two forward passes: a stack of cells with 30 weights has one of each, and the
  // many cases of a test take others.
  static std::uint32_t turn = 0;
  Random random(++turn);
  const std::size_t samples = std::clamp<std::size_t>(24 / gradients.size(), 1, 4);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].empty()) continue;
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const auto k = static_cast<std::size_t>(
          random.between(0, static_cast<std::int64_t>(gradients[i].size()) - 1));
      const double step = 1e-5;
      double around[2];
      for (const int side : {0, 1}) {
        Run<double> moved(subject, sources, options);
        moved.input(i).values[k] += side == 0 ? -step : step;
        around[side] = weighted_output(naive, moved);
      }
      const double expected = (around[1] - around[0]) / (2 * step);
      EXPECT_NEAR(gradients[i][k], expected, 2e-5 * std::max(1.0, std::fabs(expected)))
          << "gradient of input " << i << " at " << k;
    }
  }
}

template <class Naive>
void check(const Naive& naive, const std::vector<Source>& sources, const Options& options = {}) {
  const Subject subject(naive.op, sources, options);
  check_counts(naive, subject, sources, options);
  if (options.is_smooth && !::testing::Test::HasFailure())
    check_gradients(naive, subject, sources, options);
}

}  // namespace strata::naive
