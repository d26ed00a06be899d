// SPDX-License-Identifier: Apache-2.0
#include "strata/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

constexpr std::string_view white_space = " \t\r\n\f\v";

// Spelling habits that carry no meaning in a name: case, and which dash joins the words.
std::string plain_spelling(std::string_view name) {
  std::string plain = lower_case(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  return plain;
}

// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours,
// one each. Three rows are enough, because a swap looks back two.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substitution, last[j] + 1, row[j - 1] + 1});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  // ASCII only: the result must not depend on the user's locale.
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool same_name(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower == '_' ? '-' : lower;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return plain(x) == plain(y); });
}

bool has_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates,
                                 std::size_t most) {
  struct Match {
    std::size_t distance;
    std::size_t common;  // letters at the beginning that both have
    const std::string* name;
  };
  constexpr std::size_t longest_name = 100;  // nobody mistypes a page of text
  const std::string typed = plain_spelling(word);
  if (typed.empty() || typed.size() > longest_name) return {};

  // About one slip in three letters; a word that somebody did not finish typing always counts as
  // near.
  const std::size_t tolerance = std::max<std::size_t>(1, typed.size() / 3);
  std::vector<Match> matches;
  for (const std::string& candidate : candidates) {
    const std::string name = plain_spelling(candidate);
    if (name.size() > longest_name) continue;
    const std::size_t distance = edit_distance(typed, name);
    const bool is_unfinished = typed.size() >= 2 && name.starts_with(typed);
    const bool is_near = distance <= tolerance && distance < std::max(typed.size(), name.size());
    if (!is_unfinished && !is_near) continue;
    const auto differ = std::mismatch(typed.begin(), typed.end(), name.begin(), name.end()).first;
    matches.push_back({std::min(distance, tolerance),
                       static_cast<std::size_t>(differ - typed.begin()), &candidate});
  }
  std::stable_sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    return std::pair(a.distance, b.common) < std::pair(b.distance, a.common);
  });

  std::vector<std::string> names;
  for (const Match& match : matches) {
    // Beside a close match, distant ones are noise.
    if (names.size() == most || match.distance > matches.front().distance + 1) break;
    names.push_back(*match.name);
  }
  return names;
}

std::string alternatives(std::span<const std::string_view> choices) {
  if (choices.empty()) return {};
  const std::string_view last = choices.back();
  if (choices.size() == 1) return std::string(last);
  return fmt::format("{} or {}", fmt::join(choices.first(choices.size() - 1), ", "), last);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::vector<std::string> names = nearest(word, candidates);
  return names.empty() ? std::string() : fmt::format("; did you mean {}?", fmt::join(names, ", "));
}

}  // namespace strata
