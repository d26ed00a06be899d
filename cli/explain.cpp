// SPDX-License-Identifier: Apache-2.0
#include "strata/api/explain.hpp"

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/explain_parallel.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_flags.hpp"
#include "cli/predict_parallel.hpp"
#include "cli/profile_argument.hpp"
#include "cli/progress.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/report/explain_report.hpp"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

namespace strata {
namespace {

constexpr std::size_t findings_in_full = 3;

constexpr Argument explain_arguments[] = {
    {.name = "PROFILE|MODEL",
     .help = "What predict --json wrote, or a model to predict.",
     .offer = Offer::model}};
constexpr Flag explain_on_flag{.name = "on",
                               .value = "MACHINE",
                               .help = "Whose roofs; else the machine of the profile.",
                               .offer = Offer::machine};
constexpr Flag explain_top_flag{
    .name = "top", .value = "N", .help = "The N largest findings in full, or all of them: all."};
constexpr Flag explain_json_flag{.name = "json",
                                 .value = "FILE",
                                 .help = "Everything as JSON; - is standard output.",
                                 .offer = Offer::output};

constexpr Flag explain_csv_flag{.name = "csv",
                                .value = "FILE",
                                .help = "A line per finding; - is standard output.",
                                .offer = Offer::output};

constexpr auto explain_flags =
    joined_flags(std::array<Flag, 3>{explain_on_flag, set_flag, parallel_flag}, prediction_flags,
                 std::array<Flag, 5>{require_fit_flag, explain_top_flag, explain_json_flag,
                                     explain_csv_flag, html_flag});

std::size_t top_of(const Arguments& given) {
  const auto text = given.value(explain_top_flag);
  if (!text) return findings_in_full;
  if (*text == "all") return ~std::size_t{0};
  return static_cast<std::size_t>(parse_whole_number(*text, "--top (or all)", 0));
}

/// What is explained, and what its page shows.
struct Explained {
  Explanation explanation;
  std::optional<PageSection> page;  ///< only when it is wanted
};

Explained explain_predicted(const Arguments& given, const std::string& word,
                            const Provenance& provenance) {
  const Machine machine = machine_of(given);
  const Graph graph = load_model(word, import_options(given));
  PredictRequest wanted = predict_request(given, true);
  wanted.wants_transfers = given.has(html_flag);
  ExplainedModel explained =
      explain_model(graph, machine, wanted, [&](std::size_t done, std::size_t all) {
        show_progress("predicting with changes", done, all);
      });
  warn(explained.iteration.summary.warnings);
  Explained made{std::move(explained.explanation), std::nullopt};
  if (given.has(html_flag)) {
    made.page = page_section(explained.iteration, with_overrides(machine, wanted.hardware),
                             made.explanation,
                             {.command = provenance.command, .request = request_json(given, word)});
  }
  return made;
}

Explained explain_word(const Arguments& given, const Provenance& provenance) {
  const std::string word(given.word(0));
  std::optional<StoredProfile> stored = stored_profile(word);
  if (!stored) return explain_predicted(given, word, provenance);
  refuse_flags_for_profile(given, explain_flags,
                           {&explain_on_flag, &set_flag, &require_fit_flag, &explain_top_flag,
                            &explain_json_flag, &explain_csv_flag, &html_flag});
  const AskedRoofs asked = asked_roofs(given, explain_on_flag);
  try {
    Explained made{explain_stored(*stored, asked).explanation, std::nullopt};
    if (is_recording(word)) {
      made.explanation.notes.push_back(
          "strata trace shows the kernels, calls and copies of the recording, each with its time");
    }
    if (given.has(html_flag)) {
      made.page = page_section(std::filesystem::path(word).stem().string(), std::move(*stored),
                               asked, provenance);
    }
    return made;
  } catch (Error& error) {
    error.add_context(word);
    throw;
  }
}

int run_explain(const Request& request) {
  const Arguments& given = request.arguments;
  if (asks_for_cluster(given)) return explain_on_cluster(request);
  const Provenance provenance{.command = request.command_line};
  check_outputs(given, {&explain_json_flag, &explain_csv_flag, &html_flag});
  const std::size_t top = top_of(given);
  const Explained explained = explain_word(given, provenance);
  OutputFiles outputs(given);
  outputs.write(explain_json_flag, [&] { return to_json(explained.explanation, provenance); });
  outputs.write(explain_csv_flag, [&] { return to_csv(explained.explanation); });
  outputs.write(html_flag, [&] { return page_text(explained.page->name, {*explained.page}); });
  if (!outputs.took_stdout()) print(to_text(explained.explanation, top, request.style));
  const auto& memory = explained.explanation.memory;
  const bool is_refused = given.has(require_fit_flag) && memory && !memory->fits();
  return is_refused ? exit_code::answer_is_no : exit_code::done;
}

}  // namespace

constexpr Command explain_command{.name = "explain",
                                  .summary = "What limits a profile, what it costs, what to do",
                                  .arguments = explain_arguments,
                                  .flags = explain_flags,
                                  .run = run_explain};

}  // namespace strata
