// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/threads.hpp"
#include "strata/measure/ceilings/ceilings.hpp"
#include "strata/measure/ceilings/cpu/kernels.hpp"
#include "strata/measure/engine/device.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <vector>

/// What the machine itself reads, copies, writes and adds in a second, beside which layers are
/// held.
namespace memory_rates {

using namespace strata;

inline clockid_t bench_clock = CLOCK_MONOTONIC;

inline double now() {
  timespec time{};
  ::clock_gettime(bench_clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Traffic {
  double read = 0, written = 0;
  double bytes() const { return read + written; }
};

class Walks {
 public:
  static constexpr std::array mixes = {AccessMix::read, AccessMix::triad, AccessMix::copy,
                                       AccessMix::write};
  static constexpr std::array read_shares = {1.0, 2.0 / 3, 0.5, 0.0};

  virtual ~Walks() = default;
  /// Runs each once and keeps what is best so far.
  virtual void run() = 0;

  double of(std::size_t mix) const { return best_[mix]; }
  double like(const Traffic& traffic) const {
    const double share = traffic.read / traffic.bytes();
    std::size_t nearest = 0;
    for (std::size_t i = 1; i < mixes.size(); ++i) {
      if (std::abs(read_shares[i] - share) < std::abs(read_shares[nearest] - share)) nearest = i;
    }
    return best_[nearest];
  }

 protected:
  std::array<double, mixes.size()> best_{};
};

/// Every thread walks through its own part of memory.
class CpuWalks final : public Walks {
 public:
  explicit CpuWalks(TrainingDevice& device) : memory_(device.allocate(3 * 8 * count_)) {
    std::fill_n(static_cast<double*>(memory_.get()), 3 * count_, 1.0);
  }

  /// With stores of both kinds and with lines asked for or not.
  void run() override {
    for (std::size_t i = 0; i < mixes.size(); ++i) {
      for (const cpu::Store store : {cpu::Store::cached, cpu::Store::non_temporal}) {
        if (store == cpu::Store::non_temporal && (i == 0 || !cpu::has_non_temporal_stores()))
          continue;
        for (const cpu::Prefetch prefetch : {cpu::Prefetch::none, cpu::Prefetch::ahead}) {
          best_[i] = std::max(best_[i], rate_of({mixes[i], store}, prefetch));
        }
      }
    }
  }

 private:
  double rate_of(cpu::BandwidthLoop loop, cpu::Prefetch prefetch) {
    const std::int64_t threads = threads_.count();
    const std::int64_t each = count_ / threads / cpu::loop_granule * cpu::loop_granule;
    std::vector<double> sums(static_cast<std::size_t>(threads) * 8);
    const double start = now();
    threads_.for_each(threads, [&](std::int64_t part, int) {
      double* const first = static_cast<double*>(memory_.get()) + part * each;
      sums[static_cast<std::size_t>(part) * 8] = cpu::run_bandwidth_loop(
          {loop.mix, loop.store, first, first + count_, first + 2 * count_, each, prefetch}, 1);
    });
    const double arrays = loop.mix == AccessMix::triad ? 3 : loop.mix == AccessMix::copy ? 2 : 1;
    return arrays * 8 * static_cast<double>(each * threads) / (now() - start);
  }
  static constexpr std::int64_t count_ = (std::int64_t{128} << 20) / 8;  // in each of 3 arrays
  cpu::Threads threads_{cpu::allowed_cpus()};
  std::shared_ptr<void> memory_;
};

/// The bandwidths of `strata machine measure`, taken once: nobody shares a GPU's memory.
class CudaWalks final : public Walks {
 public:
  CudaWalks() {
    const Machine machine = measure_cuda({.is_quick = true});
    for (const MixBandwidth& bandwidth : machine.memory.back().mixes) {
      const auto at = std::find(mixes.begin(), mixes.end(), bandwidth.mix);
      best_[static_cast<std::size_t>(at - mixes.begin())] = bandwidth.bytes_per_s.value;
    }
    if (std::ranges::find(best_, 0) != best_.end())
      throw std::runtime_error("a bandwidth of this GPU could not be measured");
  }
  void run() override {}
};

}  // namespace memory_rates
