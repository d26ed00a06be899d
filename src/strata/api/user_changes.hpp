// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/predict.hpp"
#include "strata/explain/change.hpp"

#include <optional>
#include <string>
#include <vector>

/// What somebody can change about a training run, for the hints of predict and of explain.
namespace strata {

/// Precision, layout, attention, torch.compile, twice the batch, the next GPUs; what applies. Of
/// what does not fit the memory: the largest batch that does, what saves memory, and the next GPUs.
/// `bound` has the whole batch of an update, not that of one micro-batch.
std::vector<Change> user_changes(const BoundGraph& bound, const Machine& machine,
                                 const PredictRequest& request,
                                 const std::optional<MemoryNeed>& memory);

/// The shipped GPUs of the same vendor and kind of card that are the next faster ones, in products
/// of that data type and in bandwidth; at most two.
std::vector<std::string> next_gpus(const Machine& machine, DType dtype);

/// What makes an iteration need less memory: recomputation, less optimizer state, autocast.
std::vector<Change> memory_savers(const BoundGraph& bound, const Machine& machine,
                                  const PredictRequest& request);

}  // namespace strata
