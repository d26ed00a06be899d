// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/prediction_facts.hpp"
#include "strata/strata.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// A prediction that somebody stored, made again: its file says by which command it was written.
namespace strata {

/// What `strata predict` was asked, ready to be asked again.
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

/// Reads the recorded command as the program would, and predicts once to see that the time is still
/// the one on file: a model, a machine or a version that changed since is a reason, not an error.
MaybeRequest recorded_request(const RecordedPrediction& recorded);

/// The words of a command line as command_line_of writes them. Errors (input): a quote stays open.
std::vector<std::string> words_of(std::string_view command_line);

}  // namespace strata
