// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

/// Highway's targets whose vectors have a size that only the CPU knows: such vectors cannot stand
/// in arrays or structs. CPUs that have them run the code for NEON.
#define STRATA_SCALABLE_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

/// Code that is compiled once for each kind of vector unit ("target", in Highway's words), and run
/// by the best one that this CPU has.
namespace strata::cpu {

/// The targets that this CPU can run, a bit each; the smaller the number, the better.
std::int64_t targets_of_this_cpu();

/// The same functions for several targets. A file of kernels adds itself once for each.
template <class Kernels>
class PerTarget {
 public:
  bool add(std::int64_t target, const Kernels& kernels) {
    all_.push_back({target, kernels});
    return true;
  }

  /// Those that this CPU can run, the best first; never empty where there is one for any CPU.
  std::vector<Kernels> usable() const {
    std::vector<Entry> found = all_;
    const std::int64_t targets = targets_of_this_cpu();
    std::erase_if(found, [&](const Entry& each) { return (each.target & targets) == 0; });
    std::sort(found.begin(), found.end(),
              [](const Entry& a, const Entry& b) { return a.target < b.target; });
    std::vector<Kernels> kernels;
    for (const Entry& each : found) kernels.push_back(each.kernels);
    return kernels;
  }

 private:
  struct Entry {
    std::int64_t target;
    Kernels kernels;
  };
  std::vector<Entry> all_;
};

/// Where a file of kernels adds itself; `Kernels` is a table of its own for each such file.
template <class Kernels>
PerTarget<Kernels>& compiled_kernels() {
  static PerTarget<Kernels> all;
  return all;
}

/// The best that this CPU can run; null where only vector units have such kernels and it has none.
/// Each thread asks once: what threads share would be read with a barrier, which loops that are
/// called for every row of a tensor pay for with most of their time on some CPUs (ARM's, for one:
/// nothing behind it is read before).
template <class Kernels>
const Kernels* best_kernels_if_any() {
  const auto find = []() -> const Kernels* {
    static const std::vector<Kernels> usable = compiled_kernels<Kernels>().usable();
    return usable.empty() ? nullptr : &usable.front();
  };
  thread_local const Kernels* best = nullptr;
  thread_local bool is_known = false;
  if (!is_known) {
    best = find();
    is_known = true;
  }
  return best;
}

/// The best that this CPU can run.
template <class Kernels>
const Kernels& best_kernels() {
  return *best_kernels_if_any<Kernels>();
}

}  // namespace strata::cpu
