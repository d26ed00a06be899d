// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/walk_space.hpp"

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

double pattern_at(std::int64_t i) { return static_cast<double>(i % walk_granule); }

/// a: 0, 1, … 255 again and again for reading, otherwise what no walk writes; b and c differ.
void fill_for_check(const Walk& walk, double* b, double* c) {
  for (std::int64_t i = 0; i < walk.count; ++i) {
    walk.a[i] = walk.mix == AccessMix::read ? pattern_at(i) : -1;
    if (b != nullptr) b[i] = pattern_at(i + 1);
    if (c != nullptr) c[i] = pattern_at(i + 7);
  }
}

bool is_right(const Walk& walk, double sum) {
  if (walk.mix == AccessMix::read) {
    const double sum_of_granule = static_cast<double>(walk_granule * (walk_granule - 1) / 2);
    return sum == sum_of_granule * static_cast<double>(walk.count / walk_granule);
  }
  for (std::int64_t i = 0; i < walk.count; ++i) {
    double expected = walk_factor;
    if (walk.mix == AccessMix::copy) expected = walk.b[i];
    if (walk.mix == AccessMix::triad) expected = walk.b[i] + walk_factor * walk.c[i];
    if (walk.a[i] != expected) return false;
  }
  return true;
}

double run_slice(const WalkPlan& plan, const Walk& walk, std::int64_t passes) {
  if (!plan.is_plain_stream) return run_walk(walk, passes);
  for (std::int64_t pass = 0; pass < passes; ++pass)
    stream_triad(walk.a, walk.b, walk.c, walk.count);
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

WalkSpace::WalkSpace(const Bench& bench, std::int64_t bytes_per_thread)
    : doubles_(std::max(bytes_per_thread / 8 / walk_granule, std::int64_t{3}) * walk_granule),
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
    // Without large pages walks over DRAM are walks over page tables too. A wish: not all kernels
    // have them.
    madvise(region, region_bytes_, MADV_HUGEPAGE);
    regions_.push_back(static_cast<double*>(region));
  }
  bench.crew().run([&](int worker) {
    double* region = regions_[static_cast<std::size_t>(worker)];
    std::fill(region, region + region_bytes_ / 8, 1.0);
  });
}

WalkSpace::~WalkSpace() {
  for (double* region : regions_) munmap(region, region_bytes_);
}

WalkPlan WalkSpace::plan(AccessMix mix, Store store, std::int64_t set_bytes) const {
  WalkPlan plan{.mix = mix, .store = store};
  const std::int64_t wanted =
      std::clamp(set_bytes / arrays_of(mix) / 8, walk_granule, doubles_ / arrays_of(mix));
  plan.slices = (wanted + most_slice_doubles - 1) / most_slice_doubles;
  plan.slice = wanted / plan.slices / walk_granule * walk_granule;
  const std::int64_t doubles = plan.doubles();
  const std::int64_t gap = (page_doubles + place_in_page - doubles % page_doubles) % page_doubles;
  plan.array_offset = doubles + gap;
  return plan;
}

double WalkSpace::bytes_per_pass(const WalkPlan& plan) {
  return static_cast<double>(plan.slice * 8 * arrays_of(plan.mix));
}

Walk WalkSpace::slice_of(const WalkPlan& plan, int owner, std::int64_t slice) const {
  double* const a = regions_[static_cast<std::size_t>(owner)] + slice * plan.slice;
  return {.mix = plan.mix,
          .store = plan.store,
          .a = a,
          .b = a + plan.array_offset,
          .c = a + 2 * plan.array_offset,
          .count = plan.slice,
          .asking = plan.asking};
}

Bench::Work WalkSpace::work_on(const WalkPlan& plan, std::vector<int> owner_of_worker) {
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

void WalkSpace::check(const Bench& bench, const WalkPlan& plan, int active) {
  std::atomic<bool> are_right = true;
  bench.crew().run(
      [&](int worker) {
        const Walk walk = slice_of(plan, worker, 0);
        const std::int64_t arrays = arrays_of(plan.mix);
        fill_for_check(walk, arrays > 1 ? walk.a + plan.array_offset : nullptr,
                       arrays > 2 ? walk.a + 2 * plan.array_offset : nullptr);
        if (!is_right(walk, run_slice(plan, walk, 1))) are_right = false;
      },
      active);
  STRATA_CHECK(are_right, "a walk over memory left another result than its closed form");
}

}  // namespace strata::cpu
