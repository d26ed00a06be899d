// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/studies.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/reproduce/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

/// Results that a file holds, or that ship with the program.
ConvResults stored_convolutions(const std::optional<std::string>& from) {
  if (from) return load_conv_results(*from);
  for (const EmbeddedFile& file : embedded_conv_results()) {
    if (file.name == "paper") return read_conv_results(file.text);
  }
  fail(ErrorKind::environment,
       "no results of the suite ship with this program; make them with `strata conv --suite paper "
       "--device cuda --json paper.json` (or --suite cpu), and give --from paper.json");
}

/// Pictures of the forward pass, which the study is about, and the table of each series.
std::vector<Figure> convolution_figures(const ConvResults& results) {
  std::vector<Figure> figures;
  for (const ConvSeries& series : results.series) {
    ConvResults one = results;
    one.series = {series};
    std::erase_if(one.passes, [](ConvPass pass) { return pass != ConvPass::forward; });
    const std::string csv = to_csv(one);
    for (ConvPicture& picture : conv_pictures(one))
      figures.push_back({.name = fmt::format("convolution-{}", picture.name),
                         .csv = csv,
                         .grid = std::move(picture.grid)});
  }
  return figures;
}

}  // namespace

std::function<void(double)> study_progress(const StudyRequest& request, std::string_view what) {
  if (!request.progress) return {};
  return [&request, what](double share) { request.progress(what, share); };
}

std::size_t StudyResult::printed() const {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(), [](const Finding& finding) { return finding.is_printed; }));
}

std::size_t StudyResult::held() const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [](const Finding& finding) { return finding.is_printed && finding.holds; }));
}

StudyResult run_analytical_study(const StudyRequest& request) {
  StudyResult result{
      .title =
          "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem "
          "(thesis, National Taiwan University, 2021)",
      .place = "network",
      .rule =
          "within 3 percentage points or 0.05×, 5 points where the thesis says \"about\", or "
          "in the direction it claims; a MB of the thesis is 2^20 bytes, a MiB",
      .findings = reproduce_analytical(study_progress(request, "observations"))};
  if (request.wants_figures)
    result.figures = analytical_figures(thesis_results({}, study_progress(request, "figures")));
  return result;
}

StudyResult run_convolution_study(const StudyRequest& request) {
  const ConvResults results = stored_convolutions(request.from);
  return {.title = fmt::format("Performance Analysis of GPU-based Convolutional Neural Networks "
                               "(2016, Tesla K40c), beside the forward pass in {} on {}",
                               name_of(results.dtype), results.device),
          .place = "where",
          .rule = "in the direction or within the range that the study saw",
          .findings = reproduce_convolution(results),
          .figures = request.wants_figures ? convolution_figures(results) : std::vector<Figure>{}};
}

}  // namespace strata
