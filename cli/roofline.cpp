// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_flags.hpp"
#include "cli/profile_argument.hpp"
#include "cli/roofline_reuse.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/roofline_summary.hpp"
#include "strata/strata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <utility>

namespace strata {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view roofline_groupings[] = {"kernel", "layer", "type", "pass", "all"};
constexpr std::string_view roofline_kinds[] = {"classic", "complexity", "time", "combined", "all"};
constexpr std::size_t rows_of_a_screen = 12;

constexpr Argument roofline_arguments[] = {
    {.name = "PROFILE|MODEL",
     .help = "What predict --json wrote, or a model to predict.",
     .offer = Offer::model,
     .repeats = true}};
constexpr Flag roofline_roofs_on_flag{.name = "on",
                                      .value = "MACHINE",
                                      .help = "Whose roofs; else the machine of the first profile.",
                                      .offer = Offer::machine};
constexpr Flag roofline_by_flag{.name = "by",
                                .value = "WHAT",
                                .help = "Rows by kernel, layer, type, pass or all.",
                                .choices = roofline_groupings,
                                .offer = Offer::choices};
constexpr Flag roof_flag{.name = "roof",
                         .value = "ROOF",
                         .help = "Which peak: auto, tensor, fp32, bf16-matrix and more."};
constexpr Flag kind_flag{.name = "kind",
                         .value = "KIND",
                         .help = "Picture: classic, complexity, time, combined or all.",
                         .choices = roofline_kinds,
                         .offer = Offer::choices};
constexpr Flag label_flag{.name = "label",
                          .value = "TEXT",
                          .help = "One per profile, as batch=16: joins them in order.",
                          .repeats = true};
constexpr Flag reuse_flag{.name = "reuse", .help = "Of a model: over its FLOP per byte touched."};
constexpr Flag roofline_top_flag{
    .name = "top", .value = "N", .help = "The N slowest rows, or all of them: all."};
constexpr Flag roofline_plot_flag{.name = "plot",
                                  .value = "FILE",
                                  .help = "The picture, or all four in one, as SVG; - is stdout.",
                                  .offer = Offer::output};
constexpr Flag svg_flag{.name = "svg",
                        .value = "PREFIX",
                        .help = "Each picture in a file of its own: PREFIX-time.svg.",
                        .offer = Offer::output};
constexpr Flag roofline_png_flag{.name = "png", .help = "The pictures as PNG, too."};
constexpr Flag roofline_json_flag{.name = "json",
                                  .value = "FILE",
                                  .help = "Everything as JSON; - is standard output.",
                                  .offer = Offer::output};
constexpr Flag roofline_csv_flag{.name = "csv",
                                 .value = "FILE",
                                 .help = "A line per row; - is standard output.",
                                 .offer = Offer::output};

constexpr auto roofline_flags =
    joined_flags(std::array<Flag, 8>{roofline_roofs_on_flag, set_flag, roofline_by_flag, roof_flag,
                                     kind_flag, label_flag, reuse_flag, roofline_top_flag},
                 std::array<Flag, 6>{roofline_plot_flag, svg_flag, roofline_png_flag,
                                     roofline_json_flag, roofline_csv_flag, html_flag},
                 prediction_flags);

std::size_t choice_of(const Arguments& given, const Flag& flag, std::size_t otherwise) {
  const auto value = given.value(flag);
  if (!value) return otherwise;
  const auto found = std::find(flag.choices.begin(), flag.choices.end(), *value);
  return static_cast<std::size_t>(found - flag.choices.begin());
}

std::vector<RooflineKind> kinds_of(const Arguments& given) {
  const std::size_t chosen = choice_of(given, kind_flag, std::size(roofline_kinds) - 1);
  if (chosen < std::size(roofline_kinds) - 1) return {static_cast<RooflineKind>(chosen)};
  return {RooflineKind::classic, RooflineKind::complexity, RooflineKind::time,
          RooflineKind::combined};
}

/// The roofs of the first profile that names a machine; what was measured elsewhere must name one.
Machine machine_of_profiles(const AskedRoofs& asked,
                            const std::vector<std::optional<Profile>>& profiles) {
  const Profile* first = nullptr;
  for (const std::optional<Profile>& profile : profiles) {
    if (!profile) continue;
    if (profile->subject.machine.empty() && profile->evidence == Evidence::measured)
      return machine_for(asked, *profile);
    if (first == nullptr || first->subject.machine.empty()) first = &*profile;
  }
  return first != nullptr ? machine_for(asked, *first) : machine_for(asked, std::string_view());
}

Profile predicted(const std::string& model, const Machine& machine, const Arguments& given) {
  const Graph graph = load_model(model, import_options(given));
  PredictedIteration iteration = predict_model(graph, machine, quick_request(given));
  warn(iteration.summary.warnings);
  return std::move(iteration.summary.profile);
}

// "batch16.json" → "batch16"
std::string own_label(const std::string& word, bool is_file) {
  return is_file ? fs::path(word).stem().string() : word;
}

std::vector<LabelledProfile> labelled(const Arguments& given,
                                      std::vector<std::optional<Profile>> profiles,
                                      const Machine& machine) {
  const std::vector<std::string>& words = given.words();
  const std::vector<std::string>& labels = given.values(label_flag);
  std::vector<LabelledProfile> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_file = profiles[i].has_value();
    Profile profile = is_file ? std::move(*profiles[i]) : predicted(words[i], machine, given);
    all.push_back({labels.empty() ? own_label(words[i], is_file) : labels[i], std::move(profile)});
  }
  return all;
}

void refuse_sizes_without_model(const Arguments& given) {
  for (const Flag& flag : prediction_flags) {
    if (given.has(flag)) {
      fail(ErrorKind::usage,
           "--{} is for models that are predicted; all that was given are profiles", flag.name);
    }
  }
}

void draw(const RooflineSummary& summary, const Arguments& given) {
  const std::vector<RooflineKind> wanted = kinds_of(given);
  const bool wants_png = given.has(roofline_png_flag);
  if (const auto prefix = given.value(svg_flag)) {
    for (const RooflineKind kind : wanted) {
      write_picture(
          fmt::format("{}-{}.svg", *prefix, roofline_kind_names()[static_cast<std::size_t>(kind)]),
          chart::to_svg(roofline_chart(summary, kind)), wants_png);
    }
  }
  const auto file = given.value(roofline_plot_flag);
  if (!file) return;
  if (wanted.size() == 1) {
    write_picture(std::string(*file), chart::to_svg(roofline_chart(summary, wanted.front())),
                  wants_png);
    return;
  }
  write_picture(std::string(*file), chart::to_svg(roofline_grid(summary, wanted)), wants_png);
}

void check(const Arguments& given) {
  check_outputs(given, {&roofline_json_flag, &roofline_csv_flag, &roofline_plot_flag, &html_flag});
  const std::size_t labels = given.values(label_flag).size();
  if (labels != 0 && labels != given.words().size()) {
    fail(ErrorKind::usage, "{} labels for {} profiles: give one --label for each", labels,
         given.words().size());
  }
  const bool has_picture = given.has(roofline_plot_flag) || given.has(svg_flag);
  if (given.has(kind_flag) && !has_picture)
    fail(ErrorKind::usage, "--kind is about pictures: give --plot FILE or --svg PREFIX");
  if (given.has(reuse_flag)) {
    for (const Flag* other :
         {&roofline_by_flag, &roof_flag, &kind_flag, &label_flag, &svg_flag, &html_flag}) {
      if (given.has(*other)) fail(ErrorKind::usage, "--{} does not go with --reuse", other->name);
    }
  }
  if (!given.has(roofline_png_flag)) return;
  if (!has_picture) fail(ErrorKind::usage, "--png needs --plot FILE or --svg PREFIX");
  if (given.value(roofline_plot_flag) == "-")
    fail(ErrorKind::usage, "--png needs a file beside which it is written, not --plot -");
  if (!has_png()) svg_to_png("");  // refuses, before anything is computed
}

int run_roofline(const Request& request) {
  const Arguments& given = request.arguments;
  check(given);
  const RoofChoice roof = parse_roof(given.value(roof_flag).value_or("auto"));
  const auto by = static_cast<RooflineBy>(choice_of(given, roofline_by_flag, 0));
  const auto top_text = given.value(roofline_top_flag);
  const std::size_t top =
      !top_text ? rows_of_a_screen
      : *top_text == "all"
          ? ~std::size_t{0}
          : static_cast<std::size_t>(parse_whole_number(*top_text, "--top (or all)"));
  if (given.has(reuse_flag))
    return run_reuse_roofline(
        request, roofline_roofs_on_flag, top,
        {roofline_plot_flag, roofline_png_flag, roofline_json_flag, roofline_csv_flag});
  std::vector<std::optional<Profile>> profiles;
  for (const std::string& word : given.words()) {
    std::optional<StoredProfile> stored = stored_profile(word);
    profiles.push_back(stored ? std::optional(std::move(stored->profile)) : std::nullopt);
  }
  const bool has_model =
      std::any_of(profiles.begin(), profiles.end(), [](const auto& profile) { return !profile; });
  if (!has_model) refuse_sizes_without_model(given);
  Machine machine = machine_of_profiles(asked_roofs(given, roofline_roofs_on_flag), profiles);
  if (has_model) machine = with_overrides(machine, quick_request(given).hardware);
  const RooflineSummary summary = summarize_roofline(labelled(given, std::move(profiles), machine),
                                                     machine, roof, by, given.has(label_flag));

  draw(summary, given);
  OutputFiles outputs(given);
  outputs.write(roofline_json_flag,
                [&] { return to_json(summary, {.command = request.command_line}); });
  outputs.write(roofline_csv_flag, [&] { return to_csv(summary); });
  outputs.write(html_flag, [&] {
    const PageSection part = page_section(summary, {.command = request.command_line});
    return page_text("Rooflines on " + part.name, {part});
  });
  if (!outputs.took_stdout() && given.value(roofline_plot_flag) != "-")
    print(to_text(summary, top, request.style));
  return exit_code::done;
}

}  // namespace

constexpr Command roofline_command{
    .name = "roofline",
    .summary = "What bounds each kernel or layer, and how far from the roof",
    .arguments = roofline_arguments,
    .flags = roofline_flags,
    .run = run_roofline};

}  // namespace strata
