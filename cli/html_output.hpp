// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/api/page.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Results as pages: what --html of every command and `strata report` have in common.
namespace strata {

inline constexpr Flag html_flag{.name = "html",
                                .value = "FILE",
                                .help = "A page to look at and explore; - is stdout.",
                                .offer = Offer::output};

/// The page; standard error says so when this build can only write a plain one.
std::string page_text(std::string_view title, const std::vector<PageSection>& parts,
                      TitleFrom title_from = TitleFrom::results);

/// The page of a sweep, when --html was given, with the answers to what was asked of it (JSON;
/// empty: nothing was). Errors (usage): it is to go to standard output, where points and answers
/// go.
void write_sweep_page(const Request& request, const SweepTable& table,
                      const std::string& answers = {});
void check_sweep_page(const Arguments& given);

/// A result that is one document: --json and --html write it, people read the table. What is not
/// wanted is not made.
struct ShownDocument {
  std::string_view title;
  std::function<std::string()> json;
  std::function<std::string()> text;
  const Flag* csv_flag = nullptr;  ///< nullptr: the command has none
  std::function<std::string()> csv = {};
};
void show_document(const Request& request, const Flag& json_flag, const ShownDocument& shown);

}  // namespace strata
