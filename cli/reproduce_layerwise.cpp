// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output.hpp"
#include "cli/studies.hpp"
#include "strata/api/measure.hpp"
#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/write_file.hpp"
#include "strata/reproduce/layerwise_study.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace strata {
namespace {

/// What `strata measure NETWORK --batch N --metrics paper --no-patch --json -` writes; nothing when
/// it was interrupted before there was anything to tell.
std::optional<std::string> layerwise_profile(std::string_view name, std::int64_t batch,
                                             TrainingDevice& device, bool is_gpu,
                                             const InterruptWatch& interrupts,
                                             const std::string& command) {
  MeasureRequest request;
  request.sizes.batch = batch;
  request.sizes.dtype = DType::fp32;
  request.options.times_whole_apart = is_gpu;
  request.options.metrics = "paper";
  request.options.patches_kernels = false;  // the study has no such column
  request.options.counts_kernels = true;
  request.options.engine.training.optimizer = Optimizer::momentum;
  const MeasuredModel measured =
      measure_model(trainable_model(build_network(name), request), device, std::nullopt,
                    {.is_interrupted = [&] { return interrupts.was_asked(); }});
  if (!measured.has_times()) return std::nullopt;
  return to_json(measured.summary, {.command = command});
}

/// Those that ship. Errors (environment) when none do.
LayerwiseStudy shipped_layerwise_study() {
  std::vector<LayerwiseCase> cases;
  for (const EmbeddedFile& file : embedded_training_profiles())
    cases.push_back(read_layerwise_case(file.text));
  if (cases.empty()) {
    fail(ErrorKind::environment,
         "no profiles ship with this program; --run measures them, --from reads them");
  }
  return LayerwiseStudy(std::move(cases));
}

/// Every profile of one training iteration in a folder (*.json), or one file.
LayerwiseStudy layerwise_study_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code problem;
  std::vector<fs::path> files = {path};
  if (fs::is_directory(path, problem)) {
    files.clear();
    for (const fs::directory_entry& entry : fs::directory_iterator(path, problem)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) fail(ErrorKind::input, "{}: there is no profile (*.json) in it", path);
  }
  std::vector<LayerwiseCase> cases;
  for (const fs::path& file : files) {
    try {
      cases.push_back(read_layerwise_case(profile_file_text(file)));
    } catch (Error& error) {
      error.add_context(file.string());
      throw;
    }
  }
  return LayerwiseStudy(std::move(cases));
}

/// The study's networks at its batches, with counters where they can be read. Profiles go into the
/// folder, too. What does not fit into memory is left out with the reason.
LayerwiseStudy measured_layerwise_study(const StudyRequest& request) {
  const ChosenDevice choice = chosen_device(request.device.value_or("cuda"));
  const std::unique_ptr<TrainingDevice> device = opened(choice, {.dtype = DType::fp32});
  const InterruptWatch interrupts;
  std::vector<LayerwiseCase> cases;
  for (const std::string_view name : layerwise_networks()) {
    for (const std::int64_t batch : layerwise_batches()) {
      if (interrupts.was_asked()) break;
      print_to_stderr(fmt::format("{}, batch {}\n", name, batch));
      try {
        const auto text =
            layerwise_profile(name, batch, *device, choice.is_gpu, interrupts, request.command);
        if (!text) break;
        if (request.out)
          write_file(fmt::format("{}/{}-b{}-fp32.json", *request.out, name, batch), *text);
        cases.push_back(read_layerwise_case(*text));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::environment) throw;
        print_to_stderr(fmt::format("left out: {}\n", error.what()));
      }
    }
  }
  if (cases.empty())
    fail(ErrorKind::environment, "nothing could be measured on {}", device->name());
  return LayerwiseStudy(std::move(cases));
}

}  // namespace

StudyResult run_layerwise_study(const StudyRequest& request) {
  const LayerwiseStudy study = request.run    ? measured_layerwise_study(request)
                               : request.from ? layerwise_study_of(*request.from)
                                              : shipped_layerwise_study();
  return {.title = "Layer-wise Performance Bottleneck Analysis of Deep Neural Networks",
          .published = "Caffe, GTX 1080 Ti",
          .basis = fmt::format("measured on {}: training iterations", study.device()),
          .place = "network",
          .rule =
              "as the note of each row says; rows without a verdict need counters (strata "
              "measure --metrics paper)",
          .findings = layerwise_findings(study),
          .figures = request.wants_figures ? layerwise_figures(study) : std::vector<Figure>{},
          .notes = layerwise_notes(study)};
}

}  // namespace strata
