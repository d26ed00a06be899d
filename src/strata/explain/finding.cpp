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
    {memory_bound, "memory-bound", "waits for memory", true},
    {one_layer, "one-layer", "one layer takes much of the time", true},
    {launch_bound, "launch-bound", "kernels take less time than starting them", true},
    {between_kernels, "between-kernels", "time passes between kernels", true},
    {low_utilisation, "low-utilisation", "far from the peak although arithmetic is the limit",
     true},
    {low_bandwidth, "low-bandwidth", "far from the bandwidth although memory is the limit", true},
    {zero_flop, "zero-flop", "time without arithmetic", true},
    {vector_products, "vector-products", "products on ordinary lanes", true},
    {wide_type, "wide-type", "a shorter data type would be faster", true},
    {wide_products, "wide-products", "products in a wider type than the network", true},
    {backward_heavy, "backward-heavy", "backward takes more than its share", true},
    {gradient_sums, "gradient-sums", "sums of gradients", true},
    {update_share, "update-share", "update of the weights", true},
    {stall_on_value, "stall-on-value", "waits for one tensor", true},
    {capacity_below_scope, "capacity-below-scope", "reuse that the chip is too small for", true},
    {sliced_weights, "sliced-weights", "weights are cut and inputs read again", true},
    {far_from_bound, "far-from-bound", "slower than the best possible schedule may be", true},
    {above_roof, "above-roof", "rows are faster than the machine can be", false},
    {missing_column, "missing-column", "the profile lacks numbers", false},
    {prediction_limit, "prediction-limit", "a limit, not a calibrated time", false},
    {host_gaps, "host-gaps", "the device waits while the host computes", true},
    {launch_gaps, "launch-gaps", "the device waits for launches", true},
    {queued_kernels, "queued-kernels", "kernels wait in their queue while nothing runs", true},
    {sync_gaps, "sync-gaps", "the device waits because the host waited for it", true},
    {data_loader, "data-loader", "the device waits for data", true},
    {exposed_copies, "exposed-copies", "copies run while no kernel does", true},
    {serial_copies, "serial-copies", "copies run one after the other", true},
    {small_copies, "small-copies", "many copies are small", true},
    {slow_copies, "slow-copies", "copies are slower than the link", true},
    {pageable_copies, "pageable-copies", "copies of memory that is not pinned", true},
    {exposed_collectives, "exposed-collectives", "communication runs while nothing else does",
     true},
    {low_concurrency, "low-concurrency", "small kernels run one at a time", true},
    {few_blocks, "few-blocks", "kernels with fewer blocks than multiprocessors", true},
    {slower_algorithm, "slower-algorithm", "convolutions took longer than another algorithm", true},
    {low_occupancy, "low-occupancy", "a resource keeps warps away", true},
    {allocation_calls, "allocation-calls", "memory is allocated while the program runs", true},
    {uncoalesced, "uncoalesced", "loads move more than they ask for", true},
    {bank_conflicts, "bank-conflicts", "accesses of shared memory collide", true},
    {divergence, "divergence", "threads of a warp part ways", true},
    {lost_records, "lost-records", "records were lost", false},
    {recorder_overhead, "recorder-overhead", "the recorder took time itself", false},
};
static_assert(std::size(all_kinds) == static_cast<std::size_t>(recorder_overhead) + 1);

constexpr std::array<std::string_view, 10> measure_names = {
    "seconds",    "bytes",         "capacity_bytes", "flop",  "bytes_per_s",
    "flop_per_s", "flop_per_byte", "share",          "ratio", "count"};
constexpr std::array<std::string_view, 2> basis_names = {"predicted_again", "row_by_row"};

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

double ProfileFinding::gain_s() const {
  double most = 0;
  for (const WhatIf& what_if : what_ifs) most = std::max(most, what_if.gain_s());
  return most;
}

}  // namespace strata
