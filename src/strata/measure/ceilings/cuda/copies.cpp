// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/measure/ceilings/cuda/ceilings.cuh"
#include "strata/measure/ceilings/line_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

namespace strata::cuda {
namespace {

constexpr std::size_t least_bytes = 4 << 10;
constexpr std::size_t most_bytes = std::size_t{1} << 30;
constexpr std::size_t most_bytes_quick = 64 << 20;

using CopyOnce = std::function<void(std::size_t bytes)>;  // until it is done

std::vector<double> copy_times(const CopyOnce& copy, std::size_t bytes, int samples) {
  // A small copy is over before the clock has moved: a sample is the mean of several.
  const int copies = static_cast<int>(std::clamp<std::size_t>((4 << 20) / bytes, 1, 50));
  copy(bytes);
  std::vector<double> samples_s;
  for (int i = 0; i < samples; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < copies; ++k) copy(bytes);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    samples_s.push_back(elapsed.count() / copies);
  }
  return samples_s;
}

/// Times every size and fits latency and bandwidth.
void sweep(const Bench& bench, const CopyOnce& copy, std::size_t most, Link& link) {
  std::vector<TransferTime> times;
  std::vector<double> samples_s;
  for (std::size_t bytes = least_bytes; bytes <= most; bytes *= 4) {
    const int samples = bytes > (64 << 20) ? 3 : bench.options().is_quick ? 5 : 11;
    samples_s = copy_times(copy, bytes, samples);
    const double median_s = median_of(samples_s);
    times.push_back({static_cast<double>(bytes), median_s});
    link.points.push_back({static_cast<double>(bytes), static_cast<double>(bytes) / median_s});
  }
  const std::string largest = format_capacity(times.back().bytes);
  const TransferTime& last = times.back();
  const TransferCost cost =
      fit_transfers(times).value_or(TransferCost{times.front().seconds, last.bytes / last.seconds});
  Measurement evidence = strata::evidence_of(
      fmt::format("copies of {} to {}, each until it is done: time = latency + bytes / bandwidth, "
                  "fitted; samples are those of {}",
                  format_capacity(times.front().bytes), largest, largest),
      samples_s);
  evidence.notes.push_back(
      fmt::format("{} of {}", format_bytes_per_s(last.bytes / last.seconds, 4), largest));
  link.bandwidth_bytes_per_s = {cost.bytes_per_s, measured_source, std::move(evidence)};
  link.latency_s = Sourced{cost.latency_s, "measured: the fit of the bandwidth"};
}

void fill_random(void* data, std::size_t bytes, std::uint32_t seed) {
  std::minstd_rand random(seed + 1);
  auto* words = static_cast<std::uint32_t*>(data);
  for (std::size_t i = 0; i < bytes / sizeof(std::uint32_t); ++i)
    words[i] = static_cast<std::uint32_t>(random());
}

/// A round trip gives back what was sent.
void check_round_trip(const Bench& bench, const void* sent, void* back, const DeviceBuffer& device,
                      std::size_t bytes) {
  std::memset(back, 0xA5, bytes);
  STRATA_CUDA_CALL(
      cudaMemcpyAsync(device.get(), sent, bytes, cudaMemcpyHostToDevice, bench.stream()));
  STRATA_CUDA_CALL(
      cudaMemcpyAsync(back, device.get(), bytes, cudaMemcpyDeviceToHost, bench.stream()));
  bench.synchronize();
  if (std::memcmp(sent, back, bytes) != 0)
    fail(ErrorKind::environment, "a copy to the GPU and back changed the data");
}

void measure_host_memory(const Bench& bench, HostMemory memory, void* sent, void* back,
                         const DeviceBuffer& device, std::size_t most, Machine& machine) {
  fill_random(sent, most, bench.options().seed);
  check_round_trip(bench, sent, back, device, most);
  for (const LinkKind kind : {LinkKind::host_to_device, LinkKind::device_to_host}) {
    Link link;
    link.name = "host";
    link.kind = kind;
    link.host_memory = memory;
    const CopyOnce copy = [&](std::size_t bytes) {
      const bool is_up = kind == LinkKind::host_to_device;
      STRATA_CUDA_CALL(
          cudaMemcpyAsync(is_up ? device.get() : back, is_up ? sent : device.get(), bytes,
                          is_up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, bench.stream()));
      bench.synchronize();
    };
    sweep(bench, copy, most, link);
    machine.links.push_back(std::move(link));
  }
}

std::size_t most_bytes_of(const Bench& bench) {
  std::size_t free_bytes = 0, total_bytes = 0;
  STRATA_CUDA_CALL(cudaMemGetInfo(&free_bytes, &total_bytes));
  std::size_t most = bench.options().is_quick ? most_bytes_quick : most_bytes;
  while (most > free_bytes / 2 && most > least_bytes) most /= 4;
  return most;
}

}  // namespace

void measure_copies(const Bench& bench, const Say& say, Machine& machine) {
  const std::size_t most = most_bytes_of(bench);
  const DeviceBuffer device(most);
  say("copies to and from pinned memory");
  {
    const PinnedBuffer sent(most), back(most);
    measure_host_memory(bench, HostMemory::pinned, sent.get(), back.get(), device, most, machine);
  }
  say("copies to and from pageable memory");
  std::vector<unsigned char> sent(most), back(most);
  measure_host_memory(bench, HostMemory::pageable, sent.data(), back.data(), device, most, machine);
}

void measure_peers(const Bench& bench, const Say& say, Machine& machine) {
  const int here = bench.device().index;
  int count = 0;
  STRATA_CUDA_CALL(cudaGetDeviceCount(&count));
  for (int there = 0; there < count; ++there) {
    if (there == here) continue;
    say(fmt::format("copies to GPU {}", there));
    int is_direct = 0;
    STRATA_CUDA_CALL(cudaDeviceCanAccessPeer(&is_direct, here, there));
    const std::size_t most = most_bytes_of(bench);
    const DeviceBuffer mine(most);
    STRATA_CUDA_CALL(cudaSetDevice(there));
    const DeviceBuffer theirs(most);
    STRATA_CUDA_CALL(cudaSetDevice(here));
    if (is_direct != 0) {
      const cudaError_t enabled = cudaDeviceEnablePeerAccess(there, 0);
      if (enabled != cudaErrorPeerAccessAlreadyEnabled)
        check(enabled, "cudaDeviceEnablePeerAccess");
      cudaGetLastError();
    }
    Link link;
    link.name = fmt::format("gpu{} to gpu{}", here, there);
    link.kind = LinkKind::peer;
    sweep(
        bench,
        [&](std::size_t bytes) {
          STRATA_CUDA_CALL(
              cudaMemcpyPeerAsync(theirs.get(), there, mine.get(), here, bytes, bench.stream()));
          bench.synchronize();
        },
        most, link);
    link.bandwidth_bytes_per_s.evidence->notes.push_back(
        is_direct != 0 ? "direct access between the two" : "through the host's memory");
    machine.links.push_back(std::move(link));
  }
}

}  // namespace strata::cuda
