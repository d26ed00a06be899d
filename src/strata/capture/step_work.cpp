// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/step_work.hpp"

#include "strata/capture/collectives.hpp"

#include <algorithm>
#include <map>

namespace strata {
namespace {

/// Ranges that hold another one in which kernels were launched.
class EnclosingRanges {
 public:
  EnclosingRanges(const Recording& recording, std::vector<std::size_t> ranges) {
    std::sort(ranges.begin(), ranges.end());
    ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
    const auto key = [&](std::size_t range) {
      const RangeRecord& record = recording.ranges[range];
      return std::tuple(record.thread, record.time.start_ns, -record.time.end_ns);
    };
    std::stable_sort(ranges.begin(), ranges.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    is_enclosing_.assign(recording.ranges.size(), false);
    std::vector<std::size_t> open;
    for (const std::size_t range : ranges) {
      const RangeRecord& record = recording.ranges[range];
      while (!open.empty() && (recording.ranges[open.back()].thread != record.thread ||
                               recording.ranges[open.back()].time.end_ns <= record.time.start_ns)) {
        open.pop_back();
      }
      for (const std::size_t outer : open) is_enclosing_[outer] = true;
      open.push_back(range);
    }
  }

  bool operator[](std::size_t range) const { return is_enclosing_[range]; }

 private:
  std::vector<bool> is_enclosing_;
};

/// Which passes the calls of a thread belong to.
struct ThreadPasses {
  bool has_forward = false;
  bool has_backward = false;
};

class WorkSorter {
 public:
  WorkSorter(const Recording& recording, const KernelOrigins& origins,
             const std::vector<KernelClass>& classes, const std::vector<std::size_t>& kernels)
      : recording_(recording),
        origins_(origins),
        classes_(classes),
        kernels_(in_order_of_launch(kernels)),
        enclosing_(recording, ranges_of(kernels)) {
    for (const std::size_t kernel : kernels_) {
      if (is_loose(kernel)) continue;
      ThreadPasses& passes = threads_[thread_of(kernel)];
      (named_pass(kernel) == WorkPass::backward ? passes.has_backward : passes.has_forward) = true;
    }
  }

  StepWork sorted() const {
    StepWork work;
    for (const std::size_t kernel : kernels_) {
      if (is_collective(class_of(kernel))) {
        work.collectives.push_back(kernel);
        continue;
      }
      switch (pass_of_kernel(kernel)) {
        case WorkPass::update: work.updates.push_back(kernel); break;
        case WorkPass::backward: add(work.backward, kernel); break;
        default: add(work.forward, kernel); break;
      }
    }
    return work;
  }

 private:
  std::vector<std::size_t> in_order_of_launch(std::vector<std::size_t> kernels) const {
    std::stable_sort(kernels.begin(), kernels.end(),
                     [&](std::size_t a, std::size_t b) { return launched_ns(a) < launched_ns(b); });
    return kernels;
  }

  std::int64_t launched_ns(std::size_t kernel) const {
    const std::size_t call = origins_.of_kernel[kernel].call;
    return call == no_index ? recording_.kernels[kernel].time.start_ns
                            : recording_.calls[call].time.start_ns;
  }

  std::vector<std::size_t> ranges_of(const std::vector<std::size_t>& kernels) const {
    std::vector<std::size_t> ranges;
    for (const std::size_t kernel : kernels) {
      const std::size_t range = origins_.of_kernel[kernel].range;
      if (range != no_index) ranges.push_back(range);
    }
    return ranges;
  }

  bool is_loose(std::size_t kernel) const {
    const KernelOrigin& origin = origins_.of_kernel[kernel];
    return origin.layer == 0 || (origin.range != no_index && enclosing_[origin.range]);
  }

  std::uint32_t thread_of(std::size_t kernel) const {
    const std::size_t call = origins_.of_kernel[kernel].call;
    return call == no_index ? 0 : recording_.calls[call].thread;
  }

  const KernelClass& class_of(std::size_t kernel) const {
    return classes_[recording_.kernels[kernel].name];
  }

  /// As the ranges say, else the kernel's name.
  WorkPass named_pass(std::size_t kernel) const {
    const WorkPass pass = origins_.of_kernel[kernel].pass;
    if (pass != WorkPass::unknown) return pass;
    if (class_of(kernel).name == "optimizer") return WorkPass::update;
    return class_of(kernel).pass.starts_with("backward") ? WorkPass::backward : WorkPass::forward;
  }

  WorkPass pass_of_kernel(std::size_t kernel) const {
    const WorkPass pass = named_pass(kernel);
    if (!is_loose(kernel) || pass != WorkPass::forward ||
        origins_.of_kernel[kernel].pass == WorkPass::forward)
      return pass;
    const auto passes = threads_.find(thread_of(kernel));
    const bool is_of_backward =
        passes != threads_.end() && passes->second.has_backward && !passes->second.has_forward;
    return is_of_backward ? WorkPass::backward : WorkPass::forward;
  }

  void add(std::vector<WorkCall>& calls, std::size_t kernel) const {
    const KernelOrigin& origin = origins_.of_kernel[kernel];
    if (is_loose(kernel)) {
      calls.push_back({.layer = 0, .around = origin.layer, .range = no_index, .kernels = {kernel}});
      return;
    }
    const bool goes_on =
        !calls.empty() && calls.back().layer == origin.layer && calls.back().range == origin.range;
    if (!goes_on)
      calls.push_back({.layer = origin.layer, .around = 0, .range = origin.range, .kernels = {}});
    calls.back().kernels.push_back(kernel);
  }

  const Recording& recording_;
  const KernelOrigins& origins_;
  const std::vector<KernelClass>& classes_;
  std::vector<std::size_t> kernels_;
  EnclosingRanges enclosing_;
  std::map<std::uint32_t, ThreadPasses> threads_;
};

}  // namespace

StepWork step_work(const Recording& recording, const KernelOrigins& origins,
                   const std::vector<KernelClass>& classes,
                   const std::vector<std::size_t>& kernels) {
  return WorkSorter(recording, origins, classes, kernels).sorted();
}

ProfileKernels kernels_of_profile(const Recording& recording, const KernelOrigins& origins) {
  const FoundSteps steps =
      recording.process.has_times ? find_steps(recording, origins) : FoundSteps{};
  const std::size_t step = median_step(steps);
  ProfileKernels of_profile{.kernels = {}, .is_step = step != no_index};
  for (std::size_t i = 0; i < recording.kernels.size(); ++i) {
    if (step == no_index || steps.step_of_kernel[i] == step) of_profile.kernels.push_back(i);
  }
  return of_profile;
}

}  // namespace strata
