// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_flags.hpp"
#include "cli/profile_argument.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/report/comparison_report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr std::string_view compare_groupings[] = {"type", "layer", "block", "pass"};

constexpr Argument compare_arguments[] = {
    {.name = "A",
     .help = "A profile (--json of predict, measure), or a model.",
     .offer = Offer::model},
    {.name = "B",
     .help = "What stands beside it; more may follow.",
     .offer = Offer::model,
     .repeats = true}};
constexpr Flag compare_by_flag{.name = "by",
                               .value = "WHAT",
                               .help = "Times by type, layer, block or pass.",
                               .choices = compare_groupings,
                               .offer = Offer::choices};
constexpr Flag compare_layers_flag{.name = "top",
                                   .value = "N",
                                   .help = "The N largest differences, or all of them: all.",
                                   .also = "layers"};
constexpr std::string_view compared_times[] = {"expected", "limit"};
constexpr Flag compare_times_flag{.name = "times",
                                  .value = "WHICH",
                                  .help = "Of predictions: expected (where all have it), limit.",
                                  .choices = compared_times,
                                  .offer = Offer::choices};
constexpr Flag threshold_flag{
    .name = "threshold", .value = "X", .help = "Exit code 1 when they differ by more: 5% or 0.05."};
constexpr Flag compare_json_flag{.name = "json",
                                 .value = "FILE",
                                 .help = "Everything as JSON; - is standard output.",
                                 .offer = Offer::output};
constexpr Flag compare_csv_flag{.name = "csv",
                                .value = "FILE",
                                .help = "A line per layer and pass; - is standard output.",
                                .offer = Offer::output};
constexpr std::array<Flag, 7> compare_own_flags = {
    compare_by_flag,   compare_layers_flag, compare_times_flag, threshold_flag,
    compare_json_flag, compare_csv_flag,    html_flag};
/// What models are predicted with.
constexpr auto compare_flags =
    joined_flags(compare_own_flags, std::array<Flag, 2>{on_flag, set_flag}, prediction_flags);

double parse_threshold(std::string_view text) {
  std::string_view number = trimmed(text);
  const bool is_percent = number.ends_with('%');
  if (is_percent) number = trimmed(number.substr(0, number.size() - 1));
  double value = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool is_number = problem == std::errc() && end == number.data() + number.size();
  if (!is_number || !(value >= 0) || value > 1e6)
    fail(ErrorKind::usage, "--threshold: expected a share as 5% or 0.05, got '{}'", text);
  return is_percent ? value / 100 : value;
}

ComparedTimes times_of(const Arguments& given) {
  return given.value(compare_times_flag) == "limit" ? ComparedTimes::limit
                                                    : ComparedTimes::expected;
}

// "before.json" is "before"; a network keeps its name.
std::string name_of_word(const std::string& word) {
  return names_network(word) ? word : std::filesystem::path(word).stem().string();
}

/// Every word of the command; flags of predictions have no meaning where all are files.
std::vector<StoredProfile> compared_profiles(const Arguments& given, const Provenance& provenance) {
  std::vector<StoredProfile> profiles;
  bool has_model = false;
  for (const std::string& word : given.words()) {
    std::optional<StoredProfile> stored = stored_profile(word);
    has_model = has_model || !stored;
    profiles.push_back(stored ? std::move(*stored) : stored_prediction(given, word, provenance));
  }
  if (!has_model)
    refuse_flags_for_profile(given, compare_flags,
                             {&compare_by_flag, &compare_layers_flag, &compare_times_flag,
                              &threshold_flag, &compare_json_flag, &compare_csv_flag, &html_flag});
  return profiles;
}

CompareView compare_view(const Arguments& given) {
  CompareView view;
  view.a = name_of_word(given.words()[0]);
  view.b = name_of_word(given.words()[1]);
  if (const auto by = given.value(compare_by_flag)) {
    const auto* const at =
        std::find(std::begin(compare_groupings), std::end(compare_groupings), *by);
    view.by = static_cast<CompareBy>(at - std::begin(compare_groupings));
  }
  if (const auto layers = given.value(compare_layers_flag)) {
    view.layers = *layers == "all"
                      ? ~std::size_t{0}
                      : static_cast<std::size_t>(parse_whole_number(*layers, "--top (or all)", 0));
  }
  if (const auto threshold = given.value(threshold_flag))
    view.threshold = parse_threshold(*threshold);
  return view;
}

/// Each of the others beside the first, then all as they are.
std::string compare_page(std::vector<StoredProfile> profiles, const std::vector<std::string>& names,
                         ComparedTimes times, CompareView view, const Provenance& provenance) {
  std::vector<PageSection> parts;
  view.a = names.front();
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    view.b = names[i];
    parts.push_back(
        {.name = view.a + " and " + view.b,
         .document = to_json(compare_profiles(profiles.front().profile, profiles[i].profile, times),
                             view, provenance)});
  }
  for (std::size_t i = 0; i < profiles.size(); ++i)
    parts.push_back(page_section(names[i], std::move(profiles[i]), {}, provenance));
  return page_text(parts.front().name, parts);
}

int compare_many(const Request& request, std::vector<StoredProfile> stored,
                 const std::vector<std::string>& names, const CompareView& view) {
  const Arguments& given = request.arguments;
  for (const Flag* flag : {&compare_json_flag, &threshold_flag}) {
    if (given.has(*flag))
      fail(ErrorKind::usage, "--{} is about two profiles, {} were given", flag->name,
           given.words().size());
  }
  std::vector<Profile> profiles;
  for (const StoredProfile& one : stored) profiles.push_back(one.profile);
  const SideBySide all = side_by_side(profiles, times_of(given));
  OutputFiles outputs(given);
  outputs.write(compare_csv_flag, [&] { return to_csv(all, names); });
  outputs.write(html_flag, [&] {
    return compare_page(std::move(stored), names, times_of(given), view,
                        {.command = request.command_line});
  });
  if (!outputs.took_stdout()) print(to_text(all, names, view, request.style));
  return exit_code::done;
}

int run_compare(const Request& request) {
  const Arguments& given = request.arguments;
  const Provenance provenance{.command = request.command_line};
  check_outputs(given, {&compare_json_flag, &compare_csv_flag, &html_flag});
  const CompareView view = compare_view(given);
  std::vector<StoredProfile> profiles = compared_profiles(given, provenance);
  std::vector<std::string> names;
  for (const std::string& word : given.words()) names.push_back(name_of_word(word));
  if (profiles.size() > 2) return compare_many(request, std::move(profiles), names, view);
  const ProfileComparison comparison =
      compare_profiles(profiles[0].profile, profiles[1].profile, times_of(given));

  OutputFiles outputs(given);
  outputs.write(compare_json_flag, [&] { return to_json(comparison, view, provenance); });
  outputs.write(compare_csv_flag, [&] { return to_csv(comparison); });
  outputs.write(html_flag, [&] {
    return compare_page(std::move(profiles), names, times_of(given), view, provenance);
  });
  if (!outputs.took_stdout()) print(to_text(comparison, view, request.style));
  const bool is_beyond = view.threshold && comparison.is_beyond(*view.threshold);
  return is_beyond ? exit_code::answer_is_no : exit_code::done;
}

}  // namespace

constexpr Command compare_command{.name = "compare",
                                  .summary = "Profiles side by side, layer by layer",
                                  .arguments = compare_arguments,
                                  .flags = compare_flags,
                                  .run = run_compare};

}  // namespace strata
