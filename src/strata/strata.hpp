// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/graph.hpp"
#include "strata/importers/import_options.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/hardware.hpp"
#include "strata/predict/policy.hpp"
#include "strata/report/model_report.hpp"
#include "strata/report/model_summary.hpp"
#include "strata/report/prediction_report.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The façade: the few functions that the program, the bindings and the examples use, in the order
/// in which they are called.
///
///     const Graph graph = load_model("resnet50");                 // a built-in network, or a file
///     const BoundGraph bound = bind_model(graph, {.batch = 32});  // a number for every size
///     const ModelSummary summary = summarize(bound);              // what each layer is and costs
///     const std::string table = to_text(summary, {}, {});         // or to_json, to_csv, to_dot
///
///     const Machine machine = load_machine("h100-sxm");           // one that ships, or a file
///     const PredictedIteration iteration = predict_model(graph, machine, {});
///     for (const ProfileRow& row : iteration.summary.profile.rows) …    // per layer and pass
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

/// Gives every size a number. Errors (usage) name dimensions that the network does not have, or
/// that need a value.
BoundGraph bind_model(const Graph& graph, const ModelSizes& sizes = {});

/// Whether lower bounds are computed: for programs that are not too long, or whatever it takes.
enum class WantBounds : std::uint8_t { automatic, in_any_case, not_at_all };

/// What is asked of a prediction; every default is a sensible one.
struct PredictRequest {
  ModelSizes sizes;
  TrainingOptions training;
  PredictOptions options;
  HardwareOverrides hardware;
  bool mac_is_one = false;  ///< a multiply-add counts as one operation, not two
  WantBounds bounds = WantBounds::automatic;
  bool wants_alternatives = true;  ///< predict again with more capacity, bandwidth, …
  bool wants_transfers = false;    ///< what the channel did, for a timeline
  std::string preset;              ///< what it is called; empty: none
};

/// The choices of the thesis that the model comes from: no update of the weights, a multiply-add
/// counts as 1 operation, its own policy, strict minimum with 1 % slack.
PredictRequest thesis_request();
/// The request of a preset by its name, "thesis"; an empty name gives the defaults.
PredictRequest request_of_preset(std::string_view preset);

/// Sets one thing by the name of its flag and text as people type it: ("capacity", "128MB"),
/// ("policy", "thesis"); a switch takes "true" or "false". So the command line, Python and sweeps
/// mean the same by the same words. Sizes are not among them. Errors (usage) name the option.
void set_option(PredictRequest& request, std::string_view name, std::string_view value);
/// The names that set_option knows.
std::vector<std::string_view> predict_options();

/// One iteration laid over a machine, with all that was made on the way.
struct PredictedIteration {
  std::unique_ptr<BoundGraph> bound;  ///< the program refers to it
  Program program;
  Decision decision;
  Prediction prediction;
  PredictionSummary summary;  ///< refers to nothing; may outlive everything else
};

/// Binds, lays out the program, decides what stays on chip, lays it over time, and adds it up. The
/// graph must outlive the result. Errors say what does not fit together: a data type that the
/// machine lacks, a capacity that is too small, sizes that the network needs.
PredictedIteration predict_model(const Graph& graph, const Machine& machine,
                                 const PredictRequest& request = {});

}  // namespace strata
