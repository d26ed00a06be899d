// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/compare.hpp"
#include "strata/profile/side_by_side.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Two profiles side by side as text of several kinds.
namespace strata {

enum class CompareBy : std::uint8_t { type, layer, block, pass };

struct CompareView {
  std::string a = "first";  ///< what the two are called: their files
  std::string b = "second";
  CompareBy by = CompareBy::type;
  std::size_t layers = 8;             ///< of the largest differences
  std::optional<double> threshold{};  ///< beyond which the answer is no
};

/// "expected on NVIDIA H200: 38 ms (35 ms to 48 ms) in pytorch-eager": what the times are.
std::string times_text(const ProfileLabel& label);

/// The answer first, then by type, then the layers that make most of the difference.
std::string to_text(const ProfileComparison& comparison, const CompareView& view,
                    const TextStyle& style);
/// One line per layer and pass.
std::string to_csv(const ProfileComparison& comparison);
/// Everything, whatever the view; `beyond_threshold` is null without one.
std::string to_json(const ProfileComparison& comparison, const CompareView& view,
                    const Provenance& provenance);

/// Any number of profiles: a column of times for each, with its ratio to the first. Names are what
/// they are called, one per profile.
std::string to_text(const SideBySide& all, const std::vector<std::string>& names,
                    const CompareView& view, const TextStyle& style);
std::string to_csv(const SideBySide& all, const std::vector<std::string>& names);

}  // namespace strata
