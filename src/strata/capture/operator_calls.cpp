// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/operator_calls.hpp"

#include <algorithm>
#include <map>

namespace strata {
namespace {

/// Namespaces of what is around operators, or beside them.
constexpr std::string_view no_operators[] = {"autograd", "torch", "c10d", "nccl", "profiler"};

struct OperatorRange {
  std::int64_t end_ns = 0;
  std::size_t outermost = no_index;  ///< operator
  std::uint64_t backward = 0;        ///< sequence number of the backward operator that is open
};

std::uint64_t sequence_of(const RangeRecord& range, std::string_view name) {
  return range.id != 0 || range.kind != RangeKind::nvtx ? range.id : words_of_range(name).sequence;
}

/// Walks over the ranges of a thread.
class OperatorWalk {
 public:
  OperatorWalk(const Recording& recording,
               std::unordered_map<std::uint64_t, std::size_t>& operator_of_sequence)
      : recording_(recording), operator_of_sequence_(operator_of_sequence) {}

  void open(std::size_t index) {
    const RangeRecord& range = recording_.ranges[index];
    close_until(range.time.start_ns);
    const std::string_view name = recording_.names.text(range.name);
    const std::uint64_t sequence = sequence_of(range, name);
    OperatorRange inside = open_.empty() ? OperatorRange{} : open_.back();
    inside.end_ns = range.time.end_ns;
    const bool is_backward = range.is_backward || inside.backward != 0;
    if (inside.outermost == no_index && !operator_in_name(name).empty()) inside.outermost = index;
    if (is_backward && sequence != 0) inside.backward = sequence;
    if (!is_backward && sequence != 0 && inside.outermost != no_index)
      operator_of_sequence_[sequence] = inside.outermost;
    open_.push_back(inside);
  }

  OperatorRange at(std::int64_t moment) {
    close_until(moment);
    return open_.empty() ? OperatorRange{} : open_.back();
  }

 private:
  void close_until(std::int64_t moment) {
    while (!open_.empty() && open_.back().end_ns <= moment) open_.pop_back();
  }

  const Recording& recording_;
  std::unordered_map<std::uint64_t, std::size_t>& operator_of_sequence_;
  std::vector<OperatorRange> open_;
};

struct OperatorLaunch {
  std::int64_t at_ns = 0;
  std::size_t kernel = 0;
};

}  // namespace

std::string_view operator_in_name(std::string_view name) {
  const std::string_view own = name.substr(0, name.find(','));
  const std::size_t colons = own.find("::");
  if (colons == 0 || colons == own.npos || own.find(' ') != own.npos) return {};
  const std::string_view space = own.substr(0, colons);
  const bool is_none =
      std::find(std::begin(no_operators), std::end(no_operators), space) != std::end(no_operators);
  return is_none ? std::string_view{} : own;
}

OperatorCalls operator_calls(const Recording& recording, const KernelOrigins& origins) {
  OperatorCalls found;
  found.of_kernel.assign(recording.kernels.size(), no_index);
  found.forward_of_kernel.assign(recording.kernels.size(), no_index);
  std::map<std::uint32_t, std::vector<OperatorLaunch>> launches;  // by thread
  for (std::size_t i = 0; i < recording.kernels.size(); ++i) {
    if (origins.of_kernel[i].call == no_index) continue;
    const ApiRecord& call = recording.calls[origins.of_kernel[i].call];
    launches[call.thread].push_back({call.time.start_ns, i});
  }
  std::map<std::uint32_t, std::vector<std::size_t>> ranges;
  for (std::size_t i = 0; i < recording.ranges.size(); ++i)
    ranges[recording.ranges[i].thread].push_back(i);

  std::unordered_map<std::uint64_t, std::size_t> operator_of_sequence;
  std::vector<std::uint64_t> backward(recording.kernels.size(), 0);
  for (const auto& [thread, of_thread] : ranges) {
    std::vector<OperatorLaunch>& wanted = launches[thread];
    std::stable_sort(
        wanted.begin(), wanted.end(),
        [](const OperatorLaunch& a, const OperatorLaunch& b) { return a.at_ns < b.at_ns; });
    OperatorWalk walk(recording, operator_of_sequence);
    std::size_t next = 0;
    const auto look = [&] {
      const OperatorRange open = walk.at(wanted[next].at_ns);
      found.of_kernel[wanted[next].kernel] = open.outermost;
      backward[wanted[next].kernel] = open.backward;
      ++next;
    };
    for (const std::size_t range : of_thread) {
      while (next < wanted.size() && wanted[next].at_ns < recording.ranges[range].time.start_ns)
        look();
      walk.open(range);
    }
    while (next < wanted.size()) look();
  }
  for (std::size_t i = 0; i < backward.size(); ++i) {
    const auto forward = operator_of_sequence.find(backward[i]);
    if (backward[i] != 0 && forward != operator_of_sequence.end())
      found.forward_of_kernel[i] = forward->second;
  }
  return found;
}

}  // namespace strata
