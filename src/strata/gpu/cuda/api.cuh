// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

/// CUDA's run time with its errors thrown and its handles owned. Destructors never throw: what was
/// wrong has been said by the call that used the handle.
namespace strata::cuda {

/// Throws Error with the call's text and CUDA's reason: environment, or internal where the
/// reason can only be a bug of ours (a bad address, a bad argument).
void check(cudaError_t status, const char* call);

#define STRATA_CUDA_CALL(call) ::strata::cuda::check((call), #call)

class Stream {
 public:
  Stream() { STRATA_CUDA_CALL(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void synchronize() const { STRATA_CUDA_CALL(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { STRATA_CUDA_CALL(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) const { STRATA_CUDA_CALL(cudaEventRecord(event_, stream)); }
  /// Waits for this event.
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    STRATA_CUDA_CALL(cudaEventSynchronize(event_));
    STRATA_CUDA_CALL(cudaEventElapsedTime(&milliseconds, start.get(), event_));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Memory of the current device.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    STRATA_CUDA_CALL(cudaMalloc(&data_, bytes));
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;
  template <class Item = void>
  Item* get() const {
    return static_cast<Item*>(data_);
  }
  std::size_t bytes() const { return bytes_; }
  /// Sets every byte, so that an element that nobody wrote shows. Waits: our streams do not wait
  /// for the one that it runs in.
  void poison(int byte) const {
    STRATA_CUDA_CALL(cudaMemset(data_, byte, bytes_));
    STRATA_CUDA_CALL(cudaDeviceSynchronize());
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Memory of the host that the device can copy from and to by itself.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) { STRATA_CUDA_CALL(cudaMallocHost(&data_, bytes)); }
  ~PinnedBuffer() { cudaFreeHost(data_); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// A CUDA graph that is ready to be launched.
class GraphExec {
 public:
  /// Takes what `record` enqueues into the stream.
  template <class Record>
  GraphExec(cudaStream_t stream, const Record& record) {
    STRATA_CUDA_CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    record();
    cudaGraph_t graph = nullptr;
    STRATA_CUDA_CALL(cudaStreamEndCapture(stream, &graph));
    const cudaError_t made = cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
    check(made, "cudaGraphInstantiate");
  }
  ~GraphExec() { cudaGraphExecDestroy(exec_); }
  GraphExec(const GraphExec&) = delete;
  GraphExec& operator=(const GraphExec&) = delete;
  void launch(cudaStream_t stream) const { STRATA_CUDA_CALL(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace strata::cuda
