// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/finding.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace strata {
namespace {

using enum FindingCode;

// In the order of the codes.
constexpr FindingKind all_kinds[] = {
    {out_of_memory, "out-of-memory", "the iteration does not fit the memory", false},
    {host_bound, "host-bound", "the GPU waits for the host", true},
    {memory_bound, "memory-bound", "waits for memory", true},
    {one_layer, "one-layer", "one layer takes much of the time", true},
    {launch_bound, "launch-bound", "kernels are shorter than their launches", true},
    {between_kernels, "between-kernels", "time passes between kernels", true},
    {low_utilisation, "low-utilisation", "compute-bound, far from the peak", true},
    {low_bandwidth, "low-bandwidth", "memory-bound, far from the bandwidth", true},
    {zero_flop, "zero-flop", "time without arithmetic", true},
    {vector_products, "vector-products", "products without matrix units", true},
    {wide_type, "wide-type", "lower precision would be faster", true},
    {wide_products, "wide-products", "products in higher precision than the network", true},
    {backward_heavy, "backward-heavy", "backward takes more than its share", true},
    {gradient_sums, "gradient-sums", "sums of gradients", true},
    {update_share, "update-share", "optimizer update", true},
    {stall_on_value, "stall-on-value", "waits for one tensor", true},
    {capacity_below_scope, "capacity-below-scope", "working set larger than the on-chip memory",
     true},
    {sliced_weights, "sliced-weights", "weights are cut and inputs read again", true},
    {far_from_bound, "far-from-bound", "above the lower bound", true},
    {above_roof, "above-roof", "rows are faster than the machine can be", false},
    {missing_column, "missing-column", "the profile lacks numbers", false},
    {prediction_limit, "prediction-limit", "a limit, not a calibrated time", false},
    {warp_stalls, "warp-stalls", "what warps wait for", true},
    {cache_hits, "cache-hits", "where loads find their data", true},
    {interconnect_bound, "interconnect-bound", "between L1 and L2 is busier than DRAM", true},
    {extra_traffic, "extra-traffic", "more bytes than the tensors have", true},
    {other_algorithm, "other-algorithm", "arithmetic differs from the definition", false},
    {host_gaps, "host-gaps", "the device waits while the host computes", true},
    {launch_gaps, "launch-gaps", "the device waits for launches", true},
    {queued_kernels, "queued-kernels", "kernels wait in their queue while nothing runs", true},
    {sync_gaps, "sync-gaps", "the device waits because the host waited for it", true},
    {data_loader, "data-loader", "the device waits for data", true},
    {exposed_copies, "exposed-copies", "copies that no kernel overlaps", true},
    {serial_copies, "serial-copies", "copies run one after the other", true},
    {small_copies, "small-copies", "many copies are small", true},
    {slow_copies, "slow-copies", "copies are slower than the link", true},
    {pageable_copies, "pageable-copies", "copies of pageable memory", true},
    {exposed_collectives, "exposed-collectives", "communication that nothing overlaps", true},
    {communication, "communication", "kernels exchange data with other devices", true},
    {low_concurrency, "low-concurrency", "small kernels run one at a time", true},
    {few_blocks, "few-blocks", "kernels with fewer blocks than multiprocessors", true},
    {slower_algorithm, "slower-algorithm", "convolutions took longer than another algorithm", true},
    {low_occupancy, "low-occupancy", "low occupancy: a resource limits the warps", true},
    {allocation_calls, "allocation-calls", "memory is allocated while the program runs", true},
    {uncoalesced, "uncoalesced", "uncoalesced loads or stores", true},
    {bank_conflicts, "bank-conflicts", "bank conflicts in shared memory", true},
    {divergence, "divergence", "branch divergence within warps", true},
    {pipeline_bubble, "pipeline-bubble", "stages of the pipeline wait for one another", true},
    {recomputation, "recomputation", "forward runs again in backward", true},
    {lost_records, "lost-records", "records were lost", false},
    {recorder_overhead, "recorder-overhead", "the recorder took time itself", false},
};
static_assert(std::size(all_kinds) == static_cast<std::size_t>(recorder_overhead) + 1);

constexpr std::array<std::string_view, 10> measure_names = {
    "seconds",    "bytes",         "capacity_bytes", "flop",  "bytes_per_s",
    "flop_per_s", "flop_per_byte", "share",          "ratio", "count"};
constexpr std::array<std::string_view, 2> basis_names = {"predicted_again", "row_by_row"};
constexpr std::array<std::string_view, 4> changed_by_names = {"user", "machine", "chip",
                                                              "supposed"};

struct WhoChanges {
  ChangedBy operator()(const BandwidthTimes&) const { return ChangedBy::chip; }
  ChangedBy operator()(const ThroughputTimes&) const { return ChangedBy::chip; }
  ChangedBy operator()(const CapacityOf&) const { return ChangedBy::chip; }
  ChangedBy operator()(const InDType&) const { return ChangedBy::user; }
  ChangedBy operator()(const BatchTimes&) const { return ChangedBy::user; }
  ChangedBy operator()(const BatchOf&) const { return ChangedBy::user; }
  /// Parts of tensors are kept by a chip's schedule; all other options are of the training.
  ChangedBy operator()(const OptionSet& change) const {
    return change.name == "granularity" ? ChangedBy::chip : ChangedBy::user;
  }
  ChangedBy operator()(const OnMachine&) const { return ChangedBy::machine; }
  ChangedBy operator()(const OtherSplit&) const { return ChangedBy::user; }
  ChangedBy operator()(const OtherCluster&) const { return ChangedBy::machine; }
  ChangedBy operator()(const Computed&) const { return ChangedBy::supposed; }
};

/// In which type a change lets products be computed; nothing: it is about something else.
std::optional<DType> type_of_products(const Change& change) {
  if (const auto* type = std::get_if<InDType>(&change)) return type->dtype;
  const auto* option = std::get_if<OptionSet>(&change);
  if (option == nullptr || (option->name != "dtype" && option->name != "amp")) return std::nullopt;
  return dtype_named(option->value);
}

}  // namespace

std::span<const FindingKind> finding_kinds() { return all_kinds; }

const FindingKind& kind_of(FindingCode code) {
  const FindingKind& kind = all_kinds[static_cast<std::size_t>(code)];
  STRATA_CHECK(kind.code == code, "the table of findings is in the order of their codes");
  return kind;
}

std::string_view name_of(Measure measure) {
  return measure_names[static_cast<std::size_t>(measure)];
}
std::string_view name_of(Basis basis) { return basis_names[static_cast<std::size_t>(basis)]; }

std::string_view name_of(ChangedBy by) { return changed_by_names[static_cast<std::size_t>(by)]; }

ChangedBy changed_by(const WhatIf& what_if) { return std::visit(WhoChanges{}, what_if.change); }

std::string text_of(const WhatIf& what_if) {
  const std::string change = text_of(what_if.change);
  return what_if.beyond ? change + " instead of " + text_of(*what_if.beyond) : change;
}

void sort_by_gain(std::vector<WhatIf>& what_ifs) {
  const auto is_of_machine = [](const WhatIf& what_if) {
    return std::holds_alternative<OnMachine>(what_if.change) ||
           std::holds_alternative<OtherCluster>(what_if.change);
  };
  std::stable_sort(what_ifs.begin(), what_ifs.end(), [&](const WhatIf& a, const WhatIf& b) {
    if (is_of_machine(a) != is_of_machine(b)) return is_of_machine(b);
    if (a.time_s.has_value() != b.time_s.has_value()) return a.time_s.has_value();
    return a.gain_s() > b.gain_s();
  });
  const auto lower = std::find_if(what_ifs.begin(), what_ifs.end(), [](const WhatIf& what_if) {
    const auto type = type_of_products(what_if.change);
    return type && bytes_per_element(*type) < bytes_per_element(DType::tf32);
  });
  const auto tf32 = std::find_if(lower, what_ifs.end(), [](const WhatIf& what_if) {
    return type_of_products(what_if.change) == DType::tf32;
  });
  if (tf32 != what_ifs.end()) std::rotate(lower, tf32, tf32 + 1);
}

double ProfileFinding::gain_s() const {
  double most = 0;
  for (const WhatIf& what_if : what_ifs) most = std::max(most, what_if.gain_s());
  return most;
}

}  // namespace strata
