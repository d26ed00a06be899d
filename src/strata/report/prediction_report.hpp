// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/prediction_summary.hpp"
#include "strata/report/provenance.hpp"
#include "strata/report/text_style.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// A PredictionSummary as text of several kinds: pure functions, one file each. Who calls decides
/// where the text goes.
namespace strata {

enum class PredictBy : std::uint8_t { type, layer, block, pass, layer_class };

struct PredictView {
  PredictBy by = PredictBy::type;
  std::size_t layers = 3;  ///< slowest layers below the answer; all_layers: every one, in order
};
inline constexpr std::size_t all_layers = ~std::size_t{0};

/// The numbers of a row or group under the names that JSON and CSV give them, in base units.
struct SpentField {
  std::string_view key;
  std::int64_t Totals::*count;  ///< exact; nullptr: it is a number
  double Totals::*number;
};
std::span<const SpentField> spent_fields();

/// The answer first, then where the time goes, then what would help.
std::string to_text(const PredictionSummary& summary, const PredictView& view,
                    const TextStyle& style);
/// One line per layer and pass.
std::string to_csv(const PredictionSummary& summary);
/// Everything, whatever the view. Keys and units are documented in docs/cli/predict.md.
std::string to_json(const PredictionSummary& summary, const Provenance& provenance);
/// A timeline for Perfetto or chrome://tracing: compute, channel in, channel out, stalls, layers
/// by block, and what is on chip. Needs a prediction that has its transfers.
std::string to_trace(const Program& program, const Prediction& prediction);

}  // namespace strata
