// SPDX-License-Identifier: Apache-2.0
#include "cli/html_output.hpp"

#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "strata/base/error.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

constexpr RooflineKind all_kinds[] = {RooflineKind::classic, RooflineKind::complexity,
                                      RooflineKind::time, RooflineKind::combined};

// The page draws for itself.
void add_roofline_pictures(HtmlPart& part, const RooflineSummary& summary) {
  if (has_report_page()) return;
  part.pictures.push_back(
      to_svg(roofline_grid(summary, {std::begin(all_kinds), std::end(all_kinds)})));
}

}  // namespace

std::string page_text(std::string_view title, const std::vector<HtmlPart>& parts) {
  if (!has_report_page()) {
    print_to_stderr(
        "this strata was built without its report page (esbuild, D3): a plain page instead\n");
  }
  return html_page(title, parts);
}

HtmlPart page_part(const ModelSummary& summary, const Provenance& provenance) {
  return {.name = summary.title.empty() ? summary.name : summary.title,
          .document = to_json(summary, provenance)};
}

HtmlPart page_part(const RooflineSummary& summary, const Provenance& provenance) {
  HtmlPart part{.name = summary.machine_title.empty() ? summary.machine : summary.machine_title,
                .document = to_json(summary, provenance)};
  add_roofline_pictures(part, summary);
  return part;
}

HtmlPart page_part(const ConvResults& results, const ConvView& view, const Provenance& provenance) {
  HtmlPart part{.name = results.device, .document = to_json(results, view, provenance)};
  if (has_report_page()) return part;
  for (const ConvPicture& picture : conv_pictures(results))
    part.pictures.push_back(to_svg(picture.grid));
  return part;
}

HtmlPart page_part(const SweepTable& table, const Provenance& provenance) {
  return {.name = "sweep", .document = sweep_json(table, provenance)};
}

void check_sweep_page(const Arguments& given) {
  if (given.value(html_flag) == "-")
    fail(ErrorKind::usage, "--html of a sweep writes a file; give it a name");
}

void write_sweep_page(const Request& request, const SweepTable& table) {
  const auto path = request.arguments.value(html_flag);
  if (!path) return;
  const Provenance provenance{.command = request.command_line};
  write_output(*path, page_text("Sweep", {page_part(table, provenance)}));
}

void show_document(const Request& request, const Flag& json_flag, const ShownDocument& shown) {
  const Arguments& given = request.arguments;
  OutputFiles outputs(given);
  if (shown.csv_flag != nullptr) {
    check_outputs(given, {&json_flag, shown.csv_flag, &html_flag});
    outputs.write(*shown.csv_flag, shown.csv);
  } else {
    check_outputs(given, {&json_flag, &html_flag});
  }
  outputs.write(json_flag, shown.json);
  outputs.write(html_flag, [&] {
    return page_text(shown.title, {{.name = std::string(shown.title), .document = shown.json()}});
  });
  if (!outputs.took_stdout()) print(shown.text());
}

void add_rooflines(HtmlPart& part, const Profile& profile, const Machine& machine,
                   const Provenance& provenance) {
  try {
    const RooflineSummary summary =
        summarize_roofline({{part.name, profile}}, machine, {}, RooflineBy::kernel, false);
    part.extras.emplace_back("roofline", to_json(summary, provenance));
    add_roofline_pictures(part, summary);
  } catch (const Error& error) {  // the rest of the page is there without them
    if (error.kind() == ErrorKind::internal) throw;
    part.notes.push_back(fmt::format("no rooflines: {}", error.what()));
  }
}

}  // namespace strata
