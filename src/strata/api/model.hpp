// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/graph.hpp"
#include "strata/importers/import_options.hpp"
#include "strata/report/model_report.hpp"
#include "strata/report/model_summary.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace strata {

/// A network from what people type: the name of a built-in network with its parameters
/// ("llama:layers=8"), or a file in any format that Strata reads. What holds a '/' is a file; a
/// built-in name wins over a file of the same name. Options are for files: a built-in network with
/// one that is not the default is an error (usage).
Graph load_model(std::string_view model, const ImportOptions& options = {});

/// What somebody chose for the sizes and the data type that a network leaves open.
struct ModelSizes {
  std::optional<std::int64_t> batch;     ///< default: the network's own, else 32
  std::optional<std::int64_t> sequence;  ///< the dimension "seq"
  std::vector<Dimension> dims;           ///< any dimension by its name
  std::optional<DType> dtype;  ///< of every floating-point tensor; default: as the network has it
};

/// So many samples, whatever was chosen for the batch before.
void set_batch(ModelSizes& sizes, std::int64_t batch);

/// Gives every size a number. Errors (usage) name dimensions that the network does not have, or
/// that need a value.
BoundGraph bind_model(const Graph& graph, const ModelSizes& sizes = {});

/// One of the micro-batches of a step. The batch of the sizes is what one update of the weights
/// trains; each micro-batch has an equal share of it. Errors (usage): a batch that cannot be shared
/// equally names the nearest ones that can.
BoundGraph bind_micro_batch(const Graph& graph, const ModelSizes& sizes,
                            std::int64_t micro_batches);

/// The type in which most of the network's numbers are stored: what rates are looked up for.
DType main_dtype(const BoundGraph& bound);

}  // namespace strata
