// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/analytical.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The rows of the thesis's table, and the rules by which they hold.
namespace strata {

/// Whether a claim holds, and the rule in words.
struct ThesisVerdict {
  bool holds = false;
  std::string rule;
};

inline constexpr double exact_points = 3;  ///< percentage points by which a share may differ
inline constexpr double about_points = 5;  ///< where the thesis prints "about"
inline constexpr double most_factor = 0.05;

/// Shares, of which 1 is 100 %.
ThesisVerdict within_points(double printed, double found, double points = exact_points);
ThesisVerdict within_factor(double printed, double found);
/// `bound` stands in the rule as `text`.
ThesisVerdict below(double found, double bound, const std::string& text);
ThesisVerdict at_least(double found, double bound, const std::string& text);
ThesisVerdict between(double found, double least, double most, const std::string& text);
/// Found rounds to what is printed, in whole MiB.
ThesisVerdict rounds_to(std::int64_t printed_mib, std::int64_t found_bytes);
/// 93 is of the order 10^1.97, which rounds to 10².
ThesisVerdict same_order(double printed, double found);

/// What a number of the thesis is: a change of which 1 is 100 %, printed exactly or as "about", a
/// part of a whole, a factor, or a capacity.
enum class ThesisForm : std::uint8_t { share, about, part, factor, mebibytes };
std::string thesis_text(ThesisForm form, double value);

std::string thesis_percent(double share);  ///< "−48.1 %"
std::string thesis_times(double factor);   ///< "1.71×"

/// Readings of what the thesis leaves open, beside all of its numbers.
inline constexpr std::string_view readings_observation = "reading";

/// Why rows of these networks stand apart.
inline constexpr std::string_view inferred_networks =
    "networks that had to be inferred, as the thesis does not list their layers";

/// Collects findings. A note is the rule and, where the claim does not hold, why.
class ThesisRows {
 public:
  struct Claim {
    std::string observation;
    std::string network;
    std::string what;
    std::string printed;
    std::string found;
    std::string why_not = {};   ///< used where it does not hold
    std::string sentence = {};  ///< what the thesis says, in our words, and where
  };

  void add(Claim claim, const ThesisVerdict& verdict);
  /// A number of ours beside a printed one, about which nothing is claimed.
  void beside(Claim claim, std::string note);
  /// What was added last, to say where it is drawn.
  Finding& last() { return findings_.back(); }
  /// Findings by number, figures behind them. Those of inferred networks stand apart, and last
  /// come those without a sentence, readings of the text behind all others.
  std::vector<Finding> sorted() &&;

 private:
  std::vector<Finding> findings_;
};

}  // namespace strata
