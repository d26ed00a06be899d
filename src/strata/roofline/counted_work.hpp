// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/counted_arithmetic.hpp"
#include "strata/roofline/roofline.hpp"

#include <optional>
#include <string_view>

/// What a device counted of work, in place of what the definition of its operators says. A changed
/// algorithm becomes visible that way: a convolution by the FFT does fewer operations than its
/// definition has, and moves many times the bytes.
namespace strata {

/// The same work with the bytes and, where they were counted, the FLOP of the device; of an upper
/// bound of the FLOP and the definition, the smaller one. Nothing where bytes of the device's
/// memory were not counted. `dtype` is the type of the network: products in one that matrix units
/// compute have counted FLOP only where those units were counted whole.
std::optional<Work> counted_work(const Work& defined, DType dtype, const CounterLookup& value);

/// What the counted arithmetic says of the algorithm.
enum class Algorithm : std::uint8_t {
  as_defined,
  fewer_operations,  ///< below 2/3 of the definition's: Winograd's algorithm, the FFT
  more_operations,   ///< above 3/2, counted exactly: padding, or work that is done twice
};
std::string_view name_of(Algorithm algorithm);

/// Counted FLOP of convolutions and products over those of their definition; nothing where neither
/// was counted.
std::optional<double> counted_over_defined(const RooflineRow& row);
Algorithm algorithm_of(const RooflineRow& row);

}  // namespace strata
