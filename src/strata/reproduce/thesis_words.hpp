// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/thesis_numbers.hpp"

#include <span>
#include <string_view>

/// What the thesis says of its networks in words ("almost hidden"), as data: each with its place,
/// the bound that the words are judged by, and how we compute it.
namespace strata {

enum class ThesisSide : std::uint8_t { below, at_least };

struct WordedClaim {
  std::string_view observation;
  std::size_t network;  ///< in thesis_networks
  std::string_view what;
  std::string_view printed;
  std::string_view sentence;
  double (*found)(const ThesisNetwork& network);
  ThesisForm form;
  ThesisSide side;
  double bound;
  std::string_view bound_text;
  std::string_view why_not = {};  ///< used where it does not hold

  std::string text(double value) const;
  ThesisVerdict verdict(double value) const;
};
std::span<const WordedClaim> worded_claims();

}  // namespace strata
