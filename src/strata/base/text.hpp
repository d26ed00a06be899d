// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trimmed(std::string_view text);
std::string lower_case(std::string_view text);
/// Whether two names differ at most in case and in - and _.
bool same_name(std::string_view a, std::string_view b);
bool has_part(std::string_view text, std::string_view part);

/// The candidates that a person who typed `word` most likely meant, best first: at most `most`,
/// none when nothing is near.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates,
                                 std::size_t most = 3);

/// "man, bash or zsh": what may be chosen, in a sentence.
std::string alternatives(std::span<const std::string_view> choices);

/// "; did you mean a, b?" or nothing: the tail of an unknown-name message.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace strata
