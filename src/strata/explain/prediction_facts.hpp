// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/memory_need.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a prediction knows of the whole iteration, beyond the rows of its profile.
namespace strata {

/// What using a value again would save, by how far apart the two uses are; docs/prediction.md.
struct ReuseFacts {
  std::string scope;  ///< recurrent, forward-backward, adjacent, block
  std::int64_t offered_bytes = 0;
  std::int64_t captured_bytes = 0;
  std::int64_t capacity_50_bytes = 0;  ///< that half of it needs, whatever else is kept
  std::int64_t capacity_90_bytes = 0;
  std::int64_t capacity_100_bytes = 0;
};

struct StallFacts {
  std::string value;
  std::string kind;
  double wait_s = 0;
  std::int64_t steps = 0;
};

struct PredictionFacts {
  std::int64_t refetch_bytes = 0;
  std::int64_t capacity_bytes = 0;
  double bytes_per_s = 0;
  std::int64_t minimum_bytes = 0;  ///< below it weights are cut
  std::string minimum_step;        ///< that needs it
  std::optional<double> bound_s;   ///< lower bound of this order of layers
  std::vector<ReuseFacts> reuse;
  std::vector<StallFacts> stalls;    ///< longest first
  std::optional<MemoryNeed> memory;  ///< nothing: the machine does not say what it has
};

/// What a recorded prediction was asked and what it says, for whoever predicts it again.
struct RecordedPrediction {
  PredictionFacts facts;
  std::string request;  ///< JSON of what was asked (api/request.hpp); empty: it does not say
};

/// Of the JSON that `strata predict --json` wrote. Nothing when the document is no prediction;
/// errors (input) name the field that is wrong.
std::optional<RecordedPrediction> recorded_prediction(std::string_view json_text);

}  // namespace strata
