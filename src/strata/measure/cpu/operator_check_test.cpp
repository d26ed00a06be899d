// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operator_check_test.hpp"

#include "strata/graph/builder.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/measure/cpu/device.hpp"
#include "strata/measure/cpu/plain/stored_numbers.hpp"
#include "strata/measure/engine/device.hpp"
#include "strata/measure/engine/operator_checks_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace strata::training_test {
namespace {

TrainingDevice& cpu_with_libraries() {
  static const std::unique_ptr<TrainingDevice> device = cpu_training_device({});
  return *device;
}
TrainingDevice& plain_cpu() {
  static const std::unique_ptr<TrainingDevice> device = cpu_training::plain_cpu_device();
  return *device;
}

/// The operator as a node of a graph. Inputs that want a gradient are made from a parameter, or are
/// one.
struct Subject {
  Graph graph;
  NodeId node = 0;

  explicit Subject(const Trial& trial) {
    GraphBuilder builder("trial");
    std::vector<TensorId> inputs;
    for (const Source& source : trial.inputs) {
      const std::string name = "x" + std::to_string(inputs.size());
      Shape shape;
      for (const std::int64_t extent : source.shape) shape.push_back(extent);
      if (!source.wants_gradient || !is_floating(source.dtype)) {
        inputs.push_back(builder.input(name, shape, source.dtype));
        continue;
      }
      const TensorId parameter = builder.stored(name, shape, TensorKind::parameter, source.dtype);
      inputs.push_back(source.is_parameter
                           ? parameter
                           : builder.add("made_" + name, Unary{UnaryKind::identity}, {parameter}));
    }
    node = builder.add_node("subject", trial.op, inputs);
    for (const TensorId output : builder.graph().nodes[node].outputs) builder.output(output);
    graph = std::move(builder).finish();
  }
};

/// Memory of one tensor, read and written as fp64.
struct Block {
  DType dtype = DType::fp32;
  std::int64_t elements = 0;
  std::shared_ptr<void> memory;

  Block() = default;
  explicit Block(const BoundTensor& tensor)
      : dtype(tensor.dtype), elements(tensor.elements), memory(plain_cpu().allocate(tensor.bytes)) {
    spoil();
  }
  /// Not a number wherever there can be such a thing: what is read without being set shows.
  void spoil() const {
    write(std::vector<double>(static_cast<std::size_t>(elements),
                              is_floating(dtype) ? std::numeric_limits<double>::quiet_NaN() : 1));
  }
  void write(const std::vector<double>& values) const {
    cpu_training::plain::write_row(dtype, memory.get(), 0, elements, values.data());
  }
  std::vector<double> read() const {
    std::vector<double> values(static_cast<std::size_t>(elements));
    cpu_training::plain::read_row(dtype, memory.get(), 0, 1, elements, values.data());
    return values;
  }
};

std::shared_ptr<void> spoiled_bytes(std::int64_t bytes) {
  const std::shared_ptr<void> memory = plain_cpu().allocate(bytes);
  std::fill_n(static_cast<unsigned char*>(memory.get()), bytes, 0xff);  // a NaN in both types
  return memory;
}

/// The subject in one data type, ready to run.
class Bench {
 public:
  Bench(const Subject& subject, TrainingDevice& device, DType dtype)
      : bound_(bind_graph(subject.graph, {}, dtype)), id_(subject.node) {
    KernelsOrReason made = device.kernels(bound_, id_, true);
    if (const auto* reason = std::get_if<NoKernels>(&made)) {
      ADD_FAILURE() << reason->reason;
      return;
    }
    kernels_ = std::move(std::get<std::unique_ptr<NodeKernels>>(made));
    for (const TensorId id : node().inputs) inputs_.emplace_back(bound_.tensors[id]);
    for (const TensorId id : node().outputs) outputs_.emplace_back(bound_.tensors[id]);
    const NodeNeeds needs = kernels_->needs();
    saved_ = spoiled_bytes(needs.saved_bytes);
    scratch_ = spoiled_bytes(needs.scratch_bytes);
  }
  bool is_ready() const { return kernels_ != nullptr; }
  NodeNeeds needs() const { return kernels_->needs(); }

  const Node& node() const { return bound_.graph->nodes[id_]; }
  const BoundTensor& input(std::size_t i) const { return bound_.tensors[node().inputs[i]]; }
  const BoundTensor& output(std::size_t i) const { return bound_.tensors[node().outputs[i]]; }
  bool is_parameter(std::size_t i) const {
    return bound_.graph->tensors[node().inputs[i]].kind == TensorKind::parameter;
  }
  bool wants(std::size_t i) const { return input(i).wants_gradient && has_gradient(); }
  bool has_gradient() const {
    for (std::size_t i = 0; i < node().outputs.size(); ++i) {
      if (output(i).wants_gradient) return true;
    }
    return false;
  }

  std::vector<Numbers> forward(const std::vector<Numbers>& values) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].write(values[i].values);
    for (const Block& block : outputs_) block.spoil();
    kernels_->run(Pass::forward, memory());
    std::vector<Numbers> results;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      Numbers numbers;
      numbers.shape.assign(output(i).shape.begin(), output(i).shape.end());
      numbers.values = outputs_[i].read();
      results.push_back(numbers);
    }
    return results;
  }

  /// After forward: gradients of the inputs that want one; those of the other pass stay spoiled.
  std::vector<std::vector<double>> backward(Pass pass,
                                            const std::vector<std::vector<double>>& weights) {
    NodeMemory m = memory();
    std::vector<Block> output_gradients, input_gradients;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      output_gradients.emplace_back(output(i));
      output_gradients.back().write(weights[i]);
      m.output_gradients.push_back(output(i).wants_gradient ? output_gradients[i].memory.get()
                                                            : nullptr);
      if (!needs().outputs) m.outputs[i] = nullptr;
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      input_gradients.emplace_back(input(i));
      m.input_gradients.push_back(wants(i) ? input_gradients[i].memory.get() : nullptr);
      if (!needs().inputs && i < node().first_own) m.inputs[i] = nullptr;
    }
    kernels_->run(pass, m);
    std::vector<std::vector<double>> results;
    for (const Block& block : input_gradients) results.push_back(block.read());
    return results;
  }

 private:
  NodeMemory memory() const {
    NodeMemory m{.saved = needs().saved_bytes > 0 ? saved_.get() : nullptr,
                 .scratch = needs().scratch_bytes > 0 ? scratch_.get() : nullptr};
    for (const Block& block : inputs_) m.inputs.push_back(block.memory.get());
    for (const Block& block : outputs_) m.outputs.push_back(block.memory.get());
    return m;
  }

  BoundGraph bound_;
  NodeId id_;
  std::unique_ptr<NodeKernels> kernels_;
  std::vector<Block> inputs_, outputs_;
  std::shared_ptr<void> saved_, scratch_;
};

std::vector<double> random_values(Random& random, const Source& source, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) {
    value = source.below > 0 ? static_cast<double>(random.between(0, source.below - 1))
                             : random.real(source.low, source.high);
    if (source.below == 0) value = static_cast<double>(static_cast<float>(value));
  }
  if (!source.is_distinct) return values;
  // In random order, evenly spread.
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;) {
    std::swap(order[i],
              order[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(i)))]);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = (static_cast<double>(order[i]) + 0.5) / static_cast<double>(count);
    values[i] =
        static_cast<double>(static_cast<float>(source.low + (source.high - source.low) * share));
  }
  return values;
}

/// ‖a − b‖ relative to ‖b‖, and whether everything is a number.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return std::numeric_limits<double>::infinity();
    if (std::isnan(a[i]) || a[i] == b[i]) continue;
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference) / (std::sqrt(size) + 1e-3);
}

double weighted(const std::vector<Numbers>& outputs,
                const std::vector<std::vector<double>>& weights) {
  double sum = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    for (std::size_t i = 0; i < weights[o].size(); ++i) {
      sum += weights[o][i] * outputs[o].values[i];
    }
  }
  return sum;
}

/// The loss is the outputs times random weights; so many elements of each input are moved.
void expect_differences(Bench& bench, const std::vector<Numbers>& values,
                        const std::vector<std::vector<double>>& weights,
                        const std::vector<std::vector<double>>& gradients, Random& random) {
  constexpr std::int64_t most_moved = 12;
  constexpr double step = 1e-5;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!bench.wants(i)) continue;
    const auto count = static_cast<std::int64_t>(values[i].values.size());
    for (std::int64_t k = 0; k < std::min(count, most_moved); ++k) {
      const auto at =
          static_cast<std::size_t>(count <= most_moved ? k : random.between(0, count - 1));
      std::vector<Numbers> moved = values;
      moved[i].values[at] = values[i].values[at] + step;
      const double above = weighted(bench.forward(moved), weights);
      moved[i].values[at] = values[i].values[at] - step;
      const double below = weighted(bench.forward(moved), weights);
      const double slope = (above - below) / (2 * step);
      EXPECT_NEAR(gradients[i][at], slope, 2e-6 * (1 + std::fabs(slope)))
          << "input " << i << ", element " << at;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// Each of the two passes alone gives its gradients and touches no others.
void expect_separate_passes(Bench& bench, const std::vector<Numbers>& values,
                            const std::vector<std::vector<double>>& weights,
                            const std::vector<std::vector<double>>& together) {
  for (const Pass pass : {Pass::backward_input, Pass::backward_weight}) {
    bench.forward(values);
    const auto alone = bench.backward(pass, weights);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      if (!bench.wants(i)) continue;
      const bool is_of_pass = bench.is_parameter(i) == (pass == Pass::backward_weight);
      const double apart = distance(alone[i], together[i]);
      // What stays spoiled is infinitely far from a gradient.
      EXPECT_EQ(apart <= 1e-12, is_of_pass) << name_of(pass) << " of input " << i;
    }
  }
}

void expect_close(const std::vector<double>& found, const std::vector<double>& wanted,
                  double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  EXPECT_LE(distance(found, wanted), tolerance) << what;
}

std::vector<Numbers> random_inputs(const Trial& trial, const Bench& bench, Random& random) {
  std::vector<Numbers> values;
  for (std::size_t i = 0; i < bench.node().inputs.size(); ++i) {
    const BoundTensor& tensor = bench.input(i);
    Numbers numbers;
    numbers.shape.assign(tensor.shape.begin(), tensor.shape.end());
    const Source own{.low = trial.own_low, .high = trial.own_high};
    numbers.values =
        random_values(random, i < trial.inputs.size() ? trial.inputs[i] : own, tensor.elements);
    values.push_back(numbers);
  }
  return values;
}

void expect_outputs(const std::vector<Numbers>& found, const std::vector<Numbers>& wanted,
                    double tolerance) {
  ASSERT_EQ(wanted.size(), found.size());
  for (std::size_t o = 0; o < found.size(); ++o) {
    const std::string what = "output " + std::to_string(o);
    EXPECT_EQ(wanted[o].shape, found[o].shape) << what;
    expect_close(found[o].values, wanted[o].values, tolerance, what);
  }
}

}  // namespace

void check(const Trial& trial) {
  const Subject subject(trial);
  Bench exact(subject, plain_cpu(), DType::fp64);
  if (!exact.is_ready()) return;
  Random random(7);
  const std::vector<Numbers> values = random_inputs(trial, exact, random);
  std::vector<std::vector<double>> weights;
  for (std::size_t o = 0; o < exact.node().outputs.size(); ++o) {
    weights.push_back(random_values(random, {.low = -1, .high = 1}, exact.output(o).elements));
  }
  const std::vector<Numbers> wanted = trial.loops(values);
  expect_outputs(exact.forward(values), wanted, 1e-10);
  if (::testing::Test::HasFailure()) return;
  std::vector<std::vector<double>> gradients;
  if (exact.has_gradient()) {
    gradients = exact.backward(Pass::backward, weights);
    expect_differences(exact, values, weights, gradients, random);
    if (!exact.needs().backward_is_one) expect_separate_passes(exact, values, weights, gradients);
  }
  for (TrainingDevice* const device : {&plain_cpu(), &cpu_with_libraries()}) {
    SCOPED_TRACE(device == &plain_cpu() ? "plain loops in fp32" : "libraries in fp32");
    Bench single(subject, *device, DType::fp32);
    if (!single.is_ready()) return;
    expect_outputs(single.forward(values), wanted, 1e-4);
    if (!exact.has_gradient()) continue;
    const auto found = single.backward(Pass::backward, weights);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!exact.wants(i)) continue;
      expect_close(found[i], gradients[i], 2e-4 * trial.rounding,
                   "gradient of input " + std::to_string(i));
    }
    if (!single.needs().backward_is_one) expect_separate_passes(single, values, weights, found);
  }
}

void check_family(std::string_view test, std::uint32_t trials,
                  const std::function<Trial(const Operator&, Random&)>& make) {
  int operators = 0;
  for (const OperatorCheck& row : operator_checks()) {
    if (row.cpu_test != test) continue;
    ++operators;
    SCOPED_TRACE(row.name);
    const std::optional<Operator> prototype = operator_named(row.name);
    ASSERT_TRUE(prototype);
    for (std::uint32_t seed = 1; seed <= trials; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(seed);
      check(make(*prototype, random));
      if (::testing::Test::HasFailure()) break;
    }
  }
  EXPECT_GT(operators, 0) << test;
}

TEST(OperatorChecks, every_operator_names_a_test_that_exists) {
  std::set<std::string> tests;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      tests.insert(std::string(suite.name()) + "." + suite.GetTestInfo(t)->name());
    }
  }
  std::set<std::string_view> rows;
  for (const OperatorCheck& row : operator_checks()) {
    EXPECT_TRUE(rows.insert(row.name).second) << row.name << " twice";
    EXPECT_TRUE(tests.contains(std::string(row.cpu_test))) << row.name << ": " << row.cpu_test;
  }
  for (const std::string_view name : operator_names()) {
    EXPECT_EQ(rows.contains(name), name != "opaque") << name;
  }
}

}  // namespace strata::training_test
