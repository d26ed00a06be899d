// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/convolution_claims.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

std::string factors_text(const ConvExtent& extent) {
  return fmt::format("{:.2f}–{:.2f}×", extent.least, extent.most);
}
std::string shares_text(const ConvExtent& extent) {
  return fmt::format("{:.0f}–{:.0f} %", 100 * extent.least, 100 * extent.most);
}
std::string sizes_text(const ConvExtent& extent) {
  return fmt::format("{}–{}", format_capacity(extent.least), format_capacity(extent.most));
}
std::string count_text(std::size_t part, std::size_t all) {
  return fmt::format("{} of {}", part, all);
}

void WhoWhere::add(std::string_view who, std::string_view where) {
  const auto found =
      std::find_if(list_.begin(), list_.end(), [&](const auto& each) { return each.first == who; });
  auto& places = found != list_.end()
                     ? found->second
                     : list_.emplace_back(std::string(who), std::vector<std::string>()).second;
  if (std::find(places.begin(), places.end(), where) == places.end()) places.emplace_back(where);
}

std::string WhoWhere::text() const {
  constexpr std::size_t most_places = 6;
  std::string text;
  for (const auto& [who, places] : list_) {
    const std::size_t shown = std::min(places.size(), most_places);
    text += fmt::format(
        "{}{} at {}{}", text.empty() ? "" : "; ", who,
        fmt::join(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        shown < places.size() ? fmt::format(" and {} more", places.size() - shown) : "");
  }
  return text;
}

namespace {

/// "FFT needs the most memory (figure 5)".
std::string sentence_of(const ConvClaim& claim) {
  return fmt::format("{} ({})", claim.sentence, claim.where.substr(0, claim.where.find(';')));
}

}  // namespace

void ConvFindings::judge(const ConvClaim& claim, std::string found, bool holds,
                         std::string_view rule, std::string_view remark) {
  STRATA_CHECK(holds || !remark.empty(), "what does not hold says why");
  findings_.push_back({.observation = claim.number,
                       .network = claim.where,
                       .what = claim.what,
                       .printed = claim.printed,
                       .found = std::move(found),
                       .is_printed = true,
                       .holds = holds,
                       .note = fmt::format("holds when {}{}{}", rule,
                                           remark.empty() ? ""
                                           : holds        ? "; "
                                                          : "; no: ",
                                           remark),
                       .sentence = sentence_of(claim)});
}

void ConvFindings::drawn_in_efficiencies(std::string_view counter, double y, std::string label) {
  findings_.back().drawn.push_back({.figure = "convolution-layers-forward-efficiencies",
                                    .panel = std::string(counter),
                                    .x = {},
                                    .y = y,
                                    .label = std::move(label)});
}

void ConvFindings::show(const ConvClaim& claim, std::string found, std::string reason) {
  findings_.push_back({.observation = claim.number,
                       .network = claim.where,
                       .what = claim.what,
                       .printed = claim.printed,
                       .found = std::move(found),
                       .is_printed = false,
                       .holds = false,
                       .note = std::move(reason),
                       .sentence = claim.printed.empty() ? "" : sentence_of(claim)});
}

void ConvFindings::missing(const ConvClaim& claim, std::string reason) {
  show(claim, "–", std::move(reason));
}

}  // namespace strata
