// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_parallel.hpp"

#include "cli/cluster_request.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/predict_flags.hpp"
#include "cli/predict_parallel.hpp"
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/base/units.hpp"
#include "strata/report/explain_report.hpp"

namespace strata {
namespace {

constexpr Flag explained_json_flag{.name = "json", .value = "FILE", .help = "Everything as JSON."};
constexpr Flag explained_csv_flag{.name = "csv", .value = "FILE", .help = "A line per finding."};
constexpr Flag explained_top_flag{.name = "top", .value = "N", .help = "So many findings."};
constexpr std::size_t strategy_findings_in_full = 3;

}  // namespace

int explain_on_cluster(const Request& request) {
  const Arguments& given = request.arguments;
  const Provenance provenance{.command = request.command_line};
  check_outputs(given, {&explained_json_flag, &explained_csv_flag, &html_flag});
  const std::string_view split = given.value(parallel_flag).value_or("auto");
  ClusterRequest asked(given);
  const WantEvents wants = given.has(html_flag) ? WantEvents::yes : WantEvents::no;
  std::optional<ParallelChoice> choice;
  if (same_name(split, "auto")) {
    choice = asked.choose(wants);
    if (!choice->best)
      fail(ErrorKind::unsupported,
           "no strategy fits the memory of {}: strata predict --parallel auto says what each needs",
           asked.cluster.name);
  }
  const ParallelSummary summary =
      choice ? *choice->best : asked.model.predict(parse_strategy(split), wants);
  const Explanation explanation = asked.explain(summary, choice ? &*choice : nullptr);
  OutputFiles outputs(given);
  outputs.write(explained_json_flag, [&] { return to_json(explanation, provenance); });
  outputs.write(explained_csv_flag, [&] { return to_csv(explanation); });
  outputs.write(html_flag, [&] {
    const PageSection part = choice ? page_section(*choice, &explanation, provenance)
                                    : page_section(summary, &explanation, provenance);
    return page_text(part.name, {part});
  });
  std::size_t top = strategy_findings_in_full;
  if (const auto text = given.value(explained_top_flag))
    top = *text == "all" ? ~std::size_t{0}
                         : static_cast<std::size_t>(parse_whole_number(*text, "--top (or all)", 0));
  if (!outputs.took_stdout()) print(to_text(explanation, top, request.style));
  const bool is_refused = given.has(require_fit_flag) && !summary.fits();
  return is_refused ? exit_code::answer_is_no : exit_code::done;
}

}  // namespace strata
