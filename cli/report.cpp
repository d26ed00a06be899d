// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/profile_words.hpp"
#include "strata/base/error.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <optional>

namespace strata {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr Argument report_arguments[] = {{.name = "FILE",
                                          .help = "A result as JSON, or the points of a sweep.",
                                          .offer = Offer::file,
                                          .repeats = true}};
constexpr Flag report_out_flag{.name = "out",
                               .letter = 'o',
                               .value = "FILE",
                               .help = "The page; - is standard output. Default: report.html.",
                               .offer = Offer::file};
constexpr Flag title_flag{.name = "title", .value = "TEXT", .help = "What stands on top."};
constexpr Flag report_roofs_on_flag{.name = "on",
                                    .value = "MACHINE",
                                    .help = "Whose roofs; else the machine of each profile.",
                                    .offer = Offer::machine};
constexpr Flag report_flags[] = {report_out_flag, title_flag, report_roofs_on_flag};

/// Whose roofs a profile lies under: --on, else the machine it names.
std::optional<Machine> machine_for(const Profile& profile, const Arguments& given, HtmlPart& part) {
  if (const auto on = given.value(report_roofs_on_flag)) return load_machine(*on);
  if (profile.subject.machine.empty()) {
    part.notes.emplace_back("no rooflines: the profile names no machine; give --on MACHINE");
    return std::nullopt;
  }
  try {
    return load_machine(profile.subject.machine);
  } catch (const Error& error) {
    part.notes.push_back(fmt::format("no rooflines: {}; give --on MACHINE", error.what()));
    return std::nullopt;
  }
}

HtmlPart profile_part(std::string name, std::string text, const Arguments& given,
                      const Provenance& provenance) {
  const Profile profile = read_profile(text);
  HtmlPart part{.name = std::move(name), .document = std::move(text)};
  if (const auto machine = machine_for(profile, given, part))
    add_rooflines(part, profile, *machine, provenance);
  return part;
}

/// What kind of result a JSON document says it is; nothing when it is none.
std::optional<std::string> kind_in(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto kind = json.find("kind");
  return kind != json.end() && kind->is_string() ? kind->get<std::string>() : "";
}

/// A list that the page goes through must be one.
void expect_list(const std::string& text, const char* key) {
  const Json json = Json::parse(text);
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array())
    fail(ErrorKind::input, "a document of this kind has a list '{}'", key);
}

bool is_database(const std::string& text) {
  return text.starts_with(std::string_view("SQLite format 3\0", 16));
}

HtmlPart part_in(const std::string& path, const Arguments& given, const Provenance& provenance) {
  std::string name = fs::path(path).stem().string();
  if (is_recording(path))
    return profile_part(std::move(name), stored_profile(path)->text, given, provenance);
  std::string text = profile_file_text(path);
  const auto kind = is_database(text) ? std::nullopt : kind_in(text);
  if (kind == "roofline" || kind == "model") {
    expect_list(text, kind == "model" ? "layers" : "profiles");
    return {.name = std::move(name), .document = std::move(text)};
  }
  if (kind && *kind != "convolutions" && looks_like_profile(text))
    return profile_part(std::move(name), std::move(text), given, provenance);
  if (kind == "convolutions" || text.find("\"kind\":\"convolutions\"") < text.find('\n')) {
    HtmlPart part = page_part(read_conv_results(text), {}, provenance);
    part.name = std::move(name);
    return part;
  }
  if (kind) {
    fail(ErrorKind::input,
         "no profile, roofline, model, convolutions or points of a sweep{}; give what --json of "
         "predict, roofline, show or conv wrote, or --csv, --jsonl or --db of sweep",
         kind->empty() ? "" : fmt::format(", but '{}'", *kind));
  }
  const SweepTable points = read_sweep_table(path);
  if (points.row_count == 0) fail(ErrorKind::input, "no result as JSON, and no points of a sweep");
  HtmlPart part = page_part(points, provenance);
  part.name = std::move(name);
  return part;
}

HtmlPart part_of(const std::string& path, const Arguments& given, const Provenance& provenance) {
  try {
    return part_in(path, given, provenance);
  } catch (Error& error) {
    if (std::string_view(error.what()).find(path) == std::string_view::npos)
      error.add_context(path);
    throw;
  }
}

int run_report(const Request& request) {
  const Arguments& given = request.arguments;
  const Provenance provenance{.command = request.command_line};
  std::vector<HtmlPart> parts;
  std::string names;
  for (const std::string& path : given.words()) {
    parts.push_back(part_of(path, given, provenance));
    names += (names.empty() ? "" : ", ") + parts.back().name;
  }
  const std::string title(given.value(title_flag).value_or(names));
  const std::string out(given.value(report_out_flag).value_or("report.html"));
  write_output(out, page_text(title, parts));
  if (out != "-") print(fmt::format("written: {}\n", out));
  return exit_code::done;
}

}  // namespace

constexpr Command report_command{.name = "report",
                                 .summary = "Stored results as one page to look at and explore",
                                 .arguments = report_arguments,
                                 .flags = report_flags,
                                 .run = run_report};

}  // namespace strata
