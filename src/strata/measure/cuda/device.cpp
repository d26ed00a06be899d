// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/gpu/cuda/clock_monitor.hpp"
#include "strata/gpu/device_trace.hpp"
#include "strata/gpu/event_times.hpp"
#include "strata/measure/ceilings/ceilings.hpp"
#include "strata/measure/cuda/kernels/index_map.cuh"
#include "strata/measure/cuda/kernels/pointwise.cuh"
#include "strata/measure/cuda/node.cuh"
#include "strata/measure/cuda/operators/convolution_algorithms.cuh"
#include "strata/measure/engine/number_types.hpp"

#include <fmt/format.h>

#include <utility>

namespace strata::cuda::train {
namespace {

class EventStopwatch final : public Stopwatch {
 public:
  EventStopwatch(std::size_t marks, cudaStream_t stream) : stream_(stream) {
    for (std::size_t i = 0; i < marks; ++i) events_.push_back(std::make_unique<Event>());
  }
  void mark(std::size_t index) override { events_[index]->record(stream_); }
  std::vector<double> seconds() override {
    STRATA_CUDA_CALL(cudaStreamSynchronize(stream_));
    return times_of_events(events_.size(), [&](std::size_t from, std::size_t to) {
      return events_[to]->seconds_since(*events_[from]);
    });
  }

 private:
  cudaStream_t stream_;
  std::vector<std::unique_ptr<Event>> events_;
};

class RecordedGraph final : public RecordedWork {
 public:
  RecordedGraph(cudaStream_t stream, const std::function<void()>& work)
      : stream_(stream), graph_(stream, work) {}
  void launch() override { graph_.launch(stream_); }

 private:
  cudaStream_t stream_;
  GraphExec graph_;
};

class NvmlWatch final : public ConditionWatch {
 public:
  explicit NvmlWatch(std::unique_ptr<Nvml> nvml) : nvml_(std::move(nvml)), monitor_(nvml_.get()) {}
  ConditionsSeen stop() override {
    const ClocksSeen seen = monitor_.stop();
    return {seen.sm_hz(), seen.memory_hz(), seen.power_w(), seen.note()};
  }

 private:
  std::unique_ptr<Nvml> nvml_;
  ClockMonitor monitor_;
};

/// What a reader of layer times has to know where there are none of single kernels.
std::string no_kernel_times(std::string_view reason) {
  return fmt::format("no times of single kernels, so that layers have the time between marks: {}",
                     reason);
}

class CudaTrainingDevice final : public TrainingDevice {
 public:
  CudaTrainingDevice(DeviceInfo info, SharedTraining context, std::vector<std::string> versions)
      : info_(std::move(info)), context_(std::move(context)), versions_(std::move(versions)) {}

  std::string name() const override { return info_.name; }
  std::vector<std::string> versions() const override { return versions_; }
  std::optional<MultiprocessorLimits> multiprocessor() const override {
    return info_.multiprocessor;
  }
  std::int64_t free_bytes() const override {
    std::size_t free = 0, total = 0;
    STRATA_CUDA_CALL(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(free);
  }
  std::int64_t shared_bytes() const override {
    return (context_->products ? context_->products->workspace_bytes() : 0) +
           (context_->convolutions ? context_->convolutions->held_bytes() : 0);
  }
  std::shared_ptr<void> allocate(std::int64_t bytes) override { return device_memory(bytes); }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    transfer(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    transfer(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  void wait() override { STRATA_CUDA_CALL(cudaStreamSynchronize(context_->stream())); }

  KernelsOrReason kernels(const BoundGraph& bound, NodeId node, bool training) override;

  std::string own_implementation() const override { return "strata kernel"; }
  void fill_zero(void* to, std::int64_t bytes) override {
    STRATA_CUDA_CALL(cudaMemsetAsync(to, 0, static_cast<std::size_t>(bytes), context_->stream()));
  }
  void add(void* sum, const void* a, const void* b, std::int64_t elements, DType dtype) override {
    add_arrays(sum, a, b, elements, dtype, context_->stream());
  }
  void update(const UpdateRule& rule, const UpdateMemory& memory) override {
    update_together(rule, {&memory, 1});
  }
  std::size_t most_updates_together() const override { return most_updates; }
  void update_together(const UpdateRule& rule, std::span<const UpdateMemory> memories) override;

  std::unique_ptr<Stopwatch> stopwatch(std::size_t marks) override {
    return std::make_unique<EventStopwatch>(marks, context_->stream());
  }
  std::unique_ptr<ConditionWatch> watch() override {
    std::string problem;  // without the library clocks stay unknown
    std::unique_ptr<Nvml> nvml = Nvml::open(info_.pci_bus_id, problem);
    return nvml ? std::make_unique<NvmlWatch>(std::move(nvml)) : nullptr;
  }
  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override;
  std::vector<std::string> take_notes() override { return std::exchange(notes_, {}); }
  std::unique_ptr<RangeCounters> counters() override { return open_range_counters(info_.index); }
  std::vector<KernelRun> trace(
      const std::function<void(const std::function<void(std::size_t)>& begin_part)>& work) override;

 private:
  void transfer(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind) const {
    STRATA_CUDA_CALL(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, context_->stream()));
    STRATA_CUDA_CALL(cudaStreamSynchronize(context_->stream()));
  }

  DeviceInfo info_;
  SharedTraining context_;
  std::vector<std::string> versions_;
  std::vector<std::string> notes_;
};

KernelsOrReason CudaTrainingDevice::kernels(const BoundGraph& bound, NodeId node, bool training) {
  if (auto reason = type_refusal(bound, node)) return NoKernels{*reason};
  const NodeFacts facts = facts_of(context_, bound, node, training);
  for (const std::vector<BoundTensor>* side : {&facts.inputs, &facts.outputs}) {
    for (const BoundTensor& tensor : *side) {
      if (tensor.elements >= most_mapped) return NoKernels{"a tensor of 2³¹ numbers or more"};
      if (is_floating(tensor.dtype) && !is_computed(tensor.dtype))
        return NoKernels{fmt::format("no kernels for {}", name_of(tensor.dtype))};
    }
  }
  return std::visit([&](const auto& op) { return make_kernels(op, facts); },
                    bound.graph->nodes[node].op);
}

UpdateRun run_of(const UpdateRule& rule, const UpdateMemory& memory) {
  UpdateRun run;
  run.optimizer = rule.optimizer;
  run.learning_rate = rule.learning_rate;
  run.momentum = rule.momentum;
  run.beta_1 = rule.beta_1;
  run.beta_2 = rule.beta_2;
  run.epsilon = rule.epsilon;
  run.parameter = memory.parameter;
  run.gradient = memory.gradient;
  for (std::size_t i = 0; i < memory.states.size() && i < 2; ++i) run.states[i] = memory.states[i];
  run.elements = memory.elements;
  run.dtype = memory.dtype;
  run.iteration = memory.iteration;
  return run;
}

// A kernel is for one type.
void CudaTrainingDevice::update_together(const UpdateRule& rule,
                                         std::span<const UpdateMemory> memories) {
  std::vector<UpdateRun> runs;
  const auto flush = [&] {
    if (!runs.empty()) update_parameters(runs, context_->stream());
    runs.clear();
  };
  for (const UpdateMemory& memory : memories) {
    if (!runs.empty() && (runs.front().dtype != memory.dtype || runs.size() == most_updates))
      flush();
    runs.push_back(run_of(rule, memory));
  }
  flush();
}

// A library may wait for the device or take memory, which cannot be recorded: then there is
// nothing.
std::unique_ptr<RecordedWork> CudaTrainingDevice::record(const std::function<void()>& work) {
  wait();
  try {
    return std::make_unique<RecordedGraph>(context_->stream(), work);
  } catch (const Error&) {
    cudaGraph_t begun = nullptr;
    if (cudaStreamEndCapture(context_->stream(), &begun) == cudaSuccess && begun != nullptr)
      cudaGraphDestroy(begun);
    cudaGetLastError();
    return nullptr;
  }
}

// Copies and fills are kernels of the network too: they take its time. A trace that lacks some of
// them would make layers look faster than they are: then there is none, with a note that says why.
std::vector<KernelRun> CudaTrainingDevice::trace(
    const std::function<void(const std::function<void(std::size_t)>& begin_part)>& work) {
  wait();
  std::unique_ptr<DeviceTrace> recording;
  try {
    recording = begin_device_trace();
  } catch (const Error& error) {
    notes_.push_back(no_kernel_times(error.what()));
    return {};
  }
  work([&](std::size_t part) { recording->begin_part(part); });
  wait();
  DeviceActivity activity = recording->end();
  if (const std::string lost = lost_records_text(activity); !lost.empty()) {
    notes_.push_back(no_kernel_times(lost));
    return {};
  }
  std::vector<KernelRun> runs;
  for (DeviceRecord& record : activity.records) {
    if (record.part)
      runs.push_back({std::move(record.name), *record.part, record.begin_s, record.seconds,
                      record.work, record.launch});
  }
  return runs;
}

}  // namespace

bool is_computed(DType dtype) {
  return dtype == DType::fp64 || dtype == DType::fp32 || dtype == DType::tf32 ||
         dtype == DType::bf16 || dtype == DType::fp16;
}

NodeFacts facts_of(SharedTraining context, const BoundGraph& bound, NodeId id, bool is_training) {
  const Node& node = bound.graph->nodes[id];
  NodeFacts facts;
  facts.context = std::move(context);
  facts.bound = &bound;
  facts.id = id;
  facts.first_own = node.first_own;
  facts.is_training = is_training;
  for (const TensorId tensor : node.inputs) {
    facts.inputs.push_back(bound.tensors[tensor]);
  }
  for (const TensorId tensor : node.outputs) facts.outputs.push_back(bound.tensors[tensor]);
  return facts;
}

KernelsOrReason make_kernels(const Opaque& op, const NodeFacts&) {
  return NoKernels{fmt::format("what {} computes is not known", op.type)};
}

}  // namespace strata::cuda::train

namespace strata {

std::unique_ptr<TrainingDevice> cuda_training_device(int index, const DeviceChoices& choices) {
  const std::vector<DeviceInfo> devices = cuda_devices();
  if (index < 0 || index >= static_cast<int>(devices.size()))
    fail(ErrorKind::environment, "there is no GPU {}; this computer has {}", index, devices.size());
  STRATA_CUDA_CALL(cudaSetDevice(index));
  auto context = std::make_shared<cuda::train::TrainingContext>();
  context->choices = choices;
  context->convolution = std::make_shared<cuda::ConvContext>();
  context->convolution->device = index;
  context->convolution->cublas =
      cuda::Cublas::load(context->stream(), context->convolution->no_cublas);
  std::vector<std::string> versions = {
      fmt::format("CUDA {}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10)};
  if (const auto lt = cuda::CublasLtFunctions::load(context->no_products)) {
    context->products = std::make_shared<cuda::MatrixProducts>(lt, context->stream());
    versions.push_back(lt->version_text());
  }
  context->cudnn = cuda::train::load_cudnn(context->stream(), context->no_cudnn);
  versions.push_back(context->cudnn ? cuda::train::cudnn_version_text(*context->cudnn)
                                    : fmt::format("without cuDNN ({})", context->no_cudnn));
  const DeviceInfo& device = devices[static_cast<std::size_t>(index)];
  return std::make_unique<cuda::train::CudaTrainingDevice>(device, std::move(context),
                                                           std::move(versions));
}

}  // namespace strata
