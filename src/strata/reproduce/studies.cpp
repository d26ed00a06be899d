// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/studies.hpp"

#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/reproduce/convolution.hpp"

#include <fmt/format.h>

#include <utility>

namespace strata {
namespace {

/// Results that a file holds, or that ship with the program: the suite's passes together. The
/// layers were measured again, with the names of the library's kernels: theirs are the newer.
ConvResults stored_convolutions(const std::optional<std::string>& from) {
  if (from) return load_conv_results(*from);
  std::optional<ConvResults> all;
  for (const std::string_view name : {"layers", "paper", "backward_input", "backward_weight"}) {
    for (const EmbeddedFile& file : embedded_conv_results()) {
      if (file.name != name) continue;
      ConvResults one = read_conv_results(file.text);
      if (name == "paper" && all) all->series = one.series;
      all = all ? joined(std::move(*all), std::move(one)) : std::move(one);
    }
  }
  if (all) return std::move(*all);
  fail(ErrorKind::environment,
       "no results of the suite ship with this program; make them with `strata conv --suite paper "
       "--device cuda --json paper.json` (or --suite cpu), and give --from paper.json");
}

/// "forward, backward_input and backward_weight".
std::string passes_text(const ConvResults& results) {
  std::string text;
  for (std::size_t i = 0; i < results.passes.size(); ++i) {
    text += i == 0 ? "" : i + 1 == results.passes.size() ? " and " : ", ";
    text += name_of(results.passes[i]);
  }
  return text;
}

}  // namespace

std::function<void(double)> study_progress(const StudyRequest& request, std::string_view what) {
  if (!request.progress) return {};
  return [&request, what](double share) { request.progress(what, share); };
}

std::string StudyResult::heading() const {
  return fmt::format("{} ({}), {}", title, published, basis);
}

StudyResult run_analytical_study(const StudyRequest& request) {
  StudyResult result{
      .title = "A Performance Analytical Model for DNN Training with Focus on Memory Subsystem",
      .published = "thesis, National Taiwan University, 2021",
      .basis = "predicted for its chip of 13.45 TFLOP/s and 616 GB/s",
      .place = "network",
      .rule = "by the rule in each row's note; a MB of the thesis is 2^20 bytes, a MiB",
      .findings = reproduce_analytical(study_progress(request, "observations"))};
  if (request.wants_figures)
    result.figures = analytical_figures(thesis_results({}, study_progress(request, "figures")));
  return result;
}

StudyResult run_convolution_study(const StudyRequest& request) {
  const ConvResults results = stored_convolutions(request.from);
  const std::vector<HotLayers> networks = shipped_hot_layers(results.device);
  return {.title = "Performance Analysis of GPU-based Convolutional Neural Networks",
          .published = "2016, Tesla K40c",
          .basis = fmt::format("measured on {}: {} in {}", results.device, passes_text(results),
                               name_of(results.dtype)),
          .place = "where",
          .rule = "by the rule in each row's note; a layer's time is that of these passes together",
          .findings = reproduce_convolution(results, networks),
          .figures = request.wants_figures ? convolution_figures(results, networks)
                                           : std::vector<Figure>{}};
}

}  // namespace strata
