// SPDX-License-Identifier: Apache-2.0
#include "cli/captured_model.hpp"

#include "cli/plot_inputs.hpp"
#include "strata/base/error.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/measured_alternatives.hpp"

#include <filesystem>

namespace strata {
namespace {

/// Times of another device say nothing about this one.
void expect_same_device(const std::string& file, const std::string& theirs,
                        const std::string& recorded) {
  if (theirs == recorded) return;
  fail(ErrorKind::input, "--against {}: measured on '{}', the recording is of '{}'", file, theirs,
       recorded);
}

std::vector<MeasuredAlternative> alternatives_in(const CapturedModel& model,
                                                 const Profile& recorded) {
  std::vector<MeasuredAlternative> all;
  for (const std::string& path : model.against) {
    const std::string name = std::filesystem::path(path).filename().string();
    std::vector<MeasuredAlternative> found;
    if (sniffed(path) != PlotFile::convolutions) {
      const Profile measured = load_profile(path);
      expect_same_device(path, measured.subject.machine_title, recorded.subject.machine_title);
      found = alternatives_of(measured, recorded, name);
    } else {
      const ConvResults results = load_conv_results(path);
      expect_same_device(path, results.device, recorded.subject.machine_title);
      found = alternatives_of(results, model.bound, name);
    }
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace

std::unique_ptr<CapturedModel> captured_model(const Arguments& given) {
  const auto name = given.value(captured_model_flag);
  for (const Flag& flag : captured_model_flags) {
    if (!name && given.has(flag))
      fail(ErrorKind::usage, "--{} is about a network: say which with --model", flag.name);
  }
  if (!name) return nullptr;
  auto model = std::make_unique<CapturedModel>();
  model->graph = load_model(*name, {.assume_batch_norm = given.has(assume_bn_flag)});
  model->bound = bind_model(model->graph, model_sizes(given));
  model->is_inference = model_mode(given) == Mode::inference;
  model->against = given.values(captured_against_flag);
  return model;
}

TraceReport captured_report(std::string file, const Recording& recording, const Machine* machine,
                            const CapturedModel* model) {
  TrainingOptions options;
  options.inference = model != nullptr && model->is_inference;
  TraceReport report = make_trace_report(std::move(file), recording, machine,
                                         model == nullptr ? nullptr : &model->bound, options);
  if (model != nullptr && report.profile && !model->against.empty())
    add_slower_algorithms(report, alternatives_in(*model, *report.profile));
  return report;
}

}  // namespace strata
