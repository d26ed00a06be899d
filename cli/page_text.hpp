// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/text_style.hpp"

#include <string>
#include <string_view>

namespace strata {

/// A page of the documentation as a terminal shows it: headings in bold, examples indented, links
/// by their words, tables in columns, paragraphs within the terminal's width.
std::string page_as_text(std::string_view markdown, const TextStyle& style);

/// What a page says of one word of its command: the lines of usage with it, the paragraphs that
/// begin with it in bold or that show it, and the options. Empty: nothing.
std::string page_part(std::string_view markdown, std::string_view command, std::string_view word);

}  // namespace strata
