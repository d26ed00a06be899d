// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/convolution/cuda/context.cuh"
#include "strata/convolution/cuda/efficiencies.cuh"
#include "strata/gpu/cuda/nvml.hpp"
#include "strata/gpu/device_trace.hpp"
#include "strata/gpu/devices.hpp"

#include <algorithm>
#include <chrono>

namespace strata::cuda {
namespace {

/// Only the whole time is wanted.
class NoMarks final : public RoleMarks {
 public:
  void begin(KernelRole) override {}
};

/// An event where each role begins.
class EventMarks final : public RoleMarks {
 public:
  explicit EventMarks(cudaStream_t stream) : stream_(stream) {}
  void begin(KernelRole role) override {
    roles_.push_back(role);
    mark();
  }
  void mark() {
    events_.push_back(std::make_unique<Event>());
    events_.back()->record(stream_);
  }
  std::vector<RoleTime> times() const {
    std::vector<RoleTime> times;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      const double seconds = events_[i + 1]->seconds_since(*events_[i]);
      const auto same = std::find_if(times.begin(), times.end(),
                                     [&](const RoleTime& time) { return time.role == roles_[i]; });
      if (same == times.end()) {
        times.push_back({roles_[i], seconds});
      } else {
        same->seconds += seconds;
      }
    }
    return times;
  }

 private:
  cudaStream_t stream_;
  std::vector<KernelRole> roles_;
  std::vector<std::unique_ptr<Event>> events_;
};

class CudaConvDevice final : public ConvDevice {
 public:
  CudaConvDevice(DeviceInfo info, std::shared_ptr<ConvContext> context)
      : info_(std::move(info)), context_(std::move(context)) {
    std::string problem;  // without it clocks and the driver's version stay unknown
    nvml_ = Nvml::open(info_.pci_bus_id, problem);
    add_direct(strategies_, context_);
    add_unroll(strategies_, context_);
    add_fft(strategies_, context_);
    add_winograd(strategies_, context_);
    add_cudnn(strategies_, context_);
  }

  std::string name() const override { return info_.name; }
  std::span<const std::unique_ptr<ConvStrategy>> strategies() const override { return strategies_; }
  std::int64_t free_bytes() const override {
    std::size_t free = 0, total = 0;
    STRATA_CUDA_CALL(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(free);
  }
  std::shared_ptr<void> allocate(std::int64_t bytes) override { return device_memory(bytes); }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }

  ConvTiming time(PreparedConvolution& prepared, const ConvTensors& tensors,
                  const ConvTimingOptions& options) override;
  std::optional<HostTransfers> host_transfers(std::int64_t bytes) override;
  ConvEfficiencies efficiencies(PreparedConvolution& prepared,
                                const ConvTensors& tensors) override {
    return efficiency_counter_.of(prepared, tensors);
  }
  std::vector<KernelFacts> traced_kernels(PreparedConvolution& prepared,
                                          const ConvTensors& tensors) override;
  ConvDeviceFacts facts() const override;
  bool is_cuda() const override { return true; }
  void* stream() const override { return context_->stream.get(); }

 private:
  // In the stream of the strategies: what they wrote is there, what they read has come.
  void copy(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind) const {
    STRATA_CUDA_CALL(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, context_->stream.get()));
    context_->stream.synchronize();
  }
  double run_once(PreparedConvolution& prepared, const ConvTensors& tensors) const {
    const Event start, end;
    NoMarks marks;
    start.record(context_->stream.get());
    prepared.run(tensors, marks);
    end.record(context_->stream.get());
    return end.seconds_since(start);
  }

  DeviceInfo info_;
  std::shared_ptr<ConvContext> context_;
  std::unique_ptr<Nvml> nvml_;
  StrategyList strategies_;
  EfficiencyCounter efficiency_counter_{info_.index, context_->stream.get()};
};

ConvDeviceFacts CudaConvDevice::facts() const {
  ConvDeviceFacts facts;
  const auto add = [&](const char* of, std::string version) {
    if (!version.empty()) facts.versions.push_back({of, std::move(version)});
  };
  int run_time = 0;
  STRATA_CUDA_CALL(cudaRuntimeGetVersion(&run_time));
  if (nvml_) {
    add("driver", nvml_->driver_version());
    facts.most_clock_hz = nvml_->most_sm_hz();
    facts.power_limit_w = nvml_->power_limit_w();
  }
  add("CUDA", fmt::format("{}.{}", run_time / 1000, run_time % 1000 / 10));
  if (context_->cublas) add("cuBLAS", context_->cublas->version());
  add("cuDNN", cudnn_version());
  return facts;
}

// From a size on, copies take time in proportion: more is not copied, but computed.
std::optional<HostTransfers> CudaConvDevice::host_transfers(std::int64_t bytes) {
  constexpr std::int64_t enough = std::int64_t{64} << 20;
  constexpr int times = 4;
  const auto size = static_cast<std::size_t>(std::clamp<std::int64_t>(bytes, 1, enough));
  if (free_bytes() < 2 * static_cast<std::int64_t>(size)) return std::nullopt;
  const DeviceBuffer there(size);
  const PinnedBuffer pinned(size);
  const std::vector<char> pageable(size, 1);
  const double scale = static_cast<double>(bytes) / static_cast<double>(size);
  HostTransfers best{1e30, 1e30};
  for (int i = 0; i < times; ++i) {
    const Event start, end;
    start.record(context_->stream.get());
    STRATA_CUDA_CALL(cudaMemcpyAsync(there.get(), pinned.get(), size, cudaMemcpyHostToDevice,
                                     context_->stream.get()));
    end.record(context_->stream.get());
    best.pinned_s = std::min(best.pinned_s, scale * end.seconds_since(start));
    const auto begin = std::chrono::steady_clock::now();
    STRATA_CUDA_CALL(cudaMemcpy(there.get(), pageable.data(), size, cudaMemcpyHostToDevice));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    best.pageable_s = std::min(best.pageable_s, scale * elapsed.count());
  }
  return best;
}

// The caches are as the run before left them, as in a training step that runs layer after layer.
ConvTiming CudaConvDevice::time(PreparedConvolution& prepared, const ConvTensors& tensors,
                                const ConvTimingOptions& options) {
  double spent = 0;
  for (int i = 0; i < std::max(options.warm_up, 1); ++i) spent += run_once(prepared, tensors);
  ConvTiming timing;
  spent = 0;
  for (int i = 0; i < options.samples && (i < 3 || spent < options.most_seconds); ++i) {
    timing.samples_s.push_back(run_once(prepared, tensors));
    spent += timing.samples_s.back();
  }
  EventMarks marks(context_->stream.get());
  prepared.run(tensors, marks);
  marks.mark();
  // While the last run is still at work, or has just been.
  if (const auto state = nvml_ ? nvml_->state() : std::nullopt) timing.clock_hz = state->sm_hz;
  context_->stream.synchronize();
  timing.roles = marks.times();
  return timing;
}

// What a library runs is known by the names of its kernels alone. Copies and fills move no data
// that a role stands for, and are left out.
std::vector<KernelFacts> CudaConvDevice::traced_kernels(PreparedConvolution& prepared,
                                                        const ConvTensors& tensors) {
  const std::unique_ptr<DeviceTrace> trace = begin_device_trace();
  NoMarks marks;
  prepared.run(tensors, marks);
  context_->stream.synchronize();
  const DeviceActivity activity = trace->end();
  if (const std::string lost = lost_records_text(activity); !lost.empty())
    fail(ErrorKind::environment, "{}", lost);
  std::vector<KernelFacts> kernels;
  for (const DeviceRecord& record : activity.records) {
    if (record.work != DeviceWork::kernel) continue;
    const auto same = std::find_if(kernels.begin(), kernels.end(), [&](const KernelFacts& kernel) {
      return kernel.name == record.name;
    });
    KernelFacts& kernel = same != kernels.end() ? *same : kernels.emplace_back();
    kernel.name = record.name;
    kernel.registers_per_thread = static_cast<int>(record.launch.registers_per_thread);
    kernel.shared_bytes_per_block =
        static_cast<int>(record.launch.shared_bytes_per_block.value_or(0));
    kernel.seconds += record.seconds;
  }
  return kernels;
}

}  // namespace

std::shared_ptr<void> device_memory(std::int64_t bytes) {
  void* data = nullptr;
  const cudaError_t status =
      cudaMalloc(&data, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    STRATA_CUDA_CALL(cudaMemGetInfo(&free, &total));
    fail(ErrorKind::environment, "the GPU has not enough memory: {} bytes are needed, {} are free",
         bytes, free);
  }
  check(status, "cudaMalloc");
  return {data, [](void* memory) { cudaFree(memory); }};
}

std::shared_ptr<void> scratch_memory(const ConvContext& context, std::int64_t bytes) {
  if (context.shared_scratch && bytes <= context.shared_scratch_bytes)
    return context.shared_scratch;
  return device_memory(bytes);
}

std::int64_t Scratch::add(std::int64_t bytes) {
  constexpr std::int64_t alignment = 256;
  const std::int64_t begin = bytes_;
  bytes_ += (bytes + alignment - 1) / alignment * alignment;
  return begin;
}

KernelFacts facts_of(const void* kernel, std::string name, KernelRole role, int dynamic_shared) {
  cudaFuncAttributes attributes{};
  STRATA_CUDA_CALL(cudaFuncGetAttributes(&attributes, kernel));
  return {std::move(name), role, attributes.numRegs,
          static_cast<int>(attributes.sharedSizeBytes) + dynamic_shared};
}

}  // namespace strata::cuda

namespace strata {

std::unique_ptr<ConvDevice> cuda_conv_device(int index) {
  const std::vector<DeviceInfo> devices = cuda_devices();
  if (index < 0 || index >= static_cast<int>(devices.size())) {
    fail(ErrorKind::environment, "there is no GPU {}; this computer has {}", index, devices.size());
  }
  STRATA_CUDA_CALL(cudaSetDevice(index));
  auto context = std::make_shared<cuda::ConvContext>();
  context->device = index;
  context->cublas = cuda::Cublas::load(context->stream.get(), context->no_cublas);
  return std::make_unique<cuda::CudaConvDevice>(devices[static_cast<std::size_t>(index)],
                                                std::move(context));
}

}  // namespace strata
