// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/predict.hpp"
#include "strata/base/file_identity.hpp"
#include "strata/explain/prediction_facts.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What was asked of a prediction or a measurement, as data: its document holds it, so that whoever
/// reads the document can ask again.
namespace strata {

/// Everything in the words that load_model, load_machine, set_field and set_option take.
struct RequestText {
  std::string model;
  ImportOptions import;
  std::string machine;                ///< of a measurement: empty unless roofs were named
  std::vector<std::string> settings;  ///< "machine.memory.L2.capacity_bytes=128MB"
  std::string preset;                 ///< empty: none
  ModelSizes sizes;
  std::vector<std::pair<std::string, std::string>> options;  ///< {"capacity", "128MB"}
  std::optional<FileIdentity> model_file = {};               ///< nothing: the model is built in
  std::optional<FileIdentity> machine_file = {};             ///< the same of the machine
};

/// Says which files the words mean, so that they are found from any folder.
void remember_files(RequestText& words);

PredictRequest request_of(const RequestText& words);
Machine machine_of(const RequestText& words);

/// The `request` of a document's provenance, and back. Errors (input) name the field.
std::string to_json(const RequestText& words);
RequestText read_request(std::string_view json_text);

/// A prediction that somebody stored, ready to be made again.
struct RecordedRequest {
  Graph graph;
  Machine machine;
  PredictRequest request;
  Hardware hardware;  ///< what the machine and the request come to
};

struct MaybeRequest {
  std::unique_ptr<RecordedRequest> request;  ///< nothing: the reason says why
  std::string reason;
};

/// What the file says of the iteration.
struct RecordedTimes {
  double limit_s = 0;
  std::optional<double> expected_s = {};
};

/// Predicts once to see that the times are still those on file: a model, a machine or a
/// version that changed since is a reason, not an error. So is a file that holds no request.
MaybeRequest recorded_request(const RecordedPrediction& recorded, const RecordedTimes& times);

}  // namespace strata
