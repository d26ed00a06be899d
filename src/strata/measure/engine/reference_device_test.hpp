// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/measure/engine/device.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// A device for tests of what runs on devices: a few operators as plain loops in double precision,
/// and a clock that only the work moves on, so that every time is known beforehand.
namespace strata::reference {

using Run = std::function<void(Pass, const NodeMemory&)>;

inline double* numbers(void* memory) { return static_cast<double*>(memory); }

/// What a run takes on the device's clock.
inline constexpr double kernel_s = 1e-3;
inline constexpr double addition_s = 1e-4;
inline constexpr double update_s = 2e-4;

struct Settings {
  std::set<std::string> without;  ///< operators that it does not have
  std::int64_t free_bytes = std::int64_t{1} << 40;
  bool backward_is_one = false;  ///< of a Linear
  bool traces = false;
  bool records = false;
  bool is_watched = false;
  std::size_t updates_together = 1;
  std::vector<std::string> notes = {};  ///< on how kernels were chosen
  double traced_slowdown = 1;           ///< by which kernels seem to take longer under tracing
  bool counts = false;
  bool counts_kernels = false;
  std::size_t most_ranges = 1000;     ///< that are counted at a time
  std::string refuses_counting = "";  ///< with this reason, when it is begun
};

class Device final : public TrainingDevice {
 public:
  Settings settings;
  double clock_s = 0;
  int kernels_made = 0;
  std::function<void(const std::string& kernel)> on_kernel = {};  ///< told before each

  std::string name() const override { return "reference device"; }
  std::vector<std::string> versions() const override { return {"loops 1.0"}; }
  std::int64_t free_bytes() const override { return settings.free_bytes; }
  std::shared_ptr<void> allocate(std::int64_t bytes) override {
    // Not a number wherever nobody has written: what reads it shows.
    const auto count = static_cast<std::size_t>(bytes) / sizeof(double) + 1;
    auto memory = std::make_shared<std::vector<double>>(count, std::nan(""));
    return {memory, memory->data()};
  }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void wait() override {}
  void fill_zero(void* to, std::int64_t bytes) override {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
  }

  void add(void* sum, const void* a, const void* b, std::int64_t elements, DType) override {
    for (std::int64_t i = 0; i < elements; ++i)
      numbers(sum)[i] = static_cast<const double*>(a)[i] + static_cast<const double*>(b)[i];
    spend("add", addition_s);
  }

  void update(const UpdateRule& rule, const UpdateMemory& memory) override {
    for (std::int64_t i = 0; i < memory.elements; ++i) {
      double step = static_cast<const double*>(memory.gradient)[i];
      if (rule.optimizer == Optimizer::momentum)
        step = memory.states[0][i] = static_cast<float>(rule.momentum * memory.states[0][i] + step);
      numbers(memory.parameter)[i] -= rule.learning_rate * step;
    }
    spend("update", update_s);
  }

  std::size_t most_updates_together() const override { return settings.updates_together; }
  std::vector<std::string> take_notes() override { return std::exchange(settings.notes, {}); }

  KernelsOrReason kernels(const BoundGraph& bound, NodeId node, bool training) override;

  std::unique_ptr<Stopwatch> stopwatch(std::size_t marks) override {
    return std::make_unique<Watch>(*this, marks);
  }
  std::unique_ptr<ConditionWatch> watch() override {
    class Seen final : public ConditionWatch {
      ConditionsSeen stop() override {
        return {.clock_hz = 2e9, .memory_clock_hz = {}, .power_w = 90, .note = "hot"};
      }
    };
    return settings.is_watched ? std::make_unique<Seen>() : nullptr;
  }
  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override {
    if (!settings.records) return nullptr;
    return std::make_unique<Recording>(work);
  }
  std::vector<KernelRun> trace(
      const std::function<void(const std::function<void(std::size_t)>&)>& work) override {
    if (!settings.traces) return {};
    runs_.clear();
    is_tracing_ = true;
    work([&](std::size_t part) { part_ = part; });
    is_tracing_ = false;
    return runs_;
  }

  std::unique_ptr<RangeCounters> counters() override;  // clock_counters_test.hpp

  void spend(const std::string& what, double seconds) {
    if (on_kernel) on_kernel(what);
    if (is_tracing_) runs_.push_back({what, part_, clock_s, seconds * settings.traced_slowdown});
    clock_s += seconds;
  }

 private:
  class Watch final : public Stopwatch {
   public:
    Watch(Device& device, std::size_t marks) : device_(device), times_(marks) {}
    void mark(std::size_t index) override { times_.at(index) = device_.clock_s; }
    std::vector<double> seconds() override {
      std::vector<double> after = times_;
      for (double& time : after) time -= times_.front();
      return after;
    }

   private:
    Device& device_;
    std::vector<double> times_;
  };

  class Recording final : public RecordedWork {
   public:
    explicit Recording(std::function<void()> work) : work_(std::move(work)) {}
    void launch() override { work_(); }

   private:
    std::function<void()> work_;
  };

  bool is_tracing_ = false;
  std::size_t part_ = 0;
  std::vector<KernelRun> runs_;
};

class Kernels final : public NodeKernels {
 public:
  Kernels(Device& device, std::string name, const NodeNeeds& needs, Run run)
      : device_(device), name_(std::move(name)), needs_(needs), run_(std::move(run)) {}
  NodeNeeds needs() const override { return needs_; }
  std::string implementation(Pass) const override { return name_ + " loops"; }
  void run(Pass pass, const NodeMemory& memory) override {
    if (needs_.scratch_bytes > 0)  // whatever was there is gone
      for (std::size_t i = 0; i < static_cast<std::size_t>(needs_.scratch_bytes) / 8; ++i)
        numbers(memory.scratch)[i] = std::nan("");
    run_(pass, memory);
    device_.spend(name_, kernel_s);
  }

 private:
  Device& device_;
  std::string name_;
  NodeNeeds needs_;
  Run run_;
};

/// Makes the loops of one node. A gradient is computed where there is memory for it.
struct LoopMaker {
  const BoundGraph& bound;
  const Node& node;
  NodeNeeds& needs;
  bool linear_backward_is_one;

  std::int64_t size(std::size_t input) const { return bound.tensors[node.inputs[input]].elements; }
  std::int64_t last(std::size_t input) const {
    const BoundTensor& tensor = bound.tensors[node.inputs[input]];
    return tensor[tensor.axes() - 1];
  }

  Run operator()(const Linear& op) const {
    needs.inputs = true;
    needs.backward_is_one = linear_backward_is_one;
    const std::int64_t in = last(0), out = op.features, rows = size(0) / in;
    return [=, bias = op.bias](Pass pass, const NodeMemory& m) {
      const double* w = numbers(m.inputs[1]);
      if (pass == Pass::forward) {
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t o = 0; o < out; ++o) {
            double sum = bias ? numbers(m.inputs[2])[o] : 0;
            for (std::int64_t i = 0; i < in; ++i)
              sum += numbers(m.inputs[0])[r * in + i] * w[o * in + i];
            numbers(m.outputs[0])[r * out + o] = sum;
          }
        return;
      }
      const double* dy = numbers(m.output_gradients[0]);
      for (std::size_t input = 0; input < m.input_gradients.size(); ++input) {
        double* to = numbers(m.input_gradients[input]);
        if (to == nullptr) continue;
        const std::int64_t count = input == 0 ? rows * in : input == 1 ? out * in : out;
        std::fill(to, to + count, 0.0);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t o = 0; o < out; ++o) {
            const double d = dy[r * out + o];
            if (input == 2) to[o] += d;
            for (std::int64_t i = 0; input < 2 && i < in; ++i) {
              if (input == 0) to[r * in + i] += d * w[o * in + i];
              if (input == 1) to[o * in + i] += d * numbers(m.inputs[0])[r * in + i];
            }
          }
      }
    };
  }

  // Hyperbolic tangent keeps its output; the rectifier leaves a mask and uses scratch on its way.
  Run operator()(const Unary& op) const {
    const std::int64_t count = size(0);
    if (op.kind == UnaryKind::tanh) {
      needs.outputs = true;
      return [=](Pass pass, const NodeMemory& m) {
        for (std::int64_t i = 0; i < count; ++i) {
          if (pass == Pass::forward) {
            numbers(m.outputs[0])[i] = std::tanh(numbers(m.inputs[0])[i]);
          } else {
            const double y = numbers(m.outputs[0])[i];
            numbers(m.input_gradients[0])[i] = numbers(m.output_gradients[0])[i] * (1 - y * y);
          }
        }
      };
    }
    needs.saved_bytes = needs.scratch_bytes = count * 8;
    return [=](Pass pass, const NodeMemory& m) {
      const bool is_forward = pass == Pass::forward;
      const double* from = numbers(is_forward ? m.inputs[0] : m.output_gradients[0]);
      for (std::int64_t i = 0; i < count; ++i) {
        if (is_forward) numbers(m.saved)[i] = from[i] > 0 ? 1 : 0;
        numbers(m.scratch)[i] = from[i] * numbers(m.saved)[i];
      }
      std::copy_n(numbers(m.scratch), count,
                  numbers(is_forward ? m.outputs[0] : m.input_gradients[0]));
    };
  }

  Run operator()(const Elementwise& op) const {
    const std::int64_t count = size(0);
    const bool multiplies = op.kind == ElementwiseKind::multiply;
    needs.inputs = multiplies;
    return [=](Pass pass, const NodeMemory& m) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (pass == Pass::forward) {
          const double a = numbers(m.inputs[0])[i], b = numbers(m.inputs[1])[i];
          numbers(m.outputs[0])[i] = multiplies ? a * b : a + b;
          continue;
        }
        for (const std::size_t input : {0, 1}) {
          if (m.input_gradients[input] != nullptr)
            numbers(m.input_gradients[input])[i] =
                numbers(m.output_gradients[0])[i] * numbers(m.inputs[1 - input])[i];
        }
      }
    };
  }

  Run operator()(const Split&) const {  // of the last axis
    const std::int64_t all = last(0), rows = size(0) / all;
    std::vector<std::int64_t> widths;
    for (const TensorId output : node.outputs) {
      const BoundTensor& tensor = bound.tensors[output];
      widths.push_back(tensor[tensor.axes() - 1]);
    }
    return [=](Pass pass, const NodeMemory& m) {
      std::int64_t begin = 0;
      for (std::size_t part = 0; part < widths.size(); ++part) {
        for (std::int64_t i = 0; i < rows * widths[part]; ++i) {
          const std::int64_t whole = i / widths[part] * all + begin + i % widths[part];
          if (pass == Pass::forward) {
            numbers(m.outputs[part])[i] = numbers(m.inputs[0])[whole];
          } else {
            const double* dy = numbers(m.output_gradients[part]);
            numbers(m.input_gradients[0])[whole] = dy == nullptr ? 0 : dy[i];
          }
        }
        begin += widths[part];
      }
    };
  }

  Run operator()(const Embedding& op) const {
    needs.inputs = true;
    const std::int64_t count = size(0), width = op.width, table = op.vocabulary * op.width;
    return [=](Pass pass, const NodeMemory& m) {
      const auto* rows = static_cast<const std::int64_t*>(m.inputs[0]);
      double* to = numbers(pass == Pass::forward ? m.outputs[0] : m.input_gradients[1]);
      if (pass != Pass::forward) std::fill(to, to + table, 0.0);
      for (std::int64_t i = 0; i < count * width; ++i) {
        const std::int64_t at = rows[i / width] * width + i % width;
        if (pass == Pass::forward) {
          to[i] = numbers(m.inputs[1])[at];
        } else {
          to[at] += numbers(m.output_gradients[0])[i];
        }
      }
    };
  }

  Run operator()(const SoftmaxCrossEntropy&) const {  // classes on the last axis
    needs.inputs = true;
    needs.saved_bytes = size(0) * 8;
    const std::int64_t classes = last(0), rows = size(0) / classes;
    return [=](Pass pass, const NodeMemory& m) {
      const auto* targets = static_cast<const std::int64_t*>(m.inputs[1]);
      double loss = 0;
      for (std::int64_t r = 0; r < rows; ++r) {
        double* p = numbers(m.saved) + r * classes;
        double sum = 0;
        for (std::int64_t c = 0; pass == Pass::forward && c < classes; ++c)
          sum += p[c] = std::exp(numbers(m.inputs[0])[r * classes + c]);
        for (std::int64_t c = 0; c < classes; ++c) {
          if (pass == Pass::forward) {
            p[c] /= sum;
          } else {
            numbers(m.input_gradients[0])[r * classes + c] = numbers(m.output_gradients[0])[0] *
                                                             (p[c] - (c == targets[r] ? 1 : 0)) /
                                                             static_cast<double>(rows);
          }
        }
        loss -= std::log(p[targets[r]]) / static_cast<double>(rows);
      }
      if (pass == Pass::forward) numbers(m.outputs[0])[0] = loss;
    };
  }

  template <class Op>
  Run operator()(const Op&) const {
    return nullptr;
  }
};

inline KernelsOrReason Device::kernels(const BoundGraph& bound, NodeId id, bool) {
  ++kernels_made;
  const Node& node = bound.graph->nodes[id];
  const std::string name(name_of(node.op));
  NodeNeeds needs;
  Run run = std::visit(LoopMaker{bound, node, needs, settings.backward_is_one}, node.op);
  if (run == nullptr || settings.without.contains(name)) return NoKernels{"no loops for " + name};
  return std::make_unique<Kernels>(*this, name, needs, std::move(run));
}

}  // namespace strata::reference

#include "strata/measure/engine/clock_counters_test.hpp"
