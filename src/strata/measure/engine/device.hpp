// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/update.hpp"
#include "strata/gpu/device_trace.hpp"
#include "strata/gpu/range_counters.hpp"
#include "strata/measure/engine/node_kernels.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace strata {

/// Numbers of the optimizer; the same on every device so that results can be compared.
struct UpdateRule {
  Optimizer optimizer = Optimizer::momentum;
  double learning_rate = 0.01;
  double momentum = 0.9;
  double beta_1 = 0.9;  ///< of Adam
  double beta_2 = 0.999;
  double epsilon = 1e-8;
};

/// One parameter's update: in place. States are as many as the optimizer has, fp32.
struct UpdateMemory {
  void* parameter = nullptr;
  const void* gradient = nullptr;
  std::vector<float*> states;
  std::int64_t elements = 0;
  DType dtype = DType::fp32;
  std::int64_t iteration = 1;  ///< counted from 1, for Adam's correction
};

/// Takes the time between marks of one device, in its order of execution.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  virtual void mark(std::size_t index) = 0;  ///< below the count it was made for
  /// Waits for the device; the time at each mark, in seconds after mark 0.
  virtual std::vector<double> seconds() = 0;
};

/// Work that was recorded once and can be launched as a whole (a CUDA graph).
class RecordedWork {
 public:
  virtual ~RecordedWork() = default;
  virtual void launch() = 0;
};

/// A kernel, copy or fill that ran, as the device's own tracing saw it.
struct KernelRun {
  std::string name;
  std::size_t part = 0;  ///< which part of the traced work it belongs to
  double begin_s = 0;
  double seconds = 0;
  DeviceWork work = DeviceWork::kernel;  ///< copies and fills only move data
  LaunchShape launch = {};
};

/// What was seen of a device while it worked.
struct ConditionsSeen {
  std::optional<double> clock_hz = {};
  std::optional<double> memory_clock_hz = {};
  std::optional<double> power_w = {};
  std::string note = {};  ///< "power cap in 12 of 20 readings"; empty: nothing held it back
};

/// Looks at clock and power from its making until it is asked.
class ConditionWatch {
 public:
  virtual ~ConditionWatch() = default;
  virtual ConditionsSeen stop() = 0;
};

struct DeviceChoices {
  DType dtype = DType::fp32;
  /// What computes convolutions: a strategy of the convolution lab by name, or "fastest" for the
  /// fastest of them and the vendor's, by measurement. Empty: the vendor's library.
  std::string convolution = {};
};

class TrainingDevice {
 public:
  virtual ~TrainingDevice() = default;

  virtual std::string name() const = 0;                   ///< "NVIDIA H200"; the CPU's model
  virtual std::vector<std::string> versions() const = 0;  ///< "cuDNN 9.14.0", "OpenBLAS 0.3.21"

  virtual std::int64_t free_bytes() const = 0;
  /// Memory that all kernels of this device share beside what the engine allocates: the workspaces
  /// of libraries. Counts toward the peak memory of a network.
  virtual std::int64_t shared_bytes() const { return 0; }
  /// Memory of the device, aligned to 256 bytes; released with the pointer. Errors (environment)
  /// when there is not enough.
  virtual std::shared_ptr<void> allocate(std::int64_t bytes) = 0;
  virtual void upload(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void download(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void wait() = 0;  ///< until everything that was begun is done

  /// Kernels of a node; may measure to choose among several. `training` false: forward only.
  virtual KernelsOrReason kernels(const BoundGraph& bound, NodeId node, bool training) = 0;

  /// What computes sums of gradients and updates, in the words of NodeKernels::implementation.
  virtual std::string own_implementation() const { return "reference code"; }
  virtual void fill_zero(void* to, std::int64_t bytes) = 0;
  /// sum = a + b; sum may be one of them.
  virtual void add(void* sum, const void* a, const void* b, std::int64_t elements, DType dtype) = 0;
  virtual void update(const UpdateRule& rule, const UpdateMemory& memory) = 0;
  /// Several parameters of one layer, which are one row of a profile, may be updated by one call of
  /// update_together: so many at a time.
  virtual std::size_t most_updates_together() const { return 1; }
  virtual void update_together(const UpdateRule& rule, std::span<const UpdateMemory> memories) {
    for (const UpdateMemory& memory : memories) update(rule, memory);
  }

  /// What to know of how kernels were chosen since this was asked last.
  virtual std::vector<std::string> take_notes() { return {}; }

  virtual std::unique_ptr<Stopwatch> stopwatch(std::size_t marks) = 0;

  /// Null where nothing can be seen.
  virtual std::unique_ptr<ConditionWatch> watch() { return nullptr; }

  /// Null where the device has no such thing, or the work cannot be recorded.
  virtual std::unique_ptr<RecordedWork> record(const std::function<void()>&) { return nullptr; }

  /// Runs the work with the device's tracing on; `begin_part(i)` is called by the work where part i
  /// begins. Empty where there is no tracing (on a CPU).
  virtual std::vector<KernelRun> trace(
      const std::function<void(const std::function<void(std::size_t)>& begin_part)>&) {
    return {};
  }

  /// What one of its multiprocessors holds; nothing where kernels are not traced.
  virtual std::optional<MultiprocessorLimits> multiprocessor() const { return std::nullopt; }

  /// The device's counters. Errors (environment) say why they cannot be read.
  virtual std::unique_ptr<RangeCounters> counters();
};

/// The CPU with all cores that this process may use; data types fp32 and fp64.
std::unique_ptr<TrainingDevice> cpu_training_device(const DeviceChoices& choices);
/// A CUDA GPU; errors (environment) as cuda_devices().
std::unique_ptr<TrainingDevice> cuda_training_device(int index, const DeviceChoices& choices);

}  // namespace strata
