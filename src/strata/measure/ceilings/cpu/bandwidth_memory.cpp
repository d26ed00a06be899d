// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/bandwidth_memory.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

namespace strata::cpu {
namespace {

constexpr std::int64_t most_slice_doubles = (std::int64_t{4} << 20) / 8;
/// Arrays do not begin at the same place of a page: a CPU that compares the low 12 bits of
/// addresses takes a load for the one that was just stored.
constexpr std::int64_t page_doubles = 4096 / 8;
constexpr std::int64_t place_in_page = 1408 / 8;  // of one array relative to the one before
constexpr std::int64_t most_gaps = 2 * page_doubles;

double pattern_at(std::int64_t i) { return static_cast<double>(i % loop_granule); }

/// a: 0, 1, … 255 again and again for reading, otherwise what no loop writes; b and c differ.
void fill_for_check(const BandwidthLoop& loop, double* b, double* c) {
  for (std::int64_t i = 0; i < loop.count; ++i) {
    loop.a[i] = loop.mix == AccessMix::read ? pattern_at(i) : -1;
    if (b != nullptr) b[i] = pattern_at(i + 1);
    if (c != nullptr) c[i] = pattern_at(i + 7);
  }
}

bool is_right(const BandwidthLoop& loop, double sum) {
  if (loop.mix == AccessMix::read) {
    const double sum_of_granule = static_cast<double>(loop_granule * (loop_granule - 1) / 2);
    return sum == sum_of_granule * static_cast<double>(loop.count / loop_granule);
  }
  for (std::int64_t i = 0; i < loop.count; ++i) {
    double expected = triad_factor;
    if (loop.mix == AccessMix::copy) expected = loop.b[i];
    if (loop.mix == AccessMix::triad) expected = loop.b[i] + triad_factor * loop.c[i];
    if (loop.a[i] != expected) return false;
  }
  return true;
}

double run_slice(const BandwidthPlan& plan, const BandwidthLoop& loop, std::int64_t passes) {
  if (!plan.is_plain_stream) return run_bandwidth_loop(loop, passes);
  for (std::int64_t pass = 0; pass < passes; ++pass)
    stream_triad(loop.a, loop.b, loop.c, loop.count);
  return 0;
}

}  // namespace

std::int64_t arrays_of(AccessMix mix) {
  switch (mix) {
    case AccessMix::read:
    case AccessMix::write: return 1;
    case AccessMix::copy: return 2;
    case AccessMix::triad: return 3;
  }
  return 1;
}

BandwidthMemory::BandwidthMemory(const Bench& bench, std::int64_t bytes_per_thread)
    : doubles_(std::max(bytes_per_thread / 8 / loop_granule, std::int64_t{3}) * loop_granule),
      region_bytes_(static_cast<std::size_t>((doubles_ + most_gaps) * 8)),
      progress_(static_cast<std::size_t>(bench.threads())) {
  for (int i = 0; i < bench.threads(); ++i) {
    void* region =
        mmap(nullptr, region_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED) {
      for (double* each : regions_) munmap(each, region_bytes_);
      fail(ErrorKind::environment, "no memory for {} threads with {} each", bench.threads(),
           format_capacity(static_cast<double>(region_bytes_)));
    }
    // Without large pages a pass over DRAM is a pass over page tables, too. A wish: not all kernels
    // have them.
    madvise(region, region_bytes_, MADV_HUGEPAGE);
    regions_.push_back(static_cast<double*>(region));
  }
  bench.team().run([&](int worker) {
    double* region = regions_[static_cast<std::size_t>(worker)];
    std::fill(region, region + region_bytes_ / 8, 1.0);
  });
}

BandwidthMemory::~BandwidthMemory() {
  for (double* region : regions_) munmap(region, region_bytes_);
}

BandwidthPlan BandwidthMemory::plan(AccessMix mix, Store store, std::int64_t set_bytes) const {
  BandwidthPlan plan{.mix = mix, .store = store};
  const std::int64_t wanted =
      std::clamp(set_bytes / arrays_of(mix) / 8, loop_granule, doubles_ / arrays_of(mix));
  plan.slices = (wanted + most_slice_doubles - 1) / most_slice_doubles;
  plan.slice = wanted / plan.slices / loop_granule * loop_granule;
  const std::int64_t doubles = plan.doubles();
  const std::int64_t gap = (page_doubles + place_in_page - doubles % page_doubles) % page_doubles;
  plan.array_offset = doubles + gap;
  return plan;
}

double BandwidthMemory::bytes_per_pass(const BandwidthPlan& plan) {
  return static_cast<double>(plan.slice * 8 * arrays_of(plan.mix));
}

BandwidthLoop BandwidthMemory::slice_of(const BandwidthPlan& plan, int owner,
                                        std::int64_t slice) const {
  double* const a = regions_[static_cast<std::size_t>(owner)] + slice * plan.slice;
  return {.mix = plan.mix,
          .store = plan.store,
          .a = a,
          .b = a + plan.array_offset,
          .c = a + 2 * plan.array_offset,
          .count = plan.slice,
          .prefetch = plan.prefetch};
}

Bench::Work BandwidthMemory::work_on(const BandwidthPlan& plan, std::vector<int> owner_of_worker) {
  return [this, plan, owners = std::move(owner_of_worker)](int worker, std::int64_t passes) {
    Progress& progress = progress_[static_cast<std::size_t>(worker)];
    const int owner = owners.empty() ? worker : owners[static_cast<std::size_t>(worker)];
    if (owner < 0) return;  // has a rest
    if (plan.slices == 1) {
      progress.sum += run_slice(plan, slice_of(plan, owner, 0), passes);
      return;
    }
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      const std::int64_t slice = progress.next_slice++ % plan.slices;
      progress.sum += run_slice(plan, slice_of(plan, owner, slice), 1);
    }
  };
}

void BandwidthMemory::check(const Bench& bench, const BandwidthPlan& plan, int active) {
  std::atomic<bool> are_right = true;
  bench.team().run(
      [&](int worker) {
        const BandwidthLoop loop = slice_of(plan, worker, 0);
        const std::int64_t arrays = arrays_of(plan.mix);
        fill_for_check(loop, arrays > 1 ? loop.a + plan.array_offset : nullptr,
                       arrays > 2 ? loop.a + 2 * plan.array_offset : nullptr);
        if (!is_right(loop, run_slice(plan, loop, 1))) are_right = false;
      },
      active);
  STRATA_CHECK(are_right, "a bandwidth loop left another result than its closed form");
}

}  // namespace strata::cpu
