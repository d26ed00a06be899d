// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/gpu/cuda/api.cuh"
#include "strata/gpu/cuda/loaded_library.cuh"
#include "strata/measure/ceilings/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <exception>
#include <functional>
#include <thread>

namespace strata::cuda {
namespace {

// NCCL's header is not part of the toolkit. These names and numbers are its interface since 2.7
// (nccl.h of NVIDIA/nccl), which may only grow.
using NcclComm = struct NcclCommOfLibrary*;
using NcclResult = int;
constexpr NcclResult nccl_success = 0;
constexpr int nccl_int8 = 0, nccl_float32 = 7, nccl_sum = 0;

struct NcclFunctions {
  LoadedLibrary library;
  NcclResult (*get_version)(int*) = nullptr;
  const char* (*error_text)(NcclResult) = nullptr;
  NcclResult (*init_all)(NcclComm*, int, const int*) = nullptr;
  NcclResult (*destroy)(NcclComm) = nullptr;
  NcclResult (*group_start)() = nullptr;
  NcclResult (*group_end)() = nullptr;
  NcclResult (*all_reduce)(const void*, void*, std::size_t, int, int, NcclComm,
                           cudaStream_t) = nullptr;
  NcclResult (*all_gather)(const void*, void*, std::size_t, int, NcclComm, cudaStream_t) = nullptr;
  NcclResult (*reduce_scatter)(const void*, void*, std::size_t, int, int, NcclComm,
                               cudaStream_t) = nullptr;
  NcclResult (*send)(const void*, std::size_t, int, int, NcclComm, cudaStream_t) = nullptr;
  NcclResult (*receive)(void*, std::size_t, int, int, NcclComm, cudaStream_t) = nullptr;

  explicit NcclFunctions(const std::string& file) {
    const bool is_whole =
        library.open(file.empty() ? "libnccl.so.2" : file) &&
        library.find(get_version, "ncclGetVersion") &&
        library.find(error_text, "ncclGetErrorString") &&
        library.find(init_all, "ncclCommInitAll") && library.find(destroy, "ncclCommDestroy") &&
        library.find(group_start, "ncclGroupStart") && library.find(group_end, "ncclGroupEnd") &&
        library.find(all_reduce, "ncclAllReduce") && library.find(all_gather, "ncclAllGather") &&
        library.find(reduce_scatter, "ncclReduceScatter") && library.find(send, "ncclSend") &&
        library.find(receive, "ncclRecv");
    if (!is_whole)
      fail(ErrorKind::environment,
           "{}; --nccl FILE names it (PyTorch brings one: nvidia/nccl/lib/libnccl.so.2 among its "
           "packages)",
           library.problem);
  }
  void check(NcclResult result, const char* call) const {
    if (result != nccl_success) fail(ErrorKind::environment, "{}: {}", call, error_text(result));
  }
};

/// One GPU of the group: its stream, its buffers, its place in the communicator.
struct NcclRank {
  int index = 0;  // of the device
  NcclComm comm = nullptr;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<DeviceBuffer> sent, received;
};

/// Runs one function per rank, each on a thread of its own with its device, and throws what the
/// first of them threw.
void on_every_rank(std::vector<NcclRank>& ranks,
                   const std::function<void(NcclRank&, std::size_t)>& run) {
  std::vector<std::exception_ptr> problems(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        STRATA_CUDA_CALL(cudaSetDevice(ranks[i].index));
        run(ranks[i], i);
      } catch (...) {
        problems[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& problem : problems) {
    if (problem) std::rethrow_exception(problem);
  }
}

struct RankEvents {
  Event start, stop;
};

/// A rank that cannot begin must not keep the others waiting.
std::unique_ptr<const RankEvents> events_or_drop(std::barrier<>& all_here) {
  try {
    return std::make_unique<const RankEvents>();
  } catch (...) {
    all_here.arrive_and_drop();
    throw;
  }
}

class NcclGroup : public GpuGroup {
 public:
  NcclGroup(std::vector<DeviceInfo> devices, const std::string& file)
      : devices_(std::move(devices)), nccl_(file) {}
  ~NcclGroup() override { leave(); }

  std::string library() const override {
    int version = 0;
    nccl_.check(nccl_.get_version(&version), "ncclGetVersion");
    return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }
  const std::vector<DeviceInfo>& devices() const override { return devices_; }

  void join(int count, std::int64_t largest_bytes) override {
    leave();
    ranks_.resize(static_cast<std::size_t>(count));
    std::vector<int> indices;
    std::vector<NcclComm> comms(ranks_.size());
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].index = devices_[i].index;
      indices.push_back(devices_[i].index);
    }
    nccl_.check(nccl_.init_all(comms.data(), count, indices.data()), "ncclCommInitAll");
    for (std::size_t i = 0; i < ranks_.size(); ++i) ranks_[i].comm = comms[i];
    on_every_rank(ranks_, [&](NcclRank& rank, std::size_t) {
      rank.stream = std::make_unique<Stream>();
      rank.sent = std::make_unique<DeviceBuffer>(static_cast<std::size_t>(largest_bytes));
      rank.received = std::make_unique<DeviceBuffer>(static_cast<std::size_t>(largest_bytes));
      STRATA_CUDA_CALL(cudaMemset(rank.sent->get(), 0, rank.sent->bytes()));
      STRATA_CUDA_CALL(cudaDeviceSynchronize());
    });
    check_sums();
  }

  double seconds_of(CollectiveKind kind, std::int64_t bytes, int repeats) override {
    std::vector<double> seconds(ranks_.size());
    std::barrier all_here(static_cast<std::ptrdiff_t>(ranks_.size()));
    on_every_rank(ranks_, [&](NcclRank& rank, std::size_t i) {
      const std::unique_ptr<const RankEvents> events = events_or_drop(all_here);
      const Event &start = events->start, &stop = events->stop;
      all_here.arrive_and_wait();
      start.record(rank.stream->get());
      for (int repeat = 0; repeat < repeats; ++repeat) enqueue(kind, bytes, rank, i);
      stop.record(rank.stream->get());
      seconds[i] = stop.seconds_since(start) / repeats;
    });
    return *std::max_element(seconds.begin(), seconds.end());
  }

 private:
  void enqueue(CollectiveKind kind, std::int64_t bytes, NcclRank& rank, std::size_t number) const {
    const auto whole = static_cast<std::size_t>(bytes);
    const std::size_t part = whole / ranks_.size();
    const void* sent = rank.sent->get();
    void* received = rank.received->get();
    const cudaStream_t stream = rank.stream->get();
    switch (kind) {
      case CollectiveKind::all_reduce:
        nccl_.check(nccl_.all_reduce(sent, received, whole / sizeof(float), nccl_float32, nccl_sum,
                                     rank.comm, stream),
                    "ncclAllReduce");
        break;
      case CollectiveKind::all_gather:
        nccl_.check(nccl_.all_gather(sent, received, part, nccl_int8, rank.comm, stream),
                    "ncclAllGather");
        break;
      case CollectiveKind::reduce_scatter:
        nccl_.check(nccl_.reduce_scatter(sent, received, part / sizeof(float), nccl_float32,
                                         nccl_sum, rank.comm, stream),
                    "ncclReduceScatter");
        break;
      case CollectiveKind::all_to_all: exchange(part, rank); break;
      case CollectiveKind::point_to_point:
        if (number == 0)
          nccl_.check(nccl_.send(sent, whole, nccl_int8, 1, rank.comm, stream), "ncclSend");
        if (number == 1)
          nccl_.check(nccl_.receive(received, whole, nccl_int8, 0, rank.comm, stream), "ncclRecv");
        break;
    }
  }

  /// A part to every rank and one from each, as frameworks write an all-to-all.
  void exchange(std::size_t part, NcclRank& rank) const {
    nccl_.check(nccl_.group_start(), "ncclGroupStart");
    for (std::size_t other = 0; other < ranks_.size(); ++other) {
      const auto peer = static_cast<int>(other);
      nccl_.check(nccl_.send(rank.sent->get<char>() + other * part, part, nccl_int8, peer,
                             rank.comm, rank.stream->get()),
                  "ncclSend");
      nccl_.check(nccl_.receive(rank.received->get<char>() + other * part, part, nccl_int8, peer,
                                rank.comm, rank.stream->get()),
                  "ncclRecv");
    }
    nccl_.check(nccl_.group_end(), "ncclGroupEnd");
  }

  /// What is timed must be right: a sum of ones is the number of ranks.
  void check_sums() {
    constexpr std::size_t numbers = 256;
    on_every_rank(ranks_, [&](NcclRank& rank, std::size_t) {
      std::vector<float> ones(numbers, 1.0F);
      constexpr std::size_t bytes = numbers * sizeof(float);
      const std::size_t fitting = std::min(bytes, rank.sent->bytes()) / sizeof(float);
      STRATA_CUDA_CALL(cudaMemcpyAsync(rank.sent->get(), ones.data(), fitting * sizeof(float),
                                       cudaMemcpyHostToDevice, rank.stream->get()));
      nccl_.check(nccl_.all_reduce(rank.sent->get(), rank.received->get(), fitting, nccl_float32,
                                   nccl_sum, rank.comm, rank.stream->get()),
                  "ncclAllReduce");
      STRATA_CUDA_CALL(cudaMemcpyAsync(ones.data(), rank.received->get(), fitting * sizeof(float),
                                       cudaMemcpyDeviceToHost, rank.stream->get()));
      rank.stream->synchronize();
      const auto wanted = static_cast<float>(ranks_.size());
      if (std::any_of(ones.begin(), ones.begin() + static_cast<std::ptrdiff_t>(fitting),
                      [&](float sum) { return sum != wanted; }))
        fail(ErrorKind::environment,
             "an all-reduce of ones among {} GPUs is not {}: NCCL's sum is "
             "wrong on this host",
             ranks_.size(), wanted);
    });
  }

  void leave() {
    for (NcclRank& rank : ranks_) {
      cudaSetDevice(rank.index);
      if (rank.comm != nullptr) nccl_.destroy(rank.comm);
      rank.stream.reset();
      rank.sent.reset();
      rank.received.reset();
    }
    ranks_.clear();
  }

  std::vector<DeviceInfo> devices_;
  NcclFunctions nccl_;
  std::vector<NcclRank> ranks_;
};

}  // namespace
}  // namespace strata::cuda

namespace strata {

std::unique_ptr<GpuGroup> open_gpu_group(const std::string& library) {
  std::vector<DeviceInfo> devices = cuda_devices();
  check_gpu_group(devices);
  return std::make_unique<cuda::NcclGroup>(std::move(devices), library);
}

}  // namespace strata
