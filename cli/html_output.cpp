// SPDX-License-Identifier: Apache-2.0
#include "cli/html_output.hpp"

#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "strata/base/error.hpp"

namespace strata {

std::string page_text(std::string_view title, const std::vector<PageSection>& parts,
                      TitleFrom title_from) {
  if (!has_report_page()) {
    print_to_stderr(
        "this strata was built without its report page (esbuild, D3): a plain page instead\n");
  }
  return html_page(title, parts, title_from);
}

void check_sweep_page(const Arguments& given) {
  if (given.value(html_flag) == "-")
    fail(ErrorKind::usage, "--html of a sweep writes a file; give it a name");
}

void write_sweep_page(const Request& request, const SweepTable& table, const std::string& answers) {
  const auto path = request.arguments.value(html_flag);
  if (!path) return;
  const Provenance provenance{.command = request.command_line};
  write_output(*path, page_text("Sweep", {page_section(table, provenance, answers)}));
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

}  // namespace strata
