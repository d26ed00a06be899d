// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_flags.hpp"
#include "cli/profile_words.hpp"
#include "cli/recorded_request.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/explain_model.hpp"
#include "strata/report/explain_report.hpp"

#include <array>
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
                                 .offer = Offer::file};

constexpr auto explain_flags =
    joined_flags(std::array<Flag, 2>{explain_on_flag, set_flag}, hardware_flags, size_flags,
                 import_flags, training_flags, schedule_flags,
                 std::array<Flag, 3>{preset_flag, explain_top_flag, explain_json_flag});

std::size_t top_of(const Arguments& given) {
  const auto text = given.value(explain_top_flag);
  if (!text) return findings_in_full;
  if (*text == "all") return ~std::size_t{0};
  return static_cast<std::size_t>(parse_whole_number(*text, "--top (or all)", 0));
}

/// A prediction under its own roofs is made again for what-ifs; anything else goes row by row.
Explanation explain_stored(const Arguments& given, const StoredProfile& stored) {
  const auto recorded = recorded_prediction(stored.text);
  const auto on = given.value(explain_on_flag);
  const bool has_own_roofs = (!on || *on == stored.profile.subject.machine) && !given.has(set_flag);
  MaybeRequest again;
  if (recorded && has_own_roofs) {
    again = recorded_request(*recorded);
  } else if (recorded) {
    again.reason = "--on or --set asks for other roofs than its own";
  }
  const Machine machine = again.request
                              ? as_asked(again.request->machine, again.request->request.hardware)
                              : machine_for(given, explain_on_flag, stored.profile);
  ExplainInput input{.profile = stored.profile,
                     .machine = machine,
                     .facts = recorded ? &recorded->facts : nullptr,
                     .predict_again = {},
                     .no_prediction_reason = again.reason};
  if (again.request) {
    input.predict_again = predict_again(again.request->graph, again.request->machine,
                                        again.request->request, again.request->hardware);
  }
  return explain(input);
}

Explanation explain_word(const Arguments& given) {
  const std::string word(given.word(0));
  const std::optional<StoredProfile> stored = stored_profile(word);
  if (!stored) {
    const Machine machine = machine_of(given);
    const Graph graph = load_model(word, import_options(given));
    ExplainedModel explained = explain_model(graph, machine, predict_request(given));
    warn(explained.iteration.summary.warnings);
    return std::move(explained.explanation);
  }
  refuse_flags_for_profile(given, explain_flags,
                           {&explain_on_flag, &set_flag, &explain_top_flag, &explain_json_flag});
  try {
    Explanation explanation = explain_stored(given, *stored);
    if (is_recording(word)) {
      explanation.notes.push_back(
          "strata trace shows what the recording says of copies, gaps and launches");
    }
    return explanation;
  } catch (Error& error) {
    error.add_context(word);
    throw;
  }
}

int run_explain(const Request& request) {
  const Arguments& given = request.arguments;
  check_outputs(given, {&explain_json_flag});
  const std::size_t top = top_of(given);
  const Explanation explanation = explain_word(given);
  OutputFiles outputs(given);
  outputs.write(explain_json_flag,
                [&] { return to_json(explanation, {.command = request.command_line}); });
  if (!outputs.took_stdout()) print(to_text(explanation, top, request.style));
  return exit_code::done;
}

}  // namespace

constexpr Command explain_command{.name = "explain",
                                  .summary = "What limits a profile, what it costs, what to do",
                                  .arguments = explain_arguments,
                                  .flags = explain_flags,
                                  .run = run_explain};

}  // namespace strata
