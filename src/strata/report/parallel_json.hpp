// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/json_text.hpp"
#include "strata/report/parallel_report.hpp"

#include <nlohmann/json_fwd.hpp>

/// What all documents of training on many devices say in the same words.
namespace strata {

/// How the network is trained: dimensions, data type, optimizer, framework.
void add_training_setup(JsonText& text, const ParallelContext& context);

/// How fast one strategy is.
nlohmann::ordered_json speed_json(const ParallelSummary& summary);

}  // namespace strata
