// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/expected.hpp"
#include "strata/api/model.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/hardware.hpp"
#include "strata/predict/policy.hpp"
#include "strata/report/prediction_report.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

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
  /// Whose expected time; nothing: PyTorch's where the machine allows one. "none": the limit alone.
  std::optional<std::string> framework;
  FrameworkOptions framework_options;
  HostChoice host = {};  ///< whose dispatch times

  /// Whether somebody asked for an expected time in so many words, so that none is an error.
  bool names_expected() const { return framework.has_value() || host.is_given(); }
};

/// The choices of the thesis that the model comes from: no update of the weights, a multiply-add
/// counts as 1 operation, its own policy, strict minimum with 1 % slack.
PredictRequest thesis_request();
/// The request of a preset by its name, "thesis"; an empty name gives the defaults.
PredictRequest request_of_preset(std::string_view preset);

/// Sets one thing by the name of its flag and text as people type it: ("capacity", "128MiB"),
/// ("policy", "thesis"); a switch takes "true" or "false". So the command line, Python and sweeps
/// mean the same by the same words. Sizes are not among them. Errors (usage) name the option.
void set_option(PredictRequest& request, std::string_view name, std::string_view value);
/// The names that set_option knows.
std::vector<std::string_view> predict_options();

/// One predicted iteration with its plan and timeline.
struct PredictedIteration {
  std::unique_ptr<BoundGraph> bound;  ///< the program refers to it
  Program program;
  Decision decision;
  Prediction prediction;
  PredictionSummary summary;  ///< refers to nothing; may outlive everything else
};

/// Binds, makes the program, decides what stays on chip, simulates it, and adds it up. The
/// graph must outlive the result. Errors say what does not fit together: a data type that the
/// machine lacks, a capacity that is too small, sizes that the network needs.
PredictedIteration predict_model(const Graph& graph, const Machine& machine,
                                 const PredictRequest& request = {});

/// The sizes of one micro-batch of a request: what its program is made of.
BoundGraph bind_request(const Graph& graph, const PredictRequest& request);

/// The steps of the limit: every recurrence unrolled, values cut where the request asks for parts.
Program limit_program(const BoundGraph& bound, const PredictRequest& request);

/// The time of that iteration alone: bounds, rows and whatever else takes longer are left out.
double predicted_time_s(const Graph& graph, const Machine& machine, const PredictRequest& request);

/// What the limit of a request is of: autocast multiplies in 16 bits and keeps the weights in fp32.
/// Errors (usage): autocast of a network that is not in fp32.
PredictRequest limit_request(const PredictRequest& request);

/// Whose expected time a request asks for; nothing: the limit alone.
std::optional<ExpectedRequest> expected_request(const Machine& machine,
                                                const PredictRequest& request);
/// Why there is none on a machine that a request asks for; nothing: there is one.
std::optional<std::string> reason_against_expected(const Machine& machine,
                                                   const PredictRequest& request);

/// Adds the expected time that a request asks for; or why there is none.
void add_expected(PredictionSummary& summary, const Graph& graph, const Machine& machine,
                  const PredictRequest& request);

/// Autocast multiplies in 16 bits and keeps the weights in fp32: what the limit is of, too. As it
/// is without autocast.
PredictRequest limit_request(const PredictRequest& request);

/// The hardware that a request asks for on a machine.
Hardware hardware_for(const Machine& machine, DType dtype, const PredictRequest& request);

/// The machine with the bandwidth and the rates that were asked for instead of its own: whose roofs
/// a prediction lies under.
Machine with_overrides(Machine machine, const HardwareOverrides& overrides);

}  // namespace strata
