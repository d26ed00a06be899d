// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/calibrate.hpp"
#include "strata/api/expected.hpp"
#include "strata/api/explain.hpp"
#include "strata/api/kept_files.hpp"
#include "strata/api/measure.hpp"
#include "strata/api/model.hpp"
#include "strata/api/page.hpp"
#include "strata/api/parallel.hpp"
#include "strata/api/predict.hpp"
#include "strata/api/request.hpp"
#include "strata/api/stored_profile.hpp"
#include "strata/api/sweep.hpp"
#include "strata/api/validate.hpp"
#include "strata/api/what_if.hpp"

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
///
///     const MeasuredModel measured = measure_model(graph, chosen_device("cpu"));
///     const PageSection part = page_section(measured, {});              // or of a file, or a
///     prediction const std::string page = html_page(part.name, {part});
