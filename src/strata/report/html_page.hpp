// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/predict.hpp"
#include "strata/report/provenance.hpp"
#include "strata/sweep/table.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Results as one HTML file that needs no network: `strata report` and --html. The page is built
/// from web/ and put into the program; what it shows are the documents that --json writes, word for
/// word. A build without the page writes tables and pictures instead. docs/report.md describes it.
namespace strata {

/// One result on a page.
struct PageSection {
  std::string name;      ///< for people: the file it came from, or the network
  std::string document;  ///< JSON, as --json writes it
  /// What else is known of it, by name, as JSON: "roofline", "timeline",
  /// "memory", "model".
  std::vector<std::pair<std::string, std::string>> extras = {};
  std::vector<std::string> pictures = {};  ///< SVG; only the plain page shows them
  std::vector<std::string> notes = {};     ///< what is not there, and why
};

/// Whether this build has the page; otherwise html_page is the plain one.
bool has_report_page();

/// A title that a person gave is shown as it is. Otherwise the page says what it is of: model,
/// batch, data type, machine, predicted or measured.
enum class TitleFrom : std::uint8_t { results, person };

/// The whole file. Names in the documents may be anything: they are only ever text.
std::string html_page(std::string_view title, const std::vector<PageSection>& parts,
                      TitleFrom title_from = TitleFrom::results);

/// Tables of everything, and the pictures, without a script.
std::string plain_html_page(std::string_view title, const std::vector<PageSection>& parts);

/// What a predicted iteration does when, for the page: steps, waits, what goes in and out, and how
/// full the chip is. Of a long iteration neighbours are taken together, so that no row of it has
/// more than `most_slices`. Needs a prediction that has its transfers.
std::string timeline_json(const Program& program, const Prediction& prediction,
                          std::size_t most_slices = 20000);

/// What lives in the memory outside while an iteration runs, by kind, and the largest values at the
/// fullest moment. Of a long iteration, at most `most_moments`, the fullest of their neighbours.
std::string memory_json(const Program& program, const Prediction& prediction,
                        std::size_t most_moments = 4000);

/// The points of a sweep, column by column. Errors (usage): more than a page can hold.
std::string sweep_json(const SweepTable& table, const Provenance& provenance);

}  // namespace strata
