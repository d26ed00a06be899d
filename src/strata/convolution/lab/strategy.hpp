// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"
#include "strata/machine/machine.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Ways to compute a convolution, and the devices that run them. A strategy states what it can do,
/// prepares itself for one problem (plans, scratch memory) and then runs as often as asked; the
/// device times it. The lab above them is the same for all.
namespace strata {

/// What a part of a strategy's work is for.
enum class KernelRole : std::uint8_t {
  direct,             ///< the convolution itself, in one kernel
  gemm,               ///< matrix products
  im2col,             ///< windows become the columns of a matrix
  col2im,             ///< and back
  transform,          ///< into the Winograd or frequency domain
  inverse_transform,  ///< and back
  pointwise,
  transpose,
  copy,
  other,
};
std::string_view name_of(KernelRole role);
std::optional<KernelRole> kernel_role_named(std::string_view name);

/// Memory of the device, in the layout of ConvShape. The pass says which of them is written.
struct ConvTensors {
  void* input = nullptr;
  void* weights = nullptr;
  void* output = nullptr;
};

/// Told by a running strategy where one role ends and the next begins. A device that only wants the
/// whole time gives one that does nothing.
class RoleMarks {
 public:
  virtual ~RoleMarks() = default;
  virtual void begin(KernelRole role) = 0;
};

/// A strategy made ready for one problem; owns its plans and scratch memory.
class PreparedConvolution {
 public:
  virtual ~PreparedConvolution() = default;
  /// Computes the pass once (on a GPU: puts it into the device's stream). What it writes does not
  /// depend on what was there before.
  virtual void run(const ConvTensors& tensors, RoleMarks& marks) = 0;
  /// Device memory that it works in beside the three tensors: what ConvStrategy::scratch_bytes()
  /// said. On a GPU several that run one after the other may share it.
  virtual std::int64_t scratch_bytes() const = 0;
};

/// A main kernel as the compiler made it, or a library's kernel as it was seen to run.
struct KernelFacts {
  std::string name;
  KernelRole role = KernelRole::other;
  int registers_per_thread = 0;
  int shared_bytes_per_block = 0;
  double seconds = 0;  ///< of one run, where it was traced; 0: it was not
};

class ConvStrategy {
 public:
  virtual ~ConvStrategy() = default;

  virtual std::string_view name()
      const = 0;  ///< "direct", "unroll", "fft", "winograd4", "cudnn:fft"
  virtual bool is_vendor() const { return false; }  ///< of a library, not our own

  /// Why it cannot do this (of a valid shape): a stride, a kernel size, a type, a library that this
  /// build lacks. Nothing: it can, and prepare() and run() do.
  virtual std::optional<std::string> refusal(const ConvProblem& problem) const = 0;

  /// Device memory beside the three tensors, known before anything is allocated.
  virtual std::int64_t scratch_bytes(const ConvProblem& problem) const = 0;

  /// What the algorithm itself computes; nothing where a library does not say.
  virtual std::optional<std::int64_t> flop(const ConvProblem& problem) const = 0;

  /// The largest relative error (L2 over the result, against double precision) that is still right.
  virtual double tolerance(const ConvProblem& problem) const = 0;

  virtual std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const = 0;

  virtual std::vector<KernelFacts> kernels(const ConvProblem&) const { return {}; }
};

struct ConvTimingOptions {
  int warm_up = 2;
  int samples = 10;
  double most_seconds = 2;  ///< fewer samples (at least 3) when one takes long
};

struct RoleTime {
  KernelRole role = KernelRole::other;
  double seconds = 0;
};

struct ConvTiming {
  std::vector<double> samples_s;  ///< each the time of one run
  std::vector<RoleTime> roles;    ///< of one further run; sums to less than a sample where gaps are
  std::optional<double> clock_hz;  ///< of the arithmetic, right after the samples; where it is told
};

/// What a device says of itself; kept with what was measured on it.
struct ConvDeviceFacts {
  std::vector<Version> versions;  ///< of the driver and of the libraries that strategies call
  std::optional<double> most_clock_hz;
  std::optional<double> power_limit_w;

  bool operator==(const ConvDeviceFacts&) const = default;
};

/// How well kernels use the GPU, by its counters. Shares are of 1; those of shared memory can be
/// more, where one access serves several threads.
struct ConvEfficiency {
  KernelRole role = KernelRole::other;
  std::optional<double> occupancy;  ///< nothing: it has no value here (no load, no store)
  std::optional<double> ipc;        ///< instructions per cycle of an SM
  std::optional<double> warp_execution;
  std::optional<double> global_load;
  std::optional<double> global_store;
  std::optional<double> shared;
};

struct ConvEfficiencies {
  std::vector<ConvEfficiency> roles;  ///< each once, in order
  std::string absent;                 ///< why there are none
};

/// How long bytes take from the host to the device.
struct HostTransfers {
  double pinned_s = 0;    ///< from page-locked memory, asynchronously
  double pageable_s = 0;  ///< from ordinary memory, while the host waits
};

/// Where strategies run.
class ConvDevice {
 public:
  virtual ~ConvDevice() = default;

  virtual std::string name() const = 0;  ///< "NVIDIA H200"; the CPU's model
  virtual std::span<const std::unique_ptr<ConvStrategy>> strategies() const = 0;
  virtual std::int64_t free_bytes() const = 0;

  /// Memory of the device; released with the pointer. Errors (environment) when there is none left.
  virtual std::shared_ptr<void> allocate(std::int64_t bytes) = 0;
  virtual void upload(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void download(void* to, const void* from, std::int64_t bytes) = 0;

  virtual ConvTiming time(PreparedConvolution& prepared, const ConvTensors& tensors,
                          const ConvTimingOptions& options) = 0;

  virtual ConvDeviceFacts facts() const { return {}; }

  /// Nothing where the host's memory is the device's.
  virtual std::optional<HostTransfers> host_transfers(std::int64_t) { return std::nullopt; }

  /// By role; runs the convolution some more times, slowly.
  virtual ConvEfficiencies efficiencies(PreparedConvolution&, const ConvTensors&) {
    return {{}, "only GPUs have these counters"};
  }

  /// The kernels of one more run, each name once, with its time and what it takes; roles are for
  /// the caller to tell. Errors (environment) where kernels cannot be traced. To be called before
  /// the first efficiencies: a device that has counted traces no more.
  virtual std::vector<KernelFacts> traced_kernels(PreparedConvolution&, const ConvTensors&) {
    return {};
  }

  /// For strategies of plug-ins: whether memory is that of a CUDA device, and its stream.
  virtual bool is_cuda() const { return false; }
  virtual void* stream() const { return nullptr; }
};

/// The CPU with all cores that this process may use. `root` is where the system's files are: "/"
/// but in tests.
std::unique_ptr<ConvDevice> cpu_conv_device(const std::filesystem::path& root = "/");
/// A CUDA GPU; errors as cuda_devices().
std::unique_ptr<ConvDevice> cuda_conv_device(int index);

}  // namespace strata
