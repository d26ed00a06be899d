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
};
static_assert(std::size(all_kinds) == static_cast<std::size_t>(prediction_limit) + 1);

constexpr std::array<std::string_view, 9> measure_names = {
    "seconds",       "bytes", "flop",  "bytes_per_s", "flop_per_s",
    "flop_per_byte", "share", "ratio", "count"};
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
