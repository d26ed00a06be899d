// SPDX-License-Identifier: Apache-2.0
#include "cli/plot_inputs.hpp"

#include "cli/output.hpp"
#include "cli/predict_flags.hpp"
#include "cli/profile_argument.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/capture/read_recording.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

namespace strata {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t sniffed_bytes = 4096;

std::string beginning_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(sniffed_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::optional<std::int64_t> batch_in(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto model = json.find("model");
  if (model == json.end() || !model->is_object()) return std::nullopt;
  const auto batch = model->find("batch");
  if (batch == model->end() || !batch->is_number_integer()) return std::nullopt;
  const auto number = batch->get<std::int64_t>();
  return number > 0 ? std::optional(number) : std::nullopt;
}

PlottedProfile predicted_profile(const std::string& word, const Arguments& given) {
  const Machine machine = machine_of(given);
  const Graph graph = load_model(word, import_options(given));
  PredictedIteration iteration = predict_model(graph, machine, quick_request(given));
  warn(iteration.summary.warnings);
  PlottedProfile plotted{{word, std::move(iteration.summary.profile)}, std::nullopt};
  for (const Dimension& dimension : iteration.summary.dims) {
    if (dimension.name == "batch") plotted.batch = dimension.value;
  }
  return plotted;
}

}  // namespace

std::string_view text_of(PlotFile file) {
  constexpr std::array<std::string_view, 4> texts = {"a model", "a profile", "results of a sweep",
                                                     "results of the convolution lab"};
  return texts[static_cast<std::size_t>(file)];
}

PlotFile sniffed(const std::string& word) {
  if (names_network(word) || !fs::is_regular_file(word)) return PlotFile::model;
  if (is_recording(word)) return PlotFile::profile;
  const std::string text = beginning_of(word);
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  if (text.starts_with("SQLite format 3") || has("strata_sweep") ||
      fs::path(word).extension() == ".csv")
    return PlotFile::sweep;
  if (has("\"convolutions\"")) return PlotFile::convolutions;
  if (has("\"schema_version\"") && !has("\"strata_network\"")) return PlotFile::profile;
  return PlotFile::model;
}

std::vector<std::string> labels_of_plot(const Arguments& given) {
  const std::vector<std::string>& labels = given.values(plot_label_flag);
  if (labels.empty()) {
    std::vector<std::string> names;
    for (const std::string& word : given.words()) names.push_back(fs::path(word).stem().string());
    return names;
  }
  if (labels.size() != given.words().size())
    fail(ErrorKind::usage, "{} labels for {} inputs: give one --label for each", labels.size(),
         given.words().size());
  return labels;
}

std::vector<PlottedProfile> plotted_profiles(const Arguments& given) {
  const std::vector<std::string> labels = labels_of_plot(given);
  std::vector<PlottedProfile> profiles;
  for (std::size_t i = 0; i < given.words().size(); ++i) {
    const std::string& word = given.words()[i];
    if (std::optional<StoredProfile> stored = stored_profile(word)) {
      profiles.push_back({{labels[i], std::move(stored->profile)}, batch_in(stored->text)});
    } else {
      profiles.push_back(predicted_profile(word, given));
      if (given.has(plot_label_flag)) profiles.back().labelled.label = labels[i];
    }
  }
  return profiles;
}

Machine machine_of_plot(const Arguments& given, const std::vector<PlottedProfile>& profiles) {
  const Machine machine =
      machine_for(asked_roofs(given, on_flag), profiles.front().labelled.profile);
  return with_overrides(machine, quick_request(given).hardware);
}

PlottedPrediction plotted_prediction(const Arguments& given, const std::string& word) {
  PlottedPrediction made;
  if (const std::optional<StoredProfile> stored = stored_profile(word)) {
    const auto recorded = recorded_prediction(stored->text);
    MaybeRequest again;
    again.reason = "it is not a prediction";
    if (recorded)
      again = recorded_request(*recorded, {.limit_s = iteration_of(stored->profile).time_s});
    if (!again.request)
      fail(ErrorKind::input, "{}: what happened over time is not in the file, and {}", word,
           again.reason);
    made.request = std::move(again.request);
  } else {
    made.request = std::make_unique<RecordedRequest>(RecordedRequest{
        load_model(word, import_options(given)), machine_of(given), quick_request(given), {}});
  }
  PredictRequest& request = made.request->request;
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  request.wants_transfers = true;
  made.iteration = predict_model(made.request->graph, made.request->machine, request);
  warn(made.iteration.summary.warnings);
  return made;
}

std::string time_text(double seconds) { return format_time(seconds); }

}  // namespace strata
